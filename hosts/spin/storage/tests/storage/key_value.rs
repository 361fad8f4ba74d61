//! Tests that only concern buckets in the key-value store.

use shared_context_core::port::{Bucket, CommitError, Kv, Revision};
use shared_context_spin_storage::key_value::KeyValueKv;

use crate::support::{MemoryStore, all, commit, delete_prefix, put, try_commit};

#[test]
fn other_keys_are_left_alone() {
    let store = MemoryStore::default();
    store.values.borrow_mut().insert("session/a".to_owned(), b"mine".to_vec());
    let kv = KeyValueKv::new(store.clone());
    commit(&kv, "session/a", vec![put("meta", "1")]);
    assert_eq!(kv.names("", None, 9).unwrap(), ["session/a"]);
    let values = store.values.borrow();
    let keys: Vec<_> = values.keys().collect();
    assert_eq!(keys, ["session/a", "shared-context/session/a"]);
    assert_eq!(values["session/a"], b"mine");
}

#[test]
fn a_bucket_is_read_as_it_was_opened() {
    let kv = KeyValueKv::new(MemoryStore::default());
    commit(&kv, "a", vec![put("meta", "1")]);
    let mut bucket = kv.open("a").unwrap();
    commit(&kv, "a", vec![put("meta", "2")]);
    assert_eq!(bucket.get("meta"), Ok(Some(b"1".to_vec())));
    assert_eq!(try_commit(&mut bucket, vec![put("meta", "3")]), Err(CommitError::Conflict));
    assert_eq!(all(&kv, "a"), [("meta".to_owned(), b"2".to_vec())]);
}

#[test]
fn a_deleted_bucket_keeps_its_revision() {
    let kv = KeyValueKv::new(MemoryStore::default());
    commit(&kv, "a", vec![put("meta", "1")]);
    assert_eq!(commit(&kv, "a", vec![delete_prefix("")]), Revision(2));
    assert_eq!(all(&kv, "a"), []);
    assert_eq!(commit(&kv, "a", vec![put("meta", "2")]), Revision(3));
}

#[test]
fn a_bucket_of_megabytes_is_one_value() {
    let kv = KeyValueKv::new(MemoryStore::default());
    let rows =
        (0..40_000_u32).map(|nth| put(&format!("k/{nth:06}"), vec![nth.to_le_bytes()[0]; 400]));
    commit(&kv, "a", rows.collect());
    let rows = all(&kv, "a");
    assert_eq!(rows.len(), 40_000);
    assert!(rows.iter().all(|(_, value)| value.len() == 400));
}

#[test]
fn a_project_has_a_megabyte_and_can_shrink() {
    let kv = KeyValueKv::new(MemoryStore::default());
    let half = |nth: u32| put(&format!("m/{nth}"), vec![7; 600_000]);
    commit(&kv, "project/a", vec![half(1)]);
    let mut bucket = kv.open("project/a").unwrap();
    let too_much = try_commit(&mut bucket, vec![half(2)]);
    assert!(matches!(too_much, Err(CommitError::Unchanged(_))), "{too_much:?}");
    assert_eq!(all(&kv, "project/a").len(), 1);
    commit(&kv, "project/a", vec![delete_prefix("m/"), put("meta", "1")]);
    // A session is not limited.
    commit(&kv, "session/a", vec![half(1), half(2)]);
}
