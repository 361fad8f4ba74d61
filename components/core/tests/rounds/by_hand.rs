//! Tests of each strategy: its result, and the reported outcomes.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{ORCHESTRATOR, at, outcomes, plan, play, session, state};

const A: &str = "subagent:a";
const B: &str = "subagent:b";
const C: &str = "subagent:c";

#[test]
fn the_first_example_binds_a_term() {
    let host = session();
    let weights = plan(&[("subagent:semantic-mapper", 0.35)], &[]);
    let round = play(
        &host,
        weights,
        &[("subagent:semantic-mapper", r#"add $.bindings.customer "sea:customer:001""#)],
    );
    assert_eq!(round.number, 1);
    assert_eq!(
        state(&host),
        json!({
            "query": "", "bindings": {"customer": "sea:customer:001"}, "entities": [], "rules": []
        })
    );
}

#[test]
fn the_highest_weight_wins_and_losses_name_the_winner() {
    let host = session();
    let weights = plan(&[(A, 0.2), (B, 0.5), (C, 0.2)], &[]);
    play(
        &host,
        weights,
        &[
            (A, r#"add $.bindings.order "o:1""#),
            (B, r#"add $.bindings.order "o:2""#),
            (C, r#"add $.bindings.order "o:2""#),
        ],
    );
    assert_eq!(at(&host, "/bindings/order"), "o:2");
    assert_eq!(outcomes(&host), ["lost to 2: outweighed", "applied", "applied"]);
}

#[test]
fn at_equal_weights_the_first_in_the_alphabet_wins() {
    for order in [[A, B], [B, A]] {
        let host = session();
        let value = |who: &str| format!("add $.bindings.order {who:?}");
        let deltas = order.map(|who| (who, value(who)));
        let deltas: Vec<(&str, &str)> =
            deltas.iter().map(|(who, it)| (*who, it.as_str())).collect();
        play(&host, plan(&[], &[]), &deltas);
        assert_eq!(at(&host, "/bindings/order"), A);
    }
}

/// A delta that lost to one of the same weight was reported as outweighed, and its
/// proposer looked for a weight that did not exist. It is now reported as a tie if only
/// the order of the alphabet or of the texts decided.
#[test]
fn a_loss_at_equal_rank_is_a_tie() {
    let deltas_at =
        |place: &str| [A, B, C].map(|who| (who, format!("add $.rules[0].{place} {who:?}")));
    let strategies = [
        ("$.rules[0].merged", "weighted-merge"),
        ("$.rules[0].highest", "highest-weight"),
        ("$.rules[0].voted", "majority-vote"),
        ("$.rules[0].expert", "expert-override:subagent:b,subagent:*"),
    ];
    for (place, expected) in [
        ("merged", ["applied", "lost to 1: tie", "lost to 1: outweighed"]),
        ("highest", ["applied", "lost to 1: tie", "lost to 1: outweighed"]),
        ("voted", ["applied", "lost to 1: tie", "lost to 1: outvoted"]),
        ("expert", ["lost to 2: overridden", "applied", "lost to 2: overridden"]),
    ] {
        let host = session();
        play(&host, plan(&[], &[]), &[(ORCHESTRATOR, "add $.rules [{}]")]);
        let deltas = deltas_at(place);
        let deltas: Vec<_> = deltas.iter().map(|(who, it)| (*who, it.as_str())).collect();
        play(&host, plan(&[(A, 0.5), (B, 0.5), (C, 0.1)], &strategies), &deltas);
        assert_eq!(outcomes(&host), expected, "{place}");
    }
    // Among experts of one rank the higher weight wins, and among equals the first.
    let host = session();
    let alike = [("$.query", "expert-override:subagent:*")];
    let deltas = [A, B, C].map(|who| (who, format!("modify $.query {who:?}")));
    let deltas: Vec<_> = deltas.iter().map(|(who, it)| (*who, it.as_str())).collect();
    play(&host, plan(&[(A, 0.5), (B, 0.5), (C, 0.1)], &alike), &deltas);
    assert_eq!(outcomes(&host), ["applied", "lost to 1: tie", "lost to 1: outweighed"]);
}

#[test]
fn members_are_merged_and_items_appended_by_weight() {
    let host = session();
    let weights = plan(&[(A, 0.1), (B, 0.9)], &[]);
    play(
        &host,
        weights.clone(),
        &[
            (A, r#"add $.entities {"id":"e1","name":"Acme"}"#),
            (B, r#"add $.entities [{"id":"e2"},{"id":"e3"}]"#),
            (A, "add $.rules [1]"),
        ],
    );
    assert_eq!(
        at(&host, "/entities"),
        json!([{"id":"e2"}, {"id":"e3"}, {"id":"e1","name":"Acme"}])
    );
    play(
        &host,
        weights,
        &[
            (A, r#"modify $.entities[2] {"name":"ACME Inc.","since":{"year":1999}}"#),
            (B, r#"add $.entities[2] {"since":{"year":2001,"month":5}}"#),
            (B, r#"modify $.entities[2].name "Acme""#),
        ],
    );
    assert_eq!(
        at(&host, "/entities/2"),
        json!({"id":"e1","name":"Acme","since":{"year":2001,"month":5}})
    );
    assert_eq!(outcomes(&host), ["lost, 2 places lost", "applied", "applied"]);
}

#[test]
fn votes_decide_then_weight_then_text() {
    let majority = |weights: &[(&str, f64)]| plan(weights, &[("$.rules", "majority-vote")]);
    let host = session();
    play(&host, plan(&[], &[]), &[(A, "add $.rules [[0,0,0]]")]);
    play(
        &host,
        majority(&[(A, 1.0), (B, 0.1), (C, 0.1)]),
        &[
            (A, "modify $.rules[0][0] 1"),
            (B, "modify $.rules[0][0] 2"),
            (C, "modify $.rules[0][0] 2.0"),
        ],
    );
    assert_eq!(at(&host, "/rules/0/0"), 2);
    assert_eq!(outcomes(&host), ["lost to 2: outvoted", "applied", "applied"]);
    let tie = [(A, "modify $.rules[0][1] 1"), (B, "modify $.rules[0][1] 2")];
    play(&host, majority(&[(A, 0.1), (B, 0.2)]), &tie);
    assert_eq!(at(&host, "/rules/0/1"), 2, "the heavier side");
    let four = [
        (A, "modify $.rules[0][1] 3"),
        (B, "modify $.rules[0][1] 3"),
        (C, "modify $.rules[0][1] 4"),
        (ORCHESTRATOR, "modify $.rules[0][1] 4"),
    ];
    play(&host, majority(&[(A, 0.3), (B, 0.3), (C, 0.1), (ORCHESTRATOR, 0.4)]), &four);
    assert_eq!(at(&host, "/rules/0/1"), 3, "together they weigh 0.6");
    let tie = [(A, "modify $.rules[0][2] 20"), (B, "modify $.rules[0][2] 100")];
    play(&host, majority(&[]), &tie);
    assert_eq!(at(&host, "/rules/0/2"), 100, "\"100\" comes before \"20\"");
}

/// One participant that proposes the same value three times counts once.
#[test]
fn nobody_votes_twice() {
    let host = session();
    play(
        &host,
        plan(&[], &[("$", "majority-vote")]),
        &[
            (A, "add $.rules [1]"),
            (A, r#"modify $.query "a""#),
            (A, r#"modify $.query "b""#),
            (A, r#"modify $.query "b""#),
            (B, r#"modify $.query "c""#),
            (C, r#"modify $.query "c""#),
        ],
    );
    assert_eq!(at(&host, "/query"), "c");
    assert_eq!(
        outcomes(&host)[1..],
        [
            "lost to 3: superseded",
            "lost to 5: outvoted",
            "lost to 5: outvoted",
            "applied",
            "applied",
        ]
    );
}

/// A delta's list counted as one value. Under `highest-weight` the rules of one participant
/// removed those of all others, although they did not contradict each other.
#[test]
fn every_strategy_decides_lists_item_by_item() {
    let x = |who: &str, n: u32| format!(r#"add $.rules [{{"id":"x","n":{n}}},{{"id":"{who}"}}]"#);
    let deltas = [(A, x("a", 1)), (B, x("b", 2)), (C, x("c", 2))];
    let deltas: Vec<_> = deltas.iter().map(|(who, it)| (*who, it.as_str())).collect();
    let lost = "applied, 1 places lost";
    for (strategy, n, expected) in [
        ("weighted-merge", 1, ["applied", lost, lost]),
        ("union", 1, ["applied", lost, lost]),
        ("highest-weight", 1, ["applied", lost, lost]),
        ("majority-vote", 2, [lost, "applied", "applied"]),
        ("expert-override:subagent:c", 2, [lost, "applied", "applied"]),
    ] {
        let host = session();
        let rules = plan(&[(A, 0.9), (B, 0.5), (C, 0.1)], &[("$.rules", strategy)]);
        play(&host, rules, &deltas);
        let rules = at(&host, "/rules");
        let ids: BTreeSet<&str> =
            rules.as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect();
        assert_eq!(ids, BTreeSet::from(["a", "b", "c", "x"]), "{strategy}");
        assert_eq!(rules.as_array().unwrap().len(), 4, "{strategy}");
        let x = rules.as_array().unwrap().iter().find(|it| it["id"] == "x").unwrap();
        assert_eq!(x["n"], n, "{strategy}");
        assert_eq!(outcomes(&host), expected, "{strategy}");
    }
}

#[test]
fn a_lost_item_names_its_place_and_the_winner() {
    let host = session();
    play(&host, plan(&[], &[]), &[(A, "add $.rules [0]")]);
    let rules = plan(&[(A, 0.9)], &[("$.rules", "highest-weight")]);
    let deltas = [
        (B, r#"add $.rules [{"id":1,"n":1},{"id":"1"},7,7]"#),
        (C, r#"add $.rules [7,{"id":1,"n":2},{"id":1,"n":3}]"#),
    ];
    play(&host, rules, &deltas);
    assert_eq!(at(&host, "/rules"), json!([0, {"id":1,"n":1}, {"id":"1"}, 7]));
    let all = crate::deltas(&host, None);
    let losses = &all.last().unwrap().outcome.as_ref().unwrap().losses;
    let losses: Vec<_> =
        losses.iter().map(|it| (it.path.to_string(), it.to, it.why.as_str())).collect();
    assert_eq!(
        losses,
        [("$['rules'][2]".to_owned(), 2, "superseded"), ("$['rules'][3]".to_owned(), 1, "tie"),]
    );
}

/// Replacing a list and adding to it contradict each other.
#[test]
fn the_stronger_of_replacing_and_adding_holds() {
    let deltas = [(A, "modify $.rules [1]"), (B, "add $.rules [2]"), (C, "add $.rules [3]")];
    for (strategy, expected, outcome) in [
        (
            "highest-weight",
            json!([1]),
            ["applied", "lost to 1: outweighed", "lost to 1: outweighed"],
        ),
        ("majority-vote", json!([0, 2, 3]), ["lost to 2: outvoted", "applied", "applied"]),
    ] {
        let host = session();
        play(&host, plan(&[], &[]), &[(A, "add $.rules [0]")]);
        play(&host, plan(&[(A, 0.9), ("*", 0.1)], &[("$.rules", strategy)]), &deltas);
        assert_eq!(at(&host, "/rules"), expected, "{strategy}");
        assert_eq!(outcomes(&host), outcome, "{strategy}");
    }
}

#[test]
fn a_union_has_no_duplicates_and_applies_all_proposers() {
    let host = session();
    play(&host, plan(&[], &[]), &[(A, r#"add $.entities ["x"]"#)]);
    play(
        &host,
        plan(&[(A, 0.5), (B, 0.6)], &[("$.entities", "union")]),
        &[
            (A, r#"add $.entities ["x","y","z"]"#),
            (B, r#"add $.entities ["z","x"]"#),
            (C, r#"add $.entities ["x"]"#),
        ],
    );
    assert_eq!(at(&host, "/entities"), json!(["x", "z", "y"]));
    assert_eq!(outcomes(&host), ["applied", "applied", "applied"]);
}

#[test]
fn experts_win_in_the_order_of_the_list() {
    let experts = "expert-override:subagent:c,subagent:b";
    let host = session();
    let experts = plan(&[(A, 1.0), (B, 0.3), (C, 0.1)], &[("$.bindings", experts)]);
    play(
        &host,
        experts.clone(),
        &[
            (A, r#"add $.bindings.x "a""#),
            (B, r#"add $.bindings.x "b""#),
            (C, r#"add $.bindings.x "c""#),
            (A, r#"add $.bindings.y "a""#),
            (B, r#"add $.bindings.y "b""#),
            (A, r#"add $.bindings.z "a""#),
        ],
    );
    assert_eq!(at(&host, "/bindings"), json!({"x": "c", "y": "b", "z": "a"}));
    assert_eq!(outcomes(&host)[..2], ["lost to 3: overridden", "lost to 3: overridden"]);
}

#[test]
fn the_higher_weight_wins_between_removal_and_change() {
    let session_with_entities = || {
        let host = session();
        play(
            &host,
            plan(&[], &[]),
            &[(A, r#"add $.entities [{"name":"x"},{"name":"y"},{"name":"z"}]"#)],
        );
        host
    };
    let disagreement = [
        (A, "remove $.entities[1]"),
        (B, r#"modify $.entities[1].name "Y""#),
        (C, r#"add $.entities {"name":"new"}"#),
    ];
    let host = session_with_entities();
    play(&host, plan(&[(A, 0.9), (B, 0.1)], &[]), &disagreement);
    assert_eq!(at(&host, "/entities"), json!([{"name":"x"}, {"name":"z"}, {"name":"new"}]));
    assert_eq!(outcomes(&host), ["applied", "lost to 1: replaced-above", "applied"]);
    let host = session_with_entities();
    play(&host, plan(&[(A, 0.1), (B, 0.9)], &[]), &disagreement);
    assert_eq!(at(&host, "/entities/1"), json!({"name":"Y"}));
    assert_eq!(outcomes(&host), ["lost to 2: changed-below", "applied", "applied"]);
}

/// Indexes refer to the state everyone saw, no matter how many items are removed.
#[test]
fn removals_do_not_shift_the_indexes_of_other_deltas() {
    let host = session();
    play(&host, plan(&[], &[]), &[(A, r#"add $.entities [{"n":0},{"n":1},{"n":2},{"n":3}]"#)]);
    play(
        &host,
        plan(&[], &[]),
        &[
            (A, "remove $.entities[0]"),
            (A, "remove $.entities[2]"),
            (B, "modify $.entities[3].n 33"),
            (B, "modify $.entities[-3].n 11"),
            (C, "remove $.entities[2].n"),
        ],
    );
    assert_eq!(at(&host, "/entities"), json!([{"n":11}, {"n":33}]));
    assert_eq!(outcomes(&host), ["applied"; 5]);
}

/// The first rule that matches a path or a participant applies, not the most specific
/// one.
#[test]
fn the_first_matching_rule_applies() {
    let host = session();
    let strategies =
        [("$.bindings.a", "expert-override:subagent:b"), ("$.bindings", "highest-weight")];
    let weights = [("subagent:b", 0.2), ("subagent:*", 0.4), ("*", 0.9)];
    play(
        &host,
        plan(&weights, &strategies),
        &[
            ("orchestrator", r#"add $.bindings {"a":"chief","b":"chief"}"#),
            (B, r#"add $.bindings {"a":"b","b":"b"}"#),
            (C, r#"add $.bindings {"a":"c","b":"c"}"#),
        ],
    );
    assert_eq!(at(&host, "/bindings"), json!({"a": "b", "b": "chief"}));
    assert_eq!(
        outcomes(&host),
        ["applied, 1 places lost", "applied, 1 places lost", "lost, 2 places lost"]
    );
}

/// One participant adds a list and another an object at the same new path: members of the
/// object cannot be stored in the list, although their paths differ.
#[test]
fn a_new_path_is_either_a_list_or_an_object() {
    let deltas = [(A, "add $.entities[0].tags []"), (B, r#"add $.entities[0].tags {"a":1}"#)];
    for (weight, expected, expected_outcomes) in [
        (0.9, json!([]), ["applied", "lost to 1: replaced-above"]),
        (0.1, json!({"a":1}), ["lost to 2: changed-below", "applied"]),
    ] {
        let host = session();
        play(&host, plan(&[], &[]), &[(A, "add $.entities {}")]);
        play(&host, plan(&[(A, weight), (B, 0.5)], &[]), &deltas);
        assert_eq!(at(&host, "/entities/0/tags"), expected);
        assert_eq!(outcomes(&host), expected_outcomes);
    }
}
