//! Looks up the documented operations and answers in `openapi.json`.

use std::sync::LazyLock;

use http::Method;
use serde_json::Value;

static DOCUMENT: LazyLock<Vec<Path>> = LazyLock::new(|| {
    let text = include_str!("../../../components/wire/openapi.json");
    let document: Value = serde_json::from_str(text).expect("the document is JSON");
    let paths = document["paths"].as_object().expect("it has paths");
    paths.iter().map(|(template, operations)| Path::read(template, operations)).collect()
});

/// A path of the document.
#[derive(Debug)]
struct Path {
    segments: Vec<String>,
    operations: Vec<Operation>,
}

/// An operation of the document.
#[derive(Debug)]
pub(crate) struct Operation {
    method: String,
    /// The path template in the document.
    #[cfg(test)]
    template: String,
    /// True if it requires a credential.
    pub(crate) is_guarded: bool,
    answers: Vec<(u16, Vec<String>)>,
}

/// The result of looking up a method and a path in the document.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lookup {
    /// The documented operation.
    Operation(&'static Operation),
    /// The path is documented, but only with other methods.
    OtherMethods,
    /// The path is not documented.
    UnknownPath,
}

impl Path {
    fn read(template: &str, operations: &Value) -> Self {
        let methods = operations.as_object().expect("a path has operations").iter();
        let operations = methods.filter(|(name, _)| *name != "parameters");
        let operations = operations.map(|(method, operation)| {
            let responses = operation["responses"].as_object().expect("it is answered");
            let answers = responses.iter().map(|(status, response)| {
                let types = response["content"].as_object().into_iter().flatten();
                (status.parse().expect("a status"), types.map(|(name, _)| name.clone()).collect())
            });
            Operation {
                method: method.to_uppercase(),
                #[cfg(test)]
                template: template.to_owned(),
                is_guarded: operation["security"].get(0).is_some(),
                answers: answers.collect(),
            }
        });
        Self {
            operations: operations.collect(),
            segments: template.split('/').map(str::to_owned).collect(),
        }
    }

    fn matches(&self, path: &str) -> bool {
        let mut given = path.split('/');
        let all = self.segments.iter().all(|expected| {
            given.next().is_some_and(|it| {
                if expected.starts_with('{') { !it.is_empty() } else { it == expected }
            })
        });
        all && given.next().is_none()
    }
}

/// Looks up `method` at `path`. `HEAD` counts as `GET`.
pub(crate) fn look_up(method: &Method, path: &str) -> Lookup {
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    let mut matching = DOCUMENT.iter().filter(|it| it.matches(path)).peekable();
    if matching.peek().is_none() {
        return Lookup::UnknownPath;
    }
    let mut operations = matching.flat_map(|it| &it.operations);
    let found = operations.find(|it| it.method == method.as_str());
    found.map_or(Lookup::OtherMethods, Lookup::Operation)
}

impl Operation {
    /// Returns the content types that it may answer with under `status`, or `None` if it
    /// never answers with that status.
    pub(crate) fn types(&self, status: u16) -> Option<&[String]> {
        let answer = self.answers.iter().find(|(it, _)| *it == status);
        answer.map(|(_, types)| types.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched_with_the_documented_templates() {
        let at = |method: Method, path: &str| look_up(&method, path);
        let Lookup::Operation(read) = at(Method::HEAD, "/v1/sessions/a%2Fb/entries/x") else {
            panic!("it is there")
        };
        assert_eq!(read.template, "/v1/sessions/{session}/entries/{key}");
        assert!(read.is_guarded && read.types(418).is_none());
        assert_eq!(read.types(404).unwrap(), ["application/problem+json"]);
        assert!(read.types(304).unwrap().is_empty());
        assert!(matches!(at(Method::PATCH, "/healthz"), Lookup::OtherMethods));
        assert!(matches!(at(Method::GET, "/healthz/"), Lookup::UnknownPath));
        let Lookup::Operation(import) = at(Method::POST, "/v1/sessions/import") else { panic!() };
        assert_eq!(import.template, "/v1/sessions/import");
        let Lookup::Operation(show) = at(Method::GET, "/v1/sessions/import") else { panic!() };
        assert_eq!(show.template, "/v1/sessions/{session}");
    }
}
