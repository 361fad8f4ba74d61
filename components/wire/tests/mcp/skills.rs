//! `skills/list` and `skills/get`, of the extension `io.modelcontextprotocol/skills`.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    bench::{ADMIN_KEY, Bench},
    both_eras::error,
};

const SKILL: &str = "skill://shared-context/SKILL.md";
const HOUR_MS: u64 = 3_600_000;

/// Returns the text of the skill from `resources/read`.
fn read(bench: &Bench) -> String {
    let reply = bench.result_in_both_eras(&bench.agent, "resources/read", json!({ "uri": SKILL }));
    reply.result["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_list_has_all_that_a_host_verifies() {
    let bench = Bench::new();
    let reply = bench.cacheable_result(&bench.agent, "skills/list", json!({}));
    reply.check_cacheable(HOUR_MS, "public");
    let text = read(&bench);
    let digest = format!("sha256:{:x}", Bytes::copy_from_slice(&Sha256::digest(&text)));
    let (yaml, _) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let frontmatter: Value = serde_saphyr::from_str(yaml).unwrap();
    let resources = json!([{"uri": SKILL, "digest": digest, "size": text.len()}]);
    let skill = json!({"uri": SKILL, "frontmatter": frontmatter, "resources": resources});
    assert_eq!(reply.result, json!({"skills": [skill]}));
    assert_eq!(skill["frontmatter"]["name"], "shared-context");
    let listed = bench.result_in_both_eras(&bench.agent, "resources/list", json!({})).result;
    for member in ["name", "description"] {
        assert_eq!(listed["resources"][2][member], skill["frontmatter"][member]);
    }
}

#[test]
fn every_caller_gets_the_skill_as_listed() {
    let bench = Bench::new();
    for token in [&*bench.agent, &*bench.orchestrator, ADMIN_KEY] {
        let listed = bench.cacheable_result(token, "skills/list", json!({})).result;
        let got = bench.cacheable_result(token, "skills/get", json!({ "uri": SKILL }));
        got.check_cacheable(HOUR_MS, "public");
        assert_eq!(got.result, json!({"skill": listed["skills"][0]}));
    }
}

#[test]
fn an_unknown_skill_is_an_invalid_parameter() {
    let bench = Bench::new();
    for uri in [
        "skill://other/SKILL.md",
        "skill://shared-context",
        "skill://shared-context/",
        "session://s/keys",
        "",
    ] {
        let error = error(&bench.modern(&bench.agent, "skills/get", json!({ "uri": uri })));
        assert_eq!(error["code"], -32602, "{uri}");
        assert_eq!(error["data"], json!({ "uri": uri }));
    }
    for (method, params) in [
        ("skills/get", json!({})),
        ("skills/get", json!({"uri": 7})),
        ("skills/list", json!({"cursor": "a"})),
    ] {
        let error = error(&bench.modern(&bench.agent, method, params));
        assert_eq!(error["code"], -32602, "{method}");
    }
}

#[test]
fn only_the_modern_version_has_the_skills_extension() {
    let bench = Bench::new();
    for (method, params) in [("skills/list", json!({})), ("skills/get", json!({ "uri": SKILL }))] {
        let error = error(&bench.legacy(&bench.agent, None, method, params));
        assert_eq!(error["code"], -32601, "{method}");
        assert!(error["message"].as_str().unwrap().contains("2026-07-28"));
    }
    assert!(!read(&bench).is_empty());
}
