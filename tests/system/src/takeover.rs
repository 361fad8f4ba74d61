//! Tests takeovers of a section whose owner is gone, from a server that is killed (`SIGKILL`) at
//! the worst moments: during the owner's writes, and right after another agent took over. There is
//! one owner at any time, and it loses no acknowledged write. The late owner gets the name of the
//! new owner. For each host with a [`Killable`] server.

use std::{sync::mpsc, thread};

use serde_json::{Value, json};

use crate::{Answer, Client, Killable, tell};

const SECTION: &str = "/v1/projects/held/outline/3.1";
const TAKE_OVER: &str = "/v1/projects/held/handoffs/take-over";
/// The number of acknowledged writes of the owner before the server is killed.
const WRITES: usize = 20;

/// Runs the test on servers that `start` starts; `host` is the name of the host in messages.
///
/// # Panics
///
/// An acknowledged write is lost, another participant owns the section, or the late owner is not
/// notified.
#[track_caller]
pub fn check<S: Killable>(host: &str, mut start: impl FnMut() -> S) {
    let server = start();
    let admin = server.admin();
    admin.send("PUT", "/v1/projects/held", None).expect(201);
    let orchestrator = admin.create_session("work", &json!({"project": "held"}));
    let [holder, next] = ["subagent:holder", "subagent:next"]
        .map(|it| orchestrator.mint("work", it).credential().to_owned());
    let orchestrator = orchestrator.credential().to_owned();

    // The owner writes until its server is gone.
    let (told, answers) = mpsc::channel();
    let last = thread::scope(|scope| {
        let client = Client::new(admin.url(), &holder);
        let writer = scope.spawn(move || {
            let mut last = 0;
            while let Some(version) = write(&client, last + 1) {
                last = version;
                let _ = told.send(());
            }
            last
        });
        assert_eq!(answers.iter().take(WRITES).count(), WRITES);
        server.kill();
        writer.join().unwrap()
    });

    // It does not come back, and the orchestrator does not wait for it.
    let server = start();
    let url = server.admin().url().to_owned();
    let kept = Client::new(&url, &next).get(SECTION).expect(200);
    let version = kept["sections"][0]["version"].as_u64().unwrap();
    // The write without an answer may be stored.
    assert!((last..=last + 1).contains(&version), "{last} of {kept}");
    let take_over = json!({
        "from_agent": "subagent:holder", "to_agent": "subagent:next", "to_session_id": "work",
        "sections": ["3.1"],
    });
    let taken = Client::new(&url, &orchestrator).post(TAKE_OVER, &take_over).expect(201);
    assert_eq!(taken["handoff"]["state"], "accepted", "{taken}");
    server.kill();

    // It does come back, late.
    let server = start();
    let url = server.admin().url().to_owned();
    let [holder, next] = [holder, next].map(|it| Client::new(&url, &it));
    let late = |code: &str| {
        let refused = put(&holder, "Late.").refused(409, code);
        assert!(refused.contains("subagent:next"), "{refused}");
    };
    late("LEASE_EXPIRED");
    late("NOT_OWNER");
    let written = put(&next, "It goes on.").expect(200);
    assert_eq!(written["version"], version + 1, "{written}");
    let kept = next.get(SECTION).expect(200);
    assert_eq!(kept["sections"][0]["content"], "It goes on.", "{kept}");
    tell(&format!(
        "kill -9 of {host}, an owner that is gone: {last} writes acknowledged, {version} kept; \
         taken over, and refused late as LEASE_EXPIRED and NOT_OWNER"
    ));
}

fn put(client: &Client, content: &str) -> Answer {
    let body = json!({"title": "Payment", "content": content});
    client.send("PUT", SECTION, Some(&body))
}

/// Writes the section; returns its version, or `None` if nothing is known of it.
fn write(client: &Client, version: u64) -> Option<u64> {
    let body = json!({"title": "Payment", "content": format!("Version {version}.")});
    let json = [("content-type", "application/json")];
    let body = body.to_string();
    let answer = client.try_send("PUT", SECTION, &json, Some(body.as_bytes())).ok()?;
    let is_written = answer.status == 200 || answer.status == 201;
    is_written.then(|| answer.json()).and_then(|it: Value| it["version"].as_u64())
}
