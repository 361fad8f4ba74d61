//! Redaction: a digest replaces the text of a memory everywhere.

use shared_context_core::{
    Code, Line, MemoriesCommand, MemoriesReply,
    memories::{Mark, MemoryId, MemorySource, NewMemory, UpdateMemory},
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, add, ask, at, change, check_totals, decision, done, id, later,
    learning, mark, named, project, read, refused, rehydrate, rehydration, search,
    support::TestHost, tagged, titles, update, words,
};

fn redact(it: MemoryId) -> MemoriesCommand {
    let reason = Line::parse("reason", "it named a password").unwrap();
    MemoriesCommand::Redact { id: id(it), reason }
}

fn redacted(host: &TestHost, it: MemoryId) -> Vec<String> {
    match ask(host, ORCHESTRATOR, redact(it)) {
        MemoriesReply::Redacted { id, digests } => {
            assert_eq!(id, it);
            digests
        }
        other => panic!("{other:?}"),
    }
}

/// Asserts that no row has one of `texts`, in any case.
fn is_nowhere(host: &TestHost, texts: &[&str]) {
    for (row, bytes) in host.project_rows("") {
        let stored = String::from_utf8_lossy(&bytes).to_lowercase();
        for text in texts {
            assert!(!stored.contains(text) && !row.contains(text), "{row} has {text}");
        }
    }
}

fn secret() -> NewMemory {
    let it = tagged(&["zugang"], learning("Login of carla", "Her password is hunter2"));
    let source = MemorySource::new("entry chat of carla", None).unwrap();
    NewMemory { source: Some(source), ..it }
}

#[test]
fn a_redaction_reaches_all_versions() {
    let host = project();
    let added = named("add-1", MemoriesCommand::Add(vec![secret().checked().unwrap()]));
    let added = crate::memories(done(&host, "orchestrator in s1", &added));
    let MemoriesReply::Added(added) = added else { panic!("{added:?}") };
    let it = added[0].id;
    let first = read(&host, ORCHESTRATOR, it).memory.digest();
    for title in ["Login of Carla and hunter2", "Login"] {
        let title = Some(title.to_owned());
        let update = UpdateMemory { title, ..update(it) };
        done(
            &host,
            ORCHESTRATOR,
            &named(&format!("u-{}", update.title.as_deref().map_or(0, str::len)), change(update)),
        );
    }
    rehydrate(&host, "orchestrator in s2", rehydration(2_000, Some("password of carla")));
    let last = read(&host, ORCHESTRATOR, it).memory.digest();
    let digests = redacted(&host, it);
    assert_eq!(digests.len(), 3);
    assert!(digests.iter().all(|it| it.starts_with("sha256:")), "{digests:?}");
    assert!(digests.contains(&first) && digests.contains(&last));
    is_nowhere(&host, &["hunter2", "carla", "zugang", "password is"]);
    for query in ["hunter2", "carla", "login", "zugang"] {
        assert_eq!(titles(&host, words(query)), [""; 0], "{query}");
    }
    let tag = crate::SearchMemories { tags: vec!["zugang".to_owned()], ..search() };
    assert_eq!(titles(&host, tag), [""; 0]);
    let shown = read(&host, ORCHESTRATOR, it).memory;
    assert_eq!((shown.content, shown.tags, shown.source), (None, vec![], None));
    let left = shown.redacted.unwrap();
    assert_eq!((left.digest, left.reason.as_str()), (last, "it named a password"));
    check_totals(&host);
    // A second redaction has nothing left to redact.
    assert_eq!(set(&redacted(&host, it)), set(&digests));
    // It replaces the reason, which could not be taken back before.
    let reason = Line::parse("reason", "it named a login").unwrap();
    ask(&host, ORCHESTRATOR, MemoriesCommand::Redact { id: id(it), reason });
    let left = read(&host, ORCHESTRATOR, it).memory.redacted.unwrap();
    assert_eq!(left.reason.as_str(), "it named a login");
    assert_eq!(set(&redacted(&host, it)), set(&digests));
}

fn set(digests: &[String]) -> std::collections::BTreeSet<&String> {
    digests.iter().collect()
}

/// The reason is kept and shown where the text was. It could repeat all of it.
#[test]
fn a_reason_may_not_repeat_what_it_redacts() {
    let host = project();
    let it = add(&host, ORCHESTRATOR, secret()).id;
    let title = Some("Door code 5561".to_owned());
    ask(&host, ORCHESTRATOR, change(UpdateMemory { title, ..update(it) }));
    let because = |reason: &str| MemoriesCommand::Redact {
        id: id(it),
        reason: Line::parse("reason", reason).unwrap(),
    };
    // The text, and the titles of both versions.
    for reason in ["Her password is hunter2 leaked", "the Login of carla", "Door code 5561 is out"]
    {
        assert_eq!(refused(&host, ORCHESTRATOR, because(reason)), Code::MalformedRequest);
    }
    ask(&host, ORCHESTRATOR, because("it names a password"));
    // Afterwards nothing is left that a reason could repeat.
    ask(&host, ORCHESTRATOR, because("[redacted] once more"));
    let severe = add(&host, ORCHESTRATOR, crate::issue("Outage", crate::Severity::High)).id;
    let reason = Line::parse("reason", "a high risk").unwrap();
    ask(&host, ORCHESTRATOR, MemoriesCommand::Redact { id: id(severe), reason });
    check_totals(&host);
}

#[test]
fn a_redacted_memory_lives_on_without_words() {
    let host = project();
    let new = crate::important(8, decision("Access", "The password is hunter2"));
    let it = add(&host, ORCHESTRATOR, new.clone());
    redacted(&host, it.id);
    let title = UpdateMemory { title: Some("x".to_owned()), ..update(it.id) };
    assert_eq!(refused(&host, ORCHESTRATOR, change(title)), Code::MalformedRequest);
    let told = rehydrate(&host, ORCHESTRATOR, rehydration(2_000, None));
    assert!(told.text.contains("This memory was redacted."), "{}", told.text);
    let log = MemoriesCommand::DecisionLog { limit: 10 };
    let MemoriesReply::DecisionLog { text, count, .. } = ask(&host, ORCHESTRATOR, log) else {
        panic!()
    };
    assert_eq!((count, text.contains("hunter2")), (1, false));
    // The same words are new again, and nothing says that they were there.
    ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Archived));
    ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Active));
    let again = add(&host, ORCHESTRATOR, new);
    assert!(again.is_new && again.id != it.id);
    assert!(again.warnings.iter().all(|it| !it.message.contains(&again.id.to_string())));
    assert!(!crate::codes(&again).contains(&crate::MemoryWarningCode::SimilarMemory));
    check_totals(&host);
}

#[test]
fn what_is_archived_or_expired_can_be_redacted() {
    let host = project();
    let brief = add(&host, AGENT, NewMemory { expires_at: at(host.now.get() + 5), ..secret() }).id;
    assert_eq!(refused(&host, AGENT, redact(brief)), Code::Forbidden, "also its own");
    later(&host, DAY);
    assert_eq!(redacted(&host, brief).len(), 1);
    let old = tagged(&[], learning("Old", "hunter2 is the password"));
    let old = add(&host, ORCHESTRATOR, old).id;
    ask(&host, ORCHESTRATOR, mark(&[old], Mark::Archived));
    let archive = shared_context_core::ProjectCommand::Archive;
    done(&host, "admin", &shared_context_core::Command::Project(archive));
    redacted(&host, old);
    is_nowhere(&host, &["hunter2", "carla"]);
}
