//! Writing, reading and removing sections (spec 20.2).

use shared_context_core::{
    Line,
    outline::{Advice, ChangeKind, SECTIONS_MAX},
    ownership::Transfer,
};

use crate::*;

#[test]
fn each_level_has_its_bound() {
    for (of, most) in [("§1.0", 1_000), ("§2.1", 500), ("§3.1", 3_000)] {
        assert!(new(of, "t", &words(most)).checked().is_ok(), "{of}");
        let error = new(of, "t", &words(most + 1)).checked().unwrap_err();
        assert_eq!(code(&error), Code::SectionTooLarge, "{of}");
    }
    assert!(new("§4.a", "t", &"x".repeat(64 * 1024)).checked().is_ok());
    let error = new("§4.a", "t", &"x".repeat(64 * 1024 + 1)).checked().unwrap_err();
    assert_eq!(code(&error), Code::SectionTooLarge);
}

#[test]
fn members_are_validated() {
    let section = || new("§2.1", "t", "text");
    let long = Some("x".repeat(101));
    for bad in [
        NewSection { progress: Some(101), ..section() },
        NewSection { title: long, ..section() },
        NewSection { title: Some(String::new()), ..section() },
        NewSection { title: Some("a\nb".to_owned()), ..section() },
        NewSection { status: Some("[DONE]".to_owned()), ..section() },
        NewSection { summary: Some("x".repeat(201)), ..section() },
        NewSection { shortcuts: Some(Vec::new()), ..section() },
        NewSection { readers: Some(Vec::new()), ..section() },
        NewSection { readers: Some(vec!["a b".to_owned()]), ..new("§3.1", "t", "text") },
        new("§2.1", "t", "see §2.1"),
    ] {
        assert_eq!(code(&bad.checked().unwrap_err()), Code::MalformedRequest);
    }
}

#[test]
fn a_section_is_written_and_read() {
    let host = project();
    let written = put(&host, ORCHESTRATOR, "§2.1", "One");
    assert_eq!((written.version, written.lease), (1, None));
    let read = read(&host, AGENT, "§2.1");
    assert_eq!(read.content.as_deref(), Some("One"));
    assert_eq!((read.section.changed_by, read.versions), (owner(ORCHESTRATOR), vec![1]));
    let error = refused(&host, AGENT, put_of(new("§2.2", "t", "x")));
    assert_eq!(code(&error), Code::Forbidden);
    let read = ReadSections { marker: marker("§2.9"), level: None, version: None };
    let error = refused(&host, AGENT, OutlineCommand::Read(read));
    assert_eq!(code(&error), Code::SectionNotFound);
}

/// The operator once became the owner of what it wrote, so others could not write it until the
/// lease ended.
#[test]
fn the_operator_owns_and_writes_nothing() {
    let host = project();
    put(&host, AGENT, "§3.1", "One");
    for it in [put_of(new("§3.2", "t", "x")), acquire("§3.1", MINUTE)] {
        assert_eq!(code(&refused(&host, "admin", it)), Code::Forbidden);
    }
    let it = OutlineCommand::Delete { marker: marker("§3.1"), if_version: None };
    assert_eq!(code(&refused(&host, "admin", it)), Code::Forbidden);
}

#[test]
fn a_parent_must_be_there() {
    let host = project();
    let error = refused(&host, AGENT, put_of(new("§3.1.2", "t", "x")));
    assert_eq!(code(&error), Code::SectionNotFound);
    // The parent was named alone, as if it had been sent.
    for part in ["section §3.1.2 ", "its parent §3.1 "] {
        assert!(error.to_string().contains(part), "{error}");
    }
    put(&host, AGENT, "§3.1", "x");
    put(&host, AGENT, "§3.1.2", "x");
}

#[test]
fn the_last_ten_versions_are_kept() {
    let host = project();
    for nth in 1..=12 {
        put(&host, ORCHESTRATOR, "§2.1", &format!("text {nth}"));
    }
    let now = read(&host, AGENT, "§2.1");
    assert_eq!(now.versions, (3..=12).collect::<Vec<u32>>());
    let old = ReadSections { marker: marker("§2.1"), level: None, version: Some(3) };
    assert_eq!(read_with(&host, AGENT, old)[0].content.as_deref(), Some("text 3"));
    let stale = PutSection {
        section: new("§2.1", "t", "x").checked().unwrap(),
        if_version: Some(11),
        change: None,
    };
    let error = refused(&host, ORCHESTRATOR, OutlineCommand::Put(Box::new(stale)));
    assert_eq!(code(&error), Code::VersionConflict);
    let delete = |if_version| OutlineCommand::Delete { marker: marker("§2.1"), if_version };
    assert_eq!(code(&refused(&host, ORCHESTRATOR, delete(Some(1)))), Code::VersionConflict);
    ask(&host, ORCHESTRATOR, delete(Some(12)));
    assert!(host.project_rows("o/").is_empty() && host.project_rows("w/").is_empty());
    let Reply::Project(info) =
        host.ask_project("admin", &Command::Project(ProjectCommand::Show)).unwrap().reply
    else {
        panic!("a project")
    };
    assert_eq!(info.bytes, 0, "the bytes of sections are counted");
}

#[test]
fn the_project_has_at_most_500_sections() {
    let host = project();
    for nth in 0..SECTIONS_MAX {
        put(&host, ORCHESTRATOR, &format!("§2.{nth}"), "x");
    }
    let error = refused(&host, ORCHESTRATOR, put_of(new("§2.500", "t", "x")));
    assert_eq!(code(&error), Code::StoreFull);
    put(&host, ORCHESTRATOR, "§2.1", "y");
}

#[test]
fn levels_three_and_four_are_read_by_owner_and_readers() {
    let host = project();
    put(&host, AGENT, "§3.1", "secret plan");
    let hidden = read(&host, OTHER, "§3.1");
    assert!(hidden.is_hidden && hidden.content.is_none());
    assert!(hidden.lease.is_some_and(|it| it.owner == owner(AGENT)), "who to ask");
    assert!(read(&host, ORCHESTRATOR, "§3.1").content.is_some());
    assert!(read(&host, AGENT, "§3.1").content.is_some());
    let readers = Some(vec!["subagent:b*".to_owned()]);
    write(&host, AGENT, NewSection { readers, ..new("§3.1", "t", "") });
    assert_eq!(read(&host, OTHER, "§3.1").content.as_deref(), Some("secret plan"));
}

#[test]
fn details_are_read_by_level() {
    let host = project();
    put(&host, ORCHESTRATOR, "§1.0", "see §2.1");
    put(&host, ORCHESTRATOR, "§2.1", "see §3.7");
    put(&host, ORCHESTRATOR, "§3.1", "same number, see §4.a.b");
    put(&host, ORCHESTRATOR, "§3.7", "linked");
    put(&host, ORCHESTRATOR, "§3.8", "something else");
    put(&host, ORCHESTRATOR, "§4.a.b", "code");
    let below = |of: &str, level| {
        let read = ReadSections { marker: marker(of), level: Some(level), version: None };
        let read = read_with(&host, ORCHESTRATOR, read);
        read.iter().map(|it| it.section.marker.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(below("§2.1", 3), ["§3.1", "§3.7"]);
    assert_eq!(below("§1.0", 4), ["§4.a.b"]);
    assert_eq!(below("§3.1", 1), ["§1.0"]);
}

#[test]
fn an_owner_marks_a_section_as_not_loaded() {
    let host = project();
    put(&host, AGENT, "§4.old", "old code");
    let prune = "PRUNE: §4.old - Replaced by new version";
    let error = refused(&host, OTHER, put_of(new("§4.old", "t", prune)));
    assert_eq!(code(&error), Code::NotOwner);
    put(&host, AGENT, "§4.old", prune);
    let pruned = read(&host, AGENT, "§4.old");
    assert_eq!(pruned.section.pruned.as_deref(), Some("Replaced by new version"));
    assert_eq!(pruned.content, None);
    let anyway = ReadSections { marker: marker("§4.old"), level: Some(4), version: None };
    assert_eq!(read_with(&host, AGENT, anyway)[0].content.as_deref(), Some("old code"));
    put(&host, AGENT, "§4.old", "loaded again");
    assert_eq!(read(&host, AGENT, "§4.old").section.pruned, None);
}

#[test]
fn a_change_advises_which_sections_to_look_at() {
    let host = project();
    put(&host, ORCHESTRATOR, "§1.0", "summary");
    put(&host, ORCHESTRATOR, "§2.1", "part");
    put(&host, ORCHESTRATOR, "§3.1", "details");
    let section = NewSection { progress: Some(10), ..new("§2.1", "t", "part of §3.1") };
    let change = Some(ChangeKind::Feature);
    let put = PutSection { section: section.checked().unwrap(), if_version: None, change };
    let OutlineReply::Written(it) = ask(&host, ORCHESTRATOR, OutlineCommand::Put(Box::new(put)))
    else {
        panic!("written")
    };
    let advice = |of: &str, when: &str| Advice { marker: marker(of), when: when.to_owned() };
    assert_eq!(
        it.advice,
        [advice("§1.0", "progress changed by 10 points"), advice("§3.1", "always")]
    );
}

#[test]
fn a_redaction_removes_every_version() {
    let host = project();
    put(&host, AGENT, "§3.1", "the password is hunter2");
    let status = Some("hunter4 works".to_owned());
    write(&host, AGENT, NewSection { status, ..new("§3.1", "t", "the password is hunter3") });
    let redact = || OutlineCommand::Redact {
        marker: marker("§3.1"),
        reason: Line::parse("reason", "a password").unwrap(),
    };
    assert_eq!(code(&refused(&host, AGENT, redact())), Code::Forbidden);
    for text in ["it said: the password is hunter2", "it said: hunter4 works"] {
        let reason = Line::parse("reason", text).unwrap();
        let repeats = OutlineCommand::Redact { marker: marker("§3.1"), reason };
        assert_eq!(code(&refused(&host, ORCHESTRATOR, repeats)), Code::MalformedRequest);
    }
    // A caller that may not redact gets this error even if it used the request id for another
    // command.
    host.ask_project(AGENT, &named("r1", acquire("§3.1", MINUTE))).unwrap();
    let error = host.ask_project(AGENT, &named("r1", redact())).unwrap_err();
    assert_eq!(code(&error), Code::Forbidden);
    let OutlineReply::Redacted { digests, .. } = ask(&host, ORCHESTRATOR, redact()) else {
        panic!("redacted")
    };
    assert_eq!(digests.len(), 2);
    for (row, bytes) in host.project_rows("") {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hunter"), "{row}");
    }
    let it = read(&host, ORCHESTRATOR, "§3.1");
    let digest = &digests[1];
    assert_eq!((it.content, &it.section.redacted.unwrap().digest), (None, digest));
    // What is no longer loaded stays redacted, until it has another content.
    put(&host, AGENT, "§3.1", "PRUNE: done");
    let redacted = read(&host, ORCHESTRATOR, "§3.1").section.redacted;
    assert_eq!(redacted.map(|it| it.digest).as_ref(), Some(digest));
    put(&host, AGENT, "§3.1", "nothing secret");
    assert_eq!(read(&host, ORCHESTRATOR, "§3.1").section.redacted, None);
}

#[test]
fn a_retry_returns_the_first_reply() {
    let host = project();
    let command = named("r1", put_of(new("§3.1", "t", "x")));
    let first = host.ask_project(AGENT, &command).unwrap();
    let rows = host.project_rows("");
    let Reply::Outline(OutlineReply::Written(it)) = &first.reply else { panic!("written") };
    assert!(!it.warnings.is_empty() && it.lease.is_some());
    assert_eq!(host.ask_project(AGENT, &command).unwrap(), first);
    assert_eq!(host.project_rows(""), rows);
    let other = named("r1", put_of(new("§3.1", "t", "y")));
    let error = host.ask_project(AGENT, &other).unwrap_err();
    assert_eq!(code(&error), Code::RequestIdReused);
    let read = named("r2", OutlineCommand::Check);
    assert_eq!(code(&host.ask_project(ORCHESTRATOR, &read).unwrap_err()), Code::MalformedRequest);
}

#[test]
fn an_archived_project_is_read_only() {
    let host = project();
    put(&host, AGENT, "§3.1", "x");
    host.ask_project("admin", &Command::Project(ProjectCommand::Archive)).unwrap();
    for it in [put_of(new("§3.1", "t", "y")), acquire("§3.1", MINUTE)] {
        assert_eq!(code(&refused(&host, AGENT, it)), Code::ProjectArchived);
    }
    assert!(read(&host, AGENT, "§3.1").content.is_some());
}

/// The text of an earlier version came with the writer, time, tokens and number of the newest.
#[test]
fn an_earlier_version_is_read_as_what_it_was() {
    let host = project();
    put(&host, ORCHESTRATOR, "§2.1", "One");
    later(&host, MINUTE);
    ask(&host, AGENT, acquire("§2.1", MINUTE));
    put(&host, AGENT, "§2.1", &words(40));
    let of = |version| {
        let it = ReadSections { marker: marker("§2.1"), level: None, version: Some(version) };
        read_with(&host, OTHER, it).remove(0)
    };
    let (old, new) = (of(1), of(2));
    assert_eq!((old.content.as_deref(), old.section.version), (Some("One"), 1));
    assert_eq!(old.section.changed_by, owner(ORCHESTRATOR));
    assert_eq!((old.section.changed_at.0, old.section.tokens.0), (START, 1));
    assert_eq!(old.versions, [1, 2]);
    assert_eq!(new, read(&host, OTHER, "§2.1"));
    assert_eq!((new.section.changed_at.0, new.section.tokens.0), (START + MINUTE, 40));
    let it = ReadSections { marker: marker("§2.1"), level: None, version: Some(3) };
    assert_eq!(code(&refused(&host, OTHER, OutlineCommand::Read(it))), Code::SectionNotFound);
}

/// An agent that could not read a section with readers owned it once it was free, or wrote its progress
/// while it was shared, and then read everything.
#[test]
fn a_section_with_readers_is_not_for_other_agents() {
    let host = project();
    let readers = Some(vec!["subagent:b*".to_owned()]);
    write(&host, AGENT, NewSection { readers, ..new("§3.1", "t", "secret plan") });
    let third = "subagent:c in s1";
    let progress = || NewSection { title: None, progress: Some(50), ..new("§3.1", "t", "") };
    let attempts = || {
        [
            acquire("§3.1", MINUTE),
            put_of(progress()),
            OutlineCommand::Delete { marker: marker("§3.1"), if_version: None },
        ]
    };
    let shared = Acquire {
        marker: marker("§3.1"),
        kind: Ownership::SharedWrite,
        ttl_ms: MINUTE,
        reason: None,
    };
    ask(&host, AGENT, OutlineCommand::Acquire(shared));
    for it in attempts() {
        let error = refused(&host, third, it);
        assert_eq!(code(&error), Code::Forbidden);
        assert!(error.to_string().contains("add you to readers"), "{error}");
    }
    write(&host, OTHER, progress());
    later(&host, MINUTE);
    for it in attempts() {
        assert_eq!(code(&refused(&host, third, it)), Code::Forbidden);
    }
    // Readers, who wrote the current version, orchestrators and the owner may.
    ask(&host, OTHER, acquire("§3.1", MINUTE));
    let to = Transfer { marker: marker("§3.1"), to: owner(third), ttl_ms: MINUTE, reason: None };
    ask(&host, ORCHESTRATOR, OutlineCommand::Transfer(to));
    write(&host, third, progress());
    ask(&host, third, OutlineCommand::Release(marker("§3.1")));
    ask(&host, third, acquire("§3.1", MINUTE));
    // Without readers a section is free for all.
    put(&host, ORCHESTRATOR, "§3.2", "plan");
    ask(&host, ORCHESTRATOR, OutlineCommand::Release(marker("§3.2")));
    ask(&host, third, acquire("§3.2", MINUTE));
}

/// A write of nothing was a version, and made its writer the owner.
#[test]
fn a_write_changes_something() {
    let nothing = NewSection { title: None, ..new("§3.1", "t", "") };
    let error = nothing.checked().unwrap_err();
    assert_eq!(code(&error), Code::MalformedRequest);
    assert!(error.to_string().contains("changes nothing"), "{error}");
    let readers = Some(Vec::new());
    NewSection { title: None, readers, ..new("§3.1", "t", "") }.checked().unwrap();
}

/// The reason of a lease is free text, and stayed in the row of the owner and in replies to retries.
#[test]
fn a_redaction_removes_the_reason_of_the_lease() {
    let host = project();
    put(&host, AGENT, "§3.1", "a text");
    put(&host, AGENT, "§3.2", "a text");
    for (of, id) in [("§3.1", "r1"), ("§3.2", "r2")] {
        let reason = Some(Line::parse("reason", "the key is hunter2").unwrap());
        let kind = Ownership::Exclusive;
        let it = Acquire { marker: marker(of), kind, ttl_ms: MINUTE, reason };
        host.ask_project(AGENT, &named(id, OutlineCommand::Acquire(it))).unwrap();
    }
    let redact = |reason: &str| OutlineCommand::Redact {
        marker: marker("§3.1"),
        reason: Line::parse("reason", reason).unwrap(),
    };
    let error = refused(&host, ORCHESTRATOR, redact("its reason was: the key is hunter2"));
    assert_eq!(code(&error), Code::MalformedRequest);
    ask(&host, ORCHESTRATOR, redact("a password"));
    let lease = |of: &str| read(&host, ORCHESTRATOR, of).lease.unwrap();
    assert_eq!((lease("§3.1").owner, lease("§3.1").reason.as_str()), (owner(AGENT), ""));
    assert_eq!(lease("§3.2").reason, "the key is hunter2", "it is of another section");
    let has = |it: &(String, Vec<u8>)| String::from_utf8_lossy(&it.1).contains("hunter2");
    let rows: Vec<String> = host.project_rows("").into_iter().filter(has).map(|it| it.0).collect();
    assert_eq!(rows.len(), 2, "the lease of the other section, and its reply: {rows:?}");
}
