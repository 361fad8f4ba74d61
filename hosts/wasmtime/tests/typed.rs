//! The typed interfaces of the component, each function once: they answer what
//! the JSON tool answers, and refuse what it refuses.

#![expect(clippy::unwrap_used, reason = "a test")]

use serde_json::Value;
use shared_context_core::{
    audit::AuditRecord,
    memory::MemoryKv,
    port::{Clock, Log},
    time::Timestamp,
};
use shared_context_wasmtime::{
    Caller, Component, ComponentOptions, Failure, Host,
    bindings::{exports::shared_context::core::store::Condition, shared_context::core::types},
};

struct Quiet;

impl Clock for Quiet {
    fn now(&self) -> Timestamp {
        Timestamp(1_771_597_800_000)
    }
}

impl Log for Quiet {
    fn record(&self, _: &AuditRecord) {}
}

struct Bench {
    component: Component,
    host: Host,
}

impl Bench {
    fn new() -> Self {
        let component = Component::new(&ComponentOptions::default()).unwrap();
        Self { component, host: Host::new(MemoryKv::default(), Quiet, Quiet) }
    }

    /// What the JSON tool answers to the orchestrator.
    fn json(&self, request: &str) -> Value {
        let who = Caller::trusted("orchestrator");
        let reply = self.component.invoke(&self.host, "session/s", &who, request.as_bytes());
        serde_json::from_slice(&reply.unwrap().body).unwrap()
    }
}

fn caller(participant: &str) -> types::Caller {
    (&Caller::trusted(participant)).into()
}

macro_rules! call {
    ($bench:expr, $interface:ident . $function:ident ( $($argument:expr),* )) => {
        $bench.component.call(&$bench.host, |guest, store| {
            guest.$interface().$function(store, $($argument),*)
        })
    };
}

fn code<T: std::fmt::Debug>(answer: Result<T, Failure>) -> String {
    answer.unwrap_err().code.into_owned()
}

#[test]
fn the_store_is_the_same_typed_and_as_json() {
    let it = Bench::new();
    let (admin, agent) = (caller("admin"), caller("subagent:analysis:3"));
    call!(it, shared_context_core_sessions.call_create("s", &admin, None)).unwrap();

    let long = "x".repeat(2_400);
    let none = Condition::default();
    let written =
        call!(it, shared_context_core_store.call_write("s", &agent, "scope", &long, none, None))
            .unwrap();
    assert_eq!((written.entry.version, written.entry.value_tokens), (1, 600));
    assert_eq!(written.advices[0].code, "DISTILL");

    let (entry, value) =
        call!(it, shared_context_core_store.call_read("s", &agent, "scope")).unwrap();
    let read = it.json(r#"{"action":"read","key":"scope"}"#);
    assert_eq!(read["value"], value);
    assert_eq!(read["written_by"], entry.written_by);
    assert_eq!((read["version"].as_u64(), entry.written_at_ms), (Some(1), 1_771_597_800_000));
    assert_eq!(read["revision"], entry.revision);

    let listing = call!(it, shared_context_core_store.call_list_keys("s", &agent)).unwrap();
    let list = it.json(r#"{"action":"list_keys"}"#);
    assert_eq!(list["keys"].as_array().unwrap().len(), listing.entries.len());
    assert_eq!(list["total_tokens"], listing.total_tokens);
    assert_eq!(list["max_tokens"], listing.max_tokens);

    let stale = Condition { if_version: None, if_revision: Some(1) };
    let refused =
        call!(it, shared_context_core_store.call_delete("s", &agent, "scope", stale, None))
            .unwrap_err();
    assert_eq!(refused.code, "VERSION_CONFLICT");
    assert_eq!(refused.details.unwrap(), r#"{"current_version":1,"current_revision":2}"#);

    let delete = || {
        let once = Some("once");
        call!(it, shared_context_core_store.call_delete("s", &agent, "scope", none, once)).unwrap()
    };
    let (first, again) = (delete(), delete());
    assert_eq!((first.key.as_str(), first.previous_version), ("scope", 1));
    assert_eq!(first.revision, again.revision, "a retry changes nothing");
    assert_eq!(
        code(call!(it, shared_context_core_store.call_read("s", &agent, "scope"))),
        "KEY_NOT_FOUND"
    );
    assert_eq!(
        code(call!(it, shared_context_core_store.call_read("s", &agent, "Scope"))),
        "INVALID_KEY"
    );
}

#[test]
fn sessions_live_and_die_typed() {
    let it = Bench::new();
    let (admin, agent) = (caller("admin"), caller("subagent:analysis"));
    let config = Some(r#"{"value_tokens_max":500}"#);
    let made = call!(it, shared_context_core_sessions.call_create("s", &admin, config)).unwrap();
    let in_force: Value = serde_json::from_str(&made.config).unwrap();
    assert_eq!((in_force["value_tokens_max"].as_u64(), made.incarnation), (Some(500), 1));
    let shown = it.json(r#"{"action":"show_session"}"#);
    assert_eq!(shown["config"], in_force);

    assert_eq!(
        code(call!(it, shared_context_core_sessions.call_create("s", &admin, None))),
        "SESSION_EXISTS"
    );
    let bad = Some(r#"{"keys_max":0}"#);
    assert_eq!(
        code(call!(it, shared_context_core_sessions.call_create("t", &admin, bad))),
        "MALFORMED_REQUEST"
    );
    assert_eq!(
        code(call!(it, shared_context_core_sessions.call_archive("s", &agent))),
        "FORBIDDEN"
    );

    let held = types::Caller {
        credential: Some(types::Credential { incarnation: 1, epoch: 0 }),
        ..agent.clone()
    };
    assert!(call!(it, shared_context_core_sessions.call_show("s", &held)).is_ok());
    let revoked =
        call!(it, shared_context_core_sessions.call_revoke_credentials("s", &admin)).unwrap();
    assert_eq!(revoked.credential_epoch, 1);
    assert_eq!(
        code(call!(it, shared_context_core_sessions.call_show("s", &held))),
        "UNAUTHENTICATED"
    );
    // Void comes before anything else that is wrong with the request.
    assert_eq!(
        code(call!(it, shared_context_core_store.call_read("s", &held, "Scope"))),
        "UNAUTHENTICATED"
    );

    let archived = call!(it, shared_context_core_sessions.call_archive("s", &admin)).unwrap();
    assert!(archived.is_archived);
    let none = Condition::default();
    let write =
        call!(it, shared_context_core_store.call_write("s", &agent, "scope", "x", none, None));
    assert_eq!(code(write), "SESSION_ARCHIVED");
    let gone = call!(it, shared_context_core_sessions.call_delete("s", &admin)).unwrap();
    assert_eq!(gone, archived.revision + 1);
    assert_eq!(
        code(call!(it, shared_context_core_sessions.call_show("s", &agent))),
        "SESSION_NOT_FOUND"
    );
    let again = call!(it, shared_context_core_sessions.call_create("s", &admin, None)).unwrap();
    assert!(again.incarnation > made.incarnation);
}

#[test]
fn prompts_and_descriptions_are_the_same_typed() {
    let it = Bench::new();
    let admin = caller("admin");
    call!(it, shared_context_core_sessions.call_create("s", &admin, None)).unwrap();
    let (who, budget) = (Some("subagent:analysis"), Some(300));
    let rendered =
        call!(it, shared_context_core_prompt.call_render("s", &admin, who, budget)).unwrap();
    let json = it.json(r#"{"action":"prompt","participant":"subagent:analysis","max_tokens":300}"#);
    assert_eq!(json["text"], rendered.text);
    assert_eq!(json["tokens"], rendered.tokens);
    assert_eq!(json["left_out"].as_array().unwrap().len(), rendered.left_out.len());
    let few = Some(10);
    assert_eq!(
        code(call!(it, shared_context_core_prompt.call_render("s", &admin, who, few))),
        "MALFORMED_REQUEST"
    );

    let described = it
        .component
        .call(&it.host, |guest, store| {
            guest.shared_context_core_tool().call_describe(store).map(Ok)
        })
        .unwrap();
    assert_eq!(described, shared_context_codec::describe());
}
