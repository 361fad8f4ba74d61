//! Paths in a round state: singular queries of RFC 9535.

use std::fmt;

use rsonpath_syntax::{Index, JsonPathQuery, ParserBuilder, Segment, Selector};
use serde_json::Value;

use super::{MEMBERS, RoundError, json::DEPTH_MAX};
use crate::Error;

/// The longest path, and the longest pattern, in bytes.
pub const PATH_BYTES_MAX: usize = 512;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The member with this name.
    Name(String),
    /// The item at this index.
    Index(u32),
}

/// A path in a round state: a singular query (RFC 9535 §2.3.5.1), displayed as its
/// normalized path (§2.7), for example `$['bindings']['customer']`.
///
/// # Invariant
///
/// It begins with a member of the state. Paths are ordered so that all paths below a path
/// follow it directly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<Step>);

/// A path as it was sent. Indexes may count from the end until the path is resolved in a
/// state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentPath {
    text: String,
    steps: Vec<SentStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SentStep {
    Name(String),
    Index(u32),
    FromEnd(u32),
}

impl SentPath {
    /// Parses a path.
    ///
    /// # Errors
    ///
    /// [`RoundError::InvalidPath`] if it is not a singular query, or does not begin with
    /// a member of the state.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let steps = singular(&parse(text, PATH_BYTES_MAX)?, text)?;
        if steps.len() > DEPTH_MAX {
            return Err(invalid(text, "it has more than 32 steps"));
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// Resolves the path in `document`: indexes from the end are counted there. An index
    /// beyond the end is not changed.
    pub(crate) fn resolve(&self, document: &Value) -> Result<Path, Error> {
        let mut here = Some(document);
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let step = match step {
                SentStep::Name(name) => Step::Name(name.clone()),
                SentStep::Index(nth) => Step::Index(*nth),
                SentStep::FromEnd(nth) => {
                    let length = here.and_then(Value::as_array).map_or(0, Vec::len);
                    let index = u32::try_from(length).ok().and_then(|it| it.checked_sub(*nth));
                    Step::Index(index.ok_or_else(|| RoundError::PathNotFound {
                        path: self.text.clone(),
                        why: "the array is shorter",
                    })?)
                }
            };
            here = here.and_then(|it| child(it, &step));
            steps.push(step);
        }
        Ok(Path(steps))
    }

    /// Returns the path as it was sent.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Path {
    /// Creates a path from `steps`, or returns `None` if the first is not a member of the
    /// state.
    pub fn new(steps: Vec<Step>) -> Option<Self> {
        let is_member = |it: &Step| matches!(it, Step::Name(it) if MEMBERS.contains(&it.as_str()));
        steps.first().is_some_and(is_member).then_some(Self(steps))
    }

    /// Parses an exported path. It may be longer than a path that can be sent, since a
    /// delta's value extends its path.
    ///
    /// # Errors
    ///
    /// [`RoundError::InvalidPath`].
    pub fn restore(text: &str) -> Result<Self, Error> {
        let steps = singular(&parse(text, usize::MAX)?, text)?.into_iter().map(|it| match it {
            SentStep::Name(name) => Ok(Step::Name(name)),
            SentStep::Index(nth) => Ok(Step::Index(nth)),
            SentStep::FromEnd(_) => Err(invalid(text, "it counts from the end")),
        });
        steps.collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if the path is the member `name` of the state.
    pub(crate) fn is_member(&self, name: &str) -> bool {
        matches!(self.0.as_slice(), [Step::Name(it)] if it == name)
    }

    /// Returns true if the path is below the member `name` of the state.
    pub(crate) fn is_in(&self, name: &str) -> bool {
        matches!(self.0.as_slice(), [Step::Name(it), _, ..] if it == name)
    }

    /// Returns the steps; there is at least one.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns the steps after the first, which is a member of the state.
    pub(super) fn steps_below(&mut self) -> impl Iterator<Item = &mut Step> {
        self.0.iter_mut().skip(1)
    }

    /// Appends a step.
    pub(super) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Removes the last step, but never the member of the state.
    pub(super) fn pop(&mut self) {
        if self.0.len() > 1 {
            self.0.pop();
        }
    }

    /// Returns true if the path is `other` or above it.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Returns the steps from this path to `other`, if that is below it.
    pub(crate) fn below<'a>(&self, other: &'a Self) -> Option<&'a [Step]> {
        other.0.strip_prefix(self.0.as_slice())
    }

    /// Returns the value at this path in `document`.
    pub(crate) fn find<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        find(document, &self.0)
    }

    /// Returns the steps of its parent, and the last step.
    pub(crate) fn split(&self) -> Option<(&[Step], &Step)> {
        let (last, above) = self.0.split_last()?;
        Some((above, last))
    }
}

/// Returns the value at `steps`.
pub(super) fn find<'a>(document: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(document, child)
}

/// Returns the child of `value` at `step`.
fn child<'a>(value: &'a Value, step: &Step) -> Option<&'a Value> {
    match step {
        Step::Name(name) => value.as_object()?.get(name),
        Step::Index(nth) => value.as_array()?.get(usize::try_from(*nth).ok()?),
    }
}

/// Writes the normalized form (RFC 9535 §2.7).
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                Step::Index(nth) => write!(f, "[{nth}]")?,
                Step::Name(name) => {
                    f.write_str("[")?;
                    write_name(f, name)?;
                    f.write_str("]")?;
                }
            }
        }
        Ok(())
    }
}

/// Writes a name as in a normalized path.
pub(super) fn write_name(f: &mut impl fmt::Write, name: &str) -> fmt::Result {
    f.write_str("'")?;
    for c in name.chars() {
        match c {
            '\u{8}' => f.write_str("\\b")?,
            '\t' => f.write_str("\\t")?,
            '\n' => f.write_str("\\n")?,
            '\u{c}' => f.write_str("\\f")?,
            '\r' => f.write_str("\\r")?,
            '\'' | '\\' => write!(f, "\\{c}")?,
            '\0'..='\u{1f}' => write!(f, "\\u{:04x}", u32::from(c))?,
            _ => f.write_char(c)?,
        }
    }
    f.write_str("'")
}

/// Returns the steps of a singular query below a member of the state.
fn singular(query: &JsonPathQuery, text: &str) -> Result<Vec<SentStep>, Error> {
    let reject = |why| invalid(text, why);
    let mut steps = Vec::new();
    for segment in query.segments() {
        let Segment::Child(selectors) = segment else {
            return Err(reject("it can select many places (..)"));
        };
        steps.push(match selectors.as_slice() {
            [Selector::Name(name)] => SentStep::Name(name.unquoted().to_owned()),
            [Selector::Index(Index::FromStart(nth))] => SentStep::Index(
                small(nth.as_u64()).ok_or_else(|| reject("its index is too large"))?,
            ),
            [Selector::Index(Index::FromEnd(nth))] => SentStep::FromEnd(
                small(nth.as_u64()).ok_or_else(|| reject("its index is too large"))?,
            ),
            _ => return Err(reject("it can select many places, or none")),
        });
    }
    match steps.first() {
        Some(SentStep::Name(name)) if MEMBERS.contains(&name.as_str()) => Ok(steps),
        _ => Err(reject("the state has no such member")),
    }
}

pub(super) fn parse(text: &str, bytes_max: usize) -> Result<JsonPathQuery, Error> {
    if text.len() > bytes_max {
        return Err(invalid(text, "it is longer than 512 bytes"));
    }
    let mut parser = ParserBuilder::new();
    parser.set_recursion_limit(Some(8));
    parser.build().parse(text).map_err(|_| invalid(text, "it is no JSONPath"))
}

fn small(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

pub(super) fn invalid(path: &str, why: &'static str) -> Error {
    RoundError::InvalidPath { path: path.to_owned(), why }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        SentPath::parse(text).unwrap().resolve(&Value::Null).unwrap()
    }

    #[test]
    fn every_spelling_of_a_path_has_one_normal_form() {
        for (sent, normal) in [
            ("$.bindings.customer", "$['bindings']['customer']"),
            ("$['bindings'][\"customer\"]", "$['bindings']['customer']"),
            ("$.entities[0].name", "$['entities'][0]['name']"),
            ("$.bindings['it\\'s']", "$['bindings']['it\\'s']"),
            ("$.bindings['\\u000b\\n']", "$['bindings']['\\u000b\\n']"),
            ("$.bindings.größe", "$['bindings']['größe']"),
        ] {
            let normal_form = path(sent).to_string();
            assert_eq!(normal_form, normal, "{sent}");
            assert_eq!(path(&normal_form).to_string(), normal, "read again");
        }
    }

    #[test]
    fn a_path_that_is_not_singular_is_rejected() {
        let long = format!("$.bindings.{}", "x".repeat(PATH_BYTES_MAX));
        let deep = format!("$.entities{}", "[0]".repeat(DEPTH_MAX));
        for bad in [
            "",
            "$",
            "bindings",
            "$.other",
            "$[0]",
            "$.bindings.*",
            "$..bindings",
            "$.entities[0,1]",
            "$.entities[0:2]",
            "$.entities[?@.id]",
            "$.bindings.",
            "$.entities[99999999999]",
            &long,
            &deep,
        ] {
            assert!(
                matches!(SentPath::parse(bad), Err(Error::Round(RoundError::InvalidPath { .. }))),
                "{bad}"
            );
        }
    }

    #[test]
    fn an_index_from_the_end_is_resolved_in_the_state() {
        let state = serde_json::json!({"entities": [1, 2, 3]});
        let last = SentPath::parse("$.entities[-1]").unwrap();
        assert_eq!(last.resolve(&state).unwrap().to_string(), "$['entities'][2]");
        let none = SentPath::parse("$.entities[-4]").unwrap();
        assert!(matches!(none.resolve(&state), Err(Error::Round(RoundError::PathNotFound { .. }))));
    }
}
