//! The order of an assembly, and how much of it a prompt cache can reuse (decision 41).

use super::*;

#[test]
fn segments_come_by_how_rarely_they_change() {
    let items = [
        item("turn", ListedKind::SessionHistory, "retry one"),
        item("summary", ListedKind::ThreadSummary, "retry two"),
        file("z.rs", "retry three"),
        item("memory", ListedKind::TeamMemory, "retry four"),
        item("policy", ListedKind::PolicyNote, "retry five"),
        item("entry", ListedKind::WorkingMemory, "retry six"),
    ];
    let it = assembled("retry", &items, &budget(500));
    let ids = outcome(&items, &it).0;
    assert_eq!(ids, ["policy", "entry", "memory", "z.rs", "summary", "turn"]);
    let names: Vec<&str> = it.blocks.iter().map(|it| it.segment.as_str()).collect();
    assert_eq!(names, ["system", "project", "project", "material", "digest", "turns", "task"]);
}

#[test]
fn what_was_selected_before_keeps_its_place() {
    let texts = [("a", "retry limit client"), ("b", "retry limit"), ("c", "limit of the client")];
    let items: Vec<Item> = texts.iter().map(|(id, text)| file(id, text)).collect();
    let rules = budget(500);
    let first = assembled("retry limit", &items, &rules);
    assert_eq!(outcome(&items, &first).0, ["b", "a", "c"]);
    let before = previous("retry limit", &items, &rules, &first);
    let task = "client";
    assert_eq!(outcome(&items, &assembled(task, &items[..1], &rules)).0, ["a"]);
    let next = assembled_after("client limit", &items, &rules, &before).unwrap();
    assert_eq!(outcome(&items, &next).0, ["b", "a", "c"]);
    let all: u32 = next.blocks.iter().map(|it| it.tokens.0).sum();
    let task = next.blocks.last().unwrap().tokens.0;
    assert_eq!(next.reused_prefix.0, all - task, "everything but the task");
    assert!(!next.is_replanned);
}

/// The last message of the user is always shown. As the last but one it had no word in common with
/// the task, and the conversation had a gap.
#[test]
fn what_was_shown_before_is_not_irrelevant() {
    let mut items = vec![item("m1", ListedKind::UserMessage, "Hello.")];
    let rules = budget(500);
    let first = assembled("retry limit", &items, &rules);
    let before = previous("retry limit", &items, &rules, &first);
    items.push(item("m2", ListedKind::UserMessage, "Do it."));
    let next = assembled_after("retry limit", &items, &rules, &before).unwrap();
    assert_eq!(outcome(&items, &next).0, ["m1", "m2"]);
    assert_eq!(outcome(&items, &assembled("retry limit", &items, &rules)).0, ["m2"]);
}

#[test]
fn what_matters_most_replaces_what_was_selected_before() {
    let old: Vec<Item> = (0..10)
        .map(|it| file(&format!("old{it}"), &format!("retry {}", format!("x{it} ").repeat(40))))
        .collect();
    let rules = budget(400);
    let first = assembled("retry", &old, &rules);
    let before = previous("retry", &old, &rules, &first);
    let mut items = old.clone();
    items.push(file("new", &format!("deadline {}", "y ".repeat(60))));
    let task = "deadline, then retry";
    let next = assembled_after(task, &items, &rules, &before).unwrap();
    let (selected, _) = outcome(&items, &next);
    assert!(next.is_replanned && selected.contains(&"new"), "{selected:?}");
    assert!(next.used.tokens <= Tokens(400));
    assert!(selected.len() < outcome(&old, &first).0.len(), "a quarter stays free");
}

/// An agent reads files and calls tools; every step adds a turn, and the task changes now and then.
#[test]
fn a_growing_conversation_reuses_nine_tenths_of_its_prompt() {
    let mut items = vec![
        item("system", ListedKind::SystemPrompt, &"You are a careful engineer. ".repeat(20)),
        item("decision", ListedKind::DurableMemory, &"We retry five times. ".repeat(10)),
    ];
    for it in 0..20 {
        let text = format!("module {it}: handles retry of client {it}. {}", "code ".repeat(120));
        items.push(file(&format!("src/m{it}.rs"), &text));
    }
    let rules = budget(8_000);
    let (mut before, mut reused, mut all) = (Previous::default(), 0.0, 0.0);
    let mut ranked = (0.0, Vec::new());
    for step in 0..200 {
        let text =
            format!("step {step}: changed client {} and ran it. {}", step % 20, "log ".repeat(30));
        items.push(item(&format!("turn{step}"), ListedKind::SessionHistory, &text));
        let task = format!("Finish the retry of client {}", step / 20);
        let next = assembled_after(&task, &items, &rules, &before).unwrap();
        assert!(next.used.tokens <= rules.budget.tokens);
        reused += f64::from(next.reused_prefix.0) / f64::from(next.used.tokens.0);
        all += 1.0;
        before = previous(&task, &items, &rules, &next);
        // The same selection in the order of rank, as a ranking alone would show it.
        let fresh = assembled(&task, &items, &rules);
        let mut order: Vec<usize> = fresh.blocks.iter().filter_map(|it| it.place).collect();
        order.sort_by_key(|it| fresh.candidates[*it].rank);
        let same = order.iter().zip(&ranked.1).take_while(|(a, b)| a == b);
        let tokens: u32 = same.map(|(it, _)| items[*it].tokens.0).sum();
        ranked.0 += f64::from(tokens) / f64::from(fresh.used.tokens.0);
        ranked.1 = order;
    }
    assert!(reused / all >= 0.9, "{}", reused / all);
    assert!(reused > ranked.0, "in the order of rank {}", ranked.0 / all);
}
