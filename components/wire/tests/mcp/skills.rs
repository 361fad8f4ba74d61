//! `skills/list` and `skills/get`, of the extension `io.modelcontextprotocol/skills`.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    bench::{ADMIN_KEY, Bench},
    both::error,
};

const SKILL: &str = "skill://shared-context/SKILL.md";
const HOUR_MS: u64 = 3_600_000;

/// Bytes as a host takes them from `resources/read`.
fn read(bench: &Bench) -> String {
    let told = bench.told(&bench.agent, "resources/read", json!({ "uri": SKILL }));
    told.result["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_list_tells_of_the_skill_all_that_a_host_verifies() {
    let bench = Bench::new();
    let told = bench.told_modern(&bench.agent, "skills/list", json!({}));
    told.may_be_kept(HOUR_MS, "public");
    let text = read(&bench);
    let digest = format!("sha256:{:x}", Bytes::copy_from_slice(&Sha256::digest(&text)));
    let (yaml, _) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let frontmatter: Value = serde_saphyr::from_str(yaml).unwrap();
    let resources = json!([{"uri": SKILL, "digest": digest, "size": text.len()}]);
    let skill = json!({"uri": SKILL, "frontmatter": frontmatter, "resources": resources});
    assert_eq!(told.result, json!({"skills": [skill]}));
    assert_eq!(skill["frontmatter"]["name"], "shared-context");
    let listed = bench.told(&bench.agent, "resources/list", json!({})).result;
    for member in ["name", "description"] {
        assert_eq!(listed["resources"][1][member], skill["frontmatter"][member]);
    }
}

#[test]
fn the_skill_is_got_as_it_is_listed_by_everyone() {
    let bench = Bench::new();
    for token in [&*bench.agent, &*bench.orchestrator, ADMIN_KEY] {
        let listed = bench.told_modern(token, "skills/list", json!({})).result;
        let got = bench.told_modern(token, "skills/get", json!({ "uri": SKILL }));
        got.may_be_kept(HOUR_MS, "public");
        assert_eq!(got.result, json!({"skill": listed["skills"][0]}));
    }
}

#[test]
fn a_skill_there_is_not_is_an_invalid_parameter() {
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
fn the_extension_is_of_2026_07_28_and_later_but_the_skill_is_read_in_any_version() {
    let bench = Bench::new();
    for (method, params) in [("skills/list", json!({})), ("skills/get", json!({ "uri": SKILL }))] {
        let error = error(&bench.legacy(&bench.agent, None, method, params));
        assert_eq!(error["code"], -32601, "{method}");
        assert!(error["message"].as_str().unwrap().contains("2026-07-28"));
    }
    assert!(!read(&bench).is_empty());
}
