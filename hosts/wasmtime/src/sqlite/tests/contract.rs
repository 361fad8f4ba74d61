//! The contract of every `Kv`: the same checks for the implementation in memory, which is
//! the simplest one, and the one on disk.

use std::thread;

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::{
    memory_kv::MemoryKv,
    port::{Bucket, Change, CommitError, Kv, Revision},
};
use tempfile::tempdir;

use super::{commit, open, put, rows};

/// Runs each check on both implementations.
macro_rules! contract {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use super::*;

            #[test]
            fn in_memory() {
                check::$name(&MemoryKv::default());
            }

            #[test]
            fn on_disk() {
                let folder = tempdir().unwrap();
                check::$name(&open(folder.path()));
            }
        }
    )*};
}

contract! {
    a_new_bucket_is_empty_and_has_revision_0,
    a_bucket_reads_one_revision,
    a_second_commit_at_a_revision_conflicts,
    a_conflict_changes_nothing,
    changes_apply_in_order,
    delete_prefix_removes_only_rows_with_the_prefix,
    a_scan_is_ordered_bytewise_and_limited,
    buckets_do_not_see_each_other,
    deleting_all_rows_keeps_the_revision,
    names_and_values_hold_any_text_and_bytes,
    many_writers_of_one_bucket_lose_nothing,
}

mod check {
    use super::*;

    pub(super) fn a_new_bucket_is_empty_and_has_revision_0(kv: &impl Kv) {
        let bucket = kv.open("a").unwrap();
        assert_eq!(bucket.revision(), Revision(0));
        assert_eq!(bucket.get("x").unwrap(), None);
        assert_eq!(bucket.scan("", None, 10).unwrap(), vec![]);
    }

    pub(super) fn a_bucket_reads_one_revision(kv: &impl Kv) {
        let never_written = kv.open("a").unwrap();
        commit(kv, "a", vec![put("x", "1"), put("y", "1")]).unwrap();
        let bucket = kv.open("a").unwrap();
        commit(kv, "a", vec![put("x", "2"), Change::Delete("y".to_owned())]).unwrap();
        assert_eq!(bucket.revision(), Revision(1));
        assert_eq!(bucket.get("x").unwrap(), Some(b"1".to_vec()));
        assert_eq!(bucket.scan("", None, 10).unwrap().len(), 2);
        assert_eq!(never_written.get("x").unwrap(), None);
        assert_eq!(kv.open("a").unwrap().get("x").unwrap(), Some(b"2".to_vec()));
    }

    pub(super) fn a_second_commit_at_a_revision_conflicts(kv: &impl Kv) {
        for expected in [0, 1] {
            let (mut first, mut second) = (kv.open("a").unwrap(), kv.open("a").unwrap());
            let done = first.commit(Revision(expected), vec![put("x", "first")]);
            assert_eq!(done, Ok(Revision(expected + 1)));
            let rejected = second.commit(Revision(expected), vec![put("x", "second")]);
            assert_eq!(rejected, Err(CommitError::Conflict));
        }
        assert_eq!(rows(kv, "a"), vec![("x".to_owned(), b"first".to_vec())]);
    }

    pub(super) fn a_conflict_changes_nothing(kv: &impl Kv) {
        for wrong in [1, u64::MAX] {
            let rejected = kv.open("a").unwrap().commit(Revision(wrong), vec![put("x", "1")]);
            assert_eq!(rejected, Err(CommitError::Conflict));
        }
        assert_eq!(kv.open("a").unwrap().revision(), Revision(0));
        assert_eq!(rows(kv, "a"), vec![]);
    }

    pub(super) fn changes_apply_in_order(kv: &impl Kv) {
        let changes = vec![
            put("x", "1"),
            Change::DeletePrefix(String::new()),
            put("x", "2"),
            put("y", "2"),
            Change::Delete("x".to_owned()),
            Change::Delete("absent".to_owned()),
        ];
        commit(kv, "a", changes).unwrap();
        assert_eq!(rows(kv, "a"), vec![("y".to_owned(), b"2".to_vec())]);
    }

    pub(super) fn delete_prefix_removes_only_rows_with_the_prefix(kv: &impl Kv) {
        let names = ["k", "k/", "k/a", "k/\u{10ffff}", "k0", "l", "K/a", "\u{10ffff}\u{10ffff}"];
        commit(kv, "a", names.iter().map(|it| put(it, "")).collect()).unwrap();
        let delete = |prefix: &str| vec![Change::DeletePrefix(prefix.to_owned())];
        commit(kv, "a", delete("k/")).unwrap();
        commit(kv, "a", delete("\u{10ffff}")).unwrap();
        let left: Vec<_> = rows(kv, "a").into_iter().map(|it| it.0).collect();
        assert_eq!(left, ["K/a", "k", "k0", "l"]);
    }

    pub(super) fn a_scan_is_ordered_bytewise_and_limited(kv: &impl Kv) {
        let names = ["k/b", "k/a", "k/é", "k/a/1", "j", "l", "k/"];
        commit(kv, "a", names.iter().map(|it| put(it, *it)).collect()).unwrap();
        let bucket = kv.open("a").unwrap();
        let scan = |after, limit| -> Vec<String> {
            bucket.scan("k/", after, limit).unwrap().into_iter().map(|it| it.0).collect()
        };
        assert_eq!(scan(None, 10), ["k/", "k/a", "k/a/1", "k/b", "k/é"]);
        assert_eq!(scan(None, 2), ["k/", "k/a"]);
        assert_eq!(scan(None, 0), [""; 0]);
        assert_eq!(scan(Some("k/a"), 2), ["k/a/1", "k/b"]);
        assert_eq!(scan(Some("k/"), 1), ["k/a"]);
        assert_eq!(scan(Some("a"), 1), ["k/"]);
        assert_eq!(scan(Some("z"), 1), [""; 0]);
    }

    pub(super) fn buckets_do_not_see_each_other(kv: &impl Kv) {
        commit(kv, "a", vec![put("x", "a")]).unwrap();
        commit(kv, "ab", vec![put("x", "ab")]).unwrap();
        commit(kv, "a", vec![Change::DeletePrefix(String::new())]).unwrap();
        assert_eq!(rows(kv, "a"), vec![]);
        assert_eq!(rows(kv, "ab"), vec![("x".to_owned(), b"ab".to_vec())]);
    }

    pub(super) fn deleting_all_rows_keeps_the_revision(kv: &impl Kv) {
        commit(kv, "a", vec![put("x", "1")]).unwrap();
        commit(kv, "a", vec![Change::DeletePrefix(String::new())]).unwrap();
        assert_eq!(kv.open("a").unwrap().revision(), Revision(2));
        assert_eq!(commit(kv, "a", vec![]), Ok(Revision(3)));
    }

    pub(super) fn names_and_values_hold_any_text_and_bytes(kv: &impl Kv) {
        let value: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let names = ["", "\0", "a\0b", "emoji 🦀", "quote ' \" ;--"];
        commit(kv, "b\0ucket", names.iter().map(|it| put(it, value.clone())).collect()).unwrap();
        let bucket = kv.open("b\0ucket").unwrap();
        for name in names {
            assert_eq!(bucket.get(name).unwrap().as_ref(), Some(&value), "{name:?}");
        }
        assert_eq!(bucket.get("a").unwrap(), None);
        assert_eq!(kv.open("b").unwrap().revision(), Revision(0));
    }

    pub(super) fn many_writers_of_one_bucket_lose_nothing(kv: &(impl Kv + Sync)) {
        let add = || {
            for _ in 0..20 {
                loop {
                    let mut bucket = kv.open("a").unwrap();
                    let count = bucket.get("count").unwrap().map_or(0, |it| it[0]);
                    match bucket.commit(bucket.revision(), vec![put("count", [count + 1])]) {
                        Ok(_) => break,
                        Err(CommitError::Conflict) => {}
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(add))));
        assert_eq!(rows(kv, "a"), vec![("count".to_owned(), vec![160])]);
        assert_eq!(kv.open("a").unwrap().revision(), Revision(160));
    }
}

/// Generates short names over few characters, which often collide or share prefixes.
fn name() -> impl Strategy<Value = String> {
    let characters = vec!['a', 'b', '/', 'é', '\u{d7ff}', '\u{10ffff}', '\0'];
    vec(select(characters), 0..4).prop_map(String::from_iter)
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (name(), vec(any::<u8>(), 0..3)).prop_map(|(row, value)| Change::Put(row, value)),
        1 => name().prop_map(Change::Delete),
        1 => name().prop_map(Change::DeletePrefix),
    ]
}

/// A scan once read any number of rows into memory, although a bucket may grow to the size
/// of the disk, one commit after the other.
#[test]
fn a_scan_beyond_the_memory_limit_is_rejected() {
    let folder = tempdir().unwrap();
    let kv = open(folder.path());
    for row in ["a", "b", "c"] {
        commit(&kv, "s", vec![put(row, vec![0; 50 << 20])]).unwrap();
    }
    let bucket = kv.open("s").unwrap();
    assert_eq!(bucket.scan("", None, 2).unwrap().len(), 2);
    assert!(bucket.scan("", None, u32::MAX).is_err());
    let bucket = kv.open("s").unwrap();
    assert_eq!(bucket.scan("", Some("b"), u32::MAX).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_disk_equals_memory(
        commits in vec((select(vec!["a", "b"]), vec(change(), 0..6)), 1..8),
        scans in vec((name(), proptest::option::of(name()), 0..5_u32), 1..20),
    ) {
        let folder = tempdir().unwrap();
        let (disk, memory) = (open(folder.path()), MemoryKv::default());
        for (bucket, changes) in commits {
            let expected = commit(&memory, bucket, changes.clone());
            prop_assert_eq!(commit(&disk, bucket, changes), expected);
            prop_assert_eq!(rows(&disk, bucket), rows(&memory, bucket));
        }
        for limit in [0, 1, 10] {
            let names = disk.names(None, limit).unwrap();
            prop_assert_eq!(names, memory.names(None, limit));
        }
        let (disk, memory) = (disk.open("a").unwrap(), memory.open("a").unwrap());
        prop_assert_eq!(disk.revision(), memory.revision());
        for (prefix, after, limit) in scans {
            let found = disk.scan(&prefix, after.as_deref(), limit).unwrap();
            prop_assert_eq!(found, memory.scan(&prefix, after.as_deref(), limit).unwrap());
            prop_assert_eq!(disk.get(&prefix).unwrap(), memory.get(&prefix).unwrap());
        }
    }
}
