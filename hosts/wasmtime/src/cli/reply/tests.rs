//! Tests of the formatted replies.

mod outline;

use super::*;

const OUTPUT: Output = Output::of_width(80);

fn shown(request: &str, reply: &str) -> String {
    let text = human(request.as_bytes(), reply.as_bytes(), OUTPUT).unwrap();
    anstream::adapter::strip_str(&text).to_string()
}

const ENTRY: &str = r#""key":"scope","written_by":"orchestrator",
    "written_at":"2026-02-20T14:30:00Z","version":2,"value_size_tokens":180,"revision":7"#;

#[test]
fn a_listing_is_a_table_with_a_gauge() {
    let reply = format!(
        r#"{{"keys":[{{{ENTRY}}}],"total_tokens":180,"max_tokens":10000,"key_count":1,"revision":7}}"#
    );
    insta::assert_snapshot!(shown(r#"{"action":"list_keys"}"#, &reply));
    let empty = r#"{"keys":[],"total_tokens":0,"max_tokens":10000,"key_count":0,"revision":1}"#;
    insta::assert_snapshot!(shown(r#"{"action":"list_keys"}"#, empty));
}

#[test]
fn a_value_is_shown_as_it_is_and_then_whose_it_is() {
    let reply = format!(r#"{{"value":"Find the\nparameter.\u001b[2J",{ENTRY}}}"#);
    insta::assert_snapshot!(shown(r#"{"action":"read","key":"scope"}"#, &reply));
}

#[test]
fn a_write_shows_its_warnings() {
    let reply = format!(
        r#"{{{ENTRY},"warnings":[{{"code":"DISTILL","message":"value has 180 tokens"}}]}}"#
    );
    insta::assert_snapshot!(shown(r#"{"action":"write"}"#, &reply));
}

#[test]
fn a_delete_names_what_is_gone() {
    let reply = r#"{"deleted":"scope","previous_version":2,"revision":8}"#;
    insta::assert_snapshot!(shown(r#"{"action":"delete"}"#, reply));
}

#[test]
fn a_session_tells_its_limits() {
    let reply = r#"{"session_id":"ticket-7","status":"active","incarnation":1,
        "credential_epoch":1,"created_at":"2026-02-20T14:30:00Z",
        "changed_at":"2026-02-20T14:31:00.5Z","key_count":12,"total_tokens":8400,
        "max_tokens":10000,"config":{"value_tokens_max":1000,"store_tokens_max":10000,
        "keys_max":1000,"estimator":"approximate","namespace":null},"revision":13}"#;
    insta::assert_snapshot!(shown(r#"{"action":"show_session"}"#, reply));
    let sessions: Sessions =
        serde_json::from_str(&format!(r#"{{"sessions":[{reply}],"next_after":null}}"#)).unwrap();
    let text = sessions.human(OUTPUT);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
}

#[test]
fn an_audit_log_is_a_table() {
    let reply = r#"{"records":[{"revision":1,"action":"create_session","written_by":"admin",
        "written_at":"2026-02-20T14:30:00Z"},{"revision":2,"action":"write","key":"scope",
        "written_by":"subagent:analysis","written_at":"2026-02-20T14:30:01Z","version":1,
        "value_size_tokens":12}],"oldest":1,"next_after":2}"#;
    insta::assert_snapshot!(shown(r#"{"action":"audit"}"#, reply));
}

const SNAPSHOT: &str = r#""label":"before-review","note":"all experts done",
    "taken_by":"orchestrator","taken_at":"2026-02-20T14:32:00Z","key_count":2,
    "total_tokens":192,"revision":9"#;

#[test]
fn what_is_special_about_entries_is_noted() {
    let reply = format!(
        r#"{{"keys":[{{{ENTRY}}},{{"key":"findings","written_by":"subagent:analysis",
        "written_at":"2026-02-20T14:31:00Z","version":1,"value_size_tokens":12,"revision":8,
        "expires_at":"2026-02-20T15:00:00Z","readable_by":["orchestrator","subagent:review:*"],
        "history":false,"read_only":true}}],
        "total_tokens":192,"max_tokens":10000,"key_count":2,"revision":8}}"#
    );
    insta::assert_snapshot!(shown(r#"{"action":"list_keys"}"#, &reply));
}

#[test]
fn an_unchanged_reply_says_so() {
    let reply = r#"{"unchanged":true,"revision":7}"#;
    for action in ["list_keys", "read", "read_batch"] {
        let request = format!(r#"{{"action":"{action}"}}"#);
        assert_eq!(shown(&request, reply), "nothing changed; revision 7\n");
    }
}

#[test]
fn a_batch_is_shown_as_its_parts() {
    let reply = format!(
        r#"{{"entries":[{{"value":"Find it.",{ENTRY}}}],"missing":["plan","risks"],"revision":9}}"#
    );
    insta::assert_snapshot!(shown(r#"{"action":"read_batch"}"#, &reply));
    let reply = format!(
        r#"{{"written":[{{{ENTRY},"warnings":[]}}],
        "deleted":[{{"deleted":"plan","previous_version":3}}],"revision":9}}"#
    );
    insta::assert_snapshot!(shown(r#"{"action":"write_batch"}"#, &reply));
}

#[test]
fn a_history_shows_every_version_and_how_it_ended() {
    let reply = r#"{"key":"scope","versions":[
        {"version":1,"value":"Find the parameter.","written_by":"orchestrator",
         "written_at":"2026-02-20T14:30:00Z","value_size_tokens":5,"revision":2,
         "status":"superseded","ended_at":"2026-02-20T14:31:00Z",
         "ended_by":"subagent:analysis","is_deleted":true},
        {"version":2,"value":"It is the temperature, see the second table of the third report.\n- 20 °C\n- \u001b[31m30 °C",
         "written_by":"subagent:analysis","written_at":"2026-02-20T14:31:00Z",
         "value_size_tokens":19,"revision":3,"status":"deleted",
         "ended_at":"2026-02-20T14:32:00Z","ended_by":"orchestrator","is_deleted":true},
        {"version":1,"value":"New scope.","written_by":"orchestrator",
         "written_at":"2026-02-20T14:33:00Z","value_size_tokens":3,"revision":5,
         "status":"current"}],"revision":5}"#;
    insta::assert_snapshot!(shown(r#"{"action":"read_history"}"#, reply));
    let none = r#"{"key":"scope","versions":[],"revision":5}"#;
    assert_eq!(shown(r#"{"action":"read_history"}"#, none), "no versions of scope are kept\n");
}

#[test]
fn snapshots_are_a_table() {
    let request = r#"{"action":"list_snapshots"}"#;
    insta::assert_snapshot!(shown(
        request,
        &format!(r#"{{"snapshots":[{{{SNAPSHOT}}}],"max_snapshots":32,"revision":12}}"#)
    ));
    let none = shown(request, r#"{"snapshots":[],"max_snapshots":32,"revision":1}"#);
    assert!(none.contains("snapshot take"), "{none}");
    insta::assert_snapshot!(shown(r#"{"action":"snapshot"}"#, &format!("{{{SNAPSHOT}}}")));
}

#[test]
fn a_snapshot_shows_its_entries_or_one() {
    let entry = format!(r#"{{"value":"Find the\nparameter.",{ENTRY}}}"#);
    let request = r#"{"action":"read_snapshot","label":"before-review"}"#;
    insta::assert_snapshot!(shown(request, &format!(r#"{{{SNAPSHOT},"entries":[{entry}]}}"#)));
    assert!(shown(request, &entry).starts_with("Find the\nparameter.\n"));
}

#[test]
fn a_difference_is_a_line_per_key_and_the_sums() {
    let reply = r#"{"from":"before-review","added":[
        {"key":"findings_summary","version":1,"value_size_tokens":1042}],
        "removed":[{"key":"plan","version":12,"value_size_tokens":30}],
        "changed":[{"key":"scope","from_version":1,"to_version":2,"from_tokens":40,"to_tokens":28},
        {"key":"x","from_version":9,"to_version":10,"from_tokens":1,"to_tokens":1}],
        "unchanged":1,"added_tokens":1042,"removed_tokens":30,"changed_tokens":-12,"revision":14}"#;
    insta::assert_snapshot!(shown(r#"{"action":"diff_snapshots"}"#, reply));
    let same = r#"{"from":"a","to":"b","added":[],"removed":[],"changed":[],"unchanged":4,
        "added_tokens":0,"removed_tokens":0,"changed_tokens":0,"revision":14}"#;
    insta::assert_snapshot!(shown(r#"{"action":"diff_snapshots"}"#, same));
}

#[test]
fn a_restore_names_what_it_touched() {
    let reply = r#"{"restored":"before-review","written":[{"key":"scope","version":3},
        {"key":"plan","version":1}],"deleted":["findings_summary"],"unchanged":1,"revision":15}"#;
    insta::assert_snapshot!(shown(r#"{"action":"restore_snapshot"}"#, reply));
    let reply = r#"{"deleted_snapshot":"before-review","revision":16}"#;
    let request = r#"{"action":"delete_snapshot"}"#;
    assert_eq!(shown(request, reply), "✓ snapshot before-review deleted\n");
}

#[test]
fn a_redaction_leaves_digests() {
    let reply = r#"{"redacted":"scope","digests":["sha256:00ff","sha256:11ee"],"revision":15}"#;
    insta::assert_snapshot!(shown(r#"{"action":"redact"}"#, reply));
}

#[test]
fn a_redaction_of_rounds_tells_what_stands_in_their_place() {
    let request = r#"{"action":"redact_rounds"}"#;
    let reply = r#"{"places":7,"markers":["redacted:00ff","redacted:11ee"],"revision":15}"#;
    insta::assert_snapshot!(shown(request, reply));
    let reply = r#"{"places":0,"markers":[],"revision":15}"#;
    assert_eq!(shown(request, reply), "nothing in the rounds contains the text, revision 15\n");
}

const CHANGES: &str = r#"[{"revision":13,"action":"write","written_by":"subagent:analysis",
    "written_at":"2026-02-20T14:30:00.250Z","key":"scope","version":2,"value_size_tokens":180},
    {"revision":14,"action":"expire","written_by":"system","written_at":"2026-02-20T14:30:01Z",
    "key":"heartbeat","version":7},
    {"revision":14,"action":"restore_snapshot","written_by":"orchestrator",
    "written_at":"2026-02-20T14:30:01Z","label":"before-review"},
    {"revision":14,"action":"delete","written_by":"orchestrator",
    "written_at":"2026-02-20T14:30:01Z","key":"plan","version":3},
    {"revision":15,"action":"redact","written_by":"admin","written_at":"2026-02-20T14:30:02Z",
    "key":"scope","reason":"held a password"}]"#;

#[test]
fn changes_are_a_table_or_come_line_by_line() {
    let page = format!(r#"{{"changes":{CHANGES},"next_since":15,"has_more":false,"revision":15}}"#);
    insta::assert_snapshot!(shown(r#"{"action":"changes"}"#, &page));
    let commit = format!(r#"{{"revision":15,"changes":{CHANGES}}}"#);
    let commit: Commit = serde_json::from_str(&commit).unwrap();
    let text = commit.human(OUTPUT);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
    assert!(text.contains("\u{1b}[32mwrite") && text.contains("\u{1b}[31mdelete"), "{text:?}");
}

#[test]
fn an_inspection_is_one_screen() {
    let reply = format!(
        r#"{{"session":{{"session_id":"ticket-7","status":"active","incarnation":1,
        "credential_epoch":1,"created_at":"2026-02-20T14:30:00Z",
        "changed_at":"2026-02-20T14:31:00.5Z","key_count":2,"total_tokens":8400,
        "max_tokens":10000,"config":{{"value_tokens_max":1000,"keys_max":1000,
        "estimator":"o200k_base"}},"revision":13}},
        "entries":[{{"value":"one\ntwo\nthree\nfour",{ENTRY}}}],"snapshots":[{{{SNAPSHOT}}}],
        "history":{{"versions":31,"bytes":12345,"max_bytes":1048576}},
        "changes":{{"oldest":1,"count":13}},"next_expiry":"2026-02-20T15:00:00Z","revision":13}}"#
    );
    insta::assert_snapshot!(shown(r#"{"action":"inspect"}"#, &reply));
}

const ENVELOPE: &str = r#""envelope":{"id":"ENV-2",
    "assembly":{"blocks":[{"digest":"sha256:a","item":"entry:scope","segment":"project","tokens":1180},
    {"digest":"sha256:b","segment":"task","tokens":9}],"format":"markdown","is_replanned":true,
    "place":"message_history","reused_prefix_tokens":1180,"target":"model","tokens":1202},
    "budget":{"reserved":500,"tokens":2000,"used":{"bytes":9,"items":1,"tokens":1202}},
    "items":[{"id":"entry:scope","tokens":1170},{"id":"old.rs","tokens":40},{"id":"menu","tokens":3}],
    "selection":{"candidates":[{"id":"entry:scope","rank":1},
    {"id":"old.rs","omitted":{"reason":"superseded","other":"new.rs"}},
    {"id":"menu","omitted":{"reason":"irrelevant"}}]}}"#;

#[test]
fn an_assembly_is_its_text_and_what_is_in_it() {
    let reply = format!(
        r####"{{"id":"ENV-2","text":"### entry:scope\u001b[2J\n",{ENVELOPE},"revision":3}}"####
    );
    insta::assert_snapshot!(shown(r#"{"action":"assemble_context"}"#, &reply));
}

#[test]
fn an_envelope_shows_where_it_became_visible() {
    let reply = format!(
        r#"{{"id":"ENV-2","digest":"sha256:c",{ENVELOPE},"injections":[{{"injection":1,
        "envelope":"ENV-2","place":"ui_panel","target":"user","at":"2026-02-20T14:30:00Z",
        "by":"subagent:a"}}],"revision":3}}"#
    );
    insta::assert_snapshot!(shown(r#"{"action":"read_envelope"}"#, &reply));
}

#[test]
fn missing_context_is_a_table_with_answers() {
    let open = r#""missing":"MIS-2","kind":"blocker","text":"No access to the log.",
        "reported_at":"2026-02-20T14:30:00Z","reported_by":"subagent:b""#;
    let answered = r#""missing":"MIS-1","kind":"question","text":"Which limit holds?",
        "reported_at":"2026-02-20T14:29:00Z","reported_by":"subagent:a","answer":"Five.",
        "answered_at":"2026-02-20T14:31:00Z","answered_by":"orchestrator""#;
    let list = format!(r#"{{"missing":[{{{open}}},{{{answered}}}],"open":1,"revision":4}}"#);
    insta::assert_snapshot!(shown(r#"{"action":"list_missing"}"#, &list));
    let one = |action: &str, missing: &str| {
        shown(&format!(r#"{{"action":"{action}"}}"#), &format!(r#"{{{missing},"revision":4}}"#))
    };
    assert_eq!(one("report_missing", open), "✓ MIS-2 (blocker) reported by subagent:b\n");
    assert_eq!(one("answer_missing", answered), "✓ MIS-1 (question) answered by orchestrator\n");
    let none = shown(r#"{"action":"list_missing"}"#, r#"{"missing":[],"open":0,"revision":4}"#);
    assert!(none.starts_with("nothing here"), "{none}");
}

/// Formats the reply to a call on a project.
fn told<T: DeserializeOwned + Human>(reply: &str) -> String {
    let reply: T = serde_json::from_str(reply).unwrap();
    anstream::adapter::strip_str(&reply.human(OUTPUT)).to_string()
}

#[test]
fn a_project_tells_its_numbers() {
    let reply = r#"{"project_id":"webshop","incarnation":1,"credential_epoch":1,
        "created_at":"2026-02-20T14:30:00Z","changed_at":"2026-02-20T14:31:00.5Z",
        "is_archived":false,"memories_max":10000,"memory_count":1,"memory_bytes":2049,
        "session_count":2,"revision":13}"#;
    insta::assert_snapshot!(told::<Project>(reply));
    let list = format!(r#"{{"projects":[{reply}],"next_after":null}}"#);
    insta::assert_snapshot!(told::<Projects>(&list));
}

#[test]
fn added_memories_show_their_warnings() {
    insta::assert_snapshot!(told::<AddedMemories>(
        r#"{"memories":[{"memory_id":"e2f1c0aa-51d4-8c1e-9a3b-000000000007",
        "decision_id":"DEC-2026-02-20-001","version":1,"is_new":true,"warnings":[
        {"code":"UNVERIFIED","message":"an orchestrator must confirm it"}]},
        {"memory_id":"e2f1c0aa-51d4-8c1e-9a3b-000000000003","version":2,"is_new":false,
        "warnings":[]}],"revision":13}"#
    ));
}

const DECISION: &str = r#""memory_id":"e2f1c0aa-51d4-8c1e-9a3b-000000000007",
    "decision_id":"DEC-2026-02-20-001","memory_type":"decision","title":"PostgreSQL\u001b[2J",
    "tags":["storage","orders"],"importance":8,"timestamp":"2026-02-20T14:30:00Z",
    "agent_id":"orchestrator","session_id":"ticket-7","is_verified":true,"is_archived":false,
    "access_count":3"#;

#[test]
fn found_memories_are_a_table() {
    let part = r#""snippet":"Orders are in PostgreSQL.","score":0.6125"#;
    let list = format!(
        r#"{{"memories":[{{{DECISION},{part}}}],"total":4,"next_cursor":"c","revision":13}}"#
    );
    insta::assert_snapshot!(told::<FoundMemories>(&list));
    let none = told::<FoundMemories>(r#"{"memories":[],"total":0,"revision":13}"#);
    assert_eq!(none, "nothing found\n");
}

#[test]
fn a_memory_is_shown_with_what_it_says_and_where_it_comes_from() {
    let rest = r#""version":2,"created_at":"2026-02-20T14:30:00Z",
        "changed_at":"2026-02-20T14:31:00Z","changed_by":"admin","is_marked_for_deletion":true,
        "supersedes":["DEC-2026-02-19-001"],"authority":"model""#;
    let content = r#""content":{"alternatives_considered":["SQLite, which has one writer",
        "Files"],"decision":"Orders are in PostgreSQL.","rationale":"Transactions."}"#;
    let whole = format!(r#"{{"memories":[{{{DECISION},{content},{rest}}}],"revision":13}}"#);
    insta::assert_snapshot!(told::<ReadMemories>(&whole));
    let redacted = r#""redacted":{"digest":"sha256:00ff","reason":"held a password"}"#;
    let redacted = format!(r#"{{"memories":[{{{DECISION},{rest},{redacted}}}],"revision":13}}"#);
    insta::assert_snapshot!(told::<ReadMemories>(&redacted));
}

#[test]
fn a_change_of_memories_is_told_in_a_line() {
    let id = "e2f1c0aa-51d4-8c1e-9a3b-000000000007";
    let updated =
        told::<UpdatedMemory>(&format!(r#"{{"memory_id":"{id}","version":2,"revision":9}}"#));
    assert_eq!(updated, format!("✓ {id} version 2 written, revision 9\n"));
    let reply = format!(r#"{{"memory_id":"{id}","superseded_by":"b","revision":9}}"#);
    assert_eq!(
        told::<SupersededMemory>(&reply),
        format!("✓ b holds in place of {id}, revision 9\n")
    );
    let reply = format!(r#"{{"memory_ids":["{id}"],"mark":"verified","revision":9}}"#);
    assert_eq!(
        told::<MarkedMemories>(&reply),
        format!("✓ 1 memory marked as verified, revision 9\n  {id}\n")
    );
    let reply = format!(r#"{{"memory_id":"{id}","digests":["sha256:00ff"],"revision":9}}"#);
    insta::assert_snapshot!(told::<RedactedMemory>(&reply));
}

#[test]
fn maintenance_is_a_table() {
    let reply = r#"{"actions":[{"action":"ARCHIVED","memory_id":"e2f1c0aa-51d4-8c1e-9a3b-000000000007",
        "rule":"resolved_issue"}],"has_more":false,"dry_run":true,"revision":9}"#;
    insta::assert_snapshot!(told::<Maintained>(reply));
    let none = r#"{"actions":[],"has_more":false,"dry_run":false,"revision":9}"#;
    assert_eq!(told::<Maintained>(none), "nothing to do, revision 9\n");
}

#[test]
fn what_a_session_is_not_told_is_counted() {
    let reply = r##"{"text":"# webshop\n","tokens":1234,"max_tokens":20000,
        "parts":[{"part":"key_decisions","tokens":9,"memory_ids":["a","b"]}],
        "omitted":[{"memory_id":"c","reason":"over_budget","tokens":900}],"unverified":2,
        "continuity":{"sessions_in_project":1},"revision":9}"##;
    let told: Rehydrated = serde_json::from_str(reply).unwrap();
    assert_eq!(
        told.summary(),
        "1,234 of 20,000 tokens, 2 memories; 1 too large for the rest; 2 unverified, see \
         --unverified"
    );
}
