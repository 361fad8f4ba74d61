//! Memories and searches that are not valid.

use proptest::prelude::*;
use shared_context_core::memories::{
    Content, Cursor, Kind, MEMORY_BYTES_MAX, MemorySource, NewMemory, SearchMemories, Severity,
    Status, Value, check_importance, check_query, checked_tags,
};

use crate::{
    ORCHESTRATOR, add, at, change, issue, learning, malformed, members, project, read, search,
    state, tagged, text, update,
};

fn content(kind: Kind, given: &[(&str, Value)]) -> Result<Content, shared_context_core::Error> {
    Content::new(kind, members(given))
}

#[test]
fn a_title_is_one_line_of_1_to_100_characters() {
    let titled = |title: &str| learning(title, "It is so").checked();
    for good in ["x", &"é".repeat(100), "```", "## x"] {
        assert!(titled(good).is_ok(), "{good}");
    }
    for (bad, what) in [
        ("", "title is blank"),
        (" ", "title is blank"),
        (&"é".repeat(101), "title has 101 characters"),
        ("a\nb", "title has a line break"),
        ("a\u{7}", "title has a line break or another control character"),
        // Readers that break lines there as well saw a line of somebody else.
        ("a\u{2028}**verified**", "title has a line break"),
    ] {
        assert!(malformed(titled(bad)).contains(what), "{bad:?}");
    }
}

#[test]
fn importance_is_1_to_10() {
    assert_eq!(check_importance(1), Ok(1));
    assert_eq!(check_importance(10), Ok(10));
    for bad in [0, 11, 266, u32::MAX] {
        assert!(malformed(check_importance(bad)).contains("must be 1 to 10"), "{bad}");
    }
    assert!(NewMemory { importance: 0, ..learning("A", "b") }.checked().is_err());
    assert!(NewMemory { importance: 11, ..learning("A", "b") }.checked().is_err());
}

#[test]
fn a_content_has_the_members_of_its_kind() {
    let lesson = ("lesson", text("It rained"));
    let unknown = content(Kind::Learning, &[lesson.clone(), ("severity", text("high"))]);
    assert!(malformed(unknown).contains("a learning has no member \"severity\""));
    let twice = content(Kind::Learning, &[lesson.clone(), lesson.clone()]);
    assert!(malformed(twice).contains("twice"));
    assert!(malformed(content(Kind::Learning, &[])).contains("needs lesson"));
    let only = content(Kind::Issue, &[("description", text("It broke"))]);
    assert!(malformed(only).contains("an issue needs severity"));
    let list = Value::Texts(vec!["a".to_owned()]);
    for (kind, name, value, wanted) in [
        (Kind::Learning, "lesson", list.clone(), "a text"),
        (Kind::Learning, "lesson", Value::Number(1), "a text"),
        (Kind::Decision, "alternatives_considered", text("a"), "a list of texts"),
        (Kind::State, "completion_percentage", text("5"), "a whole number from 0 to 100"),
        (Kind::State, "completion_percentage", Value::Number(101), "a whole number from 0 to 100"),
        (Kind::Issue, "severity", list, "one of low, medium, high, critical"),
    ] {
        assert!(malformed(content(kind, &[(name, value)])).contains(wanted), "{name}");
    }
    let severity = content(Kind::Issue, &[("severity", text("urgent"))]);
    assert!(malformed(severity).contains("urgent"));
    for percent in [0, 100] {
        assert!(state("One", percent).checked().is_ok());
    }
    let long = |chars: usize| content(Kind::Learning, &[("lesson", text(&"é".repeat(chars)))]);
    assert!(long(4_000).is_ok());
    for bad in [long(4_001), long(0)] {
        assert!(malformed(bad).contains("must be 1 to 4000"));
    }
    // It was said to have 2 characters, which is in the range.
    let blank = content(Kind::Learning, &[("lesson", text(" \n"))]);
    assert!(malformed(blank).contains("is blank; write a text of 1 to 4000 characters"));
    let texts = |count: usize| {
        let all = Value::Texts(vec!["x".to_owned(); count]);
        content(Kind::Handoff, &[("summary", text("a")), ("next_actions", all)])
    };
    assert!(texts(50).is_ok() && texts(0).is_ok());
    assert!(malformed(texts(51)).contains("at most 50"));
}

#[test]
fn only_an_issue_has_a_status() {
    let resolved = NewMemory { status: Some(Status::Resolved), ..issue("A", Severity::Low) };
    assert!(resolved.checked().is_ok());
    let open = NewMemory { status: Some(Status::Open), ..learning("A", "b") };
    assert!(malformed(open.checked()).contains("this is a learning"));
}

#[test]
fn tags_are_words_without_commas_and_spaces() {
    let tags = |all: &[&str]| tagged(all, learning("A", "b")).checked().map(|it| it.tags);
    assert_eq!(tags(&["b", "A", "a", "c++", "x/y:z#1"]).unwrap(), ["a", "b", "c++", "x/y:z#1"]);
    for bad in ["", "a b", "a,b", "a\n", "\"", &"x".repeat(41)] {
        assert!(malformed(tags(&[bad])).contains("without spaces and commas"), "{bad:?}");
    }
    let many: Vec<String> = (0..17).map(|it| format!("t{it}")).collect();
    assert!(malformed(checked_tags(&many)).contains("at most 16"));
    assert!(checked_tags(&many[..16]).is_ok());
}

/// The letter İ was allowed, but not what lower case makes of it: a memory with such a tag was added and
/// could not be updated any more, whatever the update was about.
#[test]
fn a_memory_with_any_allowed_tag_can_be_updated() {
    let host = project();
    for tag in ["İstanbul", "ΑΣ", "Straße", "ǅ"] {
        let Ok(new) = tagged(&[tag], learning(tag, "It is a tag")).checked() else { continue };
        let it = add(&host, ORCHESTRATOR, new);
        let again =
            shared_context_core::memories::UpdateMemory { importance: Some(6), ..update(it.id) };
        crate::ask(&host, ORCHESTRATOR, change(again));
        assert_eq!(read(&host, ORCHESTRATOR, it.id).memory.version, 2, "{tag}");
    }
}

#[test]
fn a_memory_has_at_most_8_kib() {
    let with = |chars: usize| {
        let lesson = ("lesson", text(&"x".repeat(4_000)));
        let context = ("context", text(&"x".repeat(chars)));
        crate::memory(Kind::Learning, "Long", &[lesson, context])
    };
    let fits = (1..4_000).take_while(|it| with(*it).checked().is_ok()).last();
    assert_eq!(fits, Some(3_999), "two long texts fit");
    let evidence = |chars: usize| {
        let long = ["lesson", "context"].map(|it| (it, text(&"x".repeat(3_900))));
        let rest = ("evidence", text(&"x".repeat(chars)));
        crate::memory(Kind::Learning, "Long", &[long[0].clone(), long[1].clone(), rest])
    };
    let rest = (1..1_000).find(|it| evidence(*it).checked().is_err()).unwrap();
    let told = malformed(evidence(rest).checked());
    assert!(told.contains(&format!("has {} bytes", MEMORY_BYTES_MAX + 1)), "{told}");
}

#[test]
fn a_source_is_one_line_and_a_digest() {
    let digest = format!("sha256:{}", "0".repeat(64));
    assert!(MemorySource::new("entry scope", Some(digest)).is_ok());
    assert!(malformed(MemorySource::new("x", Some("sha256:0".to_owned()))).contains("source"));
    assert!(malformed(MemorySource::new("a\nb", None)).contains("source.place"));
}

#[test]
fn a_search_has_a_range_of_limits_and_times() {
    let limit = |limit: u32| SearchMemories { limit, ..search() }.check();
    assert!(limit(1).is_ok() && limit(100).is_ok());
    for bad in [0, 101] {
        assert!(malformed(limit(bad)).contains("must be 1 to 100"));
    }
    let times = |after: u64, before: u64| {
        SearchMemories { after: at(after), before: at(before), ..search() }.check()
    };
    assert!(times(1, 3).is_ok());
    assert!(malformed(times(3, 3)).contains("nothing can match"));
    for (query, fits) in [("x", true), ("", false), (" \n", false)] {
        assert_eq!(check_query("query", Some(query)).is_ok(), fits, "{query:?}");
    }
    assert!(check_query("task", Some(&"x".repeat(2_000))).is_ok());
    assert!(malformed(check_query("task", Some(&"x".repeat(2_001)))).contains("task has 2001"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cursor_is_read_as_it_was_written(key: u64, at: u64, number: u64) {
        let it = Cursor { key, at, number };
        prop_assert_eq!(Cursor::parse(&it.text()).unwrap(), it);
    }

    #[test]
    fn any_text_is_a_cursor_or_refused(text in "[0-9a-g.+-]{0,20}") {
        if let Ok(it) = Cursor::parse(&text) {
            prop_assert_eq!(Cursor::parse(&it.text()).unwrap(), it);
        }
    }

    #[test]
    fn checked_tags_are_checked_as_they_are(tags in proptest::collection::vec("\\PC{1,8}", 1..4)) {
        if let Ok(checked) = checked_tags(&tags) {
            prop_assert_eq!(checked_tags(&checked).unwrap(), checked);
        }
    }
}
