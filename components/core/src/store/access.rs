//! Who may read and write which entry (000 §7.2).
//!
//! # Invariant
//!
//! An entry's own lists narrow what the session's rules allow; nothing widens
//! it. Who may not read an entry may not write it either.

use crate::{
    key::Key,
    participant::{Participant, Role},
    pattern::{KeyPattern, Participants},
};

/// The most rules of a session.
pub const RULES_MAX: usize = 32;

/// Who may read and write an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Who may read it.
    pub readable_by: Participants,
    /// Who may write it, of those who may read it.
    pub writable_by: Participants,
}

/// What is to become of an entry's lists; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessChange {
    /// Who may read it from now on.
    pub readable_by: Option<Participants>,
    /// Who may write it from now on.
    pub writable_by: Option<Participants>,
}

/// A session's rule for some of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    /// The keys.
    pub keys: KeyPattern,
    /// Who may read and write them.
    pub access: Access,
}

/// What a participant may do, by the rules of its session.
#[derive(Debug)]
pub struct Gate<'a> {
    participant: &'a Participant,
    rules: Vec<AccessRule>,
}

impl Access {
    /// The lists after `change`.
    #[must_use]
    pub fn changed(&self, change: &AccessChange) -> Self {
        let new =
            |old: &Participants, new: &Option<Participants>| new.as_ref().unwrap_or(old).clone();
        Self {
            readable_by: new(&self.readable_by, &change.readable_by),
            writable_by: new(&self.writable_by, &change.writable_by),
        }
    }
}

impl<'a> Gate<'a> {
    /// The gate for `participant` in a session of these rules.
    pub fn new(participant: &'a Participant, rules: Vec<AccessRule>) -> Self {
        Self { participant, rules }
    }

    /// The session's rules.
    pub fn rules(&self) -> &[AccessRule] {
        &self.rules
    }

    /// Whether the participant may read what is stored under `key` with the lists
    /// `access`. The admin may read everything.
    pub fn may_read(&self, key: &Key, access: &Access) -> bool {
        self.participant.role() == Role::Admin
            || self.all(key, access, |it| it.readable_by.has(self.participant))
    }

    /// Whether the participant may write what is stored under `key` with the lists
    /// `access`. The admin writes no entries.
    pub fn may_write(&self, key: &Key, access: &Access) -> bool {
        let both = |it: &Access| {
            it.readable_by.has(self.participant) && it.writable_by.has(self.participant)
        };
        self.participant.role() != Role::Admin && self.all(key, access, both)
    }

    fn all(&self, key: &Key, access: &Access, allows: impl Fn(&Access) -> bool) -> bool {
        let mut rules = self.rules.iter().filter(|it| it.keys.matches(key));
        allows(access) && rules.all(|it| allows(&it.access))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::ParticipantPattern;

    fn list(texts: &[&str]) -> Participants {
        let patterns = texts.iter().map(|it| ParticipantPattern::parse(it).unwrap());
        Participants::new(patterns.collect()).unwrap()
    }

    #[test]
    fn an_entrys_lists_narrow_the_sessions_rules_and_never_widen_them() {
        let rule = AccessRule {
            keys: KeyPattern::parse("plan_*").unwrap(),
            access: Access { readable_by: list(&["*"]), writable_by: list(&["orchestrator"]) },
        };
        let (key, own) = (Key::parse("plan_a").unwrap(), Access::default());
        let agent = Participant::parse("subagent:a").unwrap();
        let gate = Gate::new(&agent, vec![rule.clone()]);
        assert!(gate.may_read(&key, &own) && !gate.may_write(&key, &own));
        assert!(gate.may_write(&Key::parse("other").unwrap(), &own));
        let narrow = Access { readable_by: list(&["subagent:b"]), ..Access::default() };
        assert!(!gate.may_read(&key, &narrow));
        let admin = Participant::parse("admin").unwrap();
        let gate = Gate::new(&admin, vec![rule]);
        assert!(gate.may_read(&key, &narrow) && !gate.may_write(&key, &own));
    }
}
