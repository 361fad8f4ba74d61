//! Compares sessions with the model: a few reads of each changed session, or all reads for every
//! caller.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::World;
use crate::{
    fixtures::{ADDRESSES, CALLERS, KEYS, LABELS, SESSIONS},
    script::{Payload, Request},
};

impl World {
    /// Compares the most informative reads of a session, for one caller at a time.
    pub(super) fn compare_changed(&self, session: &str) {
        let nth = self.step.get();
        self.while_comparing(|| {
            self.compare_read(session, nth, json!({"action": "list_keys"}));
            self.compare_read(
                session,
                nth,
                json!({"action": "read_batch", "keys": self.keys(session)}),
            );
            if let Some(last) = self.envelopes(session).iter().nth_back(1) {
                let evidence = json!({"action": "export_evidence", "envelope": last});
                self.compare_read(session, nth + 1, evidence);
            }
            let since = self.bucket(session).latest().saturating_sub(1);
            self.compare_read(session, nth + 3, json!({"action": "changes", "since": since}));
        });
    }

    /// Compares all reads of all sessions, for every caller.
    pub(super) fn compare_all(&self) {
        self.while_comparing(|| {
            for session in SESSIONS {
                self.check_rows(session);
                for nth in 0..CALLERS.len() {
                    self.compare_session(session, nth);
                }
                self.compare_acknowledged(session);
            }
        });
    }

    fn compare_session(&self, session: &str, nth: usize) {
        let look = |request: Value| self.compare_read(session, nth, request);
        let keys = self.keys(session);
        let now = self.bucket(session).latest();
        for action in ["list_keys", "list_snapshots", "show_session", "inspect", "export_session"] {
            look(json!({"action": action}));
        }
        look(json!({"action": "read_batch", "keys": keys}));
        look(json!({"action": "changes", "limit": 1000}));
        look(json!({"action": "changes", "since": now.saturating_sub(3), "limit": 2}));
        look(json!({"action": "audit", "limit": 1000}));
        look(json!({"action": "prompt"}));
        for action in ["read_state", "read_deltas", "convergence"] {
            look(json!({"action": action}));
        }
        look(json!({"action": "list_missing"}));
        look(json!({"action": "list_packets"}));
        look(json!({"action": "context_stats"}));
        // The admin's reads leave no trace.
        for address in ADDRESSES.into_iter().filter(|_| nth == 0) {
            look(json!({"action": "context_read", "address": address, "form": "json"}));
        }
        for envelope in self.envelopes(session) {
            look(json!({"action": "read_envelope", "envelope": envelope}));
            look(json!({"action": "export_evidence", "envelope": envelope}));
        }
        for since in [0, now.saturating_sub(2), now.saturating_sub(1), now, now + 1] {
            look(json!({"action": "list_keys", "if_changed_since": since}));
            look(json!({"action": "read_batch", "keys": keys, "if_changed_since": since}));
        }
        for key in &keys {
            look(json!({"action": "read", "key": key}));
            look(json!({"action": "read", "key": key, "if_changed_since": now}));
            look(json!({"action": "read_history", "key": key}));
        }
        for (label, other) in LABELS.iter().zip(LABELS.iter().rev()) {
            look(json!({"action": "read_snapshot", "label": label}));
            look(json!({"action": "diff_snapshots", "from": label}));
            look(json!({"action": "diff_snapshots", "from": label, "to": other}));
        }
    }

    /// Checks that the audit trail has every acknowledged change.
    fn compare_acknowledged(&self, session: &str) {
        let bucket = self.bucket(session);
        let Some(model) = &bucket.session else { return };
        let (incarnation, first) = (model.about.incarnation, model.first().0);
        let stored: BTreeSet<u64> = self.audited(session);
        let lost = self.history_mut(session, |history| {
            let mut its = history.acknowledged.iter().filter(|(of, _)| *of == incarnation);
            its.find(|(_, it)| *it >= first && !stored.contains(it)).copied()
        });
        if let Some((_, revision)) = lost {
            self.fail(
                "lost",
                format!("{session}: revision {revision} was acknowledged and is gone"),
            );
        }
    }

    /// Returns the revisions in the stored audit trail.
    fn audited(&self, session: &str) -> BTreeSet<u64> {
        use shared_context_core::port::{Bucket as _, Kv as _};
        let bucket = self.kv.borrow().open(&format!("session/{session}"));
        let rows = bucket.map(|it| it.scan("c/", None, u32::MAX).unwrap_or_default());
        let rows = rows.unwrap_or_default().into_iter();
        rows.filter_map(|(row, _)| u64::from_str_radix(row.get(2..)?, 16).ok()).collect()
    }

    /// Returns the ids of the kept envelopes, of the last one that was evicted, and of one that is
    /// still to come.
    fn envelopes(&self, session: &str) -> Vec<String> {
        let bucket = self.bucket(session);
        let Some(model) = &bucket.session else { return Vec::new() };
        let first = model.context.envelopes.first().map_or(1, |it| it.number);
        let all = first.saturating_sub(1).max(1)..=model.context.last_envelope + 1;
        all.map(|it| format!("ENV-{it}")).collect()
    }

    /// Returns the keys that the session allows.
    fn keys(&self, session: &str) -> Vec<&'static str> {
        let bucket = self.bucket(session);
        let allows = bucket.session.as_ref().is_none_or(|it| it.config().allows_prefixes);
        KEYS.into_iter().filter(|it| allows || !it.contains(':')).collect()
    }

    /// Sends a read as the nth caller and compares its answer.
    fn compare_read(&self, session: &str, nth: usize, request: Value) {
        if self.flaw.borrow().is_some() {
            return;
        }
        let (participant, keys) = CALLERS[nth % CALLERS.len()];
        self.send(&Request {
            participant: participant.to_owned(),
            keys: keys.iter().map(|it| (*it).to_owned()).collect(),
            credential: None,
            session: session.to_owned(),
            payload: Payload::Call(request),
            during: Vec::new(),
        });
    }

    fn while_comparing(&self, compare: impl FnOnce()) {
        self.is_comparing.set(true);
        compare();
        self.is_comparing.set(false);
    }
}
