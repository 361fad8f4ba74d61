//! The interface `sessions`.

use serde_json::{Value, json};
use shared_context_wasmtime::{Caller, Credential, Failure, bindings::shared_context::core::types};

use crate::{
    bench::{Bench, COMPONENT, call, call_in, rejected, wit},
    forms,
};

const AGENT: &str = "subagent:analysis";

#[test]
fn session_lifecycles_are_the_same() {
    let it = Bench::empty();
    for config in [r#"{"keys_max":0}"#, r#"{"keys":1}"#, "[]", r#"{"estimator":"unknown"}"#] {
        let typed = rejected(call!(it, sessions.call_create("admin", Some(config))));
        let config: Value = serde_json::from_str(config).unwrap();
        let request = json!({"action": "create_session", "config": config});
        assert_eq!(typed.code, it.json_rejected("admin", request).code);
    }
    let config = Some(r#"{"value_tokens_max":500}"#);
    let made = call!(it, sessions.call_create("admin", config)).unwrap();
    let request = json!({"action": "create_session", "config": {"value_tokens_max": 500}});
    assert_eq!(forms::session(&made), it.json("admin", request.clone()));
    let again = rejected(call!(it, sessions.call_create("admin", config)));
    assert_eq!(again.code, it.json_rejected("admin", request).code);

    let shown = call!(it, sessions.call_show(AGENT)).unwrap();
    assert_eq!(forms::session(&shown), it.json(AGENT, json!({"action": "show_session"})));
    for config in [r#"{"keys_max":0}"#, r#"{"keys":1}"#, r#"{"estimator":"o200k_base"}"#] {
        let typed = rejected(call!(it, sessions.call_update("admin", config)));
        let config: Value = serde_json::from_str(config).unwrap();
        let request = json!({"action": "update_session", "config": config});
        assert_eq!(typed.code, it.json_rejected("admin", request).code);
    }
    let config = r#"{"value_tokens_max":null,"keys_max":20}"#;
    let updated = call!(it, sessions.call_update("admin", config)).unwrap();
    let config: Value = serde_json::from_str(config).unwrap();
    let request = json!({"action": "update_session", "config": config});
    assert_eq!(forms::session(&updated), it.json("admin", request));
    let typed = rejected(call!(it, sessions.call_update(AGENT, r#"{"keys_max":30}"#)));
    let request = json!({"action": "update_session", "config": {"keys_max": 30}});
    assert_eq!(typed, it.json_rejected(AGENT, request));

    let revoked = call!(it, sessions.call_revoke_credentials("admin")).unwrap();
    let request = json!({"action": "revoke_credentials"});
    assert_eq!(forms::session(&revoked), it.json("admin", request));
    let request = json!({"action": "archive_session"});
    let typed = rejected(call!(it, sessions.call_archive(AGENT)));
    assert_eq!(typed, it.json_rejected(AGENT, request.clone()));
    let archived = call!(it, sessions.call_archive("admin")).unwrap();
    assert_eq!(forms::session(&archived), it.json("admin", request));
    let write = call!(
        it,
        store.call_write(AGENT, "scope", "x", &wit::store::WriteOptions::default(), None)
    );
    assert_eq!(rejected(write).code, "SESSION_ARCHIVED");

    let revision = call!(it, sessions.call_delete("admin")).unwrap();
    let json = json!({"deleted_session": "json", "revision": revision});
    assert_eq!(json, it.json("admin", json!({"action": "delete_session"})));
    assert_eq!(rejected(call!(it, sessions.call_show(AGENT))).code, "SESSION_NOT_FOUND");
    let again = call!(it, sessions.call_create("admin", None)).unwrap();
    assert!(again.incarnation > made.incarnation);
}

#[test]
fn a_void_credential_is_checked_first() {
    let it = Bench::new();
    let made = call!(it, sessions.call_show("admin")).unwrap();
    let epoch = made.credential_epoch;
    let credential = Some(Credential { incarnation: made.incarnation, epoch });
    let held = Caller { credential, ..Caller::trusted(AGENT) };
    let held: types::Caller = (&held).into();
    let read = |key: &str| {
        COMPONENT.call(&it.host, |it: &wit::store::Guest, store| {
            it.call_read(store, "typed", &held, key, None)
        })
    };
    assert_eq!(rejected(read("Scope")).code, "INVALID_KEY");
    call!(it, sessions.call_revoke_credentials("admin")).unwrap();
    assert_eq!(rejected(read("Scope")).code, "UNAUTHENTICATED");
}

#[test]
fn limited_callers_are_the_same() {
    let it = Bench::new();
    it.write("orchestrator", "scope", "x");
    it.write("orchestrator", "inv_1", "x");
    let limited = |keys: &[&str]| {
        let keys = keys.iter().map(|it| (*it).to_owned()).collect();
        Caller { keys, ..Caller::trusted(AGENT) }
    };
    let (inv, malformed) = (limited(&["inv_*"]), limited(&["Inv"]));
    let json = |who: &Caller, request: Value| {
        let reply =
            COMPONENT.invoke(&it.host, "session/json", who, request.to_string().as_bytes())?;
        Ok::<Value, Failure>(serde_json::from_slice(&reply.body).unwrap())
    };
    let list = json!({"action": "list_keys"});
    let typed = |who: &Caller| {
        let who: types::Caller = who.into();
        COMPONENT.call(&it.host, |it: &wit::store::Guest, store| {
            it.call_list_keys(store, "typed", &who, None, None)
        })
    };
    let keys: Vec<String> =
        typed(&inv).unwrap().unwrap().entries.into_iter().map(|it| it.key).collect();
    assert_eq!(keys, ["inv_1"]);
    assert_eq!(json(&inv, list.clone()).unwrap()["keys"][0]["key"], "inv_1");
    assert_eq!(rejected(typed(&malformed)), rejected(json(&malformed, list)));
    let who: types::Caller = (&inv).into();
    let written = COMPONENT.call(&it.host, |it: &wit::store::Guest, store| {
        let options = wit::store::WriteOptions::default();
        it.call_write(store, "typed", &who, "scope", "y", &options, None)
    });
    let request = json!({"action": "write", "key": "scope", "value": "y"});
    let rejection = rejected(written);
    assert_eq!(rejection, rejected(json(&inv, request)));
    assert!(rejection.code == "FORBIDDEN" && rejection.message.contains("inv_*"), "{rejection:?}");
}

#[test]
fn inspect_export_and_import_are_the_same() {
    let it = Bench::new();
    it.write(AGENT, "scope", "one");
    it.write(AGENT, "scope", "two");
    call!(it, snapshots.call_take("orchestrator", "one", None)).unwrap();
    it.json("orchestrator", json!({"action": "snapshot", "label": "one"}));

    let inspected = call!(it, sessions.call_inspect("admin")).unwrap();
    let mut inspected: Value = serde_json::from_str(&inspected).unwrap();
    inspected["session"]["session_id"] = json!("json");
    assert_eq!(inspected, it.json("admin", json!({"action": "inspect"})));

    let document = call!(it, sessions.call_export_document("admin")).unwrap();
    let parsed: Value = serde_json::from_str(&document).unwrap();
    let json = it.json("admin", json!({"action": "export_session"}));
    assert_eq!(parsed["digests"], json["digests"]);
    assert_eq!(parsed["values"], json["values"]);

    let inspected = call!(it, sessions.call_inspect(AGENT));
    let exported = call!(it, sessions.call_export_document(AGENT));
    for (typed, name) in [(inspected, "inspect"), (exported, "export_session")] {
        assert_eq!(rejected(typed), it.json_rejected(AGENT, json!({"action": name})));
    }

    let import = |session: &str, who: &str, document: &str| {
        call_in!(session, it, sessions.call_import_document(who, document))
    };
    let made = import("copy", "admin", &document).unwrap();
    let request = json!({"action": "import_session", "document": parsed});
    let mut same = it.ask("other", "admin", &request).unwrap();
    same["session_id"] = json!("json");
    assert_eq!(forms::session(&made), same);
    let read = |session| call_in!(session, it, store.call_read(AGENT, "scope", None)).unwrap();
    assert_eq!(forms::entry(&read("copy").unwrap()), forms::entry(&read("typed").unwrap()));

    let rejections = [
        ("copy", "admin", document.clone()),
        ("third", AGENT, document.clone()),
        ("third", "admin", document.replace("one", "uno")),
        ("third", "admin", document.replace("session/1", "session/2")),
        ("third", "admin", "{}".to_owned()),
        ("a b", "admin", document.clone()),
    ];
    for (session, who, document) in rejections {
        let typed = rejected(import(session, who, &document));
        let document: Value = serde_json::from_str(&document).unwrap();
        let request = json!({"action": "import_session", "document": document});
        assert_eq!(typed, rejected(it.ask(session, who, &request)), "{session}");
    }
    assert_eq!(rejected(import("third", "admin", "{")).code, "MALFORMED_REQUEST");
}
