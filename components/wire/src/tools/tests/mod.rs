//! The published definitions: their tools, actions and members for each role. Replies to calls must
//! match them.

use serde_json::{Value, json};
use shared_context_codec::{ActionInfo, Failure, System, actions};

use super::*;
use crate::mint::IssuedCredential;

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

#[test]
fn each_list_has_the_same_bytes_every_time() {
    for (with_subagent, role) in [(false, Role::Agent), (true, Role::Orchestrator)] {
        assert_eq!(tools_json(with_subagent), tools_json(with_subagent));
        let document = format!(r#"{{"tools":{}}}"#, tools_json(with_subagent));
        assert_eq!(document, definition(Format::Mcp, role));
    }
    assert_eq!(definition(Format::Mcp, Role::Admin), definition(Format::Mcp, Role::Orchestrator));
}

#[test]
fn only_callers_that_may_invite_get_the_tool_subagent() {
    let names = |role| {
        let tools = tools(Format::Mcp, role);
        tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(Role::Agent), ["shared_context", "delta_rounds"]);
    assert_eq!(names(Role::Orchestrator), ["shared_context", "subagent", "delta_rounds"]);
}

/// Returns the tools with actions that are listed to `role`, in order: their system, the members
/// they omit, and their MCP definition.
fn offers(role: Role) -> [(System, &'static [&'static str], Value); 2] {
    let tools_json = tools(Format::Mcp, role);
    let named = |name| tools_json.iter().find(|it| it["name"] == name).unwrap().clone();
    [
        (System::Store, &shared_context::LEFT_OUT, named("shared_context")),
        (System::Rounds, &delta_rounds::LEFT_OUT, named("delta_rounds")),
    ]
}

fn allowed(role: Role, system: System) -> impl Iterator<Item = &'static ActionInfo> {
    actions().filter(move |it| it.system == system && it.roles.contains(&role))
}

/// A new action is offered at once. An action that an agent may not request would only cost it
/// tokens and an error.
#[test]
fn every_action_is_offered_to_its_roles() {
    for role in [Role::Agent, Role::Orchestrator] {
        for (system, _, tool) in offers(role) {
            let allowed: Vec<&str> = allowed(role, system).map(|it| it.name).collect();
            assert_eq!(names(&tool["inputSchema"]["properties"]["action"]["enum"]), allowed);
        }
        let allowed: Vec<&str> = allowed(role, System::Store).map(|it| it.name).collect();
        for format in [Format::OpenAi, Format::Anthropic] {
            let tool = &tools(format, role)[0];
            for action in names(&arguments(tool)["properties"]["action"]["enum"]) {
                assert!(allowed.contains(&action), "{action} in {format:?}");
            }
        }
    }
}

/// A new member of the codec must be offered, or omitted on purpose.
#[test]
fn every_member_is_offered_or_omitted_by_name() {
    for (system, left_out, tool) in offers(Role::Orchestrator) {
        let offered = tool["inputSchema"]["properties"].as_object().unwrap();
        let mut taken = Vec::new();
        for action in allowed(Role::Orchestrator, system) {
            for name in action.required {
                assert!(offered.contains_key(*name), "{} needs {name}", action.name);
            }
            taken.extend(action.required.iter().chain(action.optional));
        }
        for name in &taken {
            assert_ne!(offered.contains_key(*name), left_out.contains(name), "{name}");
        }
        for name in offered.keys().map(String::as_str).chain(left_out.iter().copied()) {
            let is_the_wires = ["action", "session"].contains(&name);
            assert!(is_the_wires || taken.contains(&name), "no action takes {name}");
        }
    }
}

/// The members of objects in lists match those of the codec.
#[test]
fn members_in_lists_match_the_codec() {
    let description: Value = serde_json::from_str(shared_context_codec::describe()).unwrap();
    for (_, _, tool) in offers(Role::Orchestrator) {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for (list, documented) in
            properties.iter().filter(|(_, it)| it["items"]["type"] == "object")
        {
            let taken = |action: &Value| action["request"]["properties"].get(list).cloned();
            let schema = description["actions"].as_object().unwrap().values().find_map(taken);
            let reference = schema.unwrap()["items"]["$ref"].as_str().unwrap().to_owned();
            let taken = description.pointer(reference.trim_start_matches('#')).unwrap();
            let documented = documented["items"]["properties"].as_object().unwrap();
            for (name, property) in documented {
                let known = &taken["properties"][name];
                assert!(known.is_object(), "{list} has no {name}");
                assert_eq!(property.get("enum").is_some(), known.get("enum").is_some(), "{name}");
            }
            for name in names(&taken["required"]) {
                assert!(documented.contains_key(name), "{list} need {name}");
            }
        }
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
    let lists = ["list_keys()", "diff_snapshots(from, to?)", "changes(since?)"];
    let shown = |format, role| tools(format, role).swap_remove(0);
    check(&shown(Format::Mcp, Role::Agent), &lists, "redact");
    let changes = ["redact(key, reason)", "write_batch(writes?, deletes?)", "snapshot(label)"];
    check(&shown(Format::Mcp, Role::Orchestrator), &changes, "if_revision");
    let writes = ["write(key, value, if_version?)", "list_keys()", "read_batch(keys)"];
    check(&shown(Format::OpenAi, Role::Orchestrator), &writes, "ttl_seconds");
    check(&shown(Format::Anthropic, Role::Agent), &writes, "snapshot(label) ");
    let rounds = ["propose_deltas(deltas)", "read_state(round?)", "convergence()"];
    let [_, (_, _, for_agents)] = offers(Role::Agent);
    check(&for_agents, &rounds, "_round(");
    let [_, (_, _, for_orchestrators)] = offers(Role::Orchestrator);
    check(&for_orchestrators, &["close_round(clip?, discard?)"], "request_id");
}

#[test]
fn the_description_teaches_reading_and_writing() {
    let tool = &tools(Format::Mcp, Role::Agent)[0];
    let text = tool["description"].as_str().unwrap();
    for taught in [
        "list_keys first",
        "never raw data",
        "personal data",
        "VERSION_CONFLICT",
        "not instruction",
    ] {
        assert!(text.contains(taught), "{taught}");
    }
    for format in [Format::OpenAi, Format::Anthropic] {
        let strict = &tools(format, Role::Agent)[0];
        assert_eq!(strict.get("function").unwrap_or(strict)["description"], text);
    }
}

/// Clients reject a result that does not match the output schema, so every reply must match it. If
/// a reply's schema has a member that the output schema has too, it must not allow more.
#[test]
fn every_reply_matches_the_output_schema() {
    let description: Value = serde_json::from_str(shared_context_codec::describe()).unwrap();
    for (name, action) in description["actions"].as_object().unwrap() {
        let reply = &action["reply"];
        for (_, _, tool) in offers(Role::Orchestrator) {
            assert!(is_within(reply, &tool["outputSchema"], &description), "{name}: {reply}");
        }
    }
    // Checks that the test can fail.
    let too_narrow = json!({"type": "object", "properties": {"unchanged": {"type": "boolean"}}});
    let replies = &description["actions"];
    assert!(is_within(&replies["read"]["reply"], &too_narrow, &description));
    assert!(!is_within(&replies["diff_snapshots"]["reply"], &too_narrow, &description));
}

/// Returns true if `wide` accepts all values that `narrow` accepts.
fn is_within(narrow: &Value, wide: &Value, document: &Value) -> bool {
    if let Some(reference) = narrow["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#')).unwrap();
        return is_within(target, wide, document);
    }
    if let Some(variants) = narrow["anyOf"].as_array() {
        return variants.iter().all(|it| is_within(it, wide, document));
    }
    let members = wide["properties"].as_object();
    narrow["type"] == wide["type"]
        && wide.get("items").is_none_or(|it| is_within(&narrow["items"], it, document))
        && members.into_iter().flatten().all(|(name, schema)| {
            narrow["properties"].get(name).is_none_or(|it| is_within(it, schema, document))
        })
}

#[test]
fn every_error_matches_the_output_schemas() {
    let plain = Failure::new("FORBIDDEN", "ask the orchestrator");
    let details = Some(r#"{"current_version":3}"#.to_owned());
    let detailed = Failure { details, ..Failure::new("VERSION_CONFLICT", "read again") };
    for tool in tools(Format::Mcp, Role::Orchestrator) {
        for failure in [&plain, &detailed] {
            let reply: Value = serde_json::from_slice(&failure.to_json()).unwrap();
            let error = &tool["outputSchema"]["properties"]["error"];
            assert_eq!((&error["type"], reply["error"].is_object()), (&json!("object"), true));
            for (name, schema) in error["properties"].as_object().unwrap() {
                assert_eq!(schema["type"], "string");
                assert!(reply["error"][name].is_string(), "{name} in {reply}");
            }
        }
        assert_eq!(tool["outputSchema"].get("required"), None, "an error has no other members");
    }
}

#[test]
fn a_subagent_reply_matches_the_output_schema() {
    let issued = IssuedCredential {
        participant: "subagent:review:3".to_owned(),
        credential: "a.b.c".to_owned(),
        expires_at: "2026-02-21T14:00:00Z".to_owned(),
        keys: Some(vec!["findings_*".to_owned()]),
    };
    let mut given = serde_json::to_value(issued).unwrap();
    given["session"] = json!("ticket-7");
    let tool = &tools(Format::Mcp, Role::Orchestrator)[1];
    let properties = tool["outputSchema"]["properties"].as_object().unwrap();
    for (name, schema) in properties.iter().filter(|(name, _)| *name != "error") {
        assert_eq!(schema["type"], "string");
        assert!(given[name].is_string(), "{name} in {given}");
    }
}
