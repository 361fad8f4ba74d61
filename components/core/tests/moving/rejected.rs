//! A page that no project can have exported changes nothing (spec 15.6).

use shared_context_core::{
    canonical,
    digest::sha256,
    outline::SECTIONS_MAX,
    portable::{PortableHandoff, PortableSection},
    tokens::Tokens,
};

use super::*;

/// Asserts that a page with a change is rejected and changes nothing.
fn check(what: &str, page: &PortableProject, change: impl FnOnce(&mut PortableProject)) {
    let mut bad = page.clone();
    change(&mut bad);
    assert_ne!(bad, *page, "{what}");
    let host = TestHost::default();
    host.now.set(START + 3_600_000);
    let error = import(&host, &bad).unwrap_err();
    assert_eq!(error.code().as_str(), "MALFORMED_REQUEST", "{what}: {error}");
    assert!(host.project_rows("").is_empty(), "{what}: after an error nothing has changed");
}

#[test]
fn a_bad_section_is_rejected() {
    let page = page(&webshop(), 0);
    // By the bytes of the markers: 1.0, 3.1, 3.1.2, 4.src.pay, 4.src.secret, 4.src.zebra.
    let with = |what: &str, nth: usize, change: fn(&mut PortableSection)| {
        check(what, &page, |it| change(&mut it.sections[nth]));
    };
    with("no version", 0, |it| it.section.version = 0);
    with("a gap before its versions", 0, |it| it.section.version = 2);
    with("too many versions", 1, |it| it.versions.push(it.versions[0].clone()));
    with("a version too few", 1, |it| drop(it.versions.remove(0)));
    with("versions out of order", 1, |it| it.versions.reverse());
    with("a version from the future", 1, |it| it.section.changed_at.0 += 1 << 40);
    with("tokens of another content", 1, |it| it.section.tokens = Tokens(7_000));
    with("no revision", 1, |it| it.section.created = <_>::default());
    with("no title", 1, |it| it.section.title.clear());
    with("a title of two lines", 1, |it| it.section.title.push('\n'));
    with("a long summary", 1, |it| it.section.summary = "x".repeat(201));
    with("brackets in its status", 1, |it| it.section.status = "[DONE]".to_owned());
    with("101 percent", 1, |it| it.section.progress = Some(101));
    with("shortcuts at level 3", 1, |it| {
        let need = line("Refunds");
        it.section.shortcuts = vec![Shortcut { need, marker: marker("3.1"), label: None }];
    });
    with("33 shortcuts", 0, |it| {
        let one = it.section.shortcuts[0].clone();
        it.section.shortcuts = vec![one; 33];
    });
    with("a file at level 3", 1, |it| {
        let (path, purpose) = (line("a"), line("b"));
        it.section.file =
            Some(FileReference { path, size: 0, modified_at: None, digest: None, purpose });
    });
    with("readers at level 1", 0, |it| it.section.readers = vec!["*".to_owned()]);
    with("a reader that is no pattern", 3, |it| it.section.readers = vec!["?? ".to_owned()]);
    with("a digest of a file that is none", 3, |it| {
        it.section.file.as_mut().unwrap().digest = Some("sha256:7".to_owned());
    });
    with("an earlier version that is too large", 1, |it| {
        it.versions[0].content = "word".repeat(3_001);
    });
    with("a content that is too large", 5, |it| {
        it.content = "x".repeat(65_537);
        it.section.tokens = shared_context_core::tokens::approximate(&it.content);
    });
    with("a link to itself", 1, |it| it.versions[0].content = "see §3.1".to_owned());
    with("a long reason of a pruned one", 5, |it| {
        it.section.pruned = Some("x".repeat(201));
    });
    with("a redacted one that says more", 4, |it| {
        it.content = "hunter2".to_owned();
        it.section.tokens = shared_context_core::tokens::approximate(&it.content);
    });
    with("a redacted one without a digest", 4, |it| {
        it.section.redacted.as_mut().unwrap().digest = "sha256:7".to_owned();
    });
    with("a redacted one without a reason", 4, |it| {
        it.section.redacted.as_mut().unwrap().reason.clear();
    });
}

/// Changes a package, with digests that fit it.
fn repacked(it: &mut PortableHandoff, change: impl FnOnce(&mut serde_json::Value)) {
    let mut document = serde_json::from_str(it.package.as_deref().unwrap()).unwrap();
    change(&mut document);
    document.as_object_mut().unwrap().remove("digest");
    it.handoff.digest = sha256(canonical::text(&document).unwrap());
    document["digest"] = it.handoff.digest.clone().into();
    let text = canonical::text(&document).unwrap();
    it.handoff.tokens = shared_context_core::tokens::approximate(&text);
    it.package = Some(text);
}

#[test]
fn a_bad_handoff_is_rejected() {
    let page = page(&webshop(), 0);
    // Accepted, declined, expired, redacted.
    let with = |what: &str, nth: usize, change: fn(&mut PortableHandoff)| {
        check(what, &page, |it| change(&mut it.handoffs[nth]));
    };
    with("no number", 0, |it| it.handoff.id = HandoffId(0));
    with("an open offer", 2, |it| it.handoff.state = HandoffState::Offered);
    with("expired and answered", 0, |it| it.handoff.state = HandoffState::Expired);
    with("accepted without an answer", 2, |it| it.handoff.state = HandoffState::Accepted);
    with("declined without a reason", 1, |it| it.handoff.note = None);
    with("accepted without a memory", 0, |it| it.handoff.memory = None);
    with("an emergency that nobody accepted", 2, |it| it.handoff.kind = HandoffKind::Emergency);
    with("answered before the offer", 0, |it| it.handoff.settled.as_mut().unwrap().0.0 = START - 1);
    with("answered after its end", 0, |it| {
        it.handoff.settled.as_mut().unwrap().0 = it.handoff.expires_at;
    });
    with("open for 8 days", 2, |it| it.handoff.expires_at.0 += 7 * 86_400_000);
    with("a memory that never was", 0, |it| it.handoff.memory = Some(700));
    with("a named memory that never was", 0, |it| it.handoff.named = vec![700]);
    // The redaction of a memory finds the packages that have it by their names.
    with("a package with a memory that it does not name", 0, |it| it.handoff.named.clear());
    with("a package with a memory of another project", 1, |it| {
        let id = "00000000-0000-8000-8000-000000000001";
        repacked(it, |it| it["context_summary"]["critical_decisions"][0]["id"] = id.into());
    });
    with("named 152 times", 0, |it| it.handoff.named = vec![1; 152]);
    with("a budget that is too large", 0, |it| it.handoff.budget = Tokens(25_001));
    with("other tokens than its package", 0, |it| it.handoff.tokens.0 += 1);
    with("for the operator", 0, |it| {
        it.handoff.to.participant = Participant::parse("admin").unwrap();
    });
    with("a section that is none", 0, |it| it.handoff.sections = vec!["payments".to_owned()]);
    with("65 sections", 0, |it| it.handoff.sections = vec!["3.1".to_owned(); 65]);
    with("a digest that is none", 3, |it| it.handoff.digest = "sha256:7".to_owned());
    with("an earlier digest that is none", 3, |it| {
        it.handoff.previous = Some("sha256:7".to_owned());
    });
    with("no package", 0, |it| it.package = None);
    with("a package that was redacted", 0, |it| it.handoff.redacted = Some(line("why")));
    with("a package with another word", 0, |it| {
        it.package = it.package.take().map(|it| it.replace("refunds", "returns"));
    });
    with("a package with spaces", 0, |it| {
        let text = it.package.take().unwrap().replacen(':', ": ", 1);
        it.handoff.tokens = shared_context_core::tokens::approximate(&text);
        it.package = Some(text);
    });
    with("a package of another handoff", 1, |it| {
        repacked(it, |it| it["handoff_metadata"]["handoff_id"] = "HND-9".into());
    });
    with("a package of another format", 1, |it| {
        repacked(it, |it| it["format"] = "shared-context/handoff/2".into());
    });
    with("a package to somebody else", 1, |it| {
        repacked(it, |it| it["handoff_metadata"]["to_agent_id"] = "subagent:c".into());
    });
    with("a package with another chain", 1, |it| {
        repacked(it, |it| it["previous"] = sha256("x").into());
    });
    with("too many omissions", 0, |it| {
        let one = shared_context_core::budget::Omission {
            item: "a".to_owned(),
            reason: shared_context_core::budget::Reason::OverBudget,
            numbers: vec![("tokens", 1), ("tokens_left", 0)],
            other: None,
        };
        it.omitted = vec![one; 1_001];
    });
}

#[test]
fn a_page_with_gaps_is_rejected() {
    let page = page(&webshop(), 0);
    check("a section too few", &page, |it| drop(it.sections.pop()));
    check("a handoff too few", &page, |it| drop(it.handoffs.pop()));
    check("sections out of order", &page, |it| it.sections.swap(0, 1));
    check("a section twice", &page, |it| it.sections[1] = it.sections[0].clone());
    check("handoffs out of order", &page, |it| it.handoffs.swap(0, 1));
    check("a handoff twice", &page, |it| it.handoffs[1] = it.handoffs[0].clone());
    check("a page that ends before its handoffs", &page, |it| {
        it.next = Some(it.last_memory + u64::from(it.section_count));
    });
    check("a page that ends after all", &page, |it| it.next = Some(1_000));
    check("501 sections", &page, |it| {
        it.section_count = u32::try_from(SECTIONS_MAX).unwrap() + 1;
        it.next = Some(it.last_memory + 6);
        it.handoffs.clear();
    });
    check("101 handoffs", &page, |it| {
        it.handoff_count = 101;
        it.next = Some(it.last_memory + 10);
    });
    check("no version of the coordination", &page, |it| {
        it.coordination.as_mut().unwrap().version = 0;
    });
    check("65 blockers", &page, |it| {
        it.coordination.as_mut().unwrap().blockers = vec![line("PCI"); 65];
    });
    check("a coordination of the future", &page, |it| {
        it.coordination.as_mut().unwrap().changed_at.0 += 1 << 40;
    });
}
