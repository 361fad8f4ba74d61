//! Who calls: participants, their roles, and what a credential says of them
//! (spec 8.3).

use std::fmt;

use crate::{Error, pattern::KeyPatterns};

/// The longest part between the colons of a participant, in bytes.
pub const PARTICIPANT_PART_BYTES_MAX: usize = 64;

/// Who calls or wrote: `orchestrator`, `subagent:{task}`,
/// `subagent:{task}:{id}`, or `admin`, the operator.
///
/// Task and id are 1 to 64 of `A-Z`, `a-z`, `0-9`, `_`, `.` and `-`.
///
/// # Invariant
///
/// Every `Participant` is valid and was named by the host, never by an agent's
/// request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Participant(String);

/// What a participant may do. It follows from who the participant is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A subagent: reads and writes entries.
    Agent,
    /// The orchestrator: as an agent, and lets subagents take part.
    Orchestrator,
    /// The operator: creates, archives and deletes sessions; reads, but writes
    /// no entries.
    Admin,
}

impl Participant {
    /// Checks `text` and takes it as a participant.
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

    /// Returns what the participant may do.
    pub fn role(&self) -> Role {
        match self.0.as_str() {
            "orchestrator" => Role::Orchestrator,
            "admin" => Role::Admin,
            _ => Role::Agent,
        }
    }

    /// Returns the role that a subagent is named like, in its task or its id, in whatever
    /// case: such a name misleads who reads it.
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

/// The caller of one request, as the host knows it.
///
/// # Invariant
///
/// Only an agent is ever limited to some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who calls.
    pub participant: Participant,
    /// The credential that was shown; `None` when the host vouches for the
    /// caller by other means.
    pub credential: Option<Credential>,
    keys: KeyPatterns,
}

/// What a credential says of the session it was issued for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credential {
    /// Which of the sessions that ever had this id.
    pub incarnation: u64,
    /// The session's credential epoch when it was issued.
    pub epoch: u64,
}

impl Caller {
    /// Returns a caller the host itself vouches for.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when `participant` is none.
    pub fn trusted(participant: &str) -> Result<Self, Error> {
        let participant = Participant::parse(participant)?;
        Ok(Self { participant, credential: None, keys: KeyPatterns::default() })
    }

    /// Returns the same caller, for whom no keys but these are there.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is not an agent and these are not all keys.
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

    /// Returns the only keys that are there for the caller.
    pub fn keys(&self) -> &KeyPatterns {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_have_the_three_forms_of_the_spec_and_admin() {
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
