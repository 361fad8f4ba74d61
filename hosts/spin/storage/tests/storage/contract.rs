//! Compares the storages with the in-memory reference on random operations.

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::{
    memory_kv::{MemoryBucket, MemoryKv},
    port::{Bucket, Change, Kv, KvError, ReadError, Revision, Row},
};
use shared_context_spin_storage::{key_value::KeyValueKv, sqlite::SqliteKv};

use crate::support::{Database, MemoryStore, delete, delete_prefix, put};

const BUCKETS: [&str; 3] = ["session/a", "session/é", "z"];
const NAMES: [&str; 15] = [
    "meta",
    "k",
    "k/",
    "k/a",
    "k/ab",
    "k/b",
    "k0",
    "v/a/1",
    "c/é",
    "c/\u{d7ff}",
    "c/\u{e000}x",
    "c/\u{10ffff}",
    "\u{10ffff}\u{10ffff}",
    "\0",
    "",
];
const PREFIXES: [&str; 11] =
    ["", "k", "k/", "k/a", "v/", "meta", "c/", "c/\u{d7ff}", "c/\u{10ffff}", "\u{10ffff}", "x"];

#[derive(Debug, Clone)]
enum Step {
    /// Opens a bucket and drops the one that the handle had open.
    Open(usize, &'static str),
    Get(usize, &'static str),
    Scan(usize, &'static str, Option<&'static str>, u32),
    Commit(usize, Vec<Change>),
    Names(&'static str, Option<&'static str>, u32),
    /// Starts another instance; open buckets stay open.
    StartInstance,
}

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![
        3 => vec(any::<u8>(), 0..4),
        1 => select(vec![vec![], vec![0], b"1".to_vec(), vec![0xff; 5_000]]),
    ];
    prop_oneof![
        6 => (select(NAMES.to_vec()), value).prop_map(|(name, value)| put(name, value)),
        3 => select(NAMES.to_vec()).prop_map(delete),
        2 => select(PREFIXES.to_vec()).prop_map(delete_prefix),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let handle = || 0..3_usize;
    let limit = || select(vec![0, 1, 2, 5, u32::MAX]);
    let after = || prop_oneof![Just(None), select(NAMES.to_vec()).prop_map(Some)];
    let names_after = prop_oneof![Just(None), select(BUCKETS.to_vec()).prop_map(Some)];
    prop_oneof![
        4 => (handle(), select(BUCKETS.to_vec())).prop_map(|(nth, name)| Step::Open(nth, name)),
        4 => (handle(), select(NAMES.to_vec())).prop_map(|(nth, name)| Step::Get(nth, name)),
        4 => (handle(), select(PREFIXES.to_vec()), after(), limit())
            .prop_map(|(nth, prefix, after, limit)| Step::Scan(nth, prefix, after, limit)),
        5 => (handle(), vec(change(), 0..6)).prop_map(|(nth, it)| Step::Commit(nth, it)),
        1 => (select(vec!["", "session/", "session/é", "y"]), names_after, limit())
            .prop_map(|(prefix, after, limit)| Step::Names(prefix, after, limit)),
        1 => Just(Step::StartInstance),
    ]
}

/// A storage that lists its buckets.
trait Storage: Kv {
    /// True if buckets without rows are listed too.
    const LISTS_EMPTY: bool;

    fn names(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KvError>;
}

impl Storage for SqliteKv<Database> {
    const LISTS_EMPTY: bool = false;

    fn names(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KvError> {
        Self::names(self, prefix, after, limit)
    }
}

impl Storage for KeyValueKv<MemoryStore> {
    const LISTS_EMPTY: bool = true;

    fn names(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, KvError> {
        Self::names(self, prefix, after, limit)
    }
}

/// An open bucket, with the reference bucket that it must match.
struct OpenBucket<B> {
    name: &'static str,
    seen: B,
    expected: MemoryBucket,
    /// The revision at which it was opened.
    revision: Revision,
    is_spent: bool,
}

/// Returns true if a read has the expected result, or reports that the bucket has moved
/// when it has.
fn is_right<T: PartialEq>(
    seen: &Result<T, ReadError>,
    expected: &Result<T, ReadError>,
    has_moved: bool,
) -> bool {
    seen == expected || (has_moved && matches!(seen, Err(ReadError::Moved)))
}

fn check<K: Storage>(start: impl Fn() -> K, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let model = MemoryKv::default();
    let mut kv = start();
    let open = |kv: &K, name| {
        let (seen, expected) = (kv.open(name).unwrap(), model.open(name).unwrap());
        let revision = expected.revision();
        assert_eq!(seen.revision(), revision);
        OpenBucket { name, seen, expected, revision, is_spent: false }
    };
    let mut handles: Vec<_> = BUCKETS.iter().map(|name| open(&kv, name)).collect();
    for step in steps {
        match step {
            Step::Open(nth, name) => handles[nth] = open(&kv, name),
            Step::StartInstance => kv = start(),
            Step::Get(nth, name) => {
                let it = &handles[nth];
                let has_moved = has_moved(&model, it);
                let (seen, expected) = (it.seen.get(name), it.expected.get(name));
                prop_assert!(it.is_spent || is_right(&seen, &expected, has_moved), "{seen:?}");
            }
            Step::Scan(nth, prefix, after, limit) => {
                let it = &handles[nth];
                let has_moved = has_moved(&model, it);
                let seen = it.seen.scan(prefix, after, limit);
                let expected: Result<Vec<Row>, _> = it.expected.scan(prefix, after, limit);
                prop_assert!(it.is_spent || is_right(&seen, &expected, has_moved), "{seen:?}");
            }
            Step::Commit(nth, changes) => {
                let it = &mut handles[nth];
                let expected = it.expected.commit(it.revision, changes.clone());
                prop_assert_eq!(it.seen.commit(it.revision, changes), expected);
                it.is_spent = true;
            }
            Step::Names(prefix, after, limit) => {
                let limit = usize::try_from(limit).unwrap();
                let is_listed = |name: &&str| {
                    let bucket = model.open(name).unwrap();
                    let has_rows = !bucket.scan("", None, 1).unwrap().is_empty();
                    let is_shown = has_rows || (K::LISTS_EMPTY && bucket.revision().0 > 0);
                    name.starts_with(prefix) && after.is_none_or(|it| *name > it) && is_shown
                };
                let expected: Vec<_> = BUCKETS.into_iter().filter(is_listed).take(limit).collect();
                let seen = kv.names(prefix, after, limit.try_into().unwrap());
                prop_assert_eq!(seen.unwrap(), expected);
            }
        }
    }
    for name in BUCKETS {
        let (seen, expected) = (open(&start(), name), model.open(name).unwrap());
        let all = seen.seen.scan("", None, u32::MAX);
        prop_assert!(all == expected.scan("", None, u32::MAX), "{name}");
    }
    Ok(())
}

/// Returns true if there was a commit to the bucket since it was opened.
fn has_moved<B>(model: &MemoryKv, bucket: &OpenBucket<B>) -> bool {
    model.open(bucket.name).unwrap().revision() != bucket.revision
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn sqlite_answers_as_the_in_memory_reference_does(steps in vec(step(), 1..60)) {
        let database = Database::in_memory();
        check(|| SqliteKv::new(database.clone()), steps)?;
    }

    #[test]
    fn the_key_value_store_answers_as_the_reference_does(steps in vec(step(), 1..60)) {
        let store = MemoryStore::default();
        check(|| KeyValueKv::new(store.clone()), steps)?;
    }
}
