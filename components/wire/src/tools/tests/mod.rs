//! The published definitions: their tools, actions and members for each role. Replies to calls must
//! match them.

use serde_json::{Value, json};
use shared_context_codec::{ActionInfo, System, actions};

use super::*;

mod rules;

fn tools(format: Format, role: Role) -> Vec<Value> {
    let document: Value = serde_json::from_str(&definition(format, role)).unwrap();
    document["tools"].as_array().unwrap().clone()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

/// Returns the schema of the arguments of a tool in any format.
fn arguments(tool: &Value) -> &Value {
    ["/inputSchema", "/function/parameters", "/input_schema"]
        .iter()
        .find_map(|it| tool.pointer(it))
        .unwrap()
}

/// The array `tools` for a role that uses every set.
fn listed(role: Role) -> Vec<Value> {
    serde_json::from_str(&tools_json(role, &Toolset::ALL)).unwrap()
}

#[test]
fn each_list_has_the_same_bytes_every_time() {
    for role in [Role::Agent, Role::Orchestrator] {
        let sets = &Toolset::ALL;
        assert_eq!(tools_json(role, sets), tools_json(role, sets));
        let document = format!(r#"{{"tools":{}}}"#, tools_json(role, sets));
        assert_eq!(document, definition(Format::Mcp, role));
    }
}

#[test]
fn a_caller_gets_the_tools_of_its_role_and_sets() {
    let names = |role, sets: &[Toolset]| {
        let tools: Vec<Value> = serde_json::from_str(&tools_json(role, sets)).unwrap();
        let names = tools.iter().map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    let memory = "context_list context_read context_changes context_write context_delete";
    assert_eq!(names(Role::Agent, &[]), memory);
    assert_eq!(names(Role::Orchestrator, &[]), format!("{memory} context_session"));
    assert_eq!(names(Role::Admin, &[]), names(Role::Orchestrator, &[Toolset::SharedContext]));
    let rounds = "delta_rounds_read delta_rounds_propose";
    assert_eq!(names(Role::Agent, &[Toolset::DeltaRounds]), format!("{memory} {rounds}"));
    let all = format!("{memory} context_session {rounds} delta_rounds_manage");
    assert_eq!(names(Role::Orchestrator, &[Toolset::DeltaRounds]), all);
    let packets = "context_packets";
    assert_eq!(names(Role::Agent, &[Toolset::ContextPackets]), format!("{memory} {packets}"));
    let all = format!("{memory} context_session {packets} context_packets_manage");
    assert_eq!(names(Role::Orchestrator, &[Toolset::ContextPackets]), all);
}

/// The core validates the names in a session's configuration.
#[test]
fn the_sets_are_those_of_the_configuration() {
    assert_eq!(Toolset::ALL.map(Toolset::as_str), shared_context_core::config::TOOL_SETS);
}

/// A client may let an agent read without asking, and ask before it deletes.
#[test]
fn hints_tell_readers_from_those_that_remove() {
    for tool in TOOLS {
        let definition = tool.definition(Role::Orchestrator);
        let hints = serde_json::to_value(definition.annotations).unwrap();
        let known = |name: &&str| actions().find(|it| it.name == *name);
        let changes = |name: &&str| known(name).is_none_or(|it| it.is_change);
        let actions = tool.calls.actions();
        assert_eq!(hints["readOnlyHint"] == true, !actions.iter().any(changes), "{}", tool.name);
        let removes = [
            "delete",
            "restore_snapshot",
            "redact",
            "redact_rounds",
            "close_round",
            "context_clear",
            "mark_memories",
            "maintain",
            "delete_section",
        ];
        let removes = actions.iter().any(|it| removes.contains(it));
        assert_eq!(hints["destructiveHint"] == true, removes, "{}", tool.name);
        assert_eq!(hints["openWorldHint"], false);
    }
}

/// Actions of the JSON tool that no tool of MCP performs: those with an alternative (one entry is
/// read by `read_batch`; prompts and the working memory as text are a prompt and a
/// resource), and those for programs.
const LEFT_OUT: [&str; 26] = [
    "read",
    "write_batch",
    "prompt",
    "render_context",
    "plan_window",
    "assemble_context",
    "read_envelope",
    "export_evidence",
    "record_injection",
    "report_missing",
    "answer_missing",
    "list_missing",
    "extract",
    "compact",
    "check_summary",
    "session_summary",
    "show_session",
    "decision_log",
    "memory_history",
    "redact_memory",
    "renew",
    "coordination",
    "coordinate",
    "redact_section",
    "redact_handoff",
    "project_prompt",
];

/// A new action is offered by exactly one tool, or left out on purpose. An action that an agent may
/// not request would only cost it tokens and an error.
#[test]
fn every_action_has_one_tool_or_is_left_out() {
    let of_sessions = |it: &&ActionInfo| it.system != System::Projects;
    let offered = |it: &&ActionInfo| it.roles.contains(&Role::Orchestrator);
    for action in actions().filter(of_sessions).filter(offered) {
        let offering = TOOLS.iter().filter(|it| it.calls.actions().contains(&action.name)).count();
        assert_eq!(offering, usize::from(!LEFT_OUT.contains(&action.name)), "{}", action.name);
    }
    for tool in TOOLS {
        for name in tool.calls.actions().iter().filter(|it| **it != ADD_SUBAGENT) {
            let action = actions().find(|it| it.name == *name).unwrap();
            assert!(action.roles.contains(&Role::Orchestrator), "{name}");
            let is_for_agents = action.roles.contains(&Role::Agent);
            assert!(tool.is_for_orchestrators || is_for_agents, "{name} of {}", tool.name);
        }
    }
    for role in [Role::Agent, Role::Orchestrator] {
        let allowed = |it: &&ActionInfo| it.system == System::Store && it.roles.contains(&role);
        let allowed: Vec<&str> = actions().filter(allowed).map(|it| it.name).collect();
        for format in [Format::OpenAi, Format::Anthropic] {
            let tool = &tools(format, role)[0];
            for action in names(&arguments(tool)["properties"]["action"]["enum"]) {
                assert!(allowed.contains(&action), "{action} in {format:?}");
            }
        }
    }
}

/// Members of the codec that no tool offers: those with an alternative, those that most sessions
/// reject, and those that matter to programs more than to models.
const MEMBERS_LEFT_OUT: [&str; 51] = [
    "prefix",
    "if_changed_since",
    "if_revision",
    "expires_at",
    "request_id",
    "history",
    "limit",
    "versions",
    "note",
    "revision",
    "bytes_max",
    "version",
    "max_tokens",
    "compared",
    "conversation",
    "files",
    "links",
    "preview",
    "memory_type",
    "tags",
    "importance_gte",
    "timestamp_after",
    "timestamp_before",
    "is_archived",
    "session_id",
    "agent_id",
    "sort_by",
    "cursor",
    "include_unverified",
    "importance",
    "keeps_forever",
    "change",
    "file",
    "readers",
    "shortcuts",
    "ownership",
    "to_session",
    "state",
    "from_agent_observations",
    "in_progress",
    "items",
    "not_started",
    "packet",
    "required_skills",
    "short_term",
    "success_criteria",
    "suggested_approach",
    "to_agent_capabilities",
    "to_session_id",
    "from_session_id",
    "useful_resources",
];

/// Members that one tool offers and another one does not, by the action of the latter.
const LEFT_OUT_OF_ACTIONS: [(&str, &str); 18] = [
    ("context_read", "depth"),
    ("context_read", "form"),
    ("context_generate", "form"),
    ("context_generate", "keys"),
    ("update_memory", "if_version"),
    ("update_memory", "content"),
    ("update_memory", "title"),
    ("put_section", "if_version"),
    ("put_section", "status"),
    ("put_section", "summary"),
    ("delete_section", "if_version"),
    ("acquire", "reason"),
    ("transfer", "reason"),
    ("transfer", "ttl_seconds"),
    ("offer_handoff", "task"),
    ("offer_handoff", "ttl_seconds"),
    ("take_over", "summary"),
    ("take_over", "task"),
];

/// A new member of the codec must be offered, or omitted on purpose. What a tool requires, its
/// action requires, and the other way round.
#[test]
fn every_member_is_offered_or_omitted_by_name() {
    for tool in TOOLS {
        let offered: Vec<&str> = tool.members.iter().map(|it| it.name).collect();
        for member in tool.members {
            assert!(!member.about.is_empty(), "{} of {} is not described", member.name, tool.name);
        }
        for name in tool.calls.actions().iter().filter(|it| **it != ADD_SUBAGENT) {
            let action = actions().find(|it| it.name == *name).unwrap();
            for member in action.required {
                assert!(offered.contains(member), "{name} needs {member}");
            }
            for member in action.optional {
                let is_left_out = MEMBERS_LEFT_OUT.contains(member)
                    || LEFT_OUT_OF_ACTIONS.contains(&(action.name, *member));
                assert_ne!(offered.contains(member), is_left_out, "{member} of {name}");
            }
            if !tool.calls.is_named() {
                let is_required = |it: &&&str| action.required.contains(it) || **it == "since";
                assert!(tool.required.iter().all(|it| is_required(&it)), "{name}");
                assert!(action.required.iter().all(|it| tool.required.contains(it)), "{name}");
            }
        }
    }
}

/// The members of objects in lists match those of the codec.
#[test]
fn members_in_lists_match_the_codec() {
    let description: Value = serde_json::from_str(shared_context_codec::describe()).unwrap();
    for tool in listed(Role::Orchestrator) {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for (list, documented) in
            properties.iter().filter(|(_, it)| it["items"]["type"] == "object")
        {
            let taken = |action: &Value| action["request"]["properties"].get(list).cloned();
            let schema = description["actions"].as_object().unwrap().values().find_map(taken);
            let reference = schema.unwrap()["items"]["$ref"].as_str().unwrap().to_owned();
            let taken = description.pointer(reference.trim_start_matches('#')).unwrap();
            let required = names(&documented["items"]["required"]);
            assert_eq!(required, names(&taken["required"]), "{list}");
            let documented = documented["items"]["properties"].as_object().unwrap();
            for (name, property) in documented {
                let known = &taken["properties"][name];
                assert!(known.is_object(), "{list} has no {name}");
                assert_eq!(property.get("enum").is_some(), known.get("enum").is_some(), "{name}");
            }
        }
    }
}

/// Only the admin key is for every session.
#[test]
fn only_the_admins_tools_take_a_session() {
    for tool in listed(Role::Admin) {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["properties"]["session"]["x-mcp-header"], "Session");
        assert!(names(&schema["required"]).contains(&"session"));
    }
    for tool in listed(Role::Orchestrator) {
        assert!(tool["inputSchema"]["properties"].get("session").is_none());
    }
}

#[test]
fn strict_forms_have_one_tool_with_sufficient_members() {
    for role in [Role::Agent, Role::Orchestrator] {
        let (openai, anthropic) = (&tools(Format::OpenAi, role), &tools(Format::Anthropic, role));
        assert_eq!((openai.len(), anthropic.len()), (1, 1));
        let (openai, anthropic) = (arguments(&openai[0]), arguments(&anthropic[0]));
        let members = anthropic["properties"].as_object().unwrap();
        for (name, property) in members {
            let mut nullable = property.clone();
            if name != "action" {
                nullable["type"] = json!([property["type"], "null"]);
            }
            assert_eq!(openai["properties"][name], nullable, "{name}");
        }
        assert_eq!(openai["properties"].as_object().unwrap().len(), members.len());
        assert_eq!(anthropic["required"], json!(["action"]));
        assert!(!members.contains_key("session"), "the program knows its session");
        for name in names(&members["action"]["enum"]) {
            let action = actions().find(|it| it.name == name).unwrap();
            assert!(action.required.iter().all(|it| members.contains_key(*it)), "{name}");
        }
    }
}

/// An agent learns the members of each action where it selects the action.
#[test]
fn the_actions_list_their_members() {
    let check = |tool: &Value, documented: &[&str], never: &str| {
        let action = &arguments(tool)["properties"]["action"];
        let text = action["description"].as_str().unwrap();
        for part in documented {
            assert!(text.split_inclusive(')').any(|it| it.trim() == *part), "{part} in {text}");
        }
        assert_eq!(text.matches('(').count(), names(&action["enum"]).len());
        assert!(!text.contains(never), "{never} in {text}");
    };
    let shown = |format, role| tools(format, role).swap_remove(0);
    let writes = ["write(key, value, if_version?)", "list_keys()", "read_batch(keys)"];
    check(&shown(Format::OpenAi, Role::Orchestrator), &writes, "ttl_seconds");
    check(&shown(Format::Anthropic, Role::Agent), &writes, "snapshot(label) ");
}

#[test]
fn the_descriptions_teach_reading_and_writing() {
    let described = |tools: &[Value]| {
        let description = |it: &Value| {
            let it = it.get("function").unwrap_or(it);
            it["description"].as_str().unwrap().to_owned()
        };
        tools.iter().map(description).collect::<Vec<_>>().join(" ")
    };
    for format in [Format::Mcp, Format::OpenAi, Format::Anthropic] {
        let text = described(&tools(format, Role::Agent));
        for taught in
            ["first", "never raw data", "personal data", "VERSION_CONFLICT", "not instruction"]
        {
            assert!(text.contains(taught), "{taught} in {format:?}");
        }
    }
}
