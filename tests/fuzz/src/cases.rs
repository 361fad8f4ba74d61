//! Converts the cases of the conformance suite to scripts, as seeds.
//!
//! Only the requests of steps are read. An `each` is expanded with its first values, and
//! saved values stay unknown. A seed need not succeed: the fuzzer needs its words.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use crate::script::{REQUESTS_MAX, SEPARATOR};

/// The maximum length of a part of a script: long texts slow the fuzzer down without much
/// effect.
const PART_BYTES_MAX: usize = 2_048;

type Variables = BTreeMap<String, Value>;

/// Returns a script of each case. `write` converts a step to a part of the script, or
/// returns `None` to skip it.
pub(crate) fn scripts(write: impl Fn(&Map<String, Value>) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    for path in files() {
        let text = fs::read_to_string(&path).expect("a case is text");
        let case: Value = serde_saphyr::from_str(&text).expect("a case is YAML");
        let mut parts = Vec::new();
        collect(&case["steps"], &Variables::new(), &write, &mut parts);
        parts.retain(|it| it.len() <= PART_BYTES_MAX);
        parts.dedup();
        scripts.extend(parts.chunks(REQUESTS_MAX).map(|it| it.join(&SEPARATOR)));
    }
    scripts
}

/// Returns the files of all cases, in order.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/cases");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("there are cases");
        let mut paths: Vec<_> = entries.flatten().map(|it| it.path()).collect();
        paths.sort();
        paths
    };
    list(&root).iter().filter(|it| it.is_dir()).flat_map(|it| list(it)).collect()
}

fn collect(
    steps: &Value,
    variables: &Variables,
    write: &impl Fn(&Map<String, Value>) -> Option<Vec<u8>>,
    parts: &mut Vec<Vec<u8>>,
) {
    for step in steps.as_array().into_iter().flatten().filter_map(Value::as_object) {
        let mut variables = variables.clone();
        variables.insert("i".to_owned(), 1.into());
        for (name, values) in step.get("each").and_then(Value::as_object).into_iter().flatten() {
            if let Some(first) = values.get(0) {
                variables.insert(name.clone(), first.clone());
            }
        }
        let filled = Value::Object(step.clone());
        let filled = fill(&filled, &variables);
        if let Some(part) = filled.as_object().and_then(write) {
            parts.push(part);
        }
        collect(step.get("steps").unwrap_or(&Value::Null), &variables, write, parts);
    }
}

/// Replaces known variables in `value`.
fn fill(value: &Value, variables: &Variables) -> Value {
    match value {
        Value::String(text) => {
            let whole = text.strip_prefix('$').and_then(|it| variables.get(it));
            whole.cloned().unwrap_or_else(|| fill_text(text, variables).into())
        }
        Value::Array(items) => items.iter().map(|it| fill(it, variables)).collect(),
        Value::Object(members) => {
            let filled = |(name, it): (&String, &Value)| (name.clone(), fill(it, variables));
            members.iter().map(filled).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Replaces known variables within `text`.
fn fill_text(text: &str, variables: &Variables) -> String {
    variables.iter().fold(text.to_owned(), |text, (name, value)| {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.replace(&format!("${{{name}}}"), &shown)
    })
}

/// Returns the JSON tool request of `step`, if it has one.
pub(crate) fn tool_request(step: &Map<String, Value>) -> Option<Vec<u8>> {
    match (step.get("call"), step.get("raw").and_then(Value::as_str)) {
        (Some(call), _) => Some(call.to_string().into_bytes()),
        (None, Some(raw)) if !step.contains_key("http") => Some(raw.as_bytes().to_vec()),
        _ => None,
    }
}

/// Returns the caller of `step`, in the format of [`crate::script::ToolRequest`].
pub(crate) fn caller_line(step: &Map<String, Value>) -> String {
    let text = |name: &str| step.get(name).and_then(Value::as_str);
    let mut line = text("as").unwrap_or("orchestrator").to_owned();
    if let Some(keys) = step.get("keys").and_then(Value::as_array) {
        let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
        line = format!("{line} only {}", keys.join(","));
    }
    for (sign, name) in [('/', "session"), ('@', "project")] {
        if let Some(it) = text(name).filter(|it| !it.contains(' ')) {
            line = format!("{line} {sign}{it}");
        }
    }
    line
}

/// Returns the HTTP request of `step`, if it has one, in the format of
/// [`crate::script::HttpRequest`].
pub(crate) fn http_request(step: &Map<String, Value>) -> Option<Vec<u8>> {
    let line = step.get("http")?.as_str()?;
    let mut head = format!("{line}\n");
    if let Some(who) = step.get("as").and_then(Value::as_str) {
        let who = if step.contains_key("keys") { "limited" } else { who };
        head = format!("{head}as: {who}\n");
    } else if step.contains_key("credential") {
        head.push_str("as: limited\n");
    }
    let no_headers = Map::new();
    let headers = step.get("headers").and_then(Value::as_object).unwrap_or(&no_headers);
    for (name, value) in headers {
        let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in all.iter().filter_map(Value::as_str) {
            head = format!("{head}{}: {value}\n", name.to_lowercase());
        }
    }
    let has_type = headers.keys().any(|it| it.eq_ignore_ascii_case("content-type"));
    let body = match (step.get("body"), step.get("raw").and_then(Value::as_str)) {
        (Some(json), _) => {
            if !has_type {
                head.push_str("content-type: application/json\n");
            }
            json.to_string()
        }
        (None, raw) => raw.unwrap_or_default().to_owned(),
    };
    Some(format!("{head}\n{body}").into_bytes())
}

#[cfg(test)]
mod tests {
    use shared_context_codec::Caller;

    use crate::script::{HttpRequest, ToolRequest, requests};

    #[test]
    fn every_case_becomes_a_readable_script() {
        let scripts = crate::json_tool::seeds();
        let calls: Vec<_> =
            scripts.iter().flat_map(|it| requests(it)).map(ToolRequest::read).collect();
        assert!(calls.len() > 1_000, "{}", calls.len());
        let is_valid = |it: &ToolRequest<'_>| Caller::trusted(&it.participant).check().is_ok();
        let valid = calls.iter().filter(|it| is_valid(it)).count();
        assert!(valid * 10 > calls.len() * 9, "{valid} of {}", calls.len());
        let scripts = crate::rest::seeds();
        let all = scripts.iter().flat_map(|it| requests(it)).count();
        let readable = scripts.iter().flat_map(|it| requests(it)).filter_map(HttpRequest::read);
        let readable = readable.count();
        assert!(all > 500 && readable * 10 > all * 9, "{readable} of {all}");
    }
}
