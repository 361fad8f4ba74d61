//! Tests of formatted outlines, owners and handoffs.

use super::{super::*, told};

const OWNER: &str = r#"{"agent_id":"subagent:impl","session_id":"ticket-7"}"#;

fn lease() -> String {
    format!(
        r#"{{"owner":{OWNER},"ownership":"exclusive","acquired_at":"2026-02-20T14:00:00Z",
        "expires_at":"2026-02-20T14:30:00Z","previous_owner":{{"agent_id":"orchestrator"}},
        "reason":"PCI review"}}"#
    )
}

fn section(members: &str) -> String {
    let lease = lease();
    format!(
        r#"{{"marker":"§3.1","level":3,"title":"Charges","tokens":11,"version":2,
        "changed_at":"2026-02-20T14:10:00Z","changed_by":{OWNER},"lease":{lease},{members}}}"#
    )
}

#[test]
fn a_section_is_shown_with_what_it_says_and_who_owns_it() {
    let whole = section(
        r#""summary":"How cards are charged","status":"DONE","progress":100,
        "content":"One charge an order.\n","is_hidden":false,"versions":[1,2],
        "readers":["subagent:review"],"shortcuts":[{"need":"Issues","marker":"§2.3","label":"Open"}],
        "file":{"path":"src/pay.rs","size":1200,"purpose":"Charges cards"}"#,
    );
    let hidden = section(r#""is_hidden":true,"versions":[]"#);
    let pruned = section(r#""is_hidden":false,"versions":[],"pruned":"paid in 2027""#);
    let redacted = section(
        r#""is_hidden":false,"versions":[],"redacted":{"digest":"sha256:ab","reason":"a key"}"#,
    );
    for it in [&[whole][..], &[hidden, pruned, redacted], &[]] {
        let reply = format!(r#"{{"sections":[{}],"more":[]}}"#, it.join(","));
        insta::assert_snapshot!(told::<ReadSections>(&reply));
    }
}

#[test]
fn a_written_section_shows_warnings_and_where_to_look() {
    let lease = lease();
    let reply = format!(
        r#"{{"marker":"§3.1","version":1,"tokens":11,"lease":{lease},"revision":4,
        "warnings":[{{"code":"BROKEN_LINK","marker":"§3.1","message":"§4.a is not there"}}],
        "advice":[{{"marker":"§1.0","when":"if it is major"}}]}}"#
    );
    insta::assert_snapshot!(told::<WrittenSection>(&reply));
    let leased = format!(r#"{{"marker":"§3.1","lease":{lease},"revision":5}}"#);
    insta::assert_snapshot!(told::<LeasedSection>(&leased));
}

#[test]
fn findings_and_coordination_are_tables() {
    let findings = r#"{"findings":[{"code":"NO_DETAILS","marker":"§2.1",
        "message":"no section of level 3 has details of it; write one, or link to one"}]}"#;
    insta::assert_snapshot!(told::<OutlineFindings>(findings));
    assert_eq!(told::<OutlineFindings>(r#"{"findings":[]}"#), "✓ nothing found\n");
    let lease = lease();
    let state = format!(
        r#"{{"active_agents":["orchestrator","subagent:impl"],
        "section_ownership":[{{"marker":"§3.1","lease":{lease}}}],
        "assignments":[{{"agent_id":"subagent:impl","tasks":["Charges","Refunds"]}}],
        "global_blockers":["PCI review"],"sync_version":2,"last_sync":"2026-02-20T14:10:00Z",
        "shared_resources":[{{"name":"staging","value":"staging.example.com"}}]}}"#
    );
    insta::assert_snapshot!(told::<Coordination>(&state));
}

#[test]
fn an_index_says_how_much_did_not_fit() {
    let omitted = |omitted: &str| {
        let reply = format!(r#"{{"text":"","omitted":{omitted},"shortcuts_omitted":1}}"#);
        serde_json::from_str::<OutlineIndex>(&reply).unwrap().omitted()
    };
    assert_eq!(omitted("[0,0,2,10]").as_deref(), Some("12 sections and 1 shortcut"));
    assert_eq!(omitted("[0,0,0,0]").as_deref(), Some("1 shortcut"));
}

#[test]
fn handoffs_are_shown_by_their_state() {
    let handoff = r#"{"handoff_id":"HND-2","handoff_type":"complete","state":"declined",
        "from_agent":"subagent:plan","to_agent":"subagent:impl","is_takeover":false,
        "offered_at":"2026-02-20T14:00:00Z","expires_at":"2026-02-21T14:00:00Z",
        "settled_at":"2026-02-20T14:05:00Z","settled_by":"subagent:impl","note":"no time",
        "sections":["§3.1"],"tokens":1200,"max_tokens":25000}"#;
    let one = format!(r#"{{"handoff":{handoff},"omitted":[{{}}],"chain":["HND-1"]}}"#);
    insta::assert_snapshot!(told::<HandoffReply>(&one));
    // The receiver was shown no word of the package.
    let accepted = format!(
        r#"{{"handoff":{handoff},"omitted":[],"chain":[],"package":{{
        "handoff_metadata":{{"summary":"Half done"}},
        "next_actions":{{"immediate":["charge API"],"short_term":[]}},
        "agent_specific_notes":{{"known_pitfalls":["no retries"]}},
        "context_summary":{{"critical_decisions":[{{"title":"Pg","content":{{"decision":"JSON"}}}}]}}}}}}"#
    );
    let text = told::<HandoffRead>(&accepted);
    let parts = ["Half done", "next", "- charge API", "pitfalls", "- no retries", "- Pg: JSON"];
    assert!(parts.iter().all(|it| text.contains(it)), "{text}");
    assert!(!text.contains("soon"), "{text}");
    insta::assert_snapshot!(told::<Handoffs>(&format!(r#"{{"handoffs":[{handoff}]}}"#)));
    let trace = format!(
        r#"{{"steps":[{{"memory_id":"m","link":"asked","decision_id":"DEC-2026-02-20-001",
        "title":"Use PostgreSQL","timestamp":"2026-02-20T13:00:00Z","agent_id":"orchestrator",
        "session_id":"ticket-7"}},{{"memory_id":"n","link":"superseded_by"}}],
        "handoffs":[{handoff}],"session_ids":["ticket-7"],"has_more":true}}"#
    );
    insta::assert_snapshot!(told::<DecisionTrace>(&trace));
}
