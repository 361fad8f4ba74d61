//! Sessions that count exactly: with a host's tokenizer, and where it is missing.

use shared_context_core::{
    Caller, Code, Command, Config, Error, Outcome, Reply, Scope, ScopeKind, WriteOptions, execute,
    port::{Ports, Tokenizer},
    store::Limits,
    tokens::{Estimator, Tokens},
};

use crate::{CHIEF, a_write, export, key, line, support::TestHost};

/// Counts words.
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
    ask(&host, CHIEF, &write).unwrap();
    host
}

#[test]
fn a_session_counts_as_it_was_created_to() {
    let host = session();
    let Reply::Listing(it) =
        ask(&host, CHIEF, &Command::ListKeys { prefix: None, if_changed_since: None })
            .unwrap()
            .reply
    else {
        panic!()
    };
    assert_eq!(it.total_tokens, Tokens(3));
    let refused = ask(&host, CHIEF, &a_write("x", "a b c d", WriteOptions::default()));
    assert_eq!(refused.unwrap_err().code(), Code::ValueTooLarge);
}

#[test]
fn a_host_says_at_creation_what_it_can_count() {
    let host = TestHost::default();
    let error = ask(&host, "admin", &exact("o200k_base")).unwrap_err();
    assert_eq!(error.code(), Code::MalformedRequest);
    let text = error.to_string();
    assert!(["o200k_base", "approximate", "words", "letters"].iter().all(|it| text.contains(it)));
    let error = host.ask("admin", &exact("words")).unwrap_err();
    assert!(error.to_string().ends_with("it has approximate"), "{error}");
}

/// Where the tokenizer is missing all can be read, deleted, redacted and taken
/// along; only what needs a count is refused.
#[test]
fn without_its_tokenizer_a_session_can_be_read_and_redacted_but_not_written() {
    let host = session();
    let write = a_write("x", "new", WriteOptions::default());
    assert_eq!(host.ask(CHIEF, &write).unwrap_err().code(), Code::TokenizerUnavailable);
    assert_eq!(crate::read(&host, CHIEF, "x"), Some("one two three".to_owned()));
    crate::take_snapshot(&host, "s");
    let redact = Command::Redact { key: key("x"), revision: None, reason: line("a secret") };
    host.ask(CHIEF, &redact).unwrap();
    assert_ne!(crate::read(&host, CHIEF, "x"), Some("one two three".to_owned()));
    // What was counted otherwise then is no reason to refuse the document later.
    let elsewhere = TestHost::default();
    ask(&elsewhere, "admin", &Command::Import(export(&host))).unwrap();
    crate::restore(&elsewhere, "s");
    crate::delete(&elsewhere, "x");
    let import = Command::Import(export(&host));
    let error = TestHost::default().ask("admin", &import).unwrap_err();
    assert_eq!(error.code(), Code::MalformedRequest, "refused where it cannot be counted");
}
