//! Model of a team: the owners of sections, their contents, and the handoffs.
//!
//! It does not decide requests. It records requests and commits, and reports commits and answers
//! that contradict each other.

mod handoffs;
mod owners;
mod sections;

use std::collections::BTreeSet;

use serde_json::Value;

use super::{ProjectCall, check::text};
use handoffs::{Handoffs, Offer};
pub(super) use owners::Claim;
use owners::{LEASE_MS, Owners, level};
use sections::Sections;

/// The changes of the outline.
const OUTLINE: [&str; 8] = [
    "put_section",
    "delete_section",
    "redact_section",
    "acquire",
    "renew",
    "release",
    "transfer",
    "coordinate",
];
/// The rejections that are decided after the caller was notified of its lost sections.
const LATE: [&str; 4] = ["NOT_OWNER", "SECTION_NOT_FOUND", "VERSION_CONFLICT", "FORBIDDEN"];

/// The model.
#[derive(Debug, Default)]
pub(super) struct Team {
    owners: Owners,
    sections: Sections,
    handoffs: Handoffs,
    /// The version of what the team shares.
    sync_version: u64,
    /// The time of the last commit, which never goes back.
    latest: u64,
}

/// Returns the name of a participant of a session.
fn who(participant: &str, session: &str) -> String {
    if session.is_empty() { participant.to_owned() } else { format!("{participant} of {session}") }
}

/// Returns the milliseconds that a request asks for.
fn asked_ms(call: &Value, default: u64) -> u64 {
    call["ttl_seconds"].as_u64().map_or(default, |it| it * 1_000)
}

impl Team {
    /// Returns the number of the newest handoff, and the version of what the team shares.
    pub(super) fn last(&self) -> (u64, u64) {
        (self.handoffs.last(), self.sync_version)
    }

    /// Notes a commit with these events: action and label.
    pub(super) fn committed(
        &mut self,
        running: &ProjectCall<'_>,
        events: &[(&str, &str)],
    ) -> Result<(), String> {
        let (call, at) = (&running.call, running.instance.clock.get());
        self.latest = self.latest.max(at);
        let action = text(&call["action"]);
        let marker = text(&call["marker"]);
        let me = running.caller();
        let own = who(&me.0, &me.1);
        if OUTLINE.contains(&action) {
            self.owners.lapse(at);
            if action != "redact_section" {
                let lost = self.owners.take_owed(&own);
                let is_told = events.iter().all(|it| it.0 == "expire_lease");
                if is_told == lost.is_empty() {
                    return Err(format!("{own} lost {lost:?}, and was told so: {is_told}"));
                }
                if is_told {
                    running.lost.replace(lost);
                    return Ok(());
                }
            }
        }
        let until = |default| at + asked_ms(call, default);
        match action {
            "put_section" => {
                let is_unowned = self.owners.check_writer(marker, &own)?;
                if is_unowned && level(marker) > 2 {
                    self.owners.grant(marker, Claim::exclusive(&own, at), None);
                }
                let version = self.sections.put(marker, call["content"].as_str());
                running.version.set(version);
            }
            "delete_section" => {
                self.owners.check_writer(marker, &own)?;
                self.owners.release(marker);
                self.sections.delete(marker);
            }
            "redact_section" => self.sections.redact(marker),
            "acquire" => {
                if let Some(it) = self.owners.of(marker).filter(|it| it.owner != own) {
                    return Err(format!("{marker} is owned by {it:?}"));
                }
                let kind = call["ownership"].as_str().unwrap_or("exclusive").to_owned();
                let claim = Claim { owner: own.clone(), kind, ends: until(LEASE_MS) };
                self.owners.grant(marker, claim, Some(&own));
            }
            "renew" => {
                let claim =
                    Claim { ends: until(LEASE_MS), ..self.owners.own(marker, &own)?.clone() };
                self.owners.grant(marker, claim, Some(&own));
            }
            "release" => {
                self.owners.own(marker, &own)?;
                self.owners.release(marker);
            }
            "transfer" => {
                if me.0 != "orchestrator" {
                    self.owners.own(marker, &own)?;
                }
                let before = self.owners.of(marker);
                let kind = before.map_or("exclusive", |it| &it.kind).to_owned();
                let owner = who(text(&call["to"]), call["to_session"].as_str().unwrap_or(&me.1));
                let claim = Claim { owner, kind, ends: until(LEASE_MS) };
                self.owners.grant(marker, claim, Some(&own));
            }
            "coordinate" => {
                if call["sync_version"] != self.sync_version {
                    return Err(format!("the version was {}", self.sync_version));
                }
                self.sync_version += 1;
            }
            "offer_handoff" | "take_over" => self.offered(running, events, me)?,
            "accept_handoff" => {
                let id = text(&call["id"]);
                let it = self.handoffs.settle(id, "accepted", &me, self.latest)?;
                self.hand_over(&it, at, None)?;
            }
            "decline_handoff" => {
                self.handoffs.settle(text(&call["id"]), "declined", &me, self.latest)?;
            }
            _ => return Ok(()),
        }
        running.claim.replace(self.owners.of(marker).cloned());
        Ok(())
    }

    fn offered(
        &mut self,
        running: &ProjectCall<'_>,
        events: &[(&str, &str)],
        me: (String, String),
    ) -> Result<(), String> {
        let (call, at) = (&running.call, running.instance.clock.get());
        let action = text(&call["action"]);
        let id = events.iter().find(|it| it.0 == action).map(|it| it.1).unwrap_or_default();
        let member = |name: &str| text(&call[name]).to_owned();
        let is_takeover = action == "take_over";
        let is_settled = is_takeover || call["handoff_type"] == "emergency";
        let mut to = (member("to_agent"), member("to_session_id"));
        if is_takeover && to.0.is_empty() {
            "orchestrator".clone_into(&mut to.0);
        }
        if is_settled && to.1.is_empty() {
            to.1.clone_from(&me.1);
        }
        let by = who(&me.0, &me.1);
        let from = if is_takeover { (member("from_agent"), member("from_session_id")) } else { me };
        let mut offer = Offer::new(from, to, call);
        offer.ends = self.latest + asked_ms(call, 24 * 60 * 60 * 1_000);
        if is_settled {
            offer.settled = Some("accepted");
            self.hand_over(&offer, at, Some(&by).filter(|_| is_takeover))?;
        } else {
            self.check_owned(&offer, at)?;
        }
        self.handoffs.offer(id, offer)
    }

    /// Checks that the sections of a handoff are those of the agent that offers it.
    fn check_owned(&self, it: &Offer, at: u64) -> Result<(), String> {
        for marker in &it.sections {
            let claim = self.owners.live(marker, at);
            let (agent, session) = &it.from;
            let is_own = |owner: &str| {
                if session.is_empty() {
                    owner.split(" of ").next() == Some(agent.as_str())
                } else {
                    owner == who(agent, session)
                }
            };
            let is_right = match claim {
                Some(claim) => claim.kind == "exclusive" && is_own(&claim.owner),
                None => it.is_takeover,
            };
            if !is_right {
                return Err(format!("{marker} is owned by {claim:?}"));
            }
        }
        Ok(())
    }

    /// Makes the receiver of a handoff the owner of its sections. In a takeover, the former owner
    /// loses them.
    fn hand_over(&mut self, it: &Offer, at: u64, by: Option<&String>) -> Result<(), String> {
        self.check_owned(it, at)?;
        self.owners.lapse(at);
        let to = who(&it.to.0, &it.to.1);
        for marker in &it.sections {
            self.owners.grant(marker, Claim::exclusive(&to, at), by.map(String::as_str));
        }
        Ok(())
    }

    /// Checks a reply. `is_current` is true if nothing was committed since it was decided.
    pub(super) fn answered(
        &mut self,
        running: &ProjectCall<'_>,
        body: &Value,
        is_current: bool,
    ) -> Result<(), String> {
        let call = &running.call;
        let at = running.instance.clock.get();
        let is_change = running.committed.get().is_some();
        if !running.lost.borrow().is_empty() {
            return Err(format!("it was not told that it lost {:?}", running.lost.borrow()));
        }
        match text(&call["action"]) {
            "put_section" | "acquire" | "renew" | "transfer" if is_change => {
                if call["action"] == "put_section" && body["version"] != running.version.get() {
                    return Err(format!("version {} was written", running.version.get()));
                }
                match (&*running.claim.borrow(), body.get("lease")) {
                    (Some(it), Some(lease)) => it.check(lease),
                    (None, None) => Ok(()),
                    (claim, _) => Err(format!("it is owned by {claim:?}")),
                }
            }
            "read_section" if is_current && call.get("version").is_none() => {
                for it in body["sections"].as_array().into_iter().flatten() {
                    self.sections.check(it)?;
                    self.check_lease(text(&it["marker"]), it.get("lease"), at)?;
                }
                Ok(())
            }
            "coordination" if is_current => {
                let all = body["section_ownership"].as_array().into_iter().flatten();
                let listed: Vec<&str> = all.clone().map(|it| text(&it["marker"])).collect();
                let held = self.owners.held(at);
                if !listed.iter().copied().eq(held.keys().map(|it| it.as_str())) {
                    return Err(format!("owned are {held:?}"));
                }
                for it in all {
                    self.check_lease(text(&it["marker"]), it.get("lease"), at)?;
                }
                if body["sync_version"] != self.sync_version {
                    return Err(format!("the version is {}", self.sync_version));
                }
                Ok(())
            }
            "list_handoffs" => {
                let now = is_current.then_some(self.latest.max(at));
                let mut all = body["handoffs"].as_array().into_iter().flatten();
                all.try_for_each(|it| self.handoffs.check(it, now))
            }
            "offer_handoff" | "take_over" | "accept_handoff" | "decline_handoff"
            | "read_handoff" | "redact_handoff" => {
                let now = is_current.then_some(self.latest.max(at));
                self.handoffs.check(&body["handoff"], now)?;
                self.handoffs.check_package(body)
            }
            _ => Ok(()),
        }
    }

    fn check_lease(&self, marker: &str, lease: Option<&Value>, at: u64) -> Result<(), String> {
        match (self.owners.live(marker, at), lease) {
            (Some(it), Some(lease)) => it.check(lease),
            (None, None) => Ok(()),
            (claim, _) => Err(format!("{marker} is owned by {claim:?}")),
        }
    }

    /// Checks that a request was rejected with `LEASE_EXPIRED`, and names what its caller lost.
    pub(super) fn told(running: &ProjectCall<'_>, message: &str) -> Result<(), String> {
        let is_part = |it: char| it.is_ascii_alphanumeric() || ".-_*".contains(it);
        let named = message.split('§').skip(1).map(|it| {
            let end = it.find(|it: char| !is_part(it)).unwrap_or(it.len());
            format!("§{}", it[..end].trim_end_matches('.'))
        });
        let (named, lost) = (named.collect::<BTreeSet<_>>(), running.lost.borrow());
        if named == *lost { Ok(()) } else { Err(format!("it lost {lost:?}")) }
    }

    /// Checks a rejection, since whose decision nothing was committed.
    pub(super) fn refused(&self, running: &ProjectCall<'_>, code: &str) -> Result<(), String> {
        let (call, at) = (&running.call, running.instance.clock.get());
        let (action, marker) = (text(&call["action"]), text(&call["marker"]));
        let me = running.caller();
        let own = who(&me.0, &me.1);
        if action == "accept_handoff" && code == "NOT_OWNER" {
            let it = self.handoffs.find(text(&call["id"]));
            let is_wrong = it.is_some_and(|it| self.check_owned(it, at).is_ok());
            return if is_wrong { Err("its sections are owned".to_owned()) } else { Ok(()) };
        }
        if action == "read_section" && code == "SECTION_NOT_FOUND" {
            let is_lost = self.sections.has(marker) && call.get("version").is_none();
            return if is_lost { Err("it is lost".to_owned()) } else { Ok(()) };
        }
        if !OUTLINE.contains(&action) || !LATE.contains(&code) || action == "redact_section" {
            return Ok(());
        }
        let owed = self.owners.owed_at(&own, at);
        // Only the rules of the outline say so after the role was found good.
        if !owed.is_empty() && code != "FORBIDDEN" {
            return Err(format!("it was not told that it lost {owed:?}"));
        }
        match self.owners.live(marker, at) {
            Some(it) if it.owner == own && it.kind == "exclusive" && code != "VERSION_CONFLICT" => {
                Err(format!("it owns {it:?}"))
            }
            _ => Ok(()),
        }
    }
}
