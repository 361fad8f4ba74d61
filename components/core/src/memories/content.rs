//! The content of a memory: the members of its kind (spec 19.1).

use super::kinds::{Holds, Kind, MemberRule, Severity};
use crate::{Error, canonical::Writer, fence};

/// The longest text of a content, in characters.
pub const MEMBER_CHARS_MAX: usize = 4_000;
/// The most texts of a list.
pub const TEXTS_MAX: usize = 50;

/// The value of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// A whole number.
    Number(u64),
}

/// The content of a memory: the values of members of its kind, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    kind: Kind,
    /// The place of a member among those of the kind, and its value.
    values: Vec<(usize, Value)>,
}

impl Content {
    /// Creates a content from members with their values.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: an unknown member, one that is named twice, a wrong value, a
    /// needed member that is missing.
    pub fn new(kind: Kind, members: Vec<(String, Value)>) -> Result<Self, Error> {
        let mut content = Self { kind, values: Vec::new() };
        for (name, value) in members {
            let (place, rule) = kind.member(&name)?;
            if content.values.iter().any(|it| it.0 == place) {
                return Err(Error::malformed(format!("content.{name} is there twice")));
            }
            content.set(place, checked(rule, value)?);
        }
        content.check()?;
        Ok(content)
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns this content with other values; `None` removes a member.
    ///
    /// # Errors
    ///
    /// As [`Content::new`].
    pub fn changed(&self, members: Vec<(String, Option<Value>)>) -> Result<Self, Error> {
        let mut content = self.clone();
        for (name, value) in members {
            let (place, rule) = self.kind.member(&name)?;
            content.values.retain(|it| it.0 != place);
            if let Some(value) = value {
                content.set(place, checked(rule, value)?);
            }
        }
        content.check()?;
        Ok(content)
    }

    fn set(&mut self, place: usize, value: Value) {
        let at = self.values.partition_point(|it| it.0 < place);
        self.values.insert(at, (place, value));
    }

    fn check(&self) -> Result<(), Error> {
        let is_there = |place: usize| self.values.iter().any(|it| it.0 == place);
        let missing = self.kind.members().iter().enumerate();
        match missing.filter(|(_, it)| it.is_needed).find(|(place, _)| !is_there(*place)) {
            Some((_, it)) => Err(Error::malformed(format!(
                "the content of {} needs {}",
                self.kind.with_article(),
                it.name
            ))),
            None => Ok(()),
        }
    }

    /// Returns the members that have a value.
    pub fn members(&self) -> impl Iterator<Item = (&'static MemberRule, &Value)> {
        let rules = self.kind.members();
        self.values.iter().filter_map(|(place, value)| Some((rules.get(*place)?, value)))
    }

    /// Returns the texts of a list; none if the content has no such list.
    pub fn texts(&self, name: &str) -> &[String] {
        match self.members().find(|it| it.0.name == name) {
            Some((_, Value::Texts(all))) => all,
            _ => &[],
        }
    }

    /// Returns the severity of an issue.
    pub fn severity(&self) -> Option<Severity> {
        let is_severity = |it: &(&'static MemberRule, &Value)| it.0.holds == Holds::Severity;
        match self.members().find(is_severity) {
            Some((_, Value::Text(name))) => Severity::parse(name).ok(),
            _ => None,
        }
    }

    /// Returns all texts, one a line: what a search looks at.
    pub fn text(&self) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for (_, value) in self.members() {
            match value {
                Value::Text(it) => lines.push(it),
                Value::Texts(all) => lines.extend(all.iter().map(String::as_str)),
                Value::Number(_) => {}
            }
        }
        lines.join("\n")
    }

    /// Returns the content as canonical JSON.
    pub fn json(&self) -> String {
        let mut writer = Writer::default();
        writer.open('{');
        let mut members: Vec<_> = self.members().collect();
        members.sort_by_key(|it| it.0.name);
        for (rule, value) in members {
            match value {
                Value::Text(it) => writer.text(rule.name, it),
                Value::Number(it) => writer.number(rule.name, *it),
                Value::Texts(all) => {
                    writer.list(rule.name);
                    for it in all {
                        writer.item(it);
                    }
                    writer.close(']');
                }
            }
        }
        writer.close('}');
        writer.into_text()
    }

    /// Returns the content as fenced text: each member with its heading.
    pub(super) fn fenced(&self) -> String {
        let mut text = String::new();
        for (rule, value) in self.members() {
            let shown = match value {
                Value::Text(it) => [" ", it].concat(),
                Value::Number(it) => format!(" {it} %"),
                Value::Texts(all) => all.iter().map(|it| ["\n- ", it].concat()).collect(),
            };
            text.extend([rule.heading, ":", &shown, "\n"]);
        }
        let fence = fence::around(&text);
        format!("{fence}\n{text}{fence}\n")
    }
}

/// Returns a value that fits its member.
fn checked(rule: &MemberRule, value: Value) -> Result<Value, Error> {
    let name = rule.name;
    let is_text = |text: &str| {
        let chars = text.chars().count();
        let (is_empty, is_long) = (text.trim().is_empty(), chars > MEMBER_CHARS_MAX);
        if is_empty && chars > 0 {
            return Err(Error::malformed(format!(
                "content.{name} is blank; write a text of 1 to {MEMBER_CHARS_MAX} characters"
            )));
        }
        if is_empty || is_long {
            return Err(Error::malformed(format!(
                "content.{name} has a text of {chars} characters; it must be 1 to {MEMBER_CHARS_MAX}"
            )));
        }
        Ok(())
    };
    match (rule.holds, &value) {
        (Holds::Text, Value::Text(text)) => is_text(text)?,
        (Holds::Texts, Value::Texts(all)) => {
            if all.len() > TEXTS_MAX {
                return Err(Error::malformed(format!(
                    "content.{name} has {} texts, at most {TEXTS_MAX} fit; keep those that matter",
                    all.len()
                )));
            }
            all.iter().try_for_each(|it| is_text(it))?;
        }
        (Holds::Percent, Value::Number(0..=100)) => {}
        (Holds::Severity, Value::Text(text)) => drop(Severity::parse(text)?),
        _ => {
            let wanted = match rule.holds {
                Holds::Text => "a text".to_owned(),
                Holds::Texts => "a list of texts".to_owned(),
                Holds::Percent => "a whole number from 0 to 100".to_owned(),
                Holds::Severity => format!("one of {}", Severity::NAMES.join(", ")),
            };
            return Err(Error::malformed(format!("content.{name} must be {wanted}")));
        }
    }
    Ok(value)
}
