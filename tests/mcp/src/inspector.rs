//! The command line of the MCP inspector: each method once in both protocol eras over HTTP, and
//! over stdio. Its strict mode must report no findings for the tools' schemas and the skills.

use serde_json::{Value, json};
use shared_context_system::program;

use crate::{
    Test, Verdict,
    host::{SESSION, TestHost},
    programs::{Programs, run},
};

const SKILL: &str = "skill://shared-context/SKILL.md";

/// The message of the inspector if all skills are valid.
const VERIFIED: &str = "Verified 1 skill and 1 file: no conformance errors.";

/// The transport between inspector and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Http,
    Stdio,
}

/// A call of the inspector, and the expected value at a pointer into its result.
struct Probe {
    arguments: Vec<String>,
    pointer: &'static str,
    expected: Value,
}

pub(crate) fn tests() -> Vec<Test> {
    let transports = [
        ("http-modern", Transport::Http, "modern"),
        ("http-legacy", Transport::Http, "legacy"),
        ("stdio-modern", Transport::Stdio, "modern"),
    ];
    let test = |&(name, transport, era): &(&str, Transport, &'static str)| {
        Test::new(format!("inspector::{name}"), move |programs, _| {
            inspect(programs, transport, era)
        })
    };
    transports.iter().map(test).collect()
}

/// Returns the probes of a session with one entry, `scope`.
fn probes(era: &str) -> Vec<Probe> {
    let probe = |arguments: &[&str], pointer, expected: Value| Probe {
        arguments: arguments.iter().map(ToString::to_string).collect(),
        pointer,
        expected,
    };
    let entry = format!("session://{SESSION}/entries/scope");
    let read = json!({"keys": ["scope"]}).to_string();
    let mut probes = vec![
        probe(&["initialize"], "/result/serverInfo/name", json!("shared-context")),
        probe(&["tools/list", "--strict"], "/result/tools/0/name", json!("context_list")),
        probe(
            &["tools/call", "--tool-name", "context_read", "--tool-args-json", &read],
            "/result/structuredContent/entries/0/value",
            json!("Find the parameter."),
        ),
        probe(
            &["resources/list"],
            "/result/resources/0/uri",
            json!(format!("session://{SESSION}/keys")),
        ),
        probe(
            &["resources/templates/list"],
            "/result/resourceTemplates/0/uriTemplate",
            json!("session://{session}/entries/{key}"),
        ),
        probe(
            &["resources/read", "--uri", &entry],
            "/result/contents/0/text",
            json!("Find the parameter."),
        ),
        probe(&["prompts/list"], "/result/prompts/0/name", json!("shared_context")),
        probe(
            &["prompts/get", "--prompt-name", "shared_context"],
            "/result/messages/0/role",
            json!("user"),
        ),
    ];
    // The legacy protocol has no extensions.
    if era == "modern" {
        probes.extend([
            probe(&["skills/list", "--verify", "--require-digests"], "/uri", json!(SKILL)),
            probe(&["skills/get", "--uri", SKILL], "/result/skill/uri", json!(SKILL)),
        ]);
    }
    probes
}

fn inspect(programs: &Programs, transport: Transport, era: &str) -> Verdict {
    let host = TestHost::start();
    host.orchestrator().write(SESSION, "scope", "Find the parameter.").expect(200);
    let probes = probes(era);
    let count = probes.len();
    for probe in probes {
        let method = probe.arguments.join(" ");
        run_probe(programs, &host, transport, era, probe)
            .map_err(|it| format!("{method}: {it}"))?;
    }
    Ok(format!("{count} methods, no findings"))
}

fn run_probe(
    programs: &Programs,
    host: &TestHost,
    transport: Transport,
    era: &str,
    probe: Probe,
) -> Result<(), String> {
    let mut inspector =
        programs.package("@modelcontextprotocol/inspector/clients/cli/build/index.js");
    inspector.env("MCP_INSPECTOR_SECRET_STORE", "memory");
    if transport == Transport::Stdio {
        inspector.arg(program::path()).arg("mcp");
        for (name, value) in host.environment() {
            inspector.arg("-e").arg(format!("{name}={value}"));
        }
    }
    inspector.args(["--format", "json", "--protocol-era", era, "--method"]);
    inspector.args(&probe.arguments);
    if transport == Transport::Http {
        let header = format!("Authorization: Bearer {}", host.credential);
        let url = format!("{}/mcp", host.url());
        inspector.args(["--transport", "http", "--server-url", &url, "--header", &header]);
    }
    let output = run(inspector)?;
    // The inspector reports findings that are no errors on standard error, and the stdio bridge
    // prints its target there.
    let bridge = format!("at {}", host.url());
    let is_fault =
        |line: &str| line != VERIFIED && (transport == Transport::Http || !line.ends_with(&bridge));
    if output.errors.lines().any(is_fault) {
        return Err(format!("it reports findings: {}", output.report()));
    }
    let text = output.success()?;
    let answer: Value =
        serde_json::from_str(&text).map_err(|err| format!("{err} in its output: {text}"))?;
    if let Some(findings) = answer.get("schemaFindings") {
        return Err(format!("it reports findings in schemas: {findings:#}"));
    }
    let seen = answer.pointer(probe.pointer).unwrap_or(&Value::Null);
    if *seen != probe.expected {
        let (pointer, expected) = (probe.pointer, probe.expected);
        return Err(format!("{pointer} is {seen}, not {expected}, in {answer:#}"));
    }
    Ok(())
}
