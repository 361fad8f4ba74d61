//! Access control for entries (spec 7.2).
//!
//! # Invariant
//!
//! An entry's own lists narrow the session's rules. The keys of a credential narrow both.
//! Nothing widens access. A participant that may not read an entry may not write it
//! either. The orchestrator sees the metadata of every entry and may delete every entry, so the
//! store cannot be filled unseen. It cannot read a value that is closed to it.

use crate::{
    Error,
    key::Key,
    participant::{Caller, Role},
    pattern::{KeyPattern, Participants},
};

/// The most rules of a session.
pub const RULES_MAX: usize = 32;

/// The access lists of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The participants that may read the entry.
    pub readable_by: Participants,
    /// The participants that may write the entry, if they may also read it.
    pub writable_by: Participants,
}

/// A change of an entry's access lists; a list that is `None` does not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessChange {
    /// The new readers.
    pub readable_by: Option<Participants>,
    /// The new writers.
    pub writable_by: Option<Participants>,
}

/// A session's rule for some of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    /// The keys.
    pub keys: KeyPattern,
    /// The access lists for these keys.
    pub access: Access,
}

/// The authorizer of a caller, from its credential and the session's rules.
#[derive(Debug)]
pub struct Authorizer<'a> {
    caller: &'a Caller,
    rules: Vec<AccessRule>,
}

impl Access {
    /// Returns the lists with `change` applied.
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

impl<'a> Authorizer<'a> {
    /// Creates the authorizer for `caller` in a session with these rules.
    pub fn new(caller: &'a Caller, rules: Vec<AccessRule>) -> Self {
        Self { caller, rules }
    }

    /// Returns the session's rules.
    pub fn rules(&self) -> &[AccessRule] {
        &self.rules
    }

    /// Returns true if the caller may read the value of `key` with the access lists
    /// `access`. The admin may read everything.
    pub fn may_read(&self, key: &Key, access: &Access) -> bool {
        let who = &self.caller.participant;
        who.role() == Role::Admin || self.all(key, access, |it| it.readable_by.has(who))
    }

    /// Returns the first rule that closes the value of `key` to the caller.
    pub fn closing_rule(&self, key: &Key) -> Option<&AccessRule> {
        let who = &self.caller.participant;
        self.rules.iter().find(|it| it.keys.matches(key) && !it.access.readable_by.has(who))
    }

    /// Returns true if every participant that the pattern `receivers` matches may read the value of
    /// `key` with the access lists `access`, whatever keys its credential covers.
    pub fn may_all_read(&self, key: &Key, access: &Access, receivers: &str) -> bool {
        let rules = self.rules.iter().filter(|it| it.keys.matches(key)).map(|it| &it.access);
        rules.chain([access]).all(|it| it.readable_by.has_all(receivers))
    }

    /// Returns true if the caller may write `key` with the access lists `access`. The
    /// admin writes no entries.
    pub fn may_write(&self, key: &Key, access: &Access) -> bool {
        let who = &self.caller.participant;
        let both = |it: &Access| it.readable_by.has(who) && it.writable_by.has(who);
        who.role() != Role::Admin && self.all(key, access, both)
    }

    /// Returns true if the caller sees the metadata of every entry. Read permission only
    /// concerns values.
    pub fn sees_all(&self) -> bool {
        self.caller.participant.role() != Role::Agent
    }

    /// Returns true if the caller sees the metadata of `key` with the access lists
    /// `access`.
    pub fn may_see(&self, key: &Key, access: &Access) -> bool {
        self.sees_all() || self.may_read(key, access)
    }

    /// Returns true if the caller may delete `key` with the access lists `access`. The
    /// orchestrator may delete every entry.
    pub fn may_delete(&self, key: &Key, access: &Access) -> bool {
        self.caller.participant.role() == Role::Orchestrator || self.may_write(key, access)
    }

    /// Rejects a change of a key that the caller's credential does not cover, even if the
    /// key does not exist.
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
    fn lists_of_an_entry_only_narrow_the_rules_of_its_session() {
        let rule = AccessRule {
            keys: KeyPattern::parse("plan_*").unwrap(),
            access: Access { readable_by: list(&["*"]), writable_by: list(&["orchestrator"]) },
        };
        let (key, own) = (Key::parse("plan_a").unwrap(), Access::default());
        let agent = Caller::trusted("subagent:a").unwrap();
        let authorizer = Authorizer::new(&agent, vec![rule.clone()]);
        assert!(authorizer.may_read(&key, &own) && !authorizer.may_write(&key, &own));
        assert!(authorizer.may_write(&Key::parse("other").unwrap(), &own));
        let narrow = Access { readable_by: list(&["subagent:b"]), ..Access::default() };
        assert!(!authorizer.may_read(&key, &narrow));
        let admin = Caller::trusted("admin").unwrap();
        let authorizer = Authorizer::new(&admin, vec![rule]);
        assert!(authorizer.may_read(&key, &narrow) && !authorizer.may_write(&key, &own));
    }

    #[test]
    fn keys_of_a_credential_only_narrow_lists_and_rules() {
        let rule = AccessRule {
            keys: KeyPattern::parse("inv_secret*").unwrap(),
            access: Access { readable_by: list(&["orchestrator"]), ..Access::default() },
        };
        let keys = KeyPatterns::parse(&["inv_*", "scope"]).unwrap();
        let agent = Caller::trusted("subagent:a").unwrap().limited_to(keys).unwrap();
        let authorizer = Authorizer::new(&agent, vec![rule]);
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
            assert_eq!(
                (authorizer.may_read(&key, access), authorizer.may_write(&key, access)),
                may,
                "{key}"
            );
            assert_eq!(authorizer.check_granted(&key).is_ok(), is_granted, "{key}");
        }
    }
}
