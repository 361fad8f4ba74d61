//! Who may read and write which entry (spec 7.2).
//!
//! # Invariant
//!
//! An entry's own lists narrow what the session's rules allow, and the keys of a
//! credential what both allow; nothing widens it. Who may not read an entry may
//! not write it either. The orchestrator sees the metadata of every entry, never a
//! value that is closed to it, and may delete every entry: nobody can fill the store
//! unseen.

use crate::{
    Error,
    key::Key,
    participant::{Caller, Role},
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

/// What a caller may do, by its credential and the rules of its session.
#[derive(Debug)]
pub struct Gate<'a> {
    caller: &'a Caller,
    rules: Vec<AccessRule>,
}

impl Access {
    /// Creates the lists after `change`.
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
    /// Creates the gate for `caller` in a session of these rules.
    pub fn new(caller: &'a Caller, rules: Vec<AccessRule>) -> Self {
        Self { caller, rules }
    }

    /// Returns the session's rules.
    pub fn rules(&self) -> &[AccessRule] {
        &self.rules
    }

    /// Returns whether the caller may read what is stored under `key` with the lists
    /// `access`. The admin may read everything.
    pub fn may_read(&self, key: &Key, access: &Access) -> bool {
        let who = &self.caller.participant;
        who.role() == Role::Admin || self.all(key, access, |it| it.readable_by.has(who))
    }

    /// Returns whether the caller may write what is stored under `key` with the lists
    /// `access`. The admin writes no entries.
    pub fn may_write(&self, key: &Key, access: &Access) -> bool {
        let who = &self.caller.participant;
        let both = |it: &Access| it.readable_by.has(who) && it.writable_by.has(who);
        who.role() != Role::Admin && self.all(key, access, both)
    }

    /// Returns whether the caller sees the metadata of every entry: who may read it
    /// is about its value.
    pub fn sees_all(&self) -> bool {
        self.caller.participant.role() != Role::Agent
    }

    /// Returns whether the caller sees the metadata of what is stored under `key` with
    /// the lists `access`.
    pub fn may_see(&self, key: &Key, access: &Access) -> bool {
        self.sees_all() || self.may_read(key, access)
    }

    /// Returns whether the caller may delete what is stored under `key` with the lists
    /// `access`. The orchestrator may delete every entry.
    pub fn may_delete(&self, key: &Key, access: &Access) -> bool {
        self.caller.participant.role() == Role::Orchestrator || self.may_write(key, access)
    }

    /// Refuses to change what the caller's credential is not for, whether it is
    /// there or not.
    ///
    /// # Errors
    ///
    /// [`Error::KeyNotGranted`].
    pub fn check_granted(&self, key: &Key) -> Result<(), Error> {
        let keys = self.caller.keys();
        if keys.has(key) { Ok(()) } else { Err(Error::KeyNotGranted { keys: keys.clone() }) }
    }

    fn all(&self, key: &Key, access: &Access, allows: impl Fn(&Access) -> bool) -> bool {
        let mut rules = self.rules.iter().filter(|it| it.keys.matches(key));
        self.caller.keys().has(key) && allows(access) && rules.all(|it| allows(&it.access))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{KeyPatterns, ParticipantPattern};

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
        let agent = Caller::trusted("subagent:a").unwrap();
        let gate = Gate::new(&agent, vec![rule.clone()]);
        assert!(gate.may_read(&key, &own) && !gate.may_write(&key, &own));
        assert!(gate.may_write(&Key::parse("other").unwrap(), &own));
        let narrow = Access { readable_by: list(&["subagent:b"]), ..Access::default() };
        assert!(!gate.may_read(&key, &narrow));
        let admin = Caller::trusted("admin").unwrap();
        let gate = Gate::new(&admin, vec![rule]);
        assert!(gate.may_read(&key, &narrow) && !gate.may_write(&key, &own));
    }

    #[test]
    fn a_credentials_keys_narrow_what_lists_and_rules_allow_and_never_widen_it() {
        let rule = AccessRule {
            keys: KeyPattern::parse("inv_secret*").unwrap(),
            access: Access { readable_by: list(&["orchestrator"]), ..Access::default() },
        };
        let keys = KeyPatterns::parse(&["inv_*", "scope"]).unwrap();
        let agent = Caller::trusted("subagent:a").unwrap().limited_to(keys).unwrap();
        let gate = Gate::new(&agent, vec![rule]);
        let closed = Access { readable_by: list(&["subagent:b"]), ..Access::default() };
        let read_only = Access { writable_by: list(&["subagent:b"]), ..Access::default() };
        let named = Access { readable_by: list(&["subagent:a"]), ..Access::default() };
        for (key, access, is_granted, may) in [
            ("inv_1", &Access::default(), true, (true, true)),
            ("scope", &read_only, true, (true, false)),
            ("inv_1", &closed, true, (false, false)),
            ("inv_secrets", &Access::default(), true, (false, false)),
            ("inv_secrets", &named, true, (false, false)),
            ("constraints", &Access::default(), false, (false, false)),
            ("constraints", &named, false, (false, false)),
            ("inv:1", &Access::default(), false, (false, false)),
        ] {
            let key = Key::parse(key).unwrap();
            assert_eq!((gate.may_read(&key, access), gate.may_write(&key, access)), may, "{key}");
            assert_eq!(gate.check_granted(&key).is_ok(), is_granted, "{key}");
        }
    }
}
