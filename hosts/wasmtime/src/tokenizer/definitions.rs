//! Checks the token counts that the wire states for its texts: tool definitions and the
//! skill. The wire has no tokenizer.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http::Request;
use serde_json::{Value, value::RawValue};
use shared_context_codec::{Caller, Credential, Failure, Reply};
use shared_context_core::{Scope, ScopeKind, port::Tokenizer, time::Timestamp};
use shared_context_wire::{
    Engine, Woken,
    credential::{Grant, Keys},
    http::{Body, Http, Options},
};

use super::BpeTokenizer;

const ADMIN_KEY: &str = "an-admin-key-of-32-bytes-or-more";

/// An engine without sessions: definitions need none.
struct NoSessions;

impl Engine for NoSessions {
    async fn invoke(&self, _: &str, _: &Caller, _: &[u8]) -> Result<Reply, Failure> {
        Err(Failure::new("STORAGE_UNAVAILABLE", "there is none"))
    }

    async fn ids(&self, _: ScopeKind, _: Option<&str>, _: usize) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    async fn position(&self, _: &str) -> u64 {
        0
    }

    async fn wait_for_change(&self, _: &str, _: u64, _: Duration) -> Woken {
        Woken::Stopping
    }

    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn monotonic_micros(&self) -> u64 {
        0
    }
}

fn tokens(text: &str) -> u32 {
    BpeTokenizer.count("o200k_base", text).unwrap()
}

/// Returns the response to `GET /v1/tools` with `query`.
async fn definitions(query: &str) -> String {
    let keys = Keys::new(&[7; 32], ADMIN_KEY).unwrap();
    let request = Request::get(format!("/v1/tools{query}")).header("host", "localhost");
    let request = request.body(Bytes::new()).unwrap();
    let response = Http::new(Options::new(keys)).handle(&NoSessions, request).await;
    assert_eq!(response.status(), 200);
    let Body::Whole(body) = response.into_body() else { panic!("a whole body") };
    String::from_utf8(body.into()).unwrap()
}

/// Returns the tools in `document`, the name of each with the text of its definition.
fn tools(document: &str) -> Vec<(String, String)> {
    let listed: BTreeMap<String, Box<RawValue>> = serde_json::from_str(document).unwrap();
    let tools: Vec<Box<RawValue>> = serde_json::from_str(listed["tools"].get()).unwrap();
    let named = |tool: Box<RawValue>| {
        let parsed: Value = serde_json::from_str(tool.get()).unwrap();
        (parsed["name"].as_str().unwrap().to_owned(), tool.get().to_owned())
    };
    tools.into_iter().map(named).collect()
}

/// Returns the cost of the definition of a tool without `_meta`, which must state it.
fn stated_cost(name: &str, tool: &str) -> u32 {
    let (text, meta) = tool.rsplit_once(r#","_meta":"#).unwrap();
    let meta: Value = serde_json::from_str(meta.strip_suffix('}').unwrap()).unwrap();
    let counted = tokens(&format!("{text}}}"));
    assert_eq!(meta["shared-context/tokens"], counted, "{name}");
    counted
}

#[tokio::test]
async fn an_mcp_tool_states_its_token_count() {
    for query in ["?role=agent", ""] {
        for (name, tool) in tools(&definitions(query).await) {
            stated_cost(&name, &tool);
        }
    }
    for (name, tool) in tools(&listed(None).await) {
        stated_cost(&name, &tool);
    }
}

/// Returns the whole result of `tools/list`, as it is sent, for a credential with `grant`
/// or for the operator.
async fn listed(grant: Option<&Grant>) -> String {
    let keys = || Keys::new(&[7; 32], ADMIN_KEY).unwrap();
    let minted = grant.map(|it| keys().mint(it, Timestamp(0), 60).unwrap().credential);
    let bearer = minted.as_deref().unwrap_or(ADMIN_KEY);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {bearer}"))
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/list");
    let request = request.body(Bytes::from(body)).unwrap();
    let response = Http::new(Options::new(keys())).handle(&NoSessions, request).await;
    assert_eq!(response.status(), 200);
    let Body::Whole(body) = response.into_body() else { panic!("a whole body") };
    let answer: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(&body).unwrap();
    answer["result"].get().to_owned()
}

/// Every conversation pays for these tokens.
#[tokio::test]
async fn the_tools_without_a_set_stay_within_budget() {
    for (participant, budget) in [("subagent:a", 560), ("orchestrator", 880)] {
        let grant = Grant {
            scope: Scope::new(ScopeKind::Session, "s").unwrap(),
            participant: participant.to_owned(),
            credential: Credential { incarnation: 1, epoch: 0 },
            keys: Vec::new(),
            project: None,
            tools: Some(Vec::new()),
        };
        let listed = tools(&listed(Some(&grant)).await);
        let counted: u32 = listed.iter().map(|(name, tool)| stated_cost(name, tool)).sum();
        assert!(counted <= budget, "{participant}: {counted} of {budget}");
    }
}

/// A session that uses a set pays for it in each conversation.
#[tokio::test]
async fn the_tools_of_a_set_stay_within_budget() {
    for (set, query, budget) in [
        ("context_packets", "?role=agent", 190),
        ("context_packets", "", 380),
        ("memories", "?role=agent", 265),
        ("memories", "", 420),
    ] {
        let tools = tools(&definitions(query).await);
        let of_set = tools.iter().filter(|it| it.0.starts_with(set));
        let counted: Vec<u32> = of_set.map(|(name, tool)| stated_cost(name, tool)).collect();
        assert!(!counted.is_empty(), "{set} {query:?}");
        let counted: u32 = counted.iter().sum();
        assert!(counted <= budget, "{set} {query:?}: {counted} of {budget}");
    }
}

#[tokio::test]
async fn the_strict_forms_have_fewer_tokens() {
    for (query, budget) in [("?format=openai", 360), ("?format=anthropic", 325)] {
        let counted = tokens(&definitions(query).await);
        assert!(counted < budget, "{query:?}: {counted} of {budget}");
    }
}

#[test]
fn the_skill_is_short() {
    let skill = include_str!("../../../../components/wire/src/mcp/skill/SKILL.md");
    let counted = tokens(skill);
    assert!(counted < 1_700, "{counted}");
}
