//! Participants, their roles, and the claims of their credentials (spec 8.3).

use std::fmt;

use crate::{Error, pattern::KeyPatterns, scope::SessionId};

/// The longest part of a participant between colons, in bytes.
pub const PARTICIPANT_PART_BYTES_MAX: usize = 64;

/// A caller or author: `orchestrator`, `subagent:{task}`, `subagent:{task}:{id}`, or
/// `admin`, the operator.
///
/// Task and id are 1 to 64 of `A-Z`, `a-z`, `0-9`, `_`, `.` and `-`.
///
/// # Invariant
///
/// Every `Participant` is valid. The host sets it, never an agent's request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Participant(String);

/// The permissions of a participant, derived from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A subagent: reads and writes entries.
    Agent,
    /// The orchestrator: an agent that can also issue credentials to subagents.
    Orchestrator,
    /// The operator: creates, archives and deletes sessions. It reads entries but writes
    /// none.
    Admin,
}

impl Participant {
    /// Parses a participant.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let part_fits = |part: &str| {
            (1..=PARTICIPANT_PART_BYTES_MAX).contains(&part.len())
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
        };
        let fits = match text.strip_prefix("subagent:") {
            Some(rest) => match rest.split_once(':') {
                Some((task, id)) => part_fits(task) && part_fits(id),
                None => part_fits(rest),
            },
            None => matches!(text, "orchestrator" | "admin"),
        };
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::malformed(
                "a participant is orchestrator, subagent:{task} or subagent:{task}:{id}, \
                 where task and id are 1 to 64 of A-Z, a-z, 0-9, _, ., -; \
                 for example subagent:investigation:3",
            ))
        }
    }

    /// Returns the participant as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the role of the participant.
    pub fn role(&self) -> Role {
        match self.0.as_str() {
            "orchestrator" => Role::Orchestrator,
            "admin" => Role::Admin,
            _ => Role::Agent,
        }
    }

    /// Returns the task of a subagent.
    pub fn task(&self) -> Option<&str> {
        self.0.strip_prefix("subagent:")?.split(':').next()
    }

    /// Returns the role whose name a subagent uses as its task or id, ignoring case. Such
    /// a name misleads readers.
    pub fn role_in_name(&self) -> Option<Role> {
        let parts = || self.0.strip_prefix("subagent:").unwrap_or_default().split(':');
        let is_named = |role: &Role| parts().any(|it| it.eq_ignore_ascii_case(role.as_str()));
        [Role::Orchestrator, Role::Admin].into_iter().find(is_named)
    }
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Role {
    /// Returns the role's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Orchestrator => "orchestrator",
            Self::Admin => "admin",
        }
    }
}

/// The authenticated caller of one request.
///
/// # Invariant
///
/// Only agents are limited to some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The calling participant.
    pub participant: Participant,
    /// The credential of the request; `None` when the host authenticates the caller by
    /// other means.
    pub credential: Option<Credential>,
    /// The session that the caller acts in, where it acts on a project.
    pub session: Option<SessionId>,
    keys: KeyPatterns,
}

/// The claims of a credential about its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    /// The incarnation of the session that it was issued for.
    pub incarnation: u64,
    /// The session's credential epoch at issue.
    pub epoch: u64,
}

impl Caller {
    /// Creates a caller that the host itself authenticates.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if `participant` is invalid.
    pub fn trusted(participant: &str) -> Result<Self, Error> {
        let participant = Participant::parse(participant)?;
        Ok(Self { participant, credential: None, session: None, keys: KeyPatterns::default() })
    }

    /// Limits the caller to `keys`; all other keys are hidden from it.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the caller is not an agent and `keys` does not match every
    /// key.
    pub fn limited_to(self, keys: KeyPatterns) -> Result<Self, Error> {
        if self.participant.role() == Role::Agent || keys.is_every_key() {
            return Ok(Self { keys, ..self });
        }
        Err(Error::malformed(format!(
            "only a subagent's credential can be limited to keys, the {} has all of them; leave \
             keys out",
            self.participant
        )))
    }

    /// Returns the keys that the caller is limited to.
    pub fn keys(&self) -> &KeyPatterns {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_have_the_three_forms_of_the_spec_or_are_admin() {
        for good in ["orchestrator", "subagent:analysis", "subagent:analysis:3", "admin"] {
            assert!(Participant::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "Orchestrator", "subagent", "subagent:", "subagent:a:", "subagent:a:b:c"] {
            assert!(Participant::parse(bad).is_err(), "{bad}");
        }
        for bad in ["subagent:a b", "subagent:ä", "subagent:a/b", "user"] {
            assert!(Participant::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_role_in_a_subagents_name_is_found_in_any_case() {
        let role = |text: &str| Participant::parse(text).unwrap().role_in_name();
        for named in ["orchestrator", "Orchestrator", "ORCHESTRATOR:3", "review:orchestrator"] {
            assert_eq!(role(&format!("subagent:{named}")), Some(Role::Orchestrator), "{named}");
        }
        assert_eq!(role("subagent:Admin:1"), Some(Role::Admin));
        for plain in ["orchestrator", "admin", "subagent:orchestrator-2", "subagent:administration"]
        {
            assert_eq!(role(plain), None, "{plain}");
        }
    }

    #[test]
    fn only_agents_are_limited_to_keys() {
        let limited =
            |who: &str, keys: &[&str]| Caller::trusted(who)?.limited_to(KeyPatterns::parse(keys)?);
        assert_eq!(limited("subagent:a", &["inv_*"]).unwrap().keys().to_string(), "inv_*");
        for who in ["orchestrator", "admin"] {
            assert!(limited(who, &[]).is_ok() && limited(who, &["*"]).is_ok());
            let refused = limited(who, &["inv_*"]).unwrap_err();
            assert!(matches!(refused, Error::Malformed { .. }), "{refused:?}");
            assert!(refused.to_string().contains(&format!("the {who} has all")), "{refused}");
        }
    }
}
