//! Agents on one data folder whose servers come and go: the first agent starts the server for the
//! others, and none of them notices when it ends.

#![expect(clippy::indexing_slicing, reason = "a test")]

use std::path::Path;

use serde_json::{Value, json};
use shared_context_system::{
    Agent, Server,
    agent::{MODERN, said},
};
use tempfile::tempdir;

const LEGACY: &str = "2025-11-25";
const UPDATED: &str = "notifications/resources/updated";
const STARTED: &str = "started a server";

fn has_started(agent: &Agent) -> bool {
    agent.err().contains(STARTED)
}

/// Returns an agent whose server the others use.
#[track_caller]
fn serving(folder: &Path, version: &str) -> Agent {
    let agent = Agent::spawn(folder, version, &["s"], &[]);
    agent.wait_until_said("orchestrator of s, at");
    assert!(has_started(&agent), "{}", agent.err());
    agent.ready()
}

/// A desktop starts all its agents in the same moment.
#[test]
fn of_agents_that_start_at_once_one_serves_the_others() {
    for round in 0..5 {
        let folder = tempdir().unwrap();
        let mut agents: Vec<_> =
            (0..4).map(|_| Agent::spawn(folder.path(), MODERN, &["s"], &[])).collect();
        let ids: Vec<_> = agents
            .iter_mut()
            .enumerate()
            .map(|(nth, agent)| {
                let key = format!("key_{nth}");
                agent.send_call("context_write", &json!({"key": key, "value": "x"}))
            })
            .collect();
        for (agent, id) in agents.iter_mut().zip(ids) {
            assert_eq!(said(&agent.answer(id))["version"], 1, "round {round}");
        }
        for agent in &mut agents {
            assert_eq!(agent.keys().len(), 4, "round {round}");
        }
        for agent in &agents {
            agent.wait_until_said("orchestrator of s, at");
        }
        let started = agents.iter().filter(|it| has_started(it)).count();
        assert_eq!(started, 1, "round {round}");
        let created = agents.iter().filter(|it| it.err().contains("created the session")).count();
        assert_eq!(created, 1, "round {round}");
        // In whatever order they end.
        if round % 2 == 0 {
            agents.reverse();
        }
        for agent in agents {
            let end = agent.close();
            assert_eq!(end.code, 0, "round {round}: {}", end.err);
        }
        assert!(!folder.path().join("shared-context.db-wal").exists(), "round {round}");
    }
}

#[test]
fn an_agent_whose_server_was_killed_goes_on() {
    for version in [MODERN, LEGACY] {
        let folder = tempdir().unwrap();
        let mut first = serving(folder.path(), version);
        let mut second = Agent::start(folder.path(), version, &["s", "--as", "subagent:a"]);
        first.write_entry("of_first", "x");
        second.write_entry("of_second", "x");
        assert!(!has_started(&second));
        first.kill();
        assert_eq!(second.write_entry("of_second", "y")["version"], 2);
        second.wait_until_said(STARTED);
        assert_eq!(second.keys(), ["of_first", "of_second"]);
        // And a third finds the second.
        let mut third = Agent::start(folder.path(), version, &["s"]);
        assert_eq!(third.read_entry("of_second"), "y");
        assert!(!has_started(&third));
    }
}

/// The server is killed in the middle of a hundred writes. Each gets an answer: done, not done, or
/// unknown. Every write that was reported as done is stored.
#[test]
fn a_kill_during_writes_loses_no_acknowledged_write() {
    for round in 0..4_usize {
        let folder = tempdir().unwrap();
        let first = serving(folder.path(), MODERN);
        let mut second = Agent::start(folder.path(), MODERN, &["s"]);
        let ids: Vec<_> = (0..100)
            .map(|nth| {
                let key = format!("key_{nth}");
                second.send_call("context_write", &json!({"key": key, "value": "x"}))
            })
            .collect();
        let (before, after) = ids.split_at(10 + round * 20);
        let mut answers: Vec<_> = before.iter().map(|id| second.answer(*id)).collect();
        first.kill();
        answers.extend(after.iter().map(|id| second.answer(*id)));
        let stored = second.keys();
        let mut unknown = 0;
        for (nth, answer) in answers.iter().enumerate() {
            let key = format!("key_{nth}");
            let result = &answer["result"];
            if result["isError"] == true {
                let error = &result["structuredContent"]["error"];
                assert_eq!(error["code"], "OUTCOME_UNKNOWN", "{answer}");
                unknown += 1;
            } else {
                assert_eq!(said(answer)["version"], 1, "{answer}");
                assert!(stored.contains(&key), "{key} was acknowledged and is not there");
            }
        }
        assert!(unknown <= 1, "one was under way at a time, {unknown} are in doubt");
    }
}

fn listen(agent: &mut Agent) {
    let filter = json!({"resourceSubscriptions": ["session://s/entries/scope"]});
    agent.send("subscriptions/listen", json!({"notifications": filter}));
    agent.wait_for("notifications/subscriptions/acknowledged");
}

fn subscribe(agent: &mut Agent) {
    let answer = agent.ask("resources/subscribe", json!({"uri": "session://s/entries/scope"}));
    assert!(answer["result"].is_object(), "{answer}");
}

/// The one that served ends in good order, or is killed; the others listen.
#[track_caller]
fn check_listening(folder: &Path, is_killed: bool) {
    let updated = format!("{UPDATED} session://s/entries/scope");
    let first = serving(folder, MODERN);
    let mut writer = Agent::start(folder, MODERN, &["s"]);
    let mut modern = Agent::start(folder, MODERN, &["s", "--as", "subagent:a"]);
    let mut legacy = Agent::start(folder, LEGACY, &["s", "--as", "subagent:b"]);
    listen(&mut modern);
    subscribe(&mut legacy);
    writer.write_entry("scope", "one");
    assert_eq!(modern.notification(), updated);
    legacy.wait_for(&updated);
    if is_killed {
        first.kill();
    } else {
        assert_eq!(first.close().code, 0);
    }
    // Writes are impossible until a server runs again, so no change is missed.
    writer.write_entry("scope", "two");
    assert_eq!(modern.notification(), updated);
    legacy.wait_for(&updated);
    writer.wait_until_said(STARTED);
    assert!(!has_started(&modern) && !has_started(&legacy), "a listener has taken the folder");
    assert_eq!(legacy.read_entry("scope"), "two");
    assert_eq!(modern.read_entry("scope"), "two");
    // There is one acknowledgement and no end.
    let rest = modern.rest();
    assert!(rest.iter().all(|it| it["method"] == UPDATED), "{rest:?}");
    writer.write_entry("scope", "three");
    modern.wait_for(&updated);
    legacy.wait_for(&updated);
}

#[test]
fn who_listens_goes_on_listening_when_the_server_ends() {
    check_listening(tempdir().unwrap().path(), false);
}

#[test]
fn who_listens_goes_on_listening_when_the_server_is_killed() {
    check_listening(tempdir().unwrap().path(), true);
}

/// An operator restarts the server, which then is at another port. The agents find
/// it, and none of them takes its folder away.
#[test]
fn a_server_that_is_restarted_is_found_again() {
    let folder = tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let mut modern = Agent::start(folder.path(), MODERN, &["s"]);
    let mut legacy = Agent::start(folder.path(), LEGACY, &["s"]);
    listen(&mut modern);
    subscribe(&mut legacy);
    for round in 0..6_u64 {
        if round % 2 == 0 {
            server.stop();
        } else {
            server.kill();
        }
        server = Server::start(folder.path());
        assert_eq!(modern.write_entry("scope", "x")["version"], round * 2 + 1);
        assert_eq!(legacy.write_entry("scope", "x")["version"], round * 2 + 2);
        let updated = format!("{UPDATED} session://s/entries/scope");
        modern.wait_for(&updated);
        legacy.wait_for(&updated);
    }
    for agent in [modern, legacy] {
        let end = agent.close();
        assert_eq!(end.code, 0, "{}", end.err);
        assert!(!end.err.contains(STARTED), "{}", end.err);
    }
}

/// With a named server, the client waits for that one and takes no other.
#[test]
fn a_server_that_was_named_is_waited_for() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path());
    let (url, address) = (server.url().to_owned(), server.address().to_owned());
    let mut agent = Agent::start(folder.path(), MODERN, &["s", "--url", &url]);
    agent.write_entry("scope", "x");
    server.stop();
    let refused = agent.ask("tools/list", json!({}));
    assert_eq!(refused["error"]["data"]["error"]["code"], "SERVER_UNREACHABLE", "{refused}");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains(&url) && text.contains("nothing listens"), "{text}");
    let _server = shared_context_system::Setup::new(folder.path()).listen(&address).start();
    assert_eq!(agent.read_entry("scope"), "x");
    assert!(!has_started(&agent));
}

/// A server that was killed leaves an address behind, where by now another program
/// may listen: it must not see a credential.
#[test]
fn what_another_program_left_at_an_old_address_is_not_talked_to() {
    let folder = tempdir().unwrap();
    serving(folder.path(), MODERN).kill();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", other.local_addr().unwrap());
    let stale: Value = json!({"url": url, "pid": 1});
    std::fs::write(folder.path().join("server.json"), stale.to_string()).unwrap();
    other.set_nonblocking(true).unwrap();
    let mut agent = Agent::start(folder.path(), MODERN, &["s"]);
    agent.write_entry("scope", "x");
    agent.wait_until_said(STARTED);
    assert!(other.accept().is_err(), "somebody called");
}
