//! The system prompt of a project.

use proptest::prelude::*;
use shared_context_core::handoffs::{ProjectPrompt, PromptPart};

use super::*;

fn written(host: &TestHost, it: PromptRequest) -> ProjectPrompt {
    it.check().unwrap();
    match ask(host, AGENT, HandoffsCommand::Prompt(Box::new(it))) {
        HandoffsReply::Prompt(it) => *it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_shares_add_up_to_the_default() {
    assert_eq!(PromptPart::ALL.into_iter().map(PromptPart::share).sum::<u32>(), 8_000);
}

#[test]
fn a_prompt_begins_with_what_changes_least() {
    let host = project();
    let second = NewMemory { importance: 9, ..decision("Use PostgreSQL") };
    let ids =
        [add(&host, ORCHESTRATOR, decision("Use Kubernetes")), add(&host, ORCHESTRATOR, second)];
    add(&host, ORCHESTRATOR, NewMemory { importance: 7, ..decision("Use tabs") });
    add(&host, AGENT, decision("Use a proposal that nobody confirmed"));
    let before = host.project_rows("");
    let it = written(
        &host,
        PromptRequest {
            agent: Some("You build the payment service.".to_owned()),
            task: Some("Store payments".to_owned()),
            criteria: Some("All tests pass.".to_owned()),
            ..prompt(8_000)
        },
    );
    assert_eq!(host.project_rows(""), before, "a prompt is a read");
    let parts: Vec<PromptPart> = it.parts.iter().map(|it| it.part).collect();
    assert_eq!(parts, [PromptPart::Agent, PromptPart::Critical, PromptPart::Criteria]);
    let ids: Vec<String> = ids.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(it.parts[1].ids, ids, "in the order of ids, so that caches stay warm");
    assert!(!it.text.contains("Use tabs") && !it.text.contains("proposal"), "{}", it.text);
    assert!(it.text.ends_with("Store payments\nAll tests pass.\n"), "{}", it.text);
    assert!(it.text.contains("```\nDecision: Use PostgreSQL\n```"), "{}", it.text);
    assert_eq!(it.omitted, []);
}

#[test]
fn what_does_not_fit_a_prompt_is_named() {
    let host = project();
    let long = |it: u32| format!("{it} {}", "why ".repeat(900));
    for it in 0..8 {
        let given = [("decision", text("x")), ("rationale", text(&long(it)))];
        add(&host, ORCHESTRATOR, memory(Kind::Decision, &format!("Number {it}"), &given));
    }
    let it = written(&host, prompt(5_000));
    assert!(it.tokens <= Tokens(5_000) && it.tokens > Tokens(4_000), "{}", it.tokens);
    assert_eq!(it.parts[0].ids.len() + it.omitted.len(), 8);
    assert!(it.omitted.len() > 2);
}

#[test]
fn a_budget_of_a_prompt_has_a_range() {
    for (budget, is_valid) in [(4_999, false), (5_000, true), (10_000, true), (10_001, false)] {
        assert_eq!(prompt(budget).check().is_ok(), is_valid, "{budget}");
    }
    let focus = PromptRequest { focus: vec!["§9.9".to_owned()], ..prompt(8_000) };
    let error = host_error(HandoffsCommand::Prompt(Box::new(focus)));
    assert!(error.contains("§9.9"), "{error}");
}

fn host_error(it: HandoffsCommand) -> String {
    project().ask_project(AGENT, &command(it)).unwrap_err().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_prompt_is_never_over_its_budget(
        budget in 5_000_u32..=10_000,
        agent in "(?s).{1,4000}",
        sizes in proptest::collection::vec(1_usize..900, 0..24),
    ) {
        let host = project();
        for (nth, size) in sizes.iter().enumerate() {
            let given = [("lesson", text(&"```\nä ".repeat(*size / 2 + 1)))];
            add(&host, ORCHESTRATOR, memory(Kind::Learning, &format!("Number {nth}"), &given));
        }
        let it = written(&host, PromptRequest { agent: Some(agent), ..prompt(budget) });
        prop_assert!(it.tokens.0 <= budget);
        let shown: usize = it.parts.iter().map(|it| it.ids.len()).sum();
        let omitted = it.omitted.iter().filter(|it| it.item != "agent").count();
        prop_assert_eq!(shown + omitted, sizes.len());
    }
}
