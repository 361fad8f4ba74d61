//! Memories over MCP: the tools of the session's project.

use serde_json::{Value, json};

use crate::bench::{ADMIN_KEY, Bench};

/// Creates a server with the session `s` of the project `webshop`, and credentials that were minted
/// once the project was there.
fn with_project() -> Bench {
    let config = r#"{"tools":["memories"],"project":"webshop"}"#;
    let mut bench = Bench::configured(|options| options, config);
    bench.check_as(ADMIN_KEY, "PUT /v1/projects/webshop", &[], "", 201, "");
    bench.orchestrator = minted(&bench, ADMIN_KEY, json!({"participant": "orchestrator"}));
    bench.agent = minted(&bench, ADMIN_KEY, json!({"participant": "subagent:analysis"}));
    bench
}

/// Mints a credential of the session `s`.
#[track_caller]
fn minted(bench: &Bench, who: &str, invitation: Value) -> String {
    let (target, body) = ("POST /v1/sessions/s/credentials", invitation.to_string());
    let seen = bench.check_as(who, target, &[], &body, 201, "");
    seen.json()["credential"].as_str().unwrap().to_owned()
}

/// Calls a tool and returns its reply, with the text that a model sees.
#[track_caller]
fn call(bench: &Bench, token: &str, name: &str, arguments: Value) -> (Value, String) {
    let result = bench.call(token, name, arguments);
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (result["structuredContent"].clone(), text)
}

/// Returns the code of the error of a call.
#[track_caller]
fn code(bench: &Bench, token: &str, name: &str, arguments: Value) -> Value {
    let result = bench.call(token, name, arguments);
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"]["error"]["code"].clone()
}

fn add(title: &str, text: &str) -> Value {
    json!({"action": "add_memories", "memories": [
        {"memory_type": "decision", "title": title, "content": {"decision": text}, "importance": 9},
    ]})
}

/// The names of the tools that are listed.
fn listed(bench: &Bench, token: &str) -> Vec<String> {
    let tools = bench.modern_result(token, "tools/list", json!({}));
    let names = tools["tools"].as_array().unwrap().iter();
    names.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_agent_begins_with_what_is_known_and_adds_to_it() {
    let bench = with_project();
    let lead = |name: &str, arguments| call(&bench, &bench.orchestrator, name, arguments);
    let agent = |arguments| call(&bench, &bench.agent, "memories", arguments);
    let (added, text) = lead("memories", add("Sign with RS256", "Tokens are signed with RS256."));
    assert_eq!(text, "added DEC-2026-02-20-001");
    let id = added["memories"][0]["memory_id"].clone();

    let (told, text) = agent(json!({"action": "rehydrate", "task": "Add logout"}));
    assert_eq!(told["text"], text, "a model reads the text itself");
    assert!(text.contains("```\nDecision: Tokens are signed with RS256.\n```"), "{text}");
    let (_, text) = agent(json!({"action": "search_memories", "query": "RS256"}));
    assert!(text.starts_with("1 of 1 memories; read_memories has their content\n```\n"), "{text}");
    assert!(text.contains("DEC-2026-02-20-001 decision 9/10, "), "{text}");
    let (_, text) = agent(json!({"action": "search_memories", "query": "absent"}));
    assert_eq!(text, "no memory has these words; try others, or fewer filters");
    let (read, _) = agent(json!({"action": "read_memories", "ids": [id]}));
    assert_eq!(read["memories"][0]["session_id"], "s");
    let (_, text) = agent(add("Keep logs", "Logs are kept for a year."));
    assert!(text.contains("added DEC-2026-02-20-002\n  UNVERIFIED: "), "{text}");

    let mark =
        json!({"action": "mark_memories", "ids": ["DEC-2026-02-20-002"], "mark": "verified"});
    assert_eq!(code(&bench, &bench.agent, "memories_manage", mark.clone()), "FORBIDDEN");
    lead("memories_manage", mark);
    let by = json!({"action": "supersede_memory", "id": id, "by": "DEC-2026-02-20-002"});
    lead("memories_manage", by);
    let (_, text) = agent(json!({"action": "rehydrate"}));
    assert!(text.contains("Keep logs") && !text.contains("RS256"), "{text}");
}

#[test]
fn memories_are_listed_to_whom_the_project_is_open() {
    let bench = with_project();
    assert!(listed(&bench, &bench.agent).contains(&"memories".to_owned()));
    assert!(listed(&bench, &bench.orchestrator).contains(&"memories_manage".to_owned()));
    // What a subagent gets from its orchestrator is for the project, too.
    let minted_by_lead = minted(&bench, &bench.orchestrator, json!({"participant": "subagent:a"}));
    call(&bench, &minted_by_lead, "memories", json!({"action": "rehydrate"}));
    let limited = json!({"participant": "subagent:b", "keys": ["inv_*"]});
    let limited = minted(&bench, &bench.orchestrator, limited);
    assert!(!listed(&bench, &limited).contains(&"memories".to_owned()));
    let search = || json!({"action": "search_memories"});
    assert_eq!(code(&bench, &limited, "memories", search()), "FORBIDDEN");
    let without = Bench::configured(|options| options, r#"{"tools":["memories"]}"#);
    assert!(!listed(&without, &without.agent).contains(&"memories".to_owned()));
}

/// A project did not know that a session had revoked its credentials, so that a stolen one could read
/// and add memories for up to 30 days.
#[test]
fn a_revoked_credential_opens_no_project() {
    let bench = with_project();
    let stolen = bench.agent.clone();
    bench.check_as(&stolen, "GET /v1/projects/webshop", &[], "", 200, "");
    bench.check_as(ADMIN_KEY, "POST /v1/sessions/s/revoke", &[], "", 200, "");
    bench.check_as(&stolen, "GET /v1/projects/webshop", &[], "", 401, "revoked");
    bench.check_as(ADMIN_KEY, "DELETE /v1/sessions/s", &[], "", 200, "");
    bench.check_as(&stolen, "GET /v1/projects/webshop", &[], "", 401, "is gone");
}
