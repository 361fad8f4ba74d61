//! Where in a round state: singular paths of RFC 9535.

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
    /// The member of this name.
    Name(String),
    /// The item at this index.
    Index(u32),
}

/// A place in a round state: a singular query (RFC 9535 §2.3.5.1), shown as its
/// normalized path (§2.7), for example `$['bindings']['customer']`.
///
/// # Invariant
///
/// It begins with one of the state's members. Paths are ordered so that what is
/// below a path follows it at once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<Step>);

/// A path as it was sent: indexes may count from the end, as long as nobody has
/// looked how long the array is.
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
    /// Checks `text` and takes it as a path.
    ///
    /// # Errors
    ///
    /// [`RoundError::InvalidPath`] when it is no singular query, or does not begin with
    /// a member of the state.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let steps = singular(&parse(text, PATH_BYTES_MAX)?, text)?;
        if steps.len() > DEPTH_MAX {
            return Err(invalid(text, "it has more than 32 steps"));
        }
        Ok(Self { text: text.to_owned(), steps })
    }

    /// Returns the place that is meant in `document`: indexes from the end are counted
    /// there. An index that is not there stays as it is, beyond the end.
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
    /// Returns the path of these steps; `None` when the first is no member of the state.
    pub fn new(steps: Vec<Step>) -> Option<Self> {
        let is_member = |it: &Step| matches!(it, Step::Name(it) if MEMBERS.contains(&it.as_str()));
        steps.first().is_some_and(is_member).then_some(Self(steps))
    }

    /// Returns the path of this text, which was kept: a delta may have spoken of places whose
    /// paths are longer than any that can be sent.
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

    /// Returns whether it is the member `name` of the state.
    pub(crate) fn is_member(&self, name: &str) -> bool {
        matches!(self.0.as_slice(), [Step::Name(it)] if it == name)
    }

    /// Returns whether it is below the member `name` of the state.
    pub(crate) fn is_in(&self, name: &str) -> bool {
        matches!(self.0.as_slice(), [Step::Name(it), _, ..] if it == name)
    }

    /// Returns its steps, one or more.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns its steps behind the first, which is a member of the state.
    pub(super) fn steps_below(&mut self) -> impl Iterator<Item = &mut Step> {
        self.0.iter_mut().skip(1)
    }

    /// Goes one step down.
    pub(super) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Goes one step up, but never above the member of the state.
    pub(super) fn pop(&mut self) {
        if self.0.len() > 1 {
            self.0.pop();
        }
    }

    /// Returns whether it is `other` or above it.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Returns the steps from it to `other`, which is below it.
    pub(crate) fn below<'a>(&self, other: &'a Self) -> Option<&'a [Step]> {
        other.0.strip_prefix(self.0.as_slice())
    }

    /// Returns what is there in `document`.
    pub(crate) fn find<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        find(document, &self.0)
    }

    /// Returns the steps to what it is in, and the last one.
    pub(crate) fn split(&self) -> Option<(&[Step], &Step)> {
        let (last, above) = self.0.split_last()?;
        Some((above, last))
    }
}

/// Returns what is at the end of `steps`.
pub(super) fn find<'a>(document: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(document, child)
}

/// Returns what is one step below `value`.
fn child<'a>(value: &'a Value, step: &Step) -> Option<&'a Value> {
    match step {
        Step::Name(name) => value.as_object()?.get(name),
        Step::Index(nth) => value.as_array()?.get(usize::try_from(*nth).ok()?),
    }
}

/// Its normalized form (RFC 9535 §2.7).
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

/// Writes a name as a normalized path has it.
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

/// Returns the steps of a query that selects one place below a member of the state.
fn singular(query: &JsonPathQuery, text: &str) -> Result<Vec<SentStep>, Error> {
    let refuse = |why| invalid(text, why);
    let mut steps = Vec::new();
    for segment in query.segments() {
        let Segment::Child(selectors) = segment else {
            return Err(refuse("it can select many places (..)"));
        };
        steps.push(match selectors.as_slice() {
            [Selector::Name(name)] => SentStep::Name(name.unquoted().to_owned()),
            [Selector::Index(Index::FromStart(nth))] => SentStep::Index(
                small(nth.as_u64()).ok_or_else(|| refuse("its index is too large"))?,
            ),
            [Selector::Index(Index::FromEnd(nth))] => SentStep::FromEnd(
                small(nth.as_u64()).ok_or_else(|| refuse("its index is too large"))?,
            ),
            _ => return Err(refuse("it can select many places, or none")),
        });
    }
    match steps.first() {
        Some(SentStep::Name(name)) if MEMBERS.contains(&name.as_str()) => Ok(steps),
        _ => Err(refuse("the state has no such member")),
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
    fn every_way_to_write_a_place_has_one_normal_form() {
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
    fn what_is_no_singular_path_into_the_state_is_refused() {
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
    fn an_index_from_the_end_is_counted_in_the_state_it_is_sent_for() {
        let state = serde_json::json!({"entities": [1, 2, 3]});
        let last = SentPath::parse("$.entities[-1]").unwrap();
        assert_eq!(last.resolve(&state).unwrap().to_string(), "$['entities'][2]");
        let none = SentPath::parse("$.entities[-4]").unwrap();
        assert!(matches!(none.resolve(&state), Err(Error::Round(RoundError::PathNotFound { .. }))));
    }
}
