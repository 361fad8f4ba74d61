//! `shared-context mcp` as a desktop agent uses it, in every version it may speak.
//! How it gets on when servers come and go is in `mcp_servers.rs`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: whatever is not as it should be fails it"
)]

use serde_json::{Value, json};
use shared_context_system::{
    Agent, Server, Setup,
    agent::{MODERN, said},
    terminal::{check_refused, run},
};
use tempfile::tempdir;

const VERSIONS: [&str; 3] = [MODERN, "2025-11-25", "2025-06-18"];
const UPDATED: &str = "notifications/resources/updated";

/// spec 10, on a data folder that does not exist before.
#[track_caller]
fn check_cycle(version: &str) {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    let mut orchestrator = Agent::start(&data, version, &["ticket-7"]);
    let scope = "Identify which config parameter caused degradation. Do not modify production.";
    for (key, value) in [
        ("current_phase", "analysis"),
        ("problem_summary", "Throughput dropped 30% after config change on Feb 18."),
        ("scope", scope),
        ("constraints", "Read-only access to prod. Staging available for experiments."),
    ] {
        assert_eq!(orchestrator.write_entry(key, value)["version"], 1);
    }
    orchestrator.wait_until_said("started a server");
    orchestrator.wait_until_said("created the session");
    // The orchestrator launches a subagent: the host hands on the credential.
    let mut launch = |task: &str| {
        let given = orchestrator.add_subagent(task);
        Agent::holding(&data, version, given["credential"].as_str().unwrap())
    };
    let mut analysis = launch("analysis");
    assert_eq!(analysis.keys(), ["constraints", "current_phase", "problem_summary", "scope"]);
    assert_eq!(analysis.read_entry("scope"), scope);
    let findings = "Connection pool size reduced from 200 to 20.";
    analysis.write_entry("findings_summary", findings);
    let written = analysis.write_entry("open_questions", "Was the change intentional?");
    assert!(written["written_by"].as_str().unwrap().starts_with("subagent:analysis"), "{written}");
    let end = analysis.close();
    assert_eq!(end.code, 0, "{}", end.err);
    assert!(!end.err.contains("started a server"), "{}", end.err);
    assert_eq!(orchestrator.keys().len(), 6);
    assert_eq!(orchestrator.read_entry("open_questions"), "Was the change intentional?");
    orchestrator.write_entry("decisions_made", "Config change was accidental. Revert it.");
    orchestrator.use_tool("context_delete", &json!({"key": "open_questions"}));
    let given = orchestrator.add_subagent("remediation");
    let mut remediation = Agent::holding(&data, version, given["credential"].as_str().unwrap());
    assert!(!remediation.keys().contains(&"open_questions".to_owned()));
    assert_eq!(remediation.read_entry("findings_summary"), findings);
    assert!(remediation.read_entry("decisions_made").contains("accidental"));
    // The agent reads a rejection by the rules and can act on it.
    let read = json!({"name": "context_delete", "arguments": {"key": "none"}});
    let refused = remediation.ask("tools/call", read);
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(refused["result"]["structuredContent"]["error"]["code"], "KEY_NOT_FOUND");
    // A person looks, too.
    let path = data.to_str().unwrap();
    let shown = run(folder.path(), &[], &["session", "show", "ticket-7", "--data", path], "");
    assert_eq!(shown.code, 0, "{}", shown.err);
    drop(remediation);
    assert_eq!(orchestrator.close().code, 0);
    assert!(!data.join("server.json").exists(), "it says that it still answers");
    assert!(!data.join("shared-context.db-wal").exists(), "the database was not closed");
}

#[test]
fn the_specification_s_cycle_in_the_stateless_version() {
    check_cycle(MODERN);
}

#[test]
fn the_specification_s_cycle_in_the_versions_with_a_handshake() {
    check_cycle("2025-11-25");
    check_cycle("2025-06-18");
}

#[test]
fn everything_else_an_agent_may_ask_for_is_there() {
    let folder = tempdir().unwrap();
    for version in VERSIONS {
        let mut agent = Agent::start(folder.path(), version, &["s"]);
        agent.write_entry("scope", "here");
        let mut names = |method: &str, list: &str, name: &str| -> Vec<String> {
            let answer = agent.ask(method, json!({}));
            let list = answer["result"][list].as_array().unwrap_or_else(|| panic!("{answer}"));
            list.iter().map(|it| it[name].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            names("tools/list", "tools", "name"),
            [
                "context_list",
                "context_read",
                "context_changes",
                "context_write",
                "context_delete",
                "context_session"
            ]
        );
        assert_eq!(names("prompts/list", "prompts", "name"), ["shared_context"]);
        let uris = names("resources/list", "resources", "uri");
        assert!(uris.contains(&"session://s/entries/scope".to_owned()), "{uris:?}");
        let prompt = agent.ask("prompts/get", json!({"name": "shared_context"}));
        assert!(prompt["result"]["messages"][0].is_object(), "{prompt}");
        let missing = agent.ask("no/such", json!({}));
        assert_eq!(missing["error"]["code"], -32601, "{missing}");
    }
}

/// Rounds are listed where the connection asks for them, and an agent can wait for another.
#[test]
fn an_agent_asks_for_rounds_and_waits_for_others() {
    let folder = tempdir().unwrap();
    let data = folder.path();
    let mut orchestrator = Agent::start(data, MODERN, &["s", "--tools", "delta_rounds"]);
    let listed = orchestrator.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 9, "{listed}");
    let since = orchestrator.write_entry("scope", "here")["revision"].clone();
    let mut agent = Agent::start(data, MODERN, &["s", "--as", "subagent:review"]);
    let wait = json!({"since": since, "wait_seconds": 60, "except_own": true});
    let waiting = agent.send_call("context_changes", &wait);
    orchestrator.use_tool("delta_rounds_manage", &json!({"action": "open_round"}));
    let answer = agent.answer(waiting);
    assert_eq!(said(&answer)["changes"][0]["action"], "open_round", "{answer}");
    let refused = run(data, &[], &["mcp", "s", "--tools", "billing"], "");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("there are shared_context, delta_rounds"), "{}", refused.err);
}

/// Values that HTTP's headers cannot hold as they are.
#[test]
fn names_of_any_characters_reach_the_server() {
    let folder = tempdir().unwrap();
    let mut agent = Agent::start(folder.path(), MODERN, &["s"]);
    agent.write_entry("scope", "Größe: 5 µm");
    let read = agent.ask("resources/read", json!({"uri": "session://s/entries/scope"}));
    assert_eq!(read["result"]["contents"][0]["text"], "Größe: 5 µm", "{read}");
    for uri in ["session://s/entries/grö ße", " session://s/keys", "=?base64?literal?="] {
        let read = agent.ask("resources/read", json!({"uri": uri}));
        // Not -32020, which would say that header and body differ.
        assert_eq!(read["error"]["code"], -32602, "{uri}: {read}");
    }
    let arguments = json!({"session": "größer"});
    let refused = agent.ask("tools/call", json!({"name": "context_list", "arguments": arguments}));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}

/// Returns what comes for a subscription, by its number.
fn of(line: &Value) -> (Option<u64>, &str) {
    let id = line["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64();
    (id, line["method"].as_str().unwrap_or_default())
}

#[test]
fn an_agent_listens_until_it_has_enough() {
    let folder = tempdir().unwrap();
    let mut writer = Agent::start(folder.path(), MODERN, &["s"]);
    let mut agent = Agent::start(folder.path(), MODERN, &["s", "--as", "subagent:review"]);
    let uri = "session://s/entries/scope";
    let params = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let acknowledged = "notifications/subscriptions/acknowledged";
    let one = agent.send("subscriptions/listen", params.clone());
    assert_eq!(of(&agent.line()), (Some(one), acknowledged));
    let other = agent.send("subscriptions/listen", params);
    assert_eq!(of(&agent.line()), (Some(other), acknowledged));
    writer.write_entry("scope", "first");
    writer.write_entry("findings", "not subscribed to");
    let both = [agent.line(), agent.line()];
    assert!(both.iter().all(|it| it["params"]["uri"] == uri), "{both:?}");
    let mut told: Vec<_> = both.iter().map(of).collect();
    told.sort_unstable();
    assert_eq!(told, [(Some(one), UPDATED), (Some(other), UPDATED)]);
    let cancelled = json!({"requestId": one, "reason": "enough"});
    let method = "notifications/cancelled";
    agent.say(&json!({"jsonrpc": "2.0", "method": method, "params": cancelled}));
    // Cancelling what is not there does nothing.
    for id in [json!(99), json!("x"), json!(null)] {
        let params = json!({"requestId": id});
        agent.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }
    assert_eq!(agent.read_entry("scope"), "first");
    writer.write_entry("scope", "second");
    assert_eq!(of(&agent.line()), (Some(other), UPDATED));
    writer.write_entry("scope", "third");
    assert_eq!(of(&agent.line()), (Some(other), UPDATED));
    assert_eq!(agent.read_entry("scope"), "third");
    assert_eq!(agent.rest(), [] as [Value; 0]);
    assert_eq!(agent.close().code, 0);
}

#[test]
fn an_agent_that_listens_too_often_is_told() {
    let folder = tempdir().unwrap();
    let mut agent = Agent::start(folder.path(), MODERN, &["s"]);
    let filter = json!({"notifications": {"resourcesListChanged": true}});
    let ids: Vec<_> = (0..33).map(|_| agent.send("subscriptions/listen", filter.clone())).collect();
    let refused = agent.answer(*ids.last().unwrap());
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("32 subscriptions are open; cancel one"), "{text}");
    for expected in
        ["notifications/subscriptions/acknowledged", "notifications/resources/list_changed"]
    {
        for _ in 0..32 {
            assert_eq!(agent.notification(), expected);
        }
        agent.write_entry(&format!("key_{}", expected.len()), "x");
    }
}

#[test]
fn an_agent_of_an_older_version_subscribes() {
    let folder = tempdir().unwrap();
    let mut writer = Agent::start(folder.path(), MODERN, &["s"]);
    for version in &VERSIONS[1..] {
        let mut agent = Agent::start(folder.path(), version, &["s", "--as", "subagent:review"]);
        let params = json!({"uri": "session://s/entries/scope"});
        let subscribed = agent.ask("resources/subscribe", params.clone());
        assert!(subscribed["result"].is_object(), "{subscribed}");
        writer.write_entry("scope", version);
        agent.wait_for(&format!("{UPDATED} session://s/entries/scope"));
        assert_eq!(agent.read_entry("scope"), *version);
        agent.ask("resources/unsubscribe", params);
        writer.write_entry("scope", "again");
        writer.write_entry(&format!("new_{}", version.len()), "x");
        writer.use_tool("context_delete", &json!({"key": format!("new_{}", version.len())}));
        // The list is everybody's to hear of.
        let before = agent.wait_for("notifications/resources/list_changed");
        assert!(before.iter().all(|it| !it.starts_with(UPDATED)), "{before:?}");
        assert_eq!(agent.close().code, 0);
    }
}

/// Each is answered where that can be done, and none is the end.
#[test]
fn bad_lines_are_answered_and_nothing_else_happens() {
    let folder = tempdir().unwrap();
    let mut agent = Agent::start(folder.path(), MODERN, &["s"]);
    for (line, code) in [
        ("nonsense", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1", -32700),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"a\u{0}b\"}", -32700),
        ("[]", -32600),
        ("7", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}", -32600),
    ] {
        agent.write(line);
        let answer = agent.line();
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&code.into(), None), "{line}");
    }
    agent.write(b"\xff\xfe");
    assert_eq!(agent.line()["error"]["code"], -32700);
    let long = format!("{{\"value\":\"{}\",\"id\":77}}", "x".repeat(5 << 20));
    agent.write(long);
    let answer = agent.line();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&(-32600).into(), &77.into()));
    // What the bridge takes and the server does not.
    let arguments = json!({"key": "k", "value": "x".repeat(1 << 19)});
    let id = agent.send_call("context_write", &arguments);
    let answer = agent.answer(id);
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    for line in ["", "   ", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"] {
        agent.write(line);
    }
    agent.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}");
    assert_eq!(agent.keys(), [] as [&str; 0]);
    assert_eq!(agent.rest(), [] as [Value; 0]);
    let end = agent.close();
    assert_eq!((end.code, &*end.out), (0, ""), "{}", end.err);
    assert!(!end.err.contains("panicked"), "{}", end.err);
}

#[test]
fn concurrent_requests_are_all_answered_and_calls_stay_in_order() {
    let folder = tempdir().unwrap();
    let mut agent = Agent::start(folder.path(), MODERN, &["s"]);
    let mut ids = Vec::new();
    for nth in 0..100 {
        let arguments = json!({"key": "counter", "value": nth.to_string()});
        ids.push(agent.send_call("context_write", &arguments));
        ids.push(agent.send("resources/read", json!({"uri": "session://s/keys"})));
    }
    for (nth, id) in ids.into_iter().enumerate() {
        let answer = agent.answer(id);
        match nth % 2 {
            0 => assert_eq!(said(&answer)["version"], nth / 2 + 1),
            _ => assert!(answer["result"]["contents"].is_array(), "{answer}"),
        }
    }
    assert_eq!(agent.read_entry("counter"), "99");
}

/// A client that closes its end has heard enough; but what it asked before is done
/// and answered.
#[test]
fn it_ends_with_its_input() {
    let folder = tempdir().unwrap();
    let data = folder.path();
    for _ in 0..2 {
        let end = Agent::spawn(data, MODERN, &["s"], &[]).close();
        assert_eq!((end.code, &*end.out), (0, ""), "{}", end.err);
        assert!(!data.join("server.json").exists());
    }
    let mut agent = Agent::spawn(data, MODERN, &["s"], &[]);
    agent.send("subscriptions/listen", json!({"notifications": {"resourcesListChanged": true}}));
    let id = agent.send_call("context_write", &json!({"key": "last", "value": "x"}));
    let end = agent.close();
    assert_eq!(end.code, 0, "{}", end.err);
    let lines = end.out.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
    let answers: Vec<_> = lines.filter(|it| it["id"] == id).collect();
    assert_eq!(answers.iter().map(|it| said(it)["version"].clone()).collect::<Vec<_>>(), [1]);
    // A program whose output is not read any more also ends.
    let mut agent = Agent::spawn_deaf(data, MODERN, &["s"]);
    agent.send("tools/list", json!({}));
    let end = agent.ended();
    assert_eq!(end.code, 0, "{}", end.err);
}

/// Requests that were piped in waited for the limit of their rate, and were dropped after some
/// seconds, without a word and with the exit code 0.
#[test]
fn all_that_was_piped_in_is_answered() {
    let folder = tempdir().unwrap();
    let server = Setup::new(folder.path()).arguments(&["--rate", "5"]).start();
    let mut agent = Agent::spawn(folder.path(), MODERN, &["s"], &[]);
    for nth in 0..30 {
        agent.send_call("context_write", &json!({"key": "counter", "value": nth.to_string()}));
    }
    let end = agent.close();
    assert_eq!((end.code, end.out.lines().count()), (0, 30), "{}", end.err);
    assert_eq!(server.admin().read("s", "counter").expect(200)["version"], 30);
}

#[test]
fn it_ends_when_it_is_told_to() {
    let folder = tempdir().unwrap();
    let mut agent = Agent::start(folder.path(), MODERN, &["s"]);
    let filter = json!({"notifications": {"resourcesListChanged": true}});
    let id = agent.send("subscriptions/listen", filter);
    agent.notification();
    agent.write_entry("scope", "kept");
    agent.ask_to_stop();
    let end = agent.ended();
    assert_eq!(end.code, 0, "{}", end.err);
    let last: Value = serde_json::from_str(end.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&id.into(), &"complete".into()));
    assert!(!folder.path().join("server.json").exists(), "it says that it still answers");
    assert!(!folder.path().join("shared-context.db-wal").exists(), "it was not closed");
    assert_eq!(Agent::start(folder.path(), MODERN, &["s"]).read_entry("scope"), "kept");
}

/// A client that hangs: it does not read, and its end of the pipe is full.
#[test]
fn it_ends_when_it_is_told_to_though_nobody_reads() {
    let folder = tempdir().unwrap();
    let mut agent = Agent::spawn_stalled(folder.path(), MODERN, &["s"]);
    for _ in 0..100 {
        agent.send("tools/list", json!({}));
    }
    agent.wait_until_said("orchestrator of s");
    agent.ask_to_stop();
    let end = agent.ended();
    assert_eq!(end.code, 0, "{}", end.err);
}

/// The reason is on standard error; standard output stays empty.
#[test]
fn who_cannot_be_served_is_told_why() {
    let folder = tempdir().unwrap();
    let data = folder.path();
    let check = |arguments: &[&str], token: Option<&str>, exit: i32, parts: &[&str]| {
        let token = token.map(|it| ("SHARED_CONTEXT_TOKEN", it));
        let agent = Agent::spawn(data, MODERN, arguments, token.as_slice());
        check_refused(agent.ended(), exit, parts);
    };
    check(&[], None, 2, &["no session is named", "mcp notes"]);
    check(&["s", "--as", "nobody"], None, 1, &["subagent:"]);
    check(&["not a session"], None, 1, &["session"]);
    check(&["s", "--url", "http://127.0.0.1:1"], None, 3, &["nothing listens", "serve"]);
    check(&["s", "--json", "--url", "http://127.0.0.1:1"], None, 3, &["nothing listens"]);
    let server = Server::start(data);
    let admin = server.admin();
    let [a, b] = ["a", "b"].map(|it| admin.create_session(it, &json!({})));
    check(&["b"], Some(a.credential()), 1, &["session"]);
    check(&["a"], Some("nonsense"), 1, &["credential"]);
    let mut agent = Agent::holding(data, MODERN, b.credential());
    agent.write_entry("scope", "of b");
    assert_eq!(b.read("b", "scope").expect(200)["value"], "of b");
    // A credential that was void from the start, and one that becomes so.
    let mut stranger = Agent::holding(data, MODERN, "nonsense");
    let refused = stranger.ask("tools/list", json!({}));
    assert_eq!(refused["error"]["data"]["error"]["code"], "UNAUTHENTICATED", "{refused}");
    admin.post("/v1/sessions/b/revoke", &json!({})).expect(200);
    let id = agent.send_call("context_list", &json!({}));
    let refused = agent.answer(id);
    assert_eq!(refused["error"]["data"]["error"]["code"], "UNAUTHENTICATED", "{refused}");
}

/// The agent once got another credential and did not notice: revoking the credentials of a session
/// stopped everyone but the agents of this machine, and after the session was created anew, an agent
/// with the knowledge of the old one went on in it.
#[test]
fn an_agent_whose_credentials_are_revoked_is_stopped() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path());
    for (nth, version) in VERSIONS.into_iter().enumerate() {
        let session = &format!("s{nth}");
        let path = format!("/v1/sessions/{session}");
        let refused = |agent: &mut Agent| {
            let id = agent.send_call("context_write", &json!({"key": "scope", "value": "after"}));
            let answer = agent.answer(id);
            assert_eq!(answer["error"]["data"]["error"]["code"], "UNAUTHENTICATED", "{answer}");
        };
        let mut agent = Agent::start(folder.path(), version, &[session]);
        agent.write_entry("scope", "before");
        server.admin().post(&format!("{path}/revoke"), &json!({})).expect(200);
        refused(&mut agent);
        agent.wait_until_said("were revoked, or it was created anew");
        refused(&mut agent);
        assert_eq!(agent.close().code, 0);
        // Started again it goes on, until its session is another one of this name.
        let mut agent = Agent::start(folder.path(), version, &[session]);
        assert_eq!(agent.read_entry("scope"), "before");
        server.admin().send("DELETE", &path, None).expect(200);
        drop(server.admin().create_session(session, &json!({})));
        refused(&mut agent);
        assert_eq!(agent.close().code, 0);
        server.admin().read(session, "scope").refused(404, "KEY_NOT_FOUND");
    }
    assert!(server.log().lines().all(|it| !it.contains("ERROR")), "{}", server.log());
}
