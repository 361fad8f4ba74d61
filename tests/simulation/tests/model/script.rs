//! Scripts: changes by callers, and events around them. The meaning of a step depends on the
//! session when it is played.

use proptest::prelude::*;
use shared_context_core::{
    Batch, Command, Condition, Config, Delete, Key, Label, Line, RequestId, Write, WriteOptions,
    config::Retention,
    pattern::{KeyPattern, ParticipantPattern, Participants},
    port::Revision,
    store::{
        Limits,
        access::{Access, AccessChange, AccessRule},
        expiry::{Expiry, Ttl},
    },
    time::Timestamp,
    tokens::Tokens,
};

use shared_context_simulation::{
    fixtures::{KEYS, LABELS, PARTICIPANT_LISTS, key, label},
    model::Model,
};

use crate::support::Failure;

/// The callers. Two have credentials that are limited to some keys.
pub(crate) const CALLERS: [&str; 7] = [
    "admin",
    "orchestrator",
    "subagent:a",
    "subagent:a:2",
    "subagent:b",
    "subagent:a only key_0,inv:*",
    "subagent:a:2 only closed_*,plan_a,key_1",
];
/// One step of a script.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A caller sends a change.
    Change(&'static str, ChangeRequest),
    /// A caller repeats the last change exactly.
    Again(&'static str),
    /// The clock moves, forward or back.
    Clock { by_ms: i64 },
    /// The next commit fails.
    Fail(Failure),
    /// The session is deleted and created again.
    Recreate,
    /// The session is deleted, and imported again from its export: here or in other storage.
    Move { is_elsewhere: bool },
    /// The same, with an older export.
    GoBack,
}

/// A change, relative to the state of the session.
#[derive(Debug, Clone)]
pub(crate) enum ChangeRequest {
    Write(WriteRequest, Option<u8>),
    Delete(Pick, Precondition, Option<u8>),
    Batch(Vec<WriteRequest>, Vec<(usize, Precondition)>, Option<u8>),
    SetAccess(Pick, Lists),
    TakeSnapshot(usize, bool),
    RestoreSnapshot(Pick),
    DeleteSnapshot(Pick),
    Redact(Pick, Option<usize>),
    Sweep,
    Archive,
    Revoke,
}

/// An existing item, or any possible one. Most random ones do not exist and would be rejected.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pick {
    Known(usize),
    Any(usize),
}

/// A write.
#[derive(Debug, Clone)]
pub(crate) struct WriteRequest {
    key: usize,
    letter: char,
    chars: usize,
    condition: Precondition,
    lifetime: Lifetime,
    lists: Lists,
    keeps_history: Option<bool>,
}

/// The lifetime of an entry. `Until` counts half seconds from now.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lifetime {
    AsConfigured,
    Seconds(u64),
    Until(i64),
}

/// Indexes into [`PARTICIPANT_LISTS`], for readers and writers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lists(Option<usize>, Option<usize>);

/// A write condition, relative to the state of the session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Precondition {
    None,
    RightVersion,
    WrongVersion,
    RightRevision,
    WrongRevision,
}

fn list(nth: usize) -> Participants {
    let patterns = PARTICIPANT_LISTS[nth].iter().map(|it| ParticipantPattern::parse(it).unwrap());
    Participants::new(patterns.collect()).unwrap()
}

impl Pick {
    fn of<T: Clone>(self, known: &[T], any: impl Fn(usize) -> T) -> T {
        match self {
            Self::Known(nth) if !known.is_empty() => known[nth % known.len()].clone(),
            Self::Known(nth) | Self::Any(nth) => any(nth),
        }
    }

    fn key(self, model: &Model) -> Key {
        let known: Vec<Key> = model.entries.keys().cloned().collect();
        self.of(&known, |nth| key(nth % KEYS.len()))
    }

    fn label(self, model: &Model) -> Label {
        let known: Vec<Label> = model.snapshots.iter().map(|it| it.info.label.clone()).collect();
        self.of(&known, |nth| label(nth % LABELS.len()))
    }
}

impl Lists {
    fn change(self) -> AccessChange {
        AccessChange { readable_by: self.0.map(list), writable_by: self.1.map(list) }
    }
}

impl ChangeRequest {
    /// Returns the command, for a session in the state `model` at `now`.
    pub(crate) fn command(&self, model: &Model, now: u64) -> Command {
        let request_id = |id: &Option<u8>| id.map(|id| RequestId::parse(&id.to_string()).unwrap());
        match self {
            Self::Write(write, id) => {
                Command::Write(Write { request_id: request_id(id), ..write.write(model, now) })
            }
            Self::Delete(pick, precondition, id) => Command::Delete(Delete {
                request_id: request_id(id),
                ..delete(model, pick.key(model), *precondition)
            }),
            Self::Batch(writes, deletes, id) => {
                let writes: Vec<Write> = writes.iter().map(|it| it.write(model, now)).collect();
                // Most deletes name existing keys; otherwise no batch with a delete would succeed.
                let is_kept = |(nth, precondition): &&(usize, Precondition)| {
                    let is_plain = matches!(precondition, Precondition::None) && !writes.is_empty();
                    !is_plain || model.entries.contains_key(&key(*nth))
                };
                let deletes = deletes.iter().filter(is_kept);
                let deletes =
                    deletes.map(|(nth, precondition)| delete(model, key(*nth), *precondition));
                let deletes = deletes.collect();
                Command::WriteBatch(Batch::new(writes, deletes, request_id(id)).unwrap())
            }
            Self::SetAccess(pick, lists) => {
                Command::SetAccess { key: pick.key(model), change: lists.change() }
            }
            Self::TakeSnapshot(nth, has_note) => {
                let note = has_note.then(|| Line::parse("note", "why").unwrap());
                Command::TakeSnapshot { label: label(*nth), note }
            }
            Self::RestoreSnapshot(pick) => Command::RestoreSnapshot(pick.label(model)),
            Self::DeleteSnapshot(pick) => Command::DeleteSnapshot(pick.label(model)),
            Self::Redact(pick, which) => {
                let versions = model.all_versions();
                let known: Vec<Key> = versions.iter().map(|it| it.entry.key.clone()).collect();
                let key = pick.of(&known, |nth| key(nth % KEYS.len()));
                let mut its = versions.iter().filter(|it| it.entry.key == key);
                let one = which.map(|which| its.nth(which));
                let revision = one.map(|it| it.map_or(Revision(0), |it| it.entry.revision));
                let reason = Line::parse("reason", r#"a "secret""#).unwrap();
                Command::Redact { key, revision, reason }
            }
            Self::Sweep => Command::Sweep,
            Self::Archive => Command::ArchiveSession,
            Self::Revoke => Command::RevokeCredentials,
        }
    }
}

impl WriteRequest {
    fn write(&self, model: &Model, now: u64) -> Write {
        let expiry = match self.lifetime {
            Lifetime::AsConfigured => None,
            Lifetime::Seconds(seconds) => Some(Expiry::After(Ttl::parse("ttl", seconds).unwrap())),
            Lifetime::Until(halves) => {
                Some(Expiry::At(Timestamp(now.saturating_add_signed(halves * 500))))
            }
        };
        let access = self.lists.change();
        Write {
            key: key(self.key),
            value: self.letter.to_string().repeat(self.chars),
            condition: condition(model, &key(self.key), self.condition),
            options: WriteOptions { expiry, access, keeps_history: self.keeps_history },
            request_id: None,
        }
    }
}

fn delete(model: &Model, key: Key, precondition: Precondition) -> Delete {
    let condition = condition(model, &key, precondition);
    Delete { key, condition, request_id: None }
}

fn condition(model: &Model, key: &Key, precondition: Precondition) -> Condition {
    let known = model.entries.get(key).map(|it| &it.entry);
    let (version, revision) = known.map_or((0, 0), |it| (it.version, it.revision.0));
    let if_version = |it| Condition { if_version: Some(it), if_revision: None };
    let if_revision = |it| Condition { if_version: None, if_revision: Some(Revision(it)) };
    match precondition {
        Precondition::None => Condition::default(),
        Precondition::RightVersion => if_version(version),
        Precondition::WrongVersion => if_version(version + 1),
        Precondition::RightRevision => if_revision(revision),
        Precondition::WrongRevision => if_revision(revision + 1),
    }
}

/// Generates configurations with low limits on entries, versions and snapshots.
pub(crate) fn config() -> impl Strategy<Value = Config> {
    let history = prop::sample::select(vec![0, 1, 3, 3, 3]);
    let ttl = prop::option::weighted(0.3, 1..4_u64);
    (history, ttl, prop::bool::weighted(0.6)).prop_map(|(history, ttl, has_rules)| {
        let rule = |keys, readable, writable| AccessRule {
            keys: KeyPattern::parse(keys).unwrap(),
            access: Access { readable_by: list(readable), writable_by: list(writable) },
        };
        let rules = vec![rule("plan_*", 0, 1), rule("closed_*", 3, 0)];
        Config {
            limits: Limits {
                value_tokens_max: Tokens(8),
                store_tokens_max: Tokens(20),
                keys_max: 4,
            },
            retention: Retention {
                history_versions_max: history,
                snapshots_max: 3,
                ..Retention::default()
            },
            ttl_default: ttl.map(|it| Ttl::parse("ttl", it).unwrap()),
            allows_prefixes: true,
            access: if has_rules { rules } else { Vec::new() },
            ..Config::default()
        }
    })
}

fn precondition() -> impl Strategy<Value = Precondition> {
    prop_oneof![
        12 => Just(Precondition::None),
        1 => Just(Precondition::RightVersion),
        1 => Just(Precondition::WrongVersion),
        1 => Just(Precondition::RightRevision),
        1 => Just(Precondition::WrongRevision),
    ]
}

fn lists(weight: f64) -> impl Strategy<Value = Lists> {
    let which = move || prop::option::weighted(weight, 0..PARTICIPANT_LISTS.len());
    (which(), which()).prop_map(|(readers, writers)| Lists(readers, writers))
}

fn write_to(key: usize) -> impl Strategy<Value = WriteRequest> {
    let lifetime = prop_oneof![
        5 => Just(Lifetime::AsConfigured),
        2 => (1..4_u64).prop_map(Lifetime::Seconds),
        1 => (-1..7_i64).prop_map(Lifetime::Until),
    ];
    let letter = prop::sample::select(vec!['x', 'é']);
    let keeps_history = prop::option::weighted(0.15, any::<bool>());
    (letter, 0..36_usize, precondition(), lifetime, lists(0.1), keeps_history).prop_map(
        move |(letter, chars, condition, lifetime, lists, keeps_history)| WriteRequest {
            key,
            letter,
            chars,
            condition,
            lifetime,
            lists,
            keeps_history,
        },
    )
}

/// Generates batches of writes and deletes.
fn batch() -> impl Strategy<Value = ChangeRequest> {
    let every: Vec<usize> = (0..KEYS.len()).collect();
    let keys = prop::sample::subsequence(every, 1..=4);
    (keys, 0..3_usize, request()).prop_flat_map(|(keys, deleted, id)| {
        let (ended, written) = keys.split_at(deleted.min(keys.len()));
        let deletes: Vec<_> = ended.iter().map(|it| (Just(*it), precondition())).collect();
        let writes: Vec<_> = written.iter().map(|it| write_to(*it)).collect();
        (writes, deletes)
            .prop_map(move |(writes, deletes)| ChangeRequest::Batch(writes, deletes, id))
    })
}

fn request() -> impl Strategy<Value = Option<u8>> {
    prop::option::weighted(0.2, 0..3_u8)
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![4 => (0..24_usize).prop_map(Pick::Known), 1 => (0..24_usize).prop_map(Pick::Any)]
}

fn ask() -> impl Strategy<Value = ChangeRequest> {
    // Few keys get most writes, so that they have a long history.
    let key = prop::sample::select(vec![0, 0, 0, 0, 1, 1, 2, 3, 4, 5]);
    prop_oneof![
        24 => (key.prop_flat_map(write_to), request()).prop_map(|(it, id)| ChangeRequest::Write(it, id)),
        6 => (pick(), precondition(), request()).prop_map(|(it, precondition, id)| ChangeRequest::Delete(it, precondition, id)),
        6 => batch(),
        4 => (pick(), lists(0.6)).prop_map(|(it, lists)| ChangeRequest::SetAccess(it, lists)),
        1 => Just(ChangeRequest::Sweep),
    ]
}

/// Generates changes that mostly the orchestrator may make.
fn order() -> impl Strategy<Value = ChangeRequest> {
    prop_oneof![
        5 => (0..LABELS.len(), any::<bool>()).prop_map(|(it, note)| ChangeRequest::TakeSnapshot(it, note)),
        4 => pick().prop_map(ChangeRequest::RestoreSnapshot),
        3 => pick().prop_map(ChangeRequest::DeleteSnapshot),
        3 => (pick(), prop::option::of(0..4_usize)).prop_map(|(it, which)| ChangeRequest::Redact(it, which)),
    ]
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let of = |callers: &[usize]| {
        let callers: Vec<_> = callers.iter().map(|it| CALLERS[*it]).collect();
        prop::sample::select(callers)
    };
    let failure =
        prop::sample::select(vec![Failure::BeforeCommit, Failure::AfterCommit, Failure::Conflict]);
    prop_oneof![
        45 => (of(&[1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6]), ask()).prop_map(|(who, it)| Step::Change(who, it)),
        15 => (of(&[1, 1, 1, 1, 1, 1, 1, 0, 2]), order()).prop_map(|(who, it)| Step::Change(who, it)),
        6 => of(&[1, 2, 2, 3, 5, 5, 6]).prop_map(Step::Again),
        8 => (-3..8_i64).prop_map(|halves| Step::Clock { by_ms: halves * 500 }),
        4 => failure.prop_map(Step::Fail),
        1 => Just(Step::Recreate),
        2 => any::<bool>().prop_map(|is_elsewhere| Step::Move { is_elsewhere }),
        1 => Just(Step::GoBack),
        1 => prop::sample::select(vec![ChangeRequest::Revoke, ChangeRequest::Revoke, ChangeRequest::Revoke, ChangeRequest::Archive])
            .prop_map(|it| Step::Change("admin", it)),
        1 => (of(&[0, 1, 2, 3, 4, 5, 6]), prop_oneof![ask(), order()])
            .prop_map(|(who, it)| Step::Change(who, it)),
    ]
}
