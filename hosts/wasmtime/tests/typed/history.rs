//! The interface `history`.

use serde_json::json;
use shared_context_wasmtime::bindings::exports::shared_context::core::store::Condition;

use crate::{
    bench::{Bench, call, rejected},
    forms,
};

const AGENT: &str = "subagent:analysis";

#[test]
fn the_versions_of_a_key_are_the_same() {
    let it = Bench::new();
    for value in ["one", "two"] {
        it.write(AGENT, "scope", value);
    }
    call!(it, store.call_delete("orchestrator", "scope", Condition::default(), None)).unwrap();
    it.json("orchestrator", json!({"action": "delete", "key": "scope"}));
    it.write("orchestrator", "scope", "three");

    for versions in [vec![], vec![1], vec![2, 7]] {
        let typed = call!(it, history.call_read(AGENT, "scope", &versions)).unwrap();
        let request = json!({"action": "read_history", "key": "scope", "versions": versions});
        assert_eq!(forms::kept("scope", &typed), it.json(AGENT, request));
    }
    let all = call!(it, history.call_read(AGENT, "scope", &[])).unwrap().versions;
    let how = |nth: usize| all[nth].ended.as_ref().map(|it| it.how.as_str());
    assert_eq!([how(0), how(1), how(2)], [Some("superseded"), Some("deleted"), None]);
    assert!(all[1].is_deleted && !all[2].is_deleted);

    for key in ["absent", "Absent"] {
        let typed = rejected(call!(it, history.call_read(AGENT, key, &[])));
        assert_eq!(typed, it.json_rejected(AGENT, json!({"action": "read_history", "key": key})));
    }
}
