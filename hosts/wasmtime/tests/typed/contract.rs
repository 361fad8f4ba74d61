//! Checks that every action of the JSON tool, and each of its members, has an equivalent in
//! the typed interfaces, that these contain nothing else, and that all of it is tested.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use shared_context_codec::actions;
use wit_parser::{Function, Resolve, Type, TypeDefKind, WorldItem};

/// The typed functions for each action.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("list_keys", &["store.list-keys"]),
    ("read", &["store.read"]),
    ("write", &["store.write"]),
    ("delete", &["store.delete"]),
    ("read_batch", &["store.read-batch"]),
    ("write_batch", &["store.write-batch"]),
    ("read_history", &["history.read"]),
    ("set_access", &["store.set-access"]),
    ("snapshot", &["snapshots.take"]),
    ("list_snapshots", &["snapshots.list-all"]),
    ("read_snapshot", &["snapshots.read", "snapshots.read-entry"]),
    ("diff_snapshots", &["snapshots.diff"]),
    ("restore_snapshot", &["snapshots.restore"]),
    ("delete_snapshot", &["snapshots.delete"]),
    ("changes", &["changes.read"]),
    ("open_round", &["rounds.open"]),
    ("propose_deltas", &["rounds.propose"]),
    ("withdraw_deltas", &["rounds.withdraw"]),
    ("reject_deltas", &["rounds.reject"]),
    ("close_round", &["rounds.close"]),
    ("read_state", &["rounds.read-state"]),
    ("read_deltas", &["rounds.read-deltas"]),
    ("convergence", &["rounds.convergence"]),
    ("redact_rounds", &["rounds.redact"]),
    ("redact", &["store.redact"]),
    ("prompt", &["prompt.render"]),
    ("render_context", &["prompt.context"]),
    ("plan_window", &["context.plan-window"]),
    ("assemble_context", &["context.assemble-context"]),
    ("read_envelope", &["context.read-envelope"]),
    ("export_evidence", &["context.export-evidence"]),
    ("record_injection", &["context.record-injection"]),
    ("report_missing", &["context.report-missing"]),
    ("answer_missing", &["context.answer-missing"]),
    ("list_missing", &["context.list-missing"]),
    ("extract", &["compaction.extract"]),
    ("compact", &["compaction.compact"]),
    ("check_summary", &["compaction.check-summary"]),
    ("context_generate", &["packets.generate"]),
    ("context_edit", &["packets.edit"]),
    ("context_read", &["packets.read"]),
    ("context_feedback", &["packets.feedback"]),
    ("context_query", &["packets.query"]),
    ("context_stats", &["packets.stats"]),
    ("context_clear", &["packets.clear"]),
    ("list_packets", &["packets.list-packets"]),
    ("show_session", &["sessions.show"]),
    ("create_session", &["sessions.create"]),
    ("update_session", &["sessions.update"]),
    ("archive_session", &["sessions.archive"]),
    ("delete_session", &["sessions.delete"]),
    ("revoke_credentials", &["sessions.revoke-credentials"]),
    ("inspect", &["sessions.inspect"]),
    ("export_session", &["sessions.export-document"]),
    ("import_session", &["sessions.import-document"]),
    ("audit", &["changes.audit"]),
    ("create_project", &["projects.create"]),
    ("show_project", &["projects.show"]),
    ("archive_project", &["projects.archive"]),
    ("project_changes", &["projects.changes"]),
    ("project_sessions", &["projects.sessions"]),
    ("export_project", &["projects.export-document"]),
    ("import_project", &["projects.import-document"]),
    ("delete_project", &["projects.delete"]),
    ("add_memories", &["memories.add"]),
    ("read_memories", &["memories.read"]),
    ("memory_history", &["memories.history"]),
    ("update_memory", &["memories.update"]),
    ("supersede_memory", &["memories.supersede"]),
    ("mark_memories", &["memories.mark"]),
    ("search_memories", &["memories.search"]),
    ("rehydrate", &["memories.rehydrate"]),
    ("session_summary", &["memories.summarize"]),
    ("maintain", &["memories.maintain"]),
    ("decision_log", &["memories.decision-log"]),
    ("redact_memory", &["memories.redact"]),
    ("put_section", &["outline.put"]),
    ("read_section", &["outline.read"]),
    ("delete_section", &["outline.delete"]),
    ("read_index", &["outline.index"]),
    ("check_outline", &["outline.check"]),
    ("acquire", &["outline.acquire"]),
    ("renew", &["outline.renew"]),
    ("release", &["outline.release"]),
    ("transfer", &["outline.transfer"]),
    ("coordination", &["outline.coordination"]),
    ("coordinate", &["outline.coordinate"]),
    ("redact_section", &["outline.redact"]),
    ("offer_handoff", &["handoffs.offer"]),
    ("accept_handoff", &["handoffs.accept"]),
    ("decline_handoff", &["handoffs.decline"]),
    ("take_over", &["handoffs.take-over"]),
    ("list_handoffs", &["handoffs.list-handoffs"]),
    ("read_handoff", &["handoffs.read"]),
    ("redact_handoff", &["handoffs.redact"]),
    ("trace_decision", &["handoffs.trace-decision"]),
    ("project_prompt", &["handoffs.prompt"]),
];

/// The tests of the interfaces.
const TESTS: [&str; 14] = [
    include_str!("sessions.rs"),
    include_str!("store.rs"),
    include_str!("history.rs"),
    include_str!("snapshots.rs"),
    include_str!("changes.rs"),
    include_str!("compaction.rs"),
    include_str!("context.rs"),
    include_str!("packets.rs"),
    include_str!("prompt.rs"),
    include_str!("rounds.rs"),
    include_str!("projects.rs"),
    include_str!("memories.rs"),
    include_str!("outline.rs"),
    include_str!("handoffs.rs"),
];

/// Returns the parameters of each typed function, as members of a request.
fn typed_functions() -> BTreeMap<String, BTreeSet<String>> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let (package, _) = resolve.push_dir(wit).unwrap();
    let world = &resolve.worlds[resolve.select_world(&[package], None).unwrap()];
    let mut functions = BTreeMap::new();
    for export in world.exports.values() {
        let WorldItem::Interface { id, .. } = export else { panic!("exports are interfaces") };
        let interface = &resolve.interfaces[*id];
        let name = interface.name.as_deref().unwrap();
        for function in interface.functions.values().filter(|_| name != "tool") {
            functions.insert(format!("{name}.{}", function.name), members(&resolve, function));
        }
    }
    functions
}

fn members(resolve: &Resolve, function: &Function) -> BTreeSet<String> {
    let mut members = BTreeSet::new();
    for param in &function.params {
        match (param.name.as_str(), record(resolve, param.ty)) {
            ("session" | "project" | "caller", _) => {}
            (_, Some(fields)) => members.extend(fields),
            (name, None) => drop(members.insert(member(name))),
        }
    }
    members
}

/// Returns the fields of a record, or `None` for another type.
fn record(resolve: &Resolve, ty: Type) -> Option<Vec<String>> {
    let Type::Id(id) = ty else { return None };
    match &resolve.types[id].kind {
        TypeDefKind::Type(ty) => record(resolve, *ty),
        TypeDefKind::Record(it) => Some(it.fields.iter().map(|it| member(&it.name)).collect()),
        _ => None,
    }
}

/// Returns the request member that corresponds to a parameter.
fn member(name: &str) -> String {
    match name {
        "keeps-history" => "history".to_owned(),
        _ => name.strip_suffix("-ms").unwrap_or(name).replace('-', "_"),
    }
}

/// Actions whose typed function takes the JSON object of the request: items, packets and memories
/// have too many members to type.
const REQUESTS_AS_JSON: &[&str] = &[
    "assemble_context",
    "extract",
    "compact",
    "check_summary",
    "context_generate",
    "context_edit",
    "context_read",
    "context_feedback",
    "context_query",
    "context_stats",
    "context_clear",
    "list_packets",
    "create_project",
    "archive_project",
    "project_changes",
    "project_sessions",
    "export_project",
    "import_project",
    "add_memories",
    "read_memories",
    "memory_history",
    "update_memory",
    "supersede_memory",
    "mark_memories",
    "search_memories",
    "rehydrate",
    "session_summary",
    "maintain",
    "decision_log",
    "redact_memory",
    "put_section",
    "read_section",
    "delete_section",
    "acquire",
    "renew",
    "release",
    "transfer",
    "coordinate",
    "redact_section",
    "read_index",
    "check_outline",
    "coordination",
    "offer_handoff",
    "accept_handoff",
    "decline_handoff",
    "take_over",
    "list_handoffs",
    "read_handoff",
    "redact_handoff",
    "trace_decision",
    "project_prompt",
];

/// Actions that only the JSON tool can repeat under a request id.
const REPEATABLE_AS_JSON: &[&str] = &[
    "snapshot",
    "restore_snapshot",
    "redact",
    "create_session",
    "import_session",
    "archive_session",
    "revoke_credentials",
];

#[test]
fn every_action_has_typed_functions() {
    let mut functions = typed_functions();
    for action in actions() {
        let named = FUNCTIONS.iter().find(|(name, _)| *name == action.name);
        let Some((_, named)) = named else { panic!("{} has no typed function", action.name) };
        let mut typed = BTreeSet::new();
        for name in *named {
            typed.extend(functions.remove(*name).unwrap_or_else(|| panic!("there is no {name}")));
        }
        let members = action.required.iter().chain(action.optional);
        let is_typed =
            |it: &&&str| **it != "request_id" || !REPEATABLE_AS_JSON.contains(&action.name);
        let members: BTreeSet<String> =
            members.filter(is_typed).map(|it| (*it).to_owned()).collect();
        if REQUESTS_AS_JSON.contains(&action.name) {
            assert_eq!(typed, ["request".to_owned()].into());
            continue;
        }
        assert_eq!(typed, members, "{}: typed on the left", action.name);
    }
    assert!(functions.is_empty(), "no action is {:?}", functions.keys());
}

/// Checks the table of the glossary with the names of each operation in every interface.
#[test]
fn the_glossary_has_the_names_of_every_operation() {
    let glossary = include_str!("../../../../docs/GLOSSARY.md");
    let api = include_str!("../../../../components/wire/openapi.json");
    let names = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    for (action, typed) in FUNCTIONS {
        let row = glossary.lines().find(|it| it.starts_with(&format!("| `{action}` |")));
        let Some(row) = row else { panic!("the glossary has no row for {action}") };
        let cells: Vec<&str> = row.split('|').collect();
        assert_eq!(names(cells[2]), *typed, "{action}");
        for operation in names(cells[3]) {
            let named = format!("\"operationId\": \"{operation}\"");
            assert!(api.contains(&named), "{action}: HTTP has no {operation}");
        }
    }
}

#[test]
fn every_typed_function_is_called_by_a_test() {
    for name in typed_functions().keys() {
        let call = name.replace('.', ".call_").replace('-', "_") + "(";
        assert!(TESTS.iter().any(|it| it.contains(&call)), "no test calls {name}");
    }
}
