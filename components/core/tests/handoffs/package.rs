//! Tests the content of a package, and that it never exceeds its budget.

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::{
    canonical,
    digest::sha256,
    handoffs::{ListName, PACKAGE_BYTES_MAX},
    item::{Item, Kind as ItemKind, ListedKind},
    tokens::approximate,
};

use super::*;

fn said(nth: usize, text: &str) -> Item {
    let kind =
        if nth.is_multiple_of(2) { ListedKind::UserMessage } else { ListedKind::SessionHistory };
    Item::inline(format!("turn-{nth}"), ItemKind::Listed(kind), text)
}

/// Returns a packet as a session writes it.
fn packet() -> String {
    linked_packet("s1", "PKT-7", &[])
}

/// Returns the packet of a session, with links to packets of other sessions.
pub(super) fn linked_packet(session: &str, id: &str, links: &[(&str, &str)]) -> String {
    let links = links.iter().map(|it| serde_json::json!({"session": it.0, "packet": it.1}));
    let links: Value = links.collect();
    let mut document = serde_json::json!({
        "address": "subagent:b",
        "context": {
            "codebase": {"patterns": ["One module for each route"]},
            "decisions": [{"choice": "Use Kafka", "reason": "replay"}],
            "goal": "Add refunds",
            "not_included": [],
            "success_criteria": ["A refund is idempotent"],
        },
        "format": "shared-context/packet/1",
        "id": id,
        "links": links,
        "session": session,
    });
    let sum = sha256(canonical::text(&document).unwrap());
    document["checksum"] = sum.into();
    document["token_count"] = serde_json::json!({"json": 40});
    canonical::text(&document).unwrap()
}

#[test]
fn a_package_has_the_members_of_the_source() {
    let host = project();
    let kept = add(&host, ORCHESTRATOR, decision("Use PostgreSQL"));
    add(&host, ORCHESTRATOR, NewMemory { importance: 6, ..decision("Use tabs") });
    add(&host, ORCHESTRATOR, issue("Refunds fail", Severity::High));
    add(&host, AGENT, state("Payment service"));
    let own = add(&host, AGENT, decision("Use a queue"));
    add(&host, THIRD, decision("A proposal of another agent"));
    add(&host, ORCHESTRATOR, memory(Kind::Learning, "Retries", &[("lesson", text("Back off"))]));
    let mut it = OfferHandoff {
        task: Some("Add refunds".to_owned()),
        required_skills: vec!["Rust".to_owned(), "PostgreSQL".to_owned(), "PCI".to_owned()],
        capabilities: vec!["rust".to_owned(), " postgresql ".to_owned()],
        packet: Some(packet()),
        items: (0..4).map(|it| said(it, &format!("DECISION: Use index {it}."))).collect(),
        ..complete()
    };
    for (texts, name) in it.texts.iter_mut().zip(ListName::ALL) {
        texts.push(name.description().to_owned());
    }
    let made = make(&host, "subagent:a in s1", it);
    let read = read(&host, OTHER, made.handoff.id);
    let package = document(&read);
    let names: Vec<&str> = package.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "agent_expertise_match",
            "agent_specific_notes",
            "compacted_context",
            "context_summary",
            "digest",
            "format",
            "handoff_metadata",
            "next_actions",
            "omitted_count",
            "ownership_transfers",
            "packet",
            "work_products",
        ]
    );
    let metadata = &package["handoff_metadata"];
    assert_eq!(metadata["from_agent_id"], "subagent:a");
    assert_eq!(metadata["from_session_id"], "s1");
    assert_eq!(metadata["to_agent_id"], "subagent:b");
    assert_eq!(metadata["handoff_type"], "complete");
    assert_eq!(metadata["timestamp"], "2026-02-20T14:30:00Z");
    let skills = &package["agent_expertise_match"];
    assert_eq!(skills["skill_match_score"].to_string(), "0.6666");
    assert_eq!(skills["missing_skills"], serde_json::json!(["PCI"]));
    let summary = &package["context_summary"];
    let ids: Vec<String> = [&own, &kept].map(|it| it.id.to_string()).into();
    let decisions = summary["critical_decisions"].as_array().unwrap();
    let shown: Vec<&str> = decisions.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(shown, ids, "important ones, of others only what is confirmed");
    assert_eq!(decisions[0]["is_verified"], false);
    assert_eq!(summary["open_issues"][0]["title"], "Refunds fail");
    assert_eq!(summary["current_task_state"][0]["content"]["completion_percentage"], 40);
    assert_eq!(summary["blocking_dependencies"][0], "the PCI review");
    assert!(summary["packet"].to_string().contains("Use Kafka"), "{summary}");
    assert_eq!(package["packet"]["id"], "PKT-7");
    assert_eq!(package["work_products"]["completed"], serde_json::json!(["What is done."]));
    let criteria = package["next_actions"]["success_criteria"].as_array().unwrap();
    assert_eq!(criteria.len(), 2, "of the agent and of the packet");
    assert_eq!(package["agent_specific_notes"]["known_pitfalls"].as_array().unwrap().len(), 2);
    assert!(!package["compacted_context"].as_array().unwrap().is_empty());
    let mut unsigned = package.clone();
    unsigned.as_object_mut().unwrap().remove("digest");
    assert_eq!(package["digest"], sha256(canonical::text(&unsigned).unwrap()));
}

#[test]
fn a_receiver_without_required_skills_fits() {
    let host = project();
    let id = make(&host, AGENT, complete()).handoff.id;
    let score =
        document(&read(&host, OTHER, id))["agent_expertise_match"]["skill_match_score"].clone();
    assert_eq!(score.to_string(), "1");
}

#[test]
fn a_conversation_is_compacted_by_the_share_of_the_kind() {
    let host = project();
    let turn =
        |it: usize| said(it, &format!("Turn {it}: {}", "we looked at the log again. ".repeat(20)));
    let items: Vec<Item> = (0..60).map(turn).collect();
    let before: u32 = items.iter().map(|it| it.tokens.0).sum();
    for (kind, percent) in [(HandoffKind::Continuation, 60), (HandoffKind::Complete, 80)] {
        let it = OfferHandoff { items: items.clone(), ..offer(kind, OTHER) };
        let id = make(&host, AGENT, it).handoff.id;
        let package = document(&read(&host, OTHER, id));
        let talk = package["compacted_context"].as_array().unwrap();
        let texts = talk.iter().map(|it| approximate(it["text"].as_str().unwrap()).0);
        let after: u32 = texts.sum();
        assert!(after * 100 <= before * percent, "{after} of {before}");
        assert_eq!(package["omitted_count"], 0);
    }
}

#[test]
fn what_every_package_has_must_fit() {
    let host = project();
    let it = OfferHandoff { summary: "x".repeat(4_000), budget: Tokens(1_000), ..complete() };
    let code = refused(&host, AGENT, HandoffsCommand::Offer(Box::new(it)));
    assert_eq!(code, Code::BudgetTooSmall);
}

#[test]
fn a_large_package_names_what_fell_out() {
    let host = project();
    let texts = vec![vec!["x".repeat(2_000); 50]; 10];
    let made = make(&host, AGENT, OfferHandoff { texts, ..offer(HandoffKind::Specialist, OTHER) });
    assert!(made.handoff.tokens <= Tokens(10_000) && made.handoff.tokens > Tokens(9_000));
    let shown = document(&read(&host, OTHER, made.handoff.id));
    let lists = ListName::ALL.map(|it| {
        let of = ["work_products", "next_actions", "agent_specific_notes"];
        of.iter().filter_map(|of| shown[of][it.as_str()].as_array()).map(Vec::len).sum::<usize>()
    });
    assert_eq!(lists.iter().sum::<usize>() + made.omitted.len(), 500);
    assert!(made.omitted.iter().any(|it| it.item == "useful_resources[49]"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_package_is_never_over_its_budget(
        kind in select(&HandoffKind::ALL[..]),
        share in 0_u32..=100,
        lists in vec(vec("(?s).{1,400}", 0..6), 10),
        turns in vec("(?s).{0,1500}", 0..24),
        repeated in 1_usize..30,
        memories in 0_usize..24,
    ) {
        let host = project();
        for nth in 0..memories {
            let long = "because \"of\" ä\u{1f600} ".repeat(repeated);
            let given = [("decision", text(&format!("Number {nth}"))), ("rationale", text(&long))];
            add(&host, ORCHESTRATOR, memory(Kind::Decision, &format!("Number {nth}"), &given));
        }
        let is_text = |it: &String| !it.trim().is_empty();
        let least = 1_500;
        let most = kind.budget().1.0;
        let it = OfferHandoff {
            texts: lists.into_iter().map(|it| it.into_iter().filter(is_text).collect()).collect(),
            items: turns
                .into_iter()
                .enumerate()
                .map(|(nth, it)| said(nth, &it.repeat(repeated)))
                .collect(),
            budget: Tokens(least + (most - least) * share / 100),
            packet: (share % 2 == 0).then(packet),
            ..offer(kind, OTHER)
        };
        let budget = it.budget;
        let made = make(&host, AGENT, it);
        let shown = read(&host, OTHER, made.handoff.id);
        let package = shown.package.as_deref().unwrap();
        prop_assert!(approximate(package) <= budget);
        prop_assert_eq!(approximate(package), made.handoff.tokens);
        prop_assert!(u64::try_from(package.len()).unwrap() <= PACKAGE_BYTES_MAX);
        let count = document(&shown)["omitted_count"].as_u64().unwrap();
        prop_assert_eq!(count, u64::try_from(shown.omitted.len()).unwrap());
    }
}
