//! Compares replies with the expectations of cases.
//!
//! [`resolve`] first turns the expectation into a concrete value: each matcher that fits becomes
//! the actual value. So every difference between the two values is a failure, and the same diff
//! serves to compare and to report.
//!
//! | written | fits |
//! |---|---|
//! | `{any: string}` | any `string`, `integer`, `boolean`, `array`, `object`, or `time` (RFC 3339, UTC) |
//! | `{contains: text}`, `{contains: [a, b]}` | a text with all of these in it |
//! | `{lacks: text}`, `{lacks: [a, b]}` | a text with none of these in it |
//! | `{includes: [x, y]}` | a list with elements that fit these partially, in any place |
//! | `{excludes: [x, y]}` | a list (or nothing) without any element that fits these partially |
//! | `{length: n}` | a list of n elements, or a text of n characters |
//! | `{at_most: n}`, `{at_least: n}` | a number |
//! | `{absent: true}` | a member that is not there |

use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

/// Maximum length of a text in a message, in characters.
const TEXT_SHOWN_MAX: usize = 400;

/// Resolves the matchers of `expected` against `got`. The result equals `got` if and only if `got`
/// fits. A partial comparison copies the members of `got` that `expected` does not name.
pub fn resolve(expected: &Value, got: &Value, is_partial: bool) -> Value {
    if let Some(matchers) = matchers(expected) {
        let failing: Map<_, _> =
            matchers.iter().filter_map(|(name, it)| unfit(name, it, got)).collect();
        return if failing.is_empty() { got.clone() } else { Value::Object(failing) };
    }
    match (expected, got) {
        (Value::Object(members), Value::Object(found)) => {
            let mut resolved = Map::new();
            if is_partial {
                resolved.extend(found.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            for (name, value) in members {
                let found = found.get(name);
                if found.is_none() && may_be_missing(value) {
                    continue;
                }
                let value =
                    found.map_or_else(|| value.clone(), |it| resolve(value, it, is_partial));
                resolved.insert(name.clone(), value);
            }
            Value::Object(resolved)
        }
        (Value::Array(items), Value::Array(found)) => items
            .iter()
            .enumerate()
            .map(|(at, item)| {
                found.get(at).map_or_else(|| item.clone(), |it| resolve(item, it, is_partial))
            })
            .collect(),
        _ => expected.clone(),
    }
}

/// Compares `got` with `expected`. The error is a line diff.
pub fn compare(expected: &Value, got: &Value, is_partial: bool) -> Result<(), String> {
    let resolved = resolve(expected, got, is_partial);
    if resolved == *got {
        return Ok(());
    }
    Err(difference(&pretty(&resolved), &pretty(got)))
}

/// Returns a line diff of two texts.
pub fn difference(expected: &str, got: &str) -> String {
    let mut shown = "expected (-), got (+):".to_owned();
    for change in TextDiff::from_lines(expected, got).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => "-",
            ChangeTag::Insert => "+",
            ChangeTag::Equal => " ",
        };
        shown.push_str("\n  ");
        shown.push_str(sign);
        shown.push_str(change.value().trim_end_matches('\n'));
    }
    shown
}

/// Cuts out the middle of a long text.
pub fn shorten(text: &str) -> String {
    let count = text.chars().count();
    if count <= TEXT_SHOWN_MAX {
        return text.to_owned();
    }
    let start: String = text.chars().take(TEXT_SHOWN_MAX / 2).collect();
    let end: String = text.chars().skip(count - TEXT_SHOWN_MAX / 2).collect();
    format!("{start} …({count} characters)… {end}")
}

fn pretty(value: &Value) -> String {
    fn shortened(value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(shorten(text)),
            Value::Array(items) => items.iter().map(shortened).collect(),
            Value::Object(members) => {
                let members = members.iter().map(|(name, it)| (name.clone(), shortened(it)));
                Value::Object(members.collect())
            }
            other => other.clone(),
        }
    }
    format!("{:#}", shortened(value))
}

/// Returns the matchers in `expected`, if it consists of matchers only. All of them must fit.
fn matchers(expected: &Value) -> Option<&Map<String, Value>> {
    const NAMES: [&str; 9] = [
        "any", "contains", "lacks", "includes", "excludes", "length", "at_most", "at_least",
        "absent",
    ];
    let members = expected.as_object()?;
    let is_matcher = |name: &String| NAMES.contains(&name.as_str());
    (!members.is_empty() && members.keys().all(is_matcher)).then_some(members)
}

fn may_be_missing(expected: &Value) -> bool {
    let all_fit = |it: &Map<String, Value>| it.iter().all(|(name, it)| fits(name, it, None));
    matchers(expected).is_some_and(all_fit)
}

/// Returns the matcher with only the parts that `got` does not fit.
fn unfit(name: &str, argument: &Value, got: &Value) -> Option<(String, Value)> {
    let unfit = match argument {
        Value::Array(parts) => {
            let parts = parts.iter().filter(|part| !fits(name, part, Some(got)));
            Value::Array(parts.cloned().collect())
        }
        one if fits(name, one, Some(got)) => Value::Array(Vec::new()),
        one => one.clone(),
    };
    (unfit != Value::Array(Vec::new())).then(|| (name.to_owned(), unfit))
}

/// Returns true if `got` fits one matcher. `None` is a missing member.
fn fits(name: &str, argument: &Value, got: Option<&Value>) -> bool {
    let parts = argument.as_array().map_or(std::slice::from_ref(argument), Vec::as_slice);
    let text = got.and_then(Value::as_str);
    let number = got.and_then(Value::as_u64).zip(argument.as_u64());
    let mut texts = parts.iter().filter_map(Value::as_str);
    let is_there = |part: &Value| {
        let mut items = got.and_then(Value::as_array).into_iter().flatten();
        items.any(|item| resolve(part, item, true) == *item)
    };
    match name {
        "any" => got.is_some_and(|got| is_of_type(argument.as_str().unwrap_or_default(), got)),
        "contains" => text.is_some_and(|got| texts.all(|it| got.contains(it))),
        "lacks" => text.is_some_and(|got| !texts.any(|it| got.contains(it))),
        "includes" => parts.iter().all(is_there),
        "excludes" => !parts.iter().any(is_there),
        "length" => got.and_then(length).is_some_and(|it| Some(it) == argument.as_u64()),
        "at_most" => number.is_some_and(|(got, most)| got <= most),
        "at_least" => number.is_some_and(|(got, least)| got >= least),
        "absent" => got.is_none(),
        _ => false,
    }
}

fn length(got: &Value) -> Option<u64> {
    let length = match got {
        Value::Array(items) => items.len(),
        Value::String(text) => text.chars().count(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

fn is_of_type(name: &str, got: &Value) -> bool {
    match name {
        "string" => got.is_string(),
        "integer" => got.is_u64() || got.is_i64(),
        "boolean" => got.is_boolean(),
        "array" => got.is_array(),
        "object" => got.is_object(),
        "time" => got.as_str().is_some_and(is_utc_time),
        _ => false,
    }
}

/// Returns true if `text` is an instant in the form of the API: UTC with `Z`, and milliseconds
/// only if not zero.
fn is_utc_time(text: &str) -> bool {
    let Ok(time) = text.parse::<jiff::Timestamp>() else { return false };
    let precision = if time.as_millisecond() % 1_000 == 0 { 0 } else { 3 };
    format!("{time:.precision$}") == text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_exact_comparison_rejects_an_extra_member() {
        assert!(compare(&json!({"a": 1}), &json!({"a": 1, "b": 2}), false).is_err());
        assert!(compare(&json!({"a": 1}), &json!({"a": 1, "b": 2}), true).is_ok());
    }

    #[test]
    fn lists_have_the_same_length_in_both_comparisons() {
        let got = json!([{"a": 1, "b": 2}, {"a": 2}]);
        assert!(compare(&json!([{"a": 1}]), &got, true).is_err());
        assert!(compare(&json!([{"a": 1}, {}]), &got, true).is_ok());
        assert!(compare(&json!([{"a": 1}, {}, {}]), &got, true).is_err());
    }

    #[test]
    fn a_matcher_fits_or_is_shown() {
        let got = json!({"text": "one two", "list": [{"code": "A"}, {"code": "B"}], "at": "2026-02-20T14:30:00Z"});
        let fits = |expected: &Value| compare(expected, &got, true);
        assert_eq!(
            fits(&json!({"text": {"contains": ["one", "two"]}, "at": {"any": "time"}})),
            Ok(())
        );
        assert_eq!(
            fits(&json!({"list": {"includes": [{"code": "B"}]}, "other": {"absent": true}})),
            Ok(())
        );
        assert_eq!(
            fits(&json!({"list": {"excludes": [{"code": "C"}]}, "text": {"length": 7}})),
            Ok(())
        );
        assert!(fits(&json!({"text": {"contains": "three"}})).is_err());
        assert!(fits(&json!({"text": {"lacks": "two"}})).is_err());
        assert!(fits(&json!({"list": {"excludes": [{"code": "B"}]}})).is_err());
        assert!(fits(&json!({"text": {"absent": true}})).is_err());
    }

    #[test]
    fn a_diff_shows_the_difference() {
        let shown =
            compare(&json!({"a": 1, "b": {"any": "string"}}), &json!({"a": 2, "b": "x"}), false);
        let shown = shown.expect_err("the values differ");
        assert!(shown.contains("-  \"a\": 1") && shown.contains("+  \"a\": 2"), "{shown}");
        assert!(shown.contains("   \"b\": \"x\""), "{shown}");
    }

    #[test]
    fn times_have_one_form() {
        assert!(is_utc_time("2026-02-20T14:30:00Z") && is_utc_time("2026-02-20T14:30:00.250Z"));
        assert!(
            !is_utc_time("2026-02-20T14:30:00.000Z") && !is_utc_time("2026-02-20T15:30:00+01:00")
        );
    }
}
