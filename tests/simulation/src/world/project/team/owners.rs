//! The owners of sections, as derived from commits: one owner at any instant, for as long as was
//! granted, and one notification for the former owner of a lost section (spec 20.6).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use shared_context_core::time::Timestamp;

use super::who;

/// A lease without a time: 30 minutes.
pub(super) const LEASE_MS: u64 = 30 * 60 * 1_000;

/// A section that is owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::world::project) struct Claim {
    pub(super) owner: String,
    pub(super) kind: String,
    /// The instant from which it does not hold.
    pub(super) ends: u64,
}

impl Claim {
    pub(super) fn exclusive(owner: &str, at: u64) -> Self {
        Self { owner: owner.to_owned(), kind: "exclusive".to_owned(), ends: at + LEASE_MS }
    }

    /// Checks a lease in a reply.
    pub(super) fn check(&self, lease: &Value) -> Result<(), String> {
        let owner = &lease["owner"];
        let session = owner["session_id"].as_str().unwrap_or_default();
        let said = json!([
            who(owner["agent_id"].as_str().unwrap_or_default(), session),
            lease["ownership"],
            lease["expires_at"]
        ]);
        let ends = Timestamp(self.ends).to_string();
        if said == json!([self.owner, self.kind, ends]) {
            return Ok(());
        }
        Err(format!("the lease is {self:?}, until {ends}"))
    }
}

/// The owners of all sections.
#[derive(Debug, Default)]
pub(super) struct Owners {
    claims: BTreeMap<String, Claim>,
    /// The sections that participants lost without being notified yet.
    owed: BTreeMap<String, BTreeSet<String>>,
}

impl Owners {
    /// Ends the leases whose time is over.
    pub(super) fn lapse(&mut self, at: u64) {
        let over: Vec<_> = self.claims.extract_if(.., |_, it| it.ends <= at).collect();
        for (marker, it) in over {
            self.lose(&it.owner, &marker);
        }
    }

    fn lose(&mut self, owner: &str, marker: &str) {
        self.owed.entry(owner.to_owned()).or_default().insert(marker.to_owned());
    }

    /// Returns the sections whose loss is reported to a participant, once.
    pub(super) fn take_owed(&mut self, owner: &str) -> BTreeSet<String> {
        self.owed.remove(owner).unwrap_or_default()
    }

    /// Returns the sections whose loss would be reported to a participant at a time.
    pub(super) fn owed_at(&self, owner: &str, at: u64) -> BTreeSet<String> {
        let over = self.claims.iter().filter(|it| it.1.owner == owner && it.1.ends <= at);
        let owed = self.owed.get(owner).into_iter().flatten();
        over.map(|it| it.0).chain(owed).cloned().collect()
    }

    /// Returns the claim to a section that holds at a time.
    pub(super) fn live(&self, marker: &str, at: u64) -> Option<&Claim> {
        self.claims.get(marker).filter(|it| at < it.ends)
    }

    /// Returns the sections that are owned at a time.
    pub(super) fn held(&self, at: u64) -> BTreeMap<&String, &Claim> {
        self.claims.iter().filter(|it| at < it.1.ends).collect()
    }

    /// Checks that a participant may write a section. Returns true if the section has no owner.
    pub(super) fn check_writer(&self, marker: &str, writer: &str) -> Result<bool, String> {
        match self.claims.get(marker) {
            Some(it) if it.kind == "shared-write" => Ok(false),
            Some(it) if it.kind == "exclusive" && it.owner == writer => Ok(false),
            Some(it) => Err(format!("{marker} is owned by {it:?}")),
            None if level(marker) > 2 || writer.starts_with("orchestrator ") => Ok(true),
            None => Err(format!("{marker} is written by the orchestrator")),
        }
    }

    /// Returns the claim to a section, which must be the participant's.
    pub(super) fn own(&self, marker: &str, owner: &str) -> Result<&Claim, String> {
        match self.claims.get(marker) {
            Some(it) if it.owner == owner => Ok(it),
            other => Err(format!("{marker} is owned by {other:?}")),
        }
    }

    /// Returns the claim to a section of anybody.
    pub(super) fn of(&self, marker: &str) -> Option<&Claim> {
        self.claims.get(marker)
    }

    /// Grants a section. The owner before lost it, unless it gave it away itself.
    pub(super) fn grant(&mut self, marker: &str, claim: Claim, by: Option<&str>) {
        let owner = claim.owner.clone();
        let before = self.claims.insert(marker.to_owned(), claim);
        if let Some(owed) = self.owed.get_mut(&owner) {
            owed.remove(marker);
        }
        if let (Some(before), Some(by)) = (before, by)
            && before.owner != by
            && before.owner != owner
        {
            self.lose(&before.owner, marker);
        }
        self.owed.retain(|_, it| !it.is_empty());
    }

    /// Ends the claim to a section.
    pub(super) fn release(&mut self, marker: &str) {
        self.claims.remove(marker);
    }
}

/// Returns the level of a section.
pub(super) fn level(marker: &str) -> u8 {
    marker.trim_start_matches('§').bytes().next().map_or(0, |it| it.wrapping_sub(b'0'))
}
