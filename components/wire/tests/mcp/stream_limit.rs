//! The limit on open streams per participant.

use std::num::NonZeroU32;

use serde_json::json;
use shared_context_wire::http::{Options, RateLimit};

use crate::{
    bench::{Bench, TestResponse},
    client::modern_request,
};

/// One subagent once took every connection of a server. Not even the operator could connect to
/// revoke its credential.
#[test]
fn one_stream_limit_per_participant_covers_all_kinds() {
    let bench = Bench::with(|options| {
        let streams = NonZeroU32::new(3).unwrap();
        Options { rate_limit: Some(RateLimit { streams, ..RateLimit::default() }), ..options }
    });
    let wanted = json!({"resourcesListChanged": true});
    let listen = |token: &str| bench.listen(token, &json!(1), &wanted);
    let first = listen(&bench.agent);
    let second = listen(&bench.agent);
    let (_, third) = bench.watch(&bench.agent, "", None);
    let (headers, body) =
        modern_request("subscriptions/listen", json!({ "notifications": wanted }));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
    let ask = |token: &str| bench.mcp(token, &headers, &body.to_string());
    let check = |seen: &TestResponse| {
        assert_eq!((seen.status.as_u16(), seen.header("retry-after")), (429, "15"), "{seen:?}");
        assert_eq!(seen.json()["error"]["code"], "RATE_LIMITED");
        assert!(seen.body.contains("has 3 live streams open"), "{seen:?}");
    };
    check(&ask(&bench.agent));
    check(&ask(&bench.mint("s", "subagent:analysis")));
    let _other = listen(&bench.orchestrator);
    assert_eq!(bench.open_streams(), 4);
    drop((first, third));
    let _fourth = listen(&bench.agent);
    drop(second);
}
