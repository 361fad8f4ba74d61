//! The skill: instructions for agents to work with a shared context, as a file that a program loads
//! when needed (extension `io.modelcontextprotocol/skills`).
//!
//! The text is `skill/SKILL.md`; its metadata is parsed from its frontmatter.
//!
//! # Invariant
//!
//! The digest covers exactly the bytes that are served.

use std::sync::LazyLock;

use rmcp::model::{
    ErrorCode, ListSkillsResult, Resource, ResourceContents, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Cache, MethodResult, Rejection, fault::Fault, params::Params, resources::for_models,
    server::one_page,
};

/// URI of the skill.
pub(crate) const URI: &str = "skill://shared-context/SKILL.md";
const TEXT: &str = include_str!("skill/SKILL.md");
const MARKDOWN: &str = "text/markdown";

/// Metadata of the skill.
static SKILL: LazyLock<Skill> = LazyLock::new(|| {
    let files = vec![SkillResource::from_bytes(URI, TEXT.as_bytes())];
    let frontmatter = frontmatter(TEXT).unwrap_or_else(|| SkillFrontmatter::new("", ""));
    Skill::new(URI, frontmatter, SkillResources::Files(files))
});

/// `skills/list`.
///
/// # Errors
///
/// Invalid params (-32602): a cursor.
pub(crate) fn list(params: &Params<'_>) -> Result<MethodResult, Rejection> {
    one_page(params)?;
    let listed = ListSkillsResult {
        result_type: None,
        ..ListSkillsResult::with_all_items(vec![SKILL.clone()])
    };
    Ok(MethodResult::new(&listed)?.cached(Cache::Static))
}

/// `skills/get`.
///
/// # Errors
///
/// Invalid params (-32602): there is no skill with this URI.
pub(crate) fn get(params: &Params<'_>) -> Result<MethodResult, Rejection> {
    #[derive(Serialize)]
    struct GetSkillResult<'s> {
        skill: &'s Skill,
    }
    let uri = params.required_text("uri")?;
    if uri != URI {
        let message = format!("Skill not found: the skill of this server is {URI}");
        let fault = Fault::in_band(ErrorCode::INVALID_PARAMS, message);
        return Err(fault.with_data(json!({ "uri": uri })).into());
    }
    Ok(MethodResult::new(&GetSkillResult { skill: &SKILL })?.cached(Cache::Static))
}

/// Returns the skill as an item of the list of resources.
pub(crate) fn resource() -> Resource {
    let SkillFrontmatter { name, description, .. } = &SKILL.frontmatter;
    Resource::new(URI, name)
        .with_title("How to use a shared context")
        .with_description(description)
        .with_mime_type(MARKDOWN)
        .with_size(TEXT.len() as u64)
        .with_annotations(for_models())
}

/// Returns the contents of the skill.
pub(crate) fn contents() -> ResourceContents {
    ResourceContents::text(TEXT, URI).with_mime_type(MARKDOWN)
}

/// Parses the frontmatter of `text`: lines of `name: value`. A value is plain text, or a JSON
/// string where YAML would parse it as something else. This subset of YAML suffices here; a test
/// compares it with a full parser.
fn frontmatter(text: &str) -> Option<SkillFrontmatter> {
    let (frontmatter, _) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    let mut read = SkillFrontmatter::new("", "");
    for line in frontmatter.lines() {
        let (name, value) = line.split_once(": ")?;
        let is_quoted = value.starts_with('"');
        let value = if is_quoted { serde_json::from_str(value).ok()? } else { value.to_owned() };
        match name {
            "name" => read.name = value,
            "description" => read.description = value,
            name => {
                read.extra.insert(name.to_owned(), Value::String(value));
            }
        }
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use rmcp::model::skill_name_from_uri;
    use shared_context_core::Role;

    use super::*;
    use crate::tools::of_role;

    #[test]
    fn the_skill_metadata_matches_its_yaml_frontmatter() {
        let (yaml, _) = TEXT.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        let expected: Value = serde_saphyr::from_str(yaml).unwrap();
        assert_eq!(
            serde_json::to_value(&SKILL.frontmatter).unwrap(),
            expected,
            "the frontmatter of SKILL.md may hold only lines of name: text, and name: \"text\""
        );
    }

    #[test]
    fn the_skill_is_valid() {
        SKILL.validate().unwrap();
        assert_eq!(skill_name_from_uri(URI), Some(&*SKILL.frontmatter.name));
        let SkillResources::Files(files) = &SKILL.resources else { panic!("its bytes are fixed") };
        assert_eq!(files.len(), 1);
        files[0].verify(TEXT.as_bytes()).unwrap();
        let description = SKILL.frontmatter.description.chars().count();
        assert!((1..=1024).contains(&description), "{description} characters");
        assert!(!TEXT.contains('\r') && TEXT.ends_with('\n'));
    }

    /// It said nothing of what outlives a session, nor of the errors of owned sections.
    #[test]
    fn the_skill_names_the_tools_of_agents_and_errors_of_owners() {
        for tool in of_role(Role::Agent) {
            let (set, _) = tool.name.split_once('_').unwrap_or((tool.name, ""));
            assert!(TEXT.contains(&format!("`{set}")), "{}", tool.name);
        }
        for part in
            ["`rehydrate`", "`acquire`", "`accept_handoff`", "`NOT_OWNER`", "`LEASE_EXPIRED`"]
        {
            assert!(TEXT.contains(part), "{part}");
        }
    }

    #[test]
    fn the_supported_subset_of_yaml_is_parsed() {
        #[track_caller]
        fn check(frontmatter_text: &str, expected: &Value) {
            let text = format!("---\n{frontmatter_text}\n---\n# Body\n---\n");
            let read = frontmatter(&text).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), *expected);
            let yaml: Value = serde_saphyr::from_str(frontmatter_text).unwrap();
            assert_eq!(yaml, *expected);
        }
        check("name: a\ndescription: b c.", &json!({"name": "a", "description": "b c."}));
        check(
            "name: a\ndescription: \"b: \\\"c\\\"\"\nlicense: Apache-2.0",
            &json!({"name": "a", "description": "b: \"c\"", "license": "Apache-2.0"}),
        );
        for text in
            ["", "name: a\n", "---\nname: a", "---\nname\n---\n", "---\nmetadata:\n  a: b\n---\n"]
        {
            assert!(frontmatter(text).is_none(), "{text}");
        }
    }
}
