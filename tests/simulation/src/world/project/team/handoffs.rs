//! Handoffs, as derived from commits: each is settled once, by its receiver in time, and its
//! package stays as it was (spec 21).

use std::collections::BTreeMap;

use serde_json::Value;
use shared_context_core::canonical;

use crate::run::hex;
use sha2::{Digest as _, Sha256};

/// A handoff.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    /// Participant and session; of any session if that is empty.
    pub(super) from: (String, String),
    pub(super) to: (String, String),
    pub(super) sections: Vec<String>,
    /// The instant from which it cannot be accepted.
    pub(super) ends: u64,
    pub(super) is_takeover: bool,
    /// `accepted` or `declined`.
    pub(super) settled: Option<&'static str>,
    /// The digest of its package, once a reply named it.
    digest: Option<String>,
}

/// The handoffs by their ids.
#[derive(Debug, Default)]
pub(super) struct Handoffs {
    offers: BTreeMap<u64, Offer>,
}

/// Returns true if a party may be a participant of a session.
fn is(party: &(String, String), other: &(String, String)) -> bool {
    party.0 == other.0 && (party.1 == other.1 || party.1.is_empty() || other.1.is_empty())
}

fn number(id: &str) -> u64 {
    id.strip_prefix("HND-").and_then(|it| it.parse().ok()).unwrap_or_default()
}

impl Offer {
    pub(super) fn new(from: (String, String), to: (String, String), call: &Value) -> Self {
        let sections = call["sections"].as_array().into_iter().flatten();
        Self {
            from,
            to,
            sections: sections.filter_map(Value::as_str).map(str::to_owned).collect(),
            ends: u64::MAX,
            is_takeover: call["action"] == "take_over",
            settled: None,
            digest: None,
        }
    }
}

impl Handoffs {
    /// Returns the number of the newest handoff.
    pub(super) fn last(&self) -> u64 {
        self.offers.keys().next_back().copied().unwrap_or_default()
    }

    pub(super) fn find(&self, id: &str) -> Option<&Offer> {
        self.offers.get(&number(id))
    }

    /// Notes an offer.
    pub(super) fn offer(&mut self, id: &str, offer: Offer) -> Result<(), String> {
        if number(id) <= self.last() {
            return Err(format!("{id} was given before"));
        }
        self.offers.insert(number(id), offer);
        Ok(())
    }

    /// Notes the answer to an offer.
    pub(super) fn settle(
        &mut self,
        id: &str,
        state: &'static str,
        by: &(String, String),
        at: u64,
    ) -> Result<Offer, String> {
        let Some(it) = self.offers.get_mut(&number(id)) else {
            return Err(format!("{id} was never offered"));
        };
        if let Some(before) = it.settled {
            return Err(format!("{id} was {before} before"));
        }
        if at >= it.ends {
            return Err(format!("{id} has expired"));
        }
        let is_receiver = is(&it.to, by);
        if state == "accepted" {
            if !is_receiver {
                return Err(format!("{id} is for {:?}", it.to));
            }
            it.to.clone_from(by);
        } else if !is_receiver && !is(&it.from, by) && by.0 != "orchestrator" {
            return Err(format!("{id} is neither from nor to {by:?}"));
        }
        it.settled = Some(state);
        Ok(it.clone())
    }

    /// Checks the handoff in a reply. `now` is the time if nothing was committed since.
    pub(super) fn check(&mut self, it: &Value, now: Option<u64>) -> Result<(), String> {
        let id = it["handoff_id"].as_str().unwrap_or_default();
        let Some(known) = self.offers.get_mut(&number(id)) else {
            return Err(format!("{id} was never offered"));
        };
        let digest = it["digest"].as_str().unwrap_or_default();
        if known.digest.get_or_insert_with(|| digest.to_owned()) != digest {
            return Err(format!("the package of {id} had another digest"));
        }
        let Some(now) = now else { return Ok(()) };
        let open = if now < known.ends { "offered" } else { "expired" };
        let state = known.settled.unwrap_or(open);
        if it["state"] == state { Ok(()) } else { Err(format!("{id} is {state}")) }
    }

    /// Checks the package of a handoff, and the chain that it is in.
    pub(super) fn check_package(&self, reply: &Value) -> Result<(), String> {
        let handoff = &reply["handoff"];
        let id = number(handoff["handoff_id"].as_str().unwrap_or_default());
        let Some(Value::Object(mut package)) = reply.get("package").cloned() else { return Ok(()) };
        let said = package.remove("digest").unwrap_or_default();
        let text = canonical::text(&Value::Object(package.clone())).unwrap_or_default();
        let digest = format!("sha256:{}", hex(Sha256::new_with_prefix(&text)));
        if said != digest || handoff["digest"] != digest {
            return Err(format!("the digest of the package is {digest}"));
        }
        if package.get("previous") != handoff.get("previous") {
            return Err("the package is in another chain".to_owned());
        }
        for (place, before) in reply["chain"].as_array().into_iter().flatten().enumerate() {
            let before = number(before.as_str().unwrap_or_default());
            let known = self.offers.get(&before).filter(|it| it.settled == Some("accepted"));
            let is_first = place > 0
                || known
                    .and_then(|it| it.digest.as_ref())
                    .is_none_or(|it| handoff["previous"] == it.as_str());
            if known.is_none() || before >= id || !is_first {
                return Err(format!("HND-{before} is in its chain"));
            }
        }
        Ok(())
    }
}
