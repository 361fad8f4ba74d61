//! What a redaction leaves of rounds: each text that has the secret in it is another,
//! which its digest tells.

use serde_json::{Map, Value};
use shared_context_core::{
    RedactRounds, Reply, RoundsReply,
    audit::AuditAction,
    digest::sha256,
    port::Revision,
    rounds::{Json, Path, Provenance, RoundsRedacted, Step},
};

use super::{
    super::changes::Done,
    Model,
    kept::{Played, text},
};

/// What was found, each text as often as it was.
struct Found<'a> {
    secret: &'a str,
    markers: Vec<String>,
}

impl Model {
    /// Takes a text out of all rounds.
    pub fn redact_rounds(&self, clock: u64, who: &str, asked: &RedactRounds) -> Done {
        if let Err(code) = self.check_redactor(who) {
            return (Err(code), None);
        }
        let mut next = self.begun(clock);
        let mut found = Found { secret: asked.text.as_str(), markers: Vec::new() };
        let rounds = &mut next.rounds;
        if let Some((state, _)) = &mut rounds.first {
            *state = found.members(state);
        }
        for played in rounds.ended.values_mut() {
            found.played(played);
        }
        let now = rounds.now().clone();
        if let Some(played) = &mut rounds.open {
            found.played(played);
            played.state = now;
        }
        let places = found.markers.len() as u32;
        found.markers.sort();
        found.markers.dedup();
        let reply =
            Reply::Rounds(RoundsReply::Redacted(RoundsRedacted { places, markers: found.markers }));
        if places == 0 {
            return (Ok((Revision(self.revision), reply)), None);
        }
        next.tell(who, AuditAction::RedactRounds, None);
        next.tell_more(None, Some(&asked.reason));
        (Ok((Revision(next.revision), reply)), Some(next))
    }
}

impl Found<'_> {
    fn played(&mut self, it: &mut Played) {
        if let Some(ended) = &mut it.round.ended {
            it.state = self.members(&it.state);
            ended.bytes = text(&it.state).len() as u32;
        }
        for delta in &mut it.deltas {
            delta.path = self.path(&delta.path);
            delta.value = delta.value.as_ref().map(|it| {
                let value = self.value(&serde_json::from_str(it.as_str()).unwrap());
                Json::parse(&value.to_string()).unwrap()
            });
            let provenance = self.text(delta.provenance.as_str());
            delta.provenance = Provenance::parse(&provenance).unwrap();
        }
        for fate in &mut it.fates {
            for loss in &mut fate.losses {
                loss.path = self.path(&loss.path);
            }
            fate.losses.sort_by(|a, b| a.path.cmp(&b.path));
        }
    }

    fn text(&mut self, text: &str) -> String {
        if !text.contains(self.secret) {
            return text.to_owned();
        }
        let marker = format!("redacted:{}", &sha256(text)["sha256:".len()..][..16]);
        self.markers.push(marker.clone());
        marker
    }

    /// A document whose own members keep their names.
    fn members(&mut self, state: &Value) -> Value {
        let members = state.as_object().unwrap().iter();
        members.map(|(name, it)| (name.clone(), self.value(it))).collect::<Map<_, _>>().into()
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|it| self.value(it)).collect(),
            Value::Object(members) => {
                let members = members.iter().map(|(name, it)| (self.text(name), self.value(it)));
                members.collect::<Map<_, _>>().into()
            }
            // The scripts' numbers are shorter than any secret.
            other => other.clone(),
        }
    }

    fn path(&mut self, path: &Path) -> Path {
        let mut steps = path.steps().to_vec();
        for step in steps.iter_mut().skip(1) {
            if let Step::Name(name) = step {
                *name = self.text(name);
            }
        }
        Path::new(steps).unwrap()
    }
}
