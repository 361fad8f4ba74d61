//! The same request in either era: what is told is the same, but for what its
//! version adds.

use serde_json::{Value, json};

use crate::bench::{Bench, TestResponse};

/// A result without what every modern one carries, and how long it may be kept.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) result: Value,
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) cache_scope: Option<String>,
}

impl Bench {
    /// Returns what `token` is told in either era: the same.
    #[track_caller]
    pub(crate) fn told(&self, token: &str, method: &str, params: Value) -> Told {
        let told = self.told_modern(token, method, params.clone());
        let older = self.legacy_result(token, None, method, params);
        assert_eq!(older, told.result, "{method}");
        told
    }

    /// Returns what `token` is told in 2026-07-28.
    #[track_caller]
    pub(crate) fn told_modern(&self, token: &str, method: &str, params: Value) -> Told {
        let mut result = self.modern_result(token, method, params);
        let members = result.as_object_mut().unwrap();
        assert_eq!(members.remove("resultType").unwrap(), "complete", "{method}");
        let meta = members.remove("_meta").unwrap();
        assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "shared-context");
        let ttl_ms = members.remove("ttlMs").map(|it| it.as_u64().unwrap());
        let cache_scope = members.remove("cacheScope").map(|it| it.as_str().unwrap().to_owned());
        assert_eq!(ttl_ms.is_some(), cache_scope.is_some(), "{method}: both or none");
        Told { result, ttl_ms, cache_scope }
    }

    /// Returns the error that `token` is told of in either era: the same.
    #[track_caller]
    pub(crate) fn refused(&self, token: &str, method: &str, params: Value) -> Value {
        let [modern, legacy] = self.refusals(token, method, params);
        assert_eq!(modern, legacy, "{method}");
        modern
    }

    /// Returns the errors that `token` is told of in 2026-07-28 and in 2025-11-25.
    #[track_caller]
    pub(crate) fn refusals(&self, token: &str, method: &str, params: Value) -> [Value; 2] {
        [
            error(&self.modern(token, method, params.clone())),
            error(&self.legacy(token, None, method, params)),
        ]
    }

    /// Makes a request of the JSON tool on the session `s`, which must succeed.
    #[track_caller]
    pub(crate) fn does(&self, token: &str, request: &Value) {
        let target = "POST /v1/sessions/s/shared_context";
        self.check_as(token, target, &[], &request.to_string(), 200, "");
    }
}

impl Told {
    /// Makes sure that the result may be kept so long, by whom.
    #[track_caller]
    pub(crate) fn may_be_kept(&self, ttl_ms: u64, cache_scope: &str) {
        assert_eq!((self.ttl_ms, self.cache_scope.as_deref()), (Some(ttl_ms), Some(cache_scope)));
    }
}

/// Returns the error in `seen`, a response that answers the request and says so.
#[track_caller]
pub(crate) fn error(seen: &TestResponse) -> Value {
    assert_eq!(seen.status, 200, "{seen:?}");
    assert_eq!(seen.header("content-type"), "application/json");
    let mut answer = seen.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)), "{seen:?}");
    let error = answer["error"].take();
    assert!(error["code"].is_i64() && error["message"].is_string(), "{seen:?}");
    error
}
