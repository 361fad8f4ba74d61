//! The navigation index (spec 20.3), of the outline that 002 has as an example.

use shared_context_core::{
    Line,
    outline::{INDEX_TOKENS, Index, Shortcut},
    tokens::{Tokens, approximate},
};

use crate::*;

/// The sections of the example: marker, title, description, status.
const SECTIONS: [(&str, &str, &str, &str); 12] = [
    ("§1.0", "Project Overview", "Goal, status, priorities, blockers", ""),
    ("§2.1", "Architecture", "System design, key decisions", ""),
    ("§2.2", "Authentication", "Auth service implementation", ""),
    ("§2.3", "Payment", "Payment integration status", "IN PROGRESS"),
    ("§2.4", "Infrastructure", "Deployment and operations", ""),
    ("§3.1", "Architecture Details", "Deep technical specs", ""),
    ("§3.2", "Database Schema", "Tables, relationships, indexes", ""),
    ("§3.3", "API Specifications", "Endpoint definitions", ""),
    ("§4.services.auth.*", "Authentication", "Authentication service code", ""),
    ("§4.services.payment.*", "Payment", "Payment service code", ""),
    ("§4.database.migrations.*", "Migrations", "DB migration scripts", ""),
    ("§4.tests.*", "Tests", "Test suites", ""),
];

const NEEDS: [(&str, &str, &str); 4] = [
    ("JWT implementation", "§4.services.auth.jwt_handler", ""),
    ("Decision rationale for PostgreSQL", "§2.1", "Architecture - Key Decisions"),
    ("Current blockers", "§1.0", "Executive Summary"),
    ("Payment service status", "§2.3", "Payment"),
];

fn line(text: &str) -> Line {
    Line::parse("line", text).unwrap()
}

/// Returns a project with the outline of the example.
fn example() -> TestHost {
    let host = project();
    for (of, title, summary, status) in SECTIONS {
        let section = new(of, title, if of.ends_with('*') { "" } else { "text" });
        let shortcut = |(need, of, label): &(&str, &str, &str)| Shortcut {
            need: line(need),
            marker: marker(of),
            label: (!label.is_empty()).then(|| line(label)),
        };
        let shortcuts = (of == "§1.0").then(|| NEEDS.iter().map(shortcut).collect());
        let (summary, status) = (Some(summary.to_owned()), Some(status.to_owned()));
        write(&host, ORCHESTRATOR, NewSection { summary, status, shortcuts, ..section });
    }
    put(&host, ORCHESTRATOR, "§4.services.auth.jwt_handler", "import jwt");
    host
}

fn index(host: &TestHost, tokens: u32) -> Index {
    match ask(host, AGENT, OutlineCommand::Index { budget: Tokens(tokens) }) {
        OutlineReply::Index(it) => *it,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_index_of_the_example_is_written_byte_for_byte() {
    let index = index(&example(), 1_000);
    assert_eq!(index.text, include_str!("example.txt").trim_end());
    assert_eq!((index.omitted, index.shortcuts_omitted), ([0; 4], 0));
}

#[test]
fn an_index_is_never_over_its_budget() {
    let host = example();
    let whole = index(&host, 1_000).tokens.0;
    let mut before = [u32::MAX; 4];
    for tokens in *INDEX_TOKENS.start()..=whole {
        let it = index(&host, tokens);
        assert_eq!(it.tokens, approximate(&it.text));
        assert!(it.tokens.0 <= tokens, "{tokens}");
        let [one, two, three, four] = it.omitted;
        assert!(three == 0 || four == 4, "files fall out first: {:?}", it.omitted);
        assert!(two == 0 || three == 3, "{:?}", it.omitted);
        assert!(one == 0 || two == 4, "{:?}", it.omitted);
        assert!(it.omitted <= before, "more tokens show more");
        before = it.omitted;
    }
    assert_eq!(before, [0; 4]);
    let small = index(&host, 100).text;
    assert!(small.contains("(left out:") && small.contains(" at L4"), "{small}");
}

#[test]
fn a_section_that_is_not_loaded_is_tagged() {
    let host = example();
    put(&host, ORCHESTRATOR, "§3.2", "PRUNE: done");
    let text = index(&host, 1_000).text;
    assert!(text.contains("Tables, relationships, indexes [NOT LOADED]"), "{text}");
}
