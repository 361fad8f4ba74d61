//! The content of a memory, as options give it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use shared_context_core::memories::{Holds, Kind};

use super::super::{file, problem::Problem};

/// The options for a content.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ContentArgs {
    /// A member of the content, such as lesson='Retry with backoff'. Of a list
    /// repeat it, once for each text; or write the list as JSON
    #[arg(long, value_name = "MEMBER=TEXT", value_parser = member)]
    set: Vec<(String, String)>,
    /// The content instead: JSON, a file with JSON, or - for standard input
    #[arg(long, value_name = "JSON|FILE", conflicts_with = "set")]
    content: Option<PathBuf>,
}

/// Parses a member and its text.
fn member(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, text)) if !name.is_empty() => Ok((name.to_owned(), text.to_owned())),
        _ => Err("write a member and its text, such as lesson='Retry with backoff'".to_owned()),
    }
}

impl ContentArgs {
    /// Returns the content, for a memory of the type `kind` if that is known.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not a JSON object; a text is repeated that is not of a list.
    pub(super) fn content(
        &self,
        kind: Option<Kind>,
    ) -> Result<Option<Map<String, Value>>, Problem> {
        if let Some(path) = &self.content {
            return object(path).map(Some);
        }
        let mut content = Map::new();
        for (name, _) in &self.set {
            if !content.contains_key(name) {
                let texts = self.set.iter().filter(|it| it.0 == *name).map(|it| it.1.as_str());
                content.insert(name.clone(), value(kind, name, &texts.collect::<Vec<_>>())?);
            }
        }
        Ok((!content.is_empty()).then_some(content))
    }
}

/// Returns the value of the member `name` that was set to `texts`.
fn value(kind: Option<Kind>, name: &str, texts: &[&str]) -> Result<Value, Problem> {
    let kinds = Kind::ALL.iter().copied().filter(|it| kind.is_none_or(|kind| kind == *it));
    let holds: Vec<Holds> = kinds
        .flat_map(|it| it.members().iter().filter(|it| it.name == name).map(|it| it.holds))
        .collect();
    let is_always = |wanted| !holds.is_empty() && holds.iter().all(|it| *it == wanted);
    let list = || match texts {
        [text] => serde_json::from_str(text).ok().filter(Value::is_array),
        _ => None,
    };
    match texts {
        _ if is_always(Holds::Texts) => Ok(list().unwrap_or_else(|| texts.into())),
        [text] if is_always(Holds::Percent) => {
            let number: Option<u64> = text.trim_end_matches([' ', '%']).parse().ok();
            number.map(Value::from).ok_or_else(|| {
                Problem::usage(format!("{name} is {text:?}, which is not a whole number"))
                    .next(format!("write it like --set {name}=40"))
            })
        }
        // The server says what is wrong with a member that it does not know.
        [text] if holds.contains(&Holds::Texts) => Ok(list().unwrap_or_else(|| (*text).into())),
        [text] => Ok((*text).into()),
        _ if holds.contains(&Holds::Texts) => Ok(texts.into()),
        _ => Err(Problem::usage(format!("{name} is set {} times, and is no list", texts.len()))
            .next("set it once")),
    }
}

/// Reads a JSON object: inline, from a file, or from standard input.
fn object(path: &Path) -> Result<Map<String, Value>, Problem> {
    // No file that anybody would name begins so.
    let inline = path.to_str().filter(|it| it.trim_start().starts_with('{'));
    let (text, place) = match inline {
        Some(text) => (text.to_owned(), "--content".to_owned()),
        None => (file::read(path, "the content")?, file::name(path)),
    };
    serde_json::from_str(&text).map_err(|_| {
        Problem::usage(format!("the content in {place} is not a JSON object"))
            .next(r#"write it like {"lesson": "Retry with backoff"}"#)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(kind: Option<Kind>, set: &[&str]) -> Result<Value, Problem> {
        let set = set.iter().map(|it| member(it).unwrap()).collect();
        let content = ContentArgs { set, content: None }.content(kind)?;
        Ok(content.map_or(Value::Null, Value::Object))
    }

    #[test]
    fn members_have_the_form_that_their_type_wants() {
        let decision = ["decision=PostgreSQL", "rationale=a=b", "alternatives_considered=SQLite"];
        assert_eq!(
            content(Some(Kind::Decision), &decision).unwrap(),
            json!({"decision": "PostgreSQL", "rationale": "a=b",
                "alternatives_considered": ["SQLite"]})
        );
        let state = ["completion_percentage=40 %", "blockers=a", "blockers=b"];
        assert_eq!(
            content(Some(Kind::State), &state).unwrap(),
            json!({"completion_percentage": 40, "blockers": ["a", "b"]})
        );
        assert_eq!(content(None, &[]).unwrap(), Value::Null);
    }

    /// The next actions of an issue are a text, and those of others a list.
    #[test]
    fn a_member_of_an_unknown_type_is_a_list_if_it_looks_like_one() {
        let set = |it: &[&str]| content(None, it).unwrap()["next_actions"].clone();
        assert_eq!(set(&["next_actions=Ask."]), "Ask.");
        assert_eq!(set(&[r#"next_actions=["Ask."]"#]), json!(["Ask."]));
        assert_eq!(set(&["next_actions=Ask.", "next_actions=Wait."]), json!(["Ask.", "Wait."]));
        let issue = content(Some(Kind::Issue), &[r#"next_actions=["Ask."]"#]).unwrap();
        assert_eq!(issue, json!({"next_actions": r#"["Ask."]"#}));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_write() {
        for set in [&["lesson=a", "lesson=b"][..], &["completion_percentage=most"]] {
            let problem = content(None, set).unwrap_err();
            assert!(problem.code() == "USAGE" && problem.next_step().is_some(), "{problem:?}");
        }
        assert!(member("lesson").is_err() && member("=x").is_err());
        // Its message is the server's.
        assert_eq!(content(None, &["colour=red"]).unwrap(), json!({"colour": "red"}));
    }
}
