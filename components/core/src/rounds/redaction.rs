//! Redaction in rounds: removes a text from everything stored of them.
//!
//! A marker replaces every whole string that contains the text: in the values of states
//! and deltas, in provenances and reasons, and in the names in values, paths and patterns.
//!
//! # Invariant
//!
//! Equal strings stay equal, and different strings stay different (except a number and a
//! string of its digits): a marker is a digest. So paths still refer to the same values.
//! An open round has the same result, except for a tied vote that the text itself
//! decides.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use super::{
    Delta, DeltaOutcome, Ended, Json, MEMBERS, Marks, Plan, Proposed, Provenance, Round, State,
    StrategyRule,
    path::{Path, Step},
    path_pattern::PathPattern,
};
use crate::{
    Error, digest,
    key::Line,
    order::{map, sorted},
};

/// The prefix of a marker.
const MARKER: &str = "redacted:";
/// The number of hexadecimal digits of the digest in a marker.
const MARKER_DIGITS: usize = 16;
/// The range of a secret's length, in characters.
pub const SECRET_CHARS: std::ops::RangeInclusive<usize> = 4..=1_000;

/// A text to redact. Its `Debug` output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Parses a text to redact.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (shortest, longest) = (SECRET_CHARS.start(), SECRET_CHARS.end());
        if !SECRET_CHARS.contains(&text.chars().count()) {
            return Err(Error::malformed(format!(
                "text must have {shortest} to {longest} characters: every text that has it in it \
                 goes, and a short one is in many"
            )));
        }
        if MARKER.contains(text) || text.trim().is_empty() {
            return Err(Error::malformed(
                "text must be the secret itself, which neither spaces nor a part of \"redacted:\" \
                 can be",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A redaction in progress.
pub(crate) struct Redaction<'a> {
    secret: &'a str,
    /// The number of strings it replaced.
    pub(crate) places: u32,
    /// The markers it used.
    pub(crate) markers: BTreeSet<String>,
}

impl<'a> Redaction<'a> {
    pub(crate) fn new(Secret(secret): &'a Secret) -> Self {
        Self { secret, places: 0, markers: BTreeSet::new() }
    }

    /// Returns the marker for `text` if it contains the secret.
    fn marker(&mut self, text: &str) -> Option<String> {
        if !text.contains(self.secret) {
            return None;
        }
        let digits: String =
            digest::sha256(text).chars().skip("sha256:".len()).take(MARKER_DIGITS).collect();
        let marker = format!("{MARKER}{digits}");
        self.places = self.places.saturating_add(1);
        self.markers.insert(marker.clone());
        Some(marker)
    }

    fn text(&mut self, text: &mut String) {
        if let Some(marker) = self.marker(text) {
            *text = marker;
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Number(number) => {
                if let Some(marker) = self.marker(&number.to_string()) {
                    *value = Value::String(marker);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|it| self.value(it)),
            Value::Object(members) => {
                for (mut name, mut member) in std::mem::take(members) {
                    self.text(&mut name);
                    self.value(&mut member);
                    members.insert(name, member);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn json(&mut self, json: &mut Json) -> Result<(), Error> {
        let (before, mut value) = (self.places, json.value());
        self.value(&mut value);
        if self.places > before {
            *json = Json::from_value(&value)?;
        }
        Ok(())
    }

    fn path(&mut self, path: &mut Path) {
        // The first step is a member of the state.
        for step in path.steps_below() {
            if let Step::Name(name) = step {
                self.text(name);
            }
        }
    }

    /// Redacts the paths of `items` and restores the order by path.
    fn by_path<T>(&mut self, items: &mut Vec<T>, path: impl Fn(&mut T) -> &mut Path) {
        let before = self.places;
        for it in items.iter_mut() {
            self.path(path(it));
        }
        if self.places > before {
            let with_path = |mut it: T| (path(&mut it).clone(), it);
            let sorted_items = std::mem::take(items).into_iter().map(with_path).collect();
            let sorted_items = sorted(sorted_items, |(a, _), (b, _)| a.cmp(b));
            items.extend(sorted_items.into_iter().map(|(_, it)| it));
        }
    }

    pub(crate) fn state(&mut self, state: &mut State) -> Result<(), Error> {
        let before = self.places;
        for name in MEMBERS {
            if let Some(member) = state.document.get_mut(name) {
                self.value(member);
            }
        }
        if self.places == before {
            return Ok(());
        }
        state.text = Json::from_value(&state.document)?;
        let Marks { bindings, .. } = &mut state.marks;
        *bindings = map(std::mem::take(bindings).into_iter().map(|(mut term, mark)| {
            let places = self.places;
            self.text(&mut term);
            // The term was already counted in the document.
            self.places = places;
            (term, mark)
        }));
        Ok(())
    }

    pub(crate) fn delta(&mut self, delta: &mut Delta) -> Result<(), Error> {
        self.path(&mut delta.path);
        if let Some(value) = &mut delta.value {
            self.json(value)?;
        }
        if let Some(marker) = self.marker(delta.provenance.as_str()) {
            delta.provenance = Provenance::parse(&marker)?;
        }
        Ok(())
    }

    pub(crate) fn line(&mut self, line: &mut Line) -> Result<(), Error> {
        if let Some(marker) = self.marker(line.as_str()) {
            *line = Line::parse("reason", &marker)?;
        }
        Ok(())
    }

    /// Redacts the paths of `outcome`. Its reason is in a separate row.
    pub(crate) fn outcome(&mut self, outcome: &mut DeltaOutcome) {
        self.by_path(&mut outcome.losses, |it| &mut it.path);
        self.by_path(&mut outcome.clipped, |it| it);
    }

    /// Redacts the paths of a reply to a proposal.
    pub(crate) fn proposed(&mut self, proposed: &mut Proposed) {
        for it in &mut proposed.deltas {
            self.path(&mut it.path);
            self.by_path(&mut it.losses, |it| &mut it.path);
        }
    }

    pub(crate) fn round(&mut self, round: &mut Round) -> Result<(), Error> {
        self.plan(&mut round.plan)?;
        if let Some(Ended { clipped, .. }) = &mut round.ended {
            self.by_path(clipped, |it| &mut it.path);
        }
        Ok(())
    }

    fn plan(&mut self, plan: &mut Plan) -> Result<(), Error> {
        for StrategyRule { paths, .. } in &mut plan.strategies {
            let before = self.places;
            let renamed = paths.renamed(|name| self.marker(name));
            if self.places > before {
                *paths = PathPattern::restore(&renamed)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(value: Value, secret: &str) -> (Value, u32) {
        let secret = Secret::parse(secret).unwrap();
        let mut redaction = Redaction::new(&secret);
        let mut value = value;
        redaction.value(&mut value);
        (value, redaction.places)
    }

    #[test]
    fn only_strings_that_contain_the_secret_become_markers() {
        let before =
            json!({"a": ["key is s3cr3t", "s3cr3t", "other"], "s3cr3t": 1, "n": 7_331_342});
        let (after, places) = redacted(before.clone(), "s3cr3t");
        let marker = "redacted:4e738ca5563c06cf";
        assert_eq!(after["a"][1], marker);
        assert_eq!(after[marker], 1);
        assert_eq!((&after["a"][2], &after["n"]), (&json!("other"), &json!(7_331_342)));
        assert!(after["a"][0].as_str().is_some_and(|it| it.starts_with(MARKER) && it != marker));
        assert_eq!(places, 3);
        let (after, places) = redacted(before.clone(), "3313");
        assert!(after["n"].is_string());
        assert_eq!(places, 1);
        assert_eq!(redacted(before.clone(), "nothing of it"), (before, 0));
    }

    #[test]
    fn a_text_that_occurs_everywhere_is_no_valid_secret() {
        for bad in ["", "abc", "    ", "redacted:", "acted", &"x".repeat(1_001)] {
            assert!(Secret::parse(bad).is_err(), "{bad:?}");
        }
        let secret = Secret::parse("s3cr3t").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }
}
