//! Tests of the history budget: it is never exceeded, the newest versions are retained,
//! and removed versions leave no rows. Also checks that the recorded size of the session
//! as a document is correct after every step.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use proptest::prelude::*;
use shared_context_core::{
    Batch, Command, Condition, Config, Delete, Key, Label, Line, Reply, Write, WriteOptions,
    config::Retention,
    port::Revision,
    portable::Portable,
    store::{
        Entry,
        expiry::{Expiry, Ttl},
        history::{VERSION_BYTES, Version},
    },
    weight,
};

use support::TestHost;

/// The share of the history budget that is freed at once.
const PART_FREED: u64 = 8;

#[derive(Debug, Clone)]
enum Step {
    Write {
        key: usize,
        bytes: usize,
        ttl: Option<u64>,
    },
    WriteTwo {
        bytes: usize,
    },
    Delete {
        key: usize,
    },
    TakeSnapshot {
        label: usize,
    },
    DeleteSnapshot {
        label: usize,
    },
    Redact {
        key: usize,
    },
    /// Advances the clock, then sweeps expired entries.
    Wait {
        seconds: u64,
    },
}

impl Step {
    fn command(&self) -> Command {
        let key = |nth: &usize| Key::parse(&format!("key_{nth}")).unwrap();
        let label = |nth: &usize| Label::parse(&nth.to_string()).unwrap();
        // The characters have equal lengths here and three different ones in a document.
        let text = |bytes| "x\"\u{1}".chars().cycle().take(bytes).collect::<String>();
        let write = |nth, bytes| Write::new(key(&nth).as_str(), text(bytes)).unwrap();
        match self {
            Self::Write { key, bytes, ttl } => {
                let ttl = ttl.map(|it| Ttl::parse("ttl", it).unwrap());
                let expiry = ttl.map(Expiry::After);
                let options = WriteOptions { expiry, ..WriteOptions::default() };
                Command::Write(Write { options, ..write(*key, *bytes) })
            }
            Self::WriteTwo { bytes } => {
                let writes = vec![write(0, *bytes), write(1, bytes / 2)];
                Command::WriteBatch(Batch::new(writes, Vec::new(), None).unwrap())
            }
            Self::Delete { key: nth } => Command::Delete(Delete {
                key: key(nth),
                condition: Condition::default(),
                request_id: None,
            }),
            Self::TakeSnapshot { label: nth } => {
                Command::TakeSnapshot { label: label(nth), note: None }
            }
            Self::DeleteSnapshot { label: nth } => Command::DeleteSnapshot(label(nth)),
            Self::Redact { key: nth } => Command::Redact {
                key: key(nth),
                revision: None,
                reason: Line::parse("reason", "a secret").unwrap(),
            },
            Self::Wait { .. } => Command::Sweep,
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..3_usize;
    let label = || 0..2_usize;
    prop_oneof![
        12 => (key(), 0..700_usize, prop::option::weighted(0.4, 1..4_u64))
            .prop_map(|(key, bytes, ttl)| Step::Write { key, bytes, ttl }),
        2 => (0..700_usize).prop_map(|bytes| Step::WriteTwo { bytes }),
        2 => key().prop_map(|key| Step::Delete { key }),
        2 => label().prop_map(|label| Step::TakeSnapshot { label }),
        2 => label().prop_map(|label| Step::DeleteSnapshot { label }),
        1 => key().prop_map(|key| Step::Redact { key }),
        3 => (0..3_u64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

fn export(host: &TestHost) -> Portable {
    let Reply::Portable(it) = host.ask("admin", &Command::Export).unwrap().reply else { panic!() };
    *it
}

/// Returns the earlier versions of all keys, read key by key.
fn histories(host: &TestHost) -> Vec<Version> {
    let read = |nth: usize| {
        let key = Key::parse(&format!("key_{nth}")).unwrap();
        let command = Command::ReadHistory { key, versions: Vec::new() };
        match host.ask("admin", &command).map(|it| it.reply) {
            Ok(Reply::History(it)) => it.past.into_iter().map(|it| it.version).collect(),
            _ => Vec::new(),
        }
    };
    (0..3).flat_map(read).collect()
}

fn bytes<'a>(versions: impl IntoIterator<Item = &'a Version>) -> u64 {
    versions.into_iter().map(Version::bytes).sum()
}

/// Checks the effect of a step on history.
fn check(step: &Step, before: &Portable, after: &Portable, bytes_max: u64) {
    let has = |versions: &[Version], key: &Key, revision: Revision| {
        versions.iter().any(|it| it.entry.key == *key && it.entry.revision == revision)
    };
    let is_retained = |key: &Key, revision| has(&after.history, key, revision);
    let is_new = |it: &&Version| !has(&before.history, &it.entry.key, it.entry.revision);
    let retained_bytes = bytes(&after.history);
    assert!(retained_bytes <= bytes_max, "{retained_bytes} of {bytes_max}");

    let removed: Vec<&Version> =
        before.history.iter().filter(|it| !is_retained(&it.entry.key, it.entry.revision)).collect();
    // The versions that ended in this step and were not added to history.
    let ended = before.entries.iter().filter(|old| {
        let is_there = |new: &Entry| {
            new.key == old.key && new.created == old.created && new.version == old.version
        };
        !after.entries.iter().any(is_there)
    });
    let lost: Vec<_> = ended.filter(|it| !is_retained(&it.key, it.revision)).collect();

    let oldest_retained = after.history.iter().map(|it| it.ended.revision).min();
    let newest_removed = removed.iter().map(|it| it.ended.revision).max();
    assert!(
        newest_removed.zip(oldest_retained).is_none_or(|(removed, retained)| removed <= retained)
    );
    if !lost.is_empty() {
        // They all ended in this step, so all versions that ended before are removed
        // first.
        assert!(after.history.iter().all(|it| is_new(&it)), "the newest was removed");
    }
    if matches!(step, Step::Redact { .. }) {
        // A redacted version has another size now.
        return;
    }
    let lost_bytes = |it: &&Entry| VERSION_BYTES + u64::from(it.value_bytes);
    let lost_each = lost.iter().map(lost_bytes);
    let removed_bytes: u64 = bytes(removed.iter().copied()) + lost_each.clone().sum::<u64>();
    if removed_bytes == 0 {
        return;
    }
    assert!(retained_bytes + removed_bytes > bytes_max, "removed without need");
    // The last removed version was necessary to free the share.
    let last = removed.iter().filter(|it| Some(it.ended.revision) == newest_removed);
    let last = lost_each.max().or(last.map(|it| it.bytes()).max()).unwrap_or_default();
    assert!(retained_bytes + last > bytes_max - bytes_max / PART_FREED, "too much was removed");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn history_stays_in_its_budget_and_loses_the_oldest_first(
        bytes_max in prop::sample::select(vec![0, 100, 1_000, 3_000]),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let host = TestHost::default();
        let retention = Retention {
            history_versions_max: 100,
            history_bytes_max: bytes_max,
            ..Retention::default()
        };
        let config = Config { retention, ..Config::default() };
        host.ask("admin", &Command::CreateSession(Box::new(config))).unwrap();
        let mut before = export(&host);
        for step in &steps {
            if let Step::Wait { seconds } = step {
                host.now.set(host.now.get() + 1_000 * seconds);
                let expired = export(&host);
                prop_assert_eq!(&histories(&host), &expired.history);
                host.ask("admin", &Command::Sweep).unwrap();
                prop_assert_eq!(&export(&host), &expired, "a sweep does not change the export");
            }
            // A step on a missing item is rejected and changes nothing.
            let _ = host.ask("orchestrator", &step.command());
            let after = export(&host);
            check(step, &before, &after, bytes_max.into());
            let rows = host.rows("v/").into_iter().map(|(row, _)| row);
            let needed = after.values.keys();
            let needed = needed.map(|(key, revision)| format!("v/{key}/{:016x}", revision.0));
            prop_assert_eq!(rows.collect::<Vec<_>>(), needed.collect::<Vec<_>>());
            let Reply::Inspection(it) = host.ask("admin", &Command::Inspect).unwrap().reply else {
                panic!()
            };
            prop_assert_eq!(it.history.bytes, bytes(&after.history));
            prop_assert_eq!(it.history.versions, after.history.len() as u64);
            prop_assert_eq!(host.weight(), Some(weight::of(&after)));
            before = after;
        }
    }
}
