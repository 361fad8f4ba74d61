//! Commands of the memory tool, and their parser.

use serde_json::{Map, Value};

/// A command; its paths are not yet validated.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Shows a file or a directory.
    View {
        path: String,
        /// First and last line to show.
        range: Option<(i64, i64)>,
    },
    /// Adds a file.
    Create { path: String, file_text: String },
    /// Replaces a text that occurs once in a file.
    StrReplace { path: String, old_str: String, new_str: String },
    /// Inserts lines after a line of a file; 0 is the beginning.
    Insert { path: String, insert_line: i64, insert_text: String },
    /// Removes a file or a directory.
    Delete { path: String },
    /// Moves a file or a directory.
    Rename { old_path: String, new_path: String },
}

/// Name, members and example of a command.
struct Form {
    name: &'static str,
    members: &'static [&'static str],
    example: &'static str,
}

static FORMS: [Form; 6] = [
    Form {
        name: "view",
        members: &["path", "view_range"],
        example: r#"{"command":"view","path":"/memories"}"#,
    },
    Form {
        name: "create",
        members: &["path", "file_text"],
        example: r#"{"command":"create","path":"/memories/progress","file_text":"Step 1 is done."}"#,
    },
    Form {
        name: "str_replace",
        members: &["path", "old_str", "new_str"],
        example: r#"{"command":"str_replace","path":"/memories/progress","old_str":"Step 1","new_str":"Step 2"}"#,
    },
    Form {
        name: "insert",
        members: &["path", "insert_line", "insert_text"],
        example: r#"{"command":"insert","path":"/memories/progress","insert_line":0,"insert_text":"Plan:"}"#,
    },
    Form {
        name: "delete",
        members: &["path"],
        example: r#"{"command":"delete","path":"/memories/progress"}"#,
    },
    Form {
        name: "rename",
        members: &["old_path", "new_path"],
        example: r#"{"command":"rename","old_path":"/memories/draft","new_path":"/memories/final"}"#,
    },
];

impl Command {
    /// Parses the command in `input`. Null members count as absent.
    ///
    /// # Errors
    ///
    /// A text for the agent: there is no such command, or one of its members is missing, unknown or
    /// of another type.
    pub(super) fn parse(input: &Map<String, Value>) -> Result<Self, String> {
        let Some(Value::String(name)) = input.get("command") else {
            return Err(format!("Error: the input needs the member command, {}", names()));
        };
        let Some(form) = FORMS.iter().find(|it| it.name == name) else {
            let shown: String = name.chars().take(80).collect();
            return Err(format!("Error: there is no command {shown:?}; use {}", names()));
        };
        let members = Members { form, input };
        members.check_known()?;
        Ok(match form.name {
            "view" => Self::View { path: members.text("path")?, range: members.range()? },
            "create" => {
                Self::Create { path: members.text("path")?, file_text: members.text("file_text")? }
            }
            "str_replace" => Self::StrReplace {
                path: members.text("path")?,
                old_str: members.text("old_str")?,
                new_str: members.text("new_str")?,
            },
            "insert" => Self::Insert {
                path: members.text("path")?,
                insert_line: members.line("insert_line")?,
                insert_text: members.text("insert_text")?,
            },
            "delete" => Self::Delete { path: members.text("path")? },
            _ => Self::Rename {
                old_path: members.text("old_path")?,
                new_path: members.text("new_path")?,
            },
        })
    }
}

fn names() -> String {
    let names: Vec<&str> = FORMS.iter().map(|it| it.name).collect();
    format!("one of {}", names.join(", "))
}

struct Members<'i> {
    form: &'static Form,
    input: &'i Map<String, Value>,
}

impl Members<'_> {
    fn check_known(&self) -> Result<(), String> {
        let is_known = |name: &str| name == "command" || self.form.members.contains(&name);
        match self.input.iter().find(|(name, value)| !value.is_null() && !is_known(name)) {
            Some((name, _)) => {
                let shown: String = name.chars().take(80).collect();
                Err(self.error(&format!("has no member {shown:?}")))
            }
            None => Ok(()),
        }
    }

    fn text(&self, name: &str) -> Result<String, String> {
        match self.input.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(self.error(&format!("needs {name}, a text"))),
        }
    }

    fn line(&self, name: &str) -> Result<i64, String> {
        let line = self.input.get(name).and_then(whole);
        line.ok_or_else(|| self.error(&format!("needs {name}, the number of a line")))
    }

    fn range(&self) -> Result<Option<(i64, i64)>, String> {
        let range = match self.input.get("view_range") {
            None | Some(Value::Null) => return Ok(None),
            Some(range) => range.as_array().map(|it| it.iter().map(whole)),
        };
        match range.and_then(Iterator::collect::<Option<Vec<i64>>>).as_deref() {
            Some([first, last]) => Ok(Some((*first, *last))),
            _ => Err(self.error("takes as view_range the first and the last line, as in [1, 10]")),
        }
    }

    fn error(&self, what: &str) -> String {
        let Form { name, example, .. } = self.form;
        format!("Error: the command {name} {what}; for example {example}")
    }
}

/// Returns the whole number in `value`, which may be written as `1.0`.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        let size = i64::try_from(shared_context_codec::whole(number.abs())?).ok()?;
        Some(if number < 0.0 { -size } else { size })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(input: &Value) -> Result<Command, String> {
        Command::parse(input.as_object().unwrap())
    }

    #[test]
    fn every_example_is_a_command() {
        for form in &FORMS {
            let command = parse(&serde_json::from_str(form.example).unwrap());
            assert!(command.is_ok(), "{command:?}");
        }
    }

    #[test]
    fn members_may_be_null_where_they_may_be_absent() {
        let path = "/memories".to_owned();
        let view = |range| Ok(Command::View { path: path.clone(), range });
        assert_eq!(parse(&json!({"command": "view", "path": path})), view(None));
        let nulls = json!({"command": "view", "path": path, "view_range": null, "file_text": null});
        assert_eq!(parse(&nulls), view(None));
        let range = json!({"command": "view", "path": path, "view_range": [2, -1]});
        assert_eq!(parse(&range), view(Some((2, -1))));
    }

    /// `1.0` was once rejected, which the JSON tool takes as 1.
    #[test]
    fn a_number_of_a_line_may_be_written_with_a_fraction_of_0() {
        let input = json!({"command": "insert", "path": "/memories/a", "insert_line": 1.0, "insert_text": "x"});
        assert!(matches!(parse(&input), Ok(Command::Insert { insert_line: 1, .. })));
        let input = json!({"command": "view", "path": "/memories/a", "view_range": [2.0, -1.0]});
        assert!(matches!(parse(&input), Ok(Command::View { range: Some((2, -1)), .. })));
    }

    #[test]
    fn an_invalid_command_is_rejected_with_an_example() {
        #[track_caller]
        fn check(input: &Value, part: &str) {
            let text = parse(input).unwrap_err();
            assert!(text.starts_with("Error: ") && text.contains(part), "{text}");
            assert!(!text.contains("secret") && text.len() < 300, "{text}");
        }
        let path = "/memories/a";
        check(&json!({}), "needs the member command, one of view, create, str_replace, insert");
        check(&json!({"command": 1}), "needs the member command");
        check(
            &json!({"type": "tool_use", "input": {"command": "view"}}),
            "needs the member command",
        );
        check(&json!({"command": "x".repeat(5_000)}), "there is no command \"xxx");
        check(
            &json!({"command": "View", "path": path}),
            "there is no command \"View\"; use one of view",
        );
        check(&json!({"command": "view"}), "the command view needs path, a text; for example {");
        check(&json!({"command": "view", "path": 1}), "view needs path, a text");
        for range in [
            json!([]),
            json!([1]),
            json!([1, 2, 3]),
            json!([1, "2"]),
            json!([1, 2.5]),
            json!(1),
            json!("1-2"),
        ] {
            check(&json!({"command": "view", "path": path, "view_range": range}), "as in [1, 10]");
        }
        check(&json!({"command": "create", "path": path}), "create needs file_text, a text");
        check(&json!({"command": "create", "path": path, "file_text": null}), "needs file_text");
        check(
            &json!({"command": "create", "path": path, "file_text": ["secret"]}),
            "needs file_text",
        );
        check(
            &json!({"command": "create", "path": path, "file_text": "secret", "overwrite": true}),
            "the command create has no member \"overwrite\"; for example {",
        );
        check(
            &json!({"command": "str_replace", "path": path, "new_str": "secret"}),
            "needs old_str",
        );
        check(
            &json!({"command": "str_replace", "path": path, "old_str": "secret"}),
            "needs new_str",
        );
        for line in [json!(null), json!("1"), json!(1.5), json!(1e30), json!(u64::MAX)] {
            check(
                &json!({"command": "insert", "path": path, "insert_line": line, "insert_text": "secret"}),
                "insert needs insert_line, the number of a line",
            );
        }
        check(&json!({"command": "insert", "path": path, "insert_line": 1}), "needs insert_text");
        check(
            &json!({"command": "insert", "path": path, "insert_line": 1, "new_str": "secret"}),
            "has no member \"new_str\"; for example",
        );
        check(&json!({"command": "delete"}), "delete needs path");
        check(&json!({"command": "rename", "old_path": path}), "rename needs new_path");
        check(&json!({"command": "rename", "new_path": path}), "rename needs old_path");
    }
}
