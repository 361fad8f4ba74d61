//! The MCP inspector, from its command line: each method once in both protocol
//! versions over HTTP, and over stdio. In its strict mode it must find nothing
//! to say about the tools' schemas and the skills.

use serde_json::{Value, json};
use shared_context_system::program;

use crate::{
    Test, Verdict,
    place::{Place, SESSION},
    strangers::{Strangers, run},
};

const SKILL: &str = "skill://shared-context/SKILL.md";

/// What the inspector says of skills when all is well.
const VERIFIED: &str = "Verified 1 skill and 1 file: no conformance errors.";

/// How the inspector reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Http,
    Stdio,
}

/// Something to ask, and where in the result what is expected stands.
struct Question {
    arguments: Vec<String>,
    pointer: &'static str,
    expected: Value,
}

pub(crate) fn tests() -> Vec<Test> {
    let ways = [
        ("http-modern", Way::Http, "modern"),
        ("http-legacy", Way::Http, "legacy"),
        ("stdio-modern", Way::Stdio, "modern"),
    ];
    let test = |&(name, way, era): &(&str, Way, &'static str)| {
        Test::new(format!("inspector::{name}"), move |strangers, _| inspect(strangers, way, era))
    };
    ways.iter().map(test).collect()
}

/// Returns what is asked; the session holds one entry, `scope`.
fn questions(era: &str) -> Vec<Question> {
    let question = |arguments: &[&str], pointer, expected: Value| Question {
        arguments: arguments.iter().map(ToString::to_string).collect(),
        pointer,
        expected,
    };
    let entry = format!("session://{SESSION}/entries/scope");
    let read = json!({"action": "read", "key": "scope"}).to_string();
    let mut questions = vec![
        question(&["initialize"], "/result/serverInfo/name", json!("shared-context")),
        question(&["tools/list", "--strict"], "/result/tools/0/name", json!("shared_context")),
        question(
            &["tools/call", "--tool-name", "shared_context", "--tool-args-json", &read],
            "/result/structuredContent/value",
            json!("Find the parameter."),
        ),
        question(
            &["resources/list"],
            "/result/resources/0/uri",
            json!(format!("session://{SESSION}/keys")),
        ),
        question(
            &["resources/templates/list"],
            "/result/resourceTemplates/0/uriTemplate",
            json!("session://{session}/entries/{key}"),
        ),
        question(
            &["resources/read", "--uri", &entry],
            "/result/contents/0/text",
            json!("Find the parameter."),
        ),
        question(&["prompts/list"], "/result/prompts/0/name", json!("shared_context")),
        question(
            &["prompts/get", "--prompt-name", "shared_context"],
            "/result/messages/0/role",
            json!("user"),
        ),
    ];
    // The older protocol has no extensions.
    if era == "modern" {
        questions.extend([
            question(&["skills/list", "--verify", "--require-digests"], "/uri", json!(SKILL)),
            question(&["skills/get", "--uri", SKILL], "/result/skill/uri", json!(SKILL)),
        ]);
    }
    questions
}

fn inspect(strangers: &Strangers, way: Way, era: &str) -> Verdict {
    let place = Place::start();
    place.orchestrator().write(SESSION, "scope", "Find the parameter.").expect(200);
    let questions = questions(era);
    let count = questions.len();
    for question in questions {
        let asked = question.arguments.join(" ");
        ask(strangers, &place, way, era, question).map_err(|it| format!("{asked}: {it}"))?;
    }
    Ok(format!("{count} methods, nothing found"))
}

fn ask(
    strangers: &Strangers,
    place: &Place,
    way: Way,
    era: &str,
    question: Question,
) -> Result<(), String> {
    let mut inspector =
        strangers.package("@modelcontextprotocol/inspector/clients/cli/build/index.js");
    inspector.env("MCP_INSPECTOR_SECRET_STORE", "memory");
    if way == Way::Stdio {
        inspector.arg(program::path()).arg("mcp");
        for (name, value) in place.environment() {
            inspector.arg("-e").arg(format!("{name}={value}"));
        }
    }
    inspector.args(["--format", "json", "--protocol-era", era, "--method"]);
    inspector.args(&question.arguments);
    if way == Way::Http {
        let header = format!("Authorization: Bearer {}", place.credential);
        let url = format!("{}/mcp", place.url());
        inspector.args(["--transport", "http", "--server-url", &url, "--header", &header]);
    }
    let said = run(inspector)?;
    // What it finds fault with and does not refuse, it says here.
    // The bridge says there where it leads to.
    let bridge = format!("at {}", place.url());
    let is_fault = |line: &str| line != VERIFIED && (way == Way::Http || !line.ends_with(&bridge));
    if said.errors.lines().any(is_fault) {
        return Err(format!("it finds fault: {}", said.in_full()));
    }
    let output = said.well()?;
    let answer: Value = serde_json::from_str(&output)
        .map_err(|err| format!("{err} in what it printed: {output}"))?;
    if let Some(findings) = answer.get("schemaFindings") {
        return Err(format!("it finds fault with schemas: {findings:#}"));
    }
    let seen = answer.pointer(question.pointer).unwrap_or(&Value::Null);
    if *seen != question.expected {
        let (pointer, expected) = (question.pointer, question.expected);
        return Err(format!("{pointer} is {seen}, not {expected}, in {answer:#}"));
    }
    Ok(())
}
