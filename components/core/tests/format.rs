//! The stored form: every format that was ever released still opens, and the
//! same changes give the same bytes.
//!
//! `golden/format-1.txt` holds the rows of one session, a row a line: its name
//! and its bytes in hexadecimal. A new format gets a new file; an old file never
//! changes. `SHARED_CONTEXT_BLESS=1` writes the file of a format that has none.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::{env, fmt::Write as _, fs, path::PathBuf};

use shared_context_core::{
    Caller, Command, Condition, Config, Delete, Key, Outcome, Reply, RequestId, SessionId, Write,
    execute,
    namespace::{Convention, Namespace},
    port::{Bucket, Change, Kv, Revision},
    tokens::Tokens,
};
use support::TestHost;

fn ask(host: &TestHost, who: &str, command: &Command) -> Outcome {
    let session = SessionId::parse("s").unwrap();
    execute(&host, host, host, &session, &Caller::trusted(who).unwrap(), command).unwrap()
}

/// A session that has a row of every kind.
fn scripted() -> TestHost {
    let host = TestHost::default();
    host.now.set(1_771_597_800_000);
    let convention = Convention {
        key: Key::parse("scope").unwrap(),
        group: "Problem".to_owned(),
        purpose: "boundaries".to_owned(),
        shape: Some("one sentence".to_owned()),
        recommended_tokens: Some(Tokens(50)),
    };
    let namespace = Some(Namespace { keys: vec![convention] });
    let config = Config { namespace, ..Config::default() };
    ask(&host, "admin", &Command::CreateSession(Box::new(config)));
    let request_id = |text| Some(RequestId::parse(text).unwrap());
    let write = Write { request_id: request_id("r1"), ..Write::new("scope", "é").unwrap() };
    ask(&host, "subagent:analysis:3", &Command::Write(write));
    let write = Write { request_id: request_id("r2"), ..Write::new("draft", "x").unwrap() };
    ask(&host, "orchestrator", &Command::Write(write));
    let key = Key::parse("draft").unwrap();
    let delete = Delete { key, condition: Condition::default(), request_id: request_id("r3") };
    ask(&host, "orchestrator", &Command::Delete(delete));
    ask(&host, "admin", &Command::RevokeCredentials);
    host
}

fn dump(host: &TestHost) -> String {
    let rows = host.kv.open("session/s").unwrap().scan("", None, u32::MAX).unwrap();
    rows.iter().fold(String::new(), |mut text, (row, bytes)| {
        write!(text, "{row} ").unwrap();
        for byte in bytes {
            write!(text, "{byte:02x}").unwrap();
        }
        text + "\n"
    })
}

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1.txt")
}

#[test]
fn the_same_changes_give_the_same_bytes() {
    let fresh = dump(&scripted());
    if env::var_os("SHARED_CONTEXT_BLESS").is_some() && !golden().exists() {
        fs::write(golden(), &fresh).unwrap();
    }
    assert_eq!(fresh, fs::read_to_string(golden()).unwrap());
}

#[test]
fn format_1_still_opens() {
    let host = TestHost::default();
    let text = fs::read_to_string(golden()).unwrap();
    let rows = text.lines().map(|line| {
        let (row, hex) = line.split_once(' ').unwrap();
        let bytes = hex.as_bytes().chunks(2);
        let bytes = bytes.map(|it| u8::from_str_radix(str::from_utf8(it).unwrap(), 16).unwrap());
        Change::Put(row.to_owned(), bytes.collect())
    });
    let mut bucket = host.kv.open("session/s").unwrap();
    bucket.commit(bucket.revision(), rows.collect()).unwrap();

    let Reply::Session(info) = ask(&host, "admin", &Command::ShowSession).reply else { panic!() };
    assert_eq!((info.key_count, info.total_tokens.0, info.credential_epoch), (1, 1, 1));
    assert_eq!(info.created_at.0, 1_771_597_800_000);
    assert!(info.config.namespace.is_some_and(|it| it.has(&Key::parse("scope").unwrap())));
    let read = ask(&host, "admin", &Command::Read(Key::parse("scope").unwrap()));
    let Reply::Entry { entry, value } = read.reply else { panic!() };
    assert_eq!((value.as_str(), entry.written_by.as_str()), ("é", "subagent:analysis:3"));
    let audit = Command::Audit { since: Revision::default(), limit: 10 };
    let Reply::Audit(page) = ask(&host, "admin", &audit).reply else { panic!() };
    let actions: Vec<&str> = page.records.iter().map(|it| it.action.as_str()).collect();
    assert_eq!(actions, ["create_session", "write", "write", "delete", "revoke_credentials"]);
}
