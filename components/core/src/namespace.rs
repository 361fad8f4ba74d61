//! Key conventions: the names and purposes of a session's keys (spec 2.4, 6.1). A
//! convention never forbids a key.

use crate::{Error, key::Key, tokens::Tokens};

/// The most keys a namespace may name.
pub const NAMESPACE_KEYS_MAX: usize = 100;
/// The longest text of a convention, in characters.
pub const NAMESPACE_TEXT_CHARS_MAX: usize = 200;

/// A list of key conventions, in the order they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// The conventions. Those of one group are adjacent.
    pub keys: Vec<Convention>,
}

/// The convention for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convention {
    /// The key.
    pub key: Key,
    /// The heading it is shown under.
    pub group: String,
    /// The purpose of the key.
    pub purpose: String,
    /// The expected form of its value.
    pub shape: Option<String>,
    /// The recommended maximum size of its value.
    pub recommended_tokens: Option<Tokens>,
}

/// The domain-neutral template of spec 6.1: group, key, purpose.
const TEMPLATE: [(&str, &str, &str); 11] = [
    ("State keys", "current_phase", "current workflow phase/stage"),
    ("State keys", "phase_status", "what's done, what's next"),
    ("State keys", "blocking_issues", "anything preventing progress"),
    ("Problem definition", "problem_summary", "distilled statement of the problem/goal"),
    ("Problem definition", "scope", "boundaries of the work"),
    ("Problem definition", "constraints", "known constraints or requirements"),
    ("Findings", "findings_summary", "key findings so far (distilled, not raw)"),
    ("Findings", "open_questions", "unresolved questions for the user or next agent"),
    ("Findings", "decisions_made", "user decisions with brief rationale"),
    ("Output tracking", "deliverables_status", "what's been produced, what's pending"),
    ("Output tracking", "quality_checks", "validation results (pass/fail + brief reason)"),
];

impl Namespace {
    /// Creates the domain-neutral template (spec 6.1).
    pub fn template() -> Self {
        let keys = TEMPLATE.iter().filter_map(|(group, key, purpose)| {
            Some(Convention {
                key: Key::parse(key).ok()?,
                group: (*group).to_owned(),
                purpose: (*purpose).to_owned(),
                shape: None,
                recommended_tokens: None,
            })
        });
        Self { keys: keys.collect() }
    }

    /// Returns true if a convention names `key`.
    pub fn has(&self, key: &Key) -> bool {
        self.keys.iter().any(|it| it.key == *key)
    }

    /// Validates that the namespace can be shown in a prompt unchanged: short one-line
    /// texts, no duplicate keys.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], which names the key.
    pub fn check(&self) -> Result<(), Error> {
        if self.keys.len() > NAMESPACE_KEYS_MAX {
            return Err(Error::malformed(format!(
                "config.namespace names {} keys, at most {NAMESPACE_KEYS_MAX} are allowed",
                self.keys.len()
            )));
        }
        for (nth, it) in self.keys.iter().enumerate() {
            if self.keys.iter().take(nth).any(|earlier| earlier.key == it.key) {
                return Err(Error::malformed(format!(
                    "config.namespace names the key {} twice",
                    it.key
                )));
            }
            let texts = [("group", &it.group), ("purpose", &it.purpose)];
            let shape = it.shape.iter().map(|shape| ("shape", shape));
            for (member, text) in texts.into_iter().chain(shape) {
                let length_fits = (1..=NAMESPACE_TEXT_CHARS_MAX).contains(&text.chars().count());
                if !length_fits || text.contains(char::is_control) {
                    return Err(Error::malformed(format!(
                        "config.namespace: the {member} of key {} must be one line of 1 to \
                         {NAMESPACE_TEXT_CHARS_MAX} characters",
                        it.key
                    )));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_has_every_key_of_the_specification() {
        let template = Namespace::template();
        assert_eq!(template.keys.len(), 11);
        assert_eq!(template.check(), Ok(()));
    }
}
