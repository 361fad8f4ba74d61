//! Fills in the templates of a case: variables and generated texts.
//!
//! | written | becomes |
//! |---|---|
//! | `$name` | the variable's value, of any type |
//! | `…${name.member.0}…` | that part of the variable, as text |
//! | `$$` at the start | a `$` |
//! | `{repeat: x, times: 4001}` | `x`, 4001 times; a `${nth}` in it is 1, 2, 3 … |
//! | `{join: [a, {repeat: …}, …]}` | the texts, concatenated |
//! | `{hex: c3 28}` | these bytes; in `raw` only |
//! | `{edited: $name, set: {a.0.b: 7}, remove: [c]}` | the value with these paths set or removed |
//! | `{sealed: value}` | the exported session with matching digests, as a forger would compute them |

use serde_json::{Map, Value};

use crate::seal::sealed;

/// The placeholder for the number of a repetition.
const NTH: &str = "${nth}";

/// The variables of a running case.
pub type Variables = Map<String, Value>;

/// Fills in `template`.
///
/// # Errors
///
/// A message if a variable is unknown or a generator is incomplete.
pub fn fill(template: &Value, variables: &Variables) -> Result<Value, String> {
    match template {
        Value::String(text) => fill_text(text, variables),
        Value::Array(items) => items
            .iter()
            .map(|item| fill(item, variables))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(members) if members.contains_key("edited") => edited(members, variables),
        Value::Object(members) if members.len() == 1 && members.contains_key("sealed") => {
            let document = members.values().next().unwrap_or(template);
            fill(document, variables).map(sealed)
        }
        Value::Object(members) if is_generator(members) => {
            text_of(template, variables).map(Value::String)
        }
        Value::Object(members) => {
            let filled = members
                .iter()
                .map(|(name, value)| Ok((inside(name, variables)?, fill(value, variables)?)));
            filled.collect::<Result<_, String>>().map(Value::Object)
        }
        other => Ok(other.clone()),
    }
}

/// Fills in `template`, a text or a list of texts and bytes, and returns bytes.
///
/// # Errors
///
/// As for [`fill`].
pub fn fill_bytes(template: &Value, variables: &Variables) -> Result<Vec<u8>, String> {
    match template {
        Value::Array(parts) => {
            let parts = parts.iter().map(|part| fill_bytes(part, variables));
            parts.collect::<Result<Vec<_>, _>>().map(|parts| parts.concat())
        }
        Value::Object(members) if members.contains_key("hex") => {
            let digits: String = members
                .values()
                .filter_map(Value::as_str)
                .flat_map(str::chars)
                .filter(|it| !it.is_whitespace())
                .collect();
            let pairs = digits.as_bytes().chunks(2).map(|pair| {
                let pair = str::from_utf8(pair).map_err(|err| err.to_string())?;
                u8::from_str_radix(pair, 16).map_err(|err| format!("`{pair}` is no byte: {err}"))
            });
            pairs.collect()
        }
        other => text_of(other, variables).map(String::into_bytes),
    }
}

/// Returns the value at `path` (`keys.0.version`) in `value`. The empty path is the whole value.
pub fn look_up<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|it| !it.is_empty()).try_fold(value, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    })
}

/// Builds an `edited` value: sets some paths and removes others.
fn edited(members: &Map<String, Value>, variables: &Variables) -> Result<Value, String> {
    let mut value = Value::Null;
    for (name, argument) in members {
        match (name.as_str(), fill(argument, variables)?) {
            // `edited` comes first, because members are sorted by name.
            ("edited", original) => value = original,
            ("remove", Value::Array(paths)) => {
                for path in paths.iter().filter_map(Value::as_str) {
                    edit(&mut value, path, None)?;
                }
            }
            ("set", Value::Object(places)) => {
                for (path, new) in places {
                    edit(&mut value, &path, Some(new))?;
                }
            }
            _ => return Err(format!("`{name}: {argument}` is no edit")),
        }
    }
    Ok(value)
}

/// Sets `path` in `value` to `new`, or removes it if `new` is `None`.
fn edit(value: &mut Value, path: &str, new: Option<Value>) -> Result<(), String> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let place =
        parent.split('.').filter(|it| !it.is_empty()).try_fold(value, |value, name| match value {
            Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
            other => other.get_mut(name),
        });
    let at = name.parse::<usize>().ok();
    let is_done = match (place, new, at) {
        (Some(Value::Object(members)), Some(new), _) => {
            members.insert(name.to_owned(), new);
            true
        }
        (Some(Value::Object(members)), None, _) => members.remove(name).is_some(),
        (Some(Value::Array(items)), Some(new), Some(at)) if at <= items.len() => {
            items.splice(at..(at + 1).min(items.len()), [new]);
            true
        }
        (Some(Value::Array(items)), None, Some(at)) if at < items.len() => {
            items.remove(at);
            true
        }
        _ => false,
    };
    if is_done { Ok(()) } else { Err(format!("there is no place `{path}` to edit")) }
}

fn is_generator(members: &Map<String, Value>) -> bool {
    (members.len() == 2 && members.contains_key("repeat") && members.contains_key("times"))
        || (members.len() == 1 && members.contains_key("join"))
}

fn text_of(template: &Value, variables: &Variables) -> Result<String, String> {
    match template {
        Value::String(text) => match fill_text(text, variables)? {
            Value::String(text) => Ok(text),
            other => Ok(other.to_string()),
        },
        Value::Object(members) => {
            if let Some(Value::Array(parts)) = members.get("join") {
                return parts.iter().map(|part| text_of(part, variables)).collect();
            }
            let (Some(text), Some(times)) = (members.get("repeat"), members.get("times")) else {
                return Err(format!("no text: {template}"));
            };
            let times = fill(times, variables)?;
            let times = times.as_u64().and_then(|it| usize::try_from(it).ok());
            let times = times.ok_or_else(|| format!("`times` is not a number: {template}"))?;
            match text.as_str() {
                Some(text) if text.contains(NTH) => (1..=times)
                    .map(|nth| inside(&text.replace(NTH, &nth.to_string()), variables))
                    .collect(),
                _ => text_of(text, variables).map(|text| text.repeat(times)),
            }
        }
        other => Err(format!("no text: {other}")),
    }
}

/// Fills in a text. If it consists of one variable, the result has the type of that variable.
fn fill_text(text: &str, variables: &Variables) -> Result<Value, String> {
    match text.strip_prefix('$') {
        Some(rest) if rest.starts_with('$') => Ok(Value::String(rest.to_owned())),
        Some(rest) if !rest.starts_with('{') && !rest.is_empty() => {
            variable(rest, variables).cloned()
        }
        _ => inside(text, variables).map(Value::String),
    }
}

/// Replaces each `${…}` in `text`.
fn inside(text: &str, variables: &Variables) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (path, after) = after.split_once('}').ok_or("`${` without `}`")?;
        filled.push_str(before);
        match variable(path, variables)? {
            Value::String(text) => filled.push_str(text),
            other => filled.push_str(&other.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn variable<'a>(path: &str, variables: &'a Variables) -> Result<&'a Value, String> {
    let (name, inner) = path.split_once('.').map_or((path, None), |(name, it)| (name, Some(it)));
    let value = variables.get(name);
    let value = value.and_then(|value| inner.map_or(Some(value), |inner| look_up(value, inner)));
    value.ok_or_else(|| format!("no variable `{path}` was saved before"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(template: &Value, filled: &Value) {
        let variables = json!({"n": 7, "old": {"token": "a.b", "parts": ["a", "b"]}});
        let variables = variables.as_object().expect("is an object");
        assert_eq!(fill(template, variables).as_ref(), Ok(filled));
    }

    #[test]
    fn a_variable_alone_keeps_its_type() {
        check(&json!({"a": ["$n", "$$n", "$"]}), &json!({"a": [7, "$n", "$"]}));
    }

    #[test]
    fn a_variable_inside_a_text_is_text() {
        check(&json!("x${n}-${old.parts.1}"), &json!("x7-b"));
    }

    #[test]
    fn texts_are_repeated_and_joined() {
        check(&json!({"join": ["a", {"repeat": "x", "times": 3}]}), &json!("axxx"));
        check(&json!({"repeat": "é", "times": "$n"}), &json!("ééééééé"));
        check(&json!({"repeat": "k${nth}-${n},", "times": 3}), &json!("k1-7,k2-7,k3-7,"));
    }

    #[test]
    fn hex_bytes_need_not_be_utf_8() {
        let bytes = fill_bytes(&json!(["a", {"hex": "c3 28"}]), &Variables::new());
        assert_eq!(bytes.as_deref(), Ok(&[b'a', 0xc3, 0x28][..]));
    }

    #[test]
    fn paths_of_a_value_are_set_and_removed() {
        let original = json!({"a": [{"b": 1}, 2], "c": 3, "d": 4});
        let changes = json!({"a.0.b": "$n", "a.1": 5, "e": {"f": 6}});
        check(
            &json!({"edited": original, "set": changes, "remove": ["c", "a.1"]}),
            &json!({"a": [{"b": 7}, 5], "d": 4, "e": {"f": 6}}),
        );
        for wrong in [json!({"set": {"x.y": 1}}), json!({"remove": ["x"]}), json!({"put": 1})] {
            let mut template = wrong;
            template["edited"] = json!({"a": 1});
            assert!(fill(&template, &Variables::new()).is_err(), "{template}");
        }
    }

    #[test]
    fn an_unknown_variable_is_named() {
        let error = fill(&json!("$nothing"), &Variables::new()).expect_err("is not known");
        assert!(error.contains("nothing"));
    }
}
