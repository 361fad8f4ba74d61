//! Tests of sessions with exact token counts: with the host's tokenizer, and without it.

use shared_context_core::{
    Caller, Code, Command, Config, Error, Outcome, Reply, Scope, ScopeKind, WriteOptions, execute,
    port::{Ports, Tokenizer},
    store::Limits,
    tokens::{Estimator, Tokens},
};

use crate::{ORCHESTRATOR, a_write, export, key, line, support::TestHost};

/// A tokenizer that counts words or letters.
struct Words;

impl Tokenizer for Words {
    fn encodings(&self) -> Vec<String> {
        vec!["words".to_owned(), "letters".to_owned()]
    }

    fn count(&self, encoding: &str, text: &str) -> Option<u32> {
        match encoding {
            "words" => u32::try_from(text.split_whitespace().count()).ok(),
            "letters" => u32::try_from(text.len()).ok(),
            _ => None,
        }
    }
}

fn ask(host: &TestHost, who: &str, command: &Command) -> Result<Outcome, Error> {
    let ports = Ports { kv: &host, clock: host, log: host, tokenizer: &Words };
    let session = Scope::parse(ScopeKind::Session, "s").unwrap();
    execute(&ports, &session, &Caller::trusted(who).unwrap(), command)
}

fn exact(encoding: &str) -> Command {
    let limits =
        Limits { value_tokens_max: Tokens(3), store_tokens_max: Tokens(30), ..Limits::default() };
    let estimator = Estimator::parse(encoding).unwrap();
    Command::CreateSession(Box::new(Config { limits, estimator, ..Config::default() }))
}

fn session() -> TestHost {
    let host = TestHost::default();
    ask(&host, "admin", &exact("words")).unwrap();
    let write = a_write("x", "one two three", WriteOptions::default());
    ask(&host, ORCHESTRATOR, &write).unwrap();
    host
}

#[test]
fn a_session_uses_its_own_tokenizer() {
    let host = session();
    let Reply::Listing(it) =
        ask(&host, ORCHESTRATOR, &Command::ListKeys { prefix: None, if_changed_since: None })
            .unwrap()
            .reply
    else {
        panic!()
    };
    assert_eq!(it.total_tokens, Tokens(3));
    let result = ask(&host, ORCHESTRATOR, &a_write("x", "a b c d", WriteOptions::default()));
    assert_eq!(result.unwrap_err().code(), Code::ValueTooLarge);
}

#[test]
fn creation_fails_without_the_tokenizer_and_names_others() {
    let host = TestHost::default();
    let error = ask(&host, "admin", &exact("o200k_base")).unwrap_err();
    assert_eq!(error.code(), Code::MalformedRequest);
    let text = error.to_string();
    assert!(["o200k_base", "approximate", "words", "letters"].iter().all(|it| text.contains(it)));
    let error = host.ask("admin", &exact("words")).unwrap_err();
    assert!(error.to_string().ends_with("it has approximate"), "{error}");
}

/// Without the tokenizer everything can be read, deleted, redacted and exported; only
/// operations that need a count are rejected.
#[test]
fn without_its_tokenizer_a_session_cannot_be_written() {
    let host = session();
    let write = a_write("x", "new", WriteOptions::default());
    assert_eq!(host.ask(ORCHESTRATOR, &write).unwrap_err().code(), Code::TokenizerUnavailable);
    assert_eq!(crate::read(&host, ORCHESTRATOR, "x"), Some("one two three".to_owned()));
    crate::take_snapshot(&host, "s");
    let redact = Command::Redact { key: key("x"), revision: None, reason: line("a secret") };
    host.ask(ORCHESTRATOR, &redact).unwrap();
    assert_ne!(crate::read(&host, ORCHESTRATOR, "x"), Some("one two three".to_owned()));
    // Placeholders that were counted differently then do not invalidate the document
    // later.
    let elsewhere = TestHost::default();
    ask(&elsewhere, "admin", &Command::Import(export(&host))).unwrap();
    crate::restore(&elsewhere, "s");
    crate::delete(&elsewhere, "x");
    let import = Command::Import(export(&host));
    let error = TestHost::default().ask("admin", &import).unwrap_err();
    assert_eq!(error.code(), Code::MalformedRequest, "rejected on a host without the tokenizer");
}
