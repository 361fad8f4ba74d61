//! Compares the object's storage over `SQLite` with the in-memory reference.

use std::cell::RefCell;

use proptest::{collection::vec, prelude::*, sample::select};
use rusqlite::{Connection, params_from_iter, types::ValueRef};
use shared_context_core::memory_kv::MemoryKv;

use super::*;

/// An in-memory database that fails on demand.
#[derive(Clone)]
pub(crate) struct Database {
    connection: Rc<Connection>,
    faults: Rc<RefCell<FaultMode>>,
    /// The number of statements executed.
    executed: Rc<Cell<u32>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FaultMode {
    Off,
    /// Statements fail without effect.
    Statements,
    /// Transactions are committed, but report a failure.
    CommitReplies,
}

impl Database {
    pub(crate) fn new() -> Self {
        Self {
            connection: Rc::new(Connection::open_in_memory().unwrap()),
            faults: Rc::new(RefCell::new(FaultMode::Off)),
            executed: Rc::default(),
        }
    }

    fn set_faults(&self, mode: FaultMode) {
        self.faults.replace(mode);
    }

    /// Returns the number of statements that `work` executes.
    fn statements(&self, work: impl FnOnce()) -> u32 {
        self.executed.set(0);
        work();
        self.executed.get()
    }

    fn tables(&self) -> i64 {
        let count = "SELECT count(*) FROM sqlite_master";
        self.connection.query_row(count, [], |row| row.get(0)).unwrap()
    }
}

fn injected() -> KvError {
    KvError("injected failure".to_owned())
}

impl Sql for Database {
    fn query(&self, statement: &str, values: &[Value<'_>]) -> Result<Vec<SqlRow>, KvError> {
        if *self.faults.borrow() == FaultMode::Statements {
            return Err(injected());
        }
        self.executed.set(self.executed.get() + 1);
        let mut statement =
            self.connection.prepare(statement).map_err(|it| KvError(it.to_string()))?;
        let columns = statement.column_count();
        let values = values.iter().map(|value| match value {
            Value::Null => rusqlite::types::Value::Null,
            Value::Integer(it) => i64::try_from(*it).unwrap().into(),
            Value::Text(it) => (*it).to_owned().into(),
            Value::Bytes(it) => it.to_vec().into(),
        });
        let mut rows = statement.query(params_from_iter(values)).unwrap();
        let mut given = Vec::new();
        while let Some(row) = rows.next().map_err(|it| KvError(it.to_string()))? {
            let cells = (0..columns).map(|column| match row.get_ref(column).unwrap() {
                ValueRef::Null => SqlCell::Null,
                ValueRef::Integer(it) => SqlCell::Integer(u64::try_from(it).unwrap()),
                ValueRef::Text(it) => SqlCell::Text(String::from_utf8(it.to_vec()).unwrap()),
                ValueRef::Blob(it) => SqlCell::Bytes(it.to_vec()),
                ValueRef::Real(_) => unreachable!(),
            });
            given.push(cells.collect());
        }
        Ok(given)
    }

    fn transaction(
        &self,
        work: &mut dyn FnMut() -> Result<(), CommitError>,
    ) -> Result<(), CommitError> {
        self.connection.execute_batch("BEGIN").unwrap();
        let done = work();
        self.connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).unwrap();
        done?;
        match *self.faults.borrow() {
            FaultMode::CommitReplies => Err(CommitError::Failed(injected())),
            _ => Ok(()),
        }
    }
}

fn put(name: &str, value: impl Into<Vec<u8>>) -> Change {
    Change::Put(name.to_owned(), value.into())
}

fn delete(name: &str) -> Change {
    Change::Delete(name.to_owned())
}

fn delete_prefix(prefix: &str) -> Change {
    Change::DeletePrefix(prefix.to_owned())
}

fn open(database: &Database) -> ObjectKv<Database> {
    let kv = ObjectKv::new(database.clone());
    kv.begin_after(Revision(0));
    kv
}

#[track_caller]
fn commit(kv: &impl Kv, changes: Vec<Change>) -> Revision {
    let mut bucket = kv.open("a").unwrap();
    bucket.commit(bucket.revision(), changes).unwrap()
}

fn all(kv: &impl Kv) -> Vec<Row> {
    kv.open("a").unwrap().scan("", None, u32::MAX).unwrap()
}

/// Returns all rows, each value as its length and its first byte.
fn summary(kv: &impl Kv) -> Vec<(String, usize, Option<u8>)> {
    let rows = all(kv).into_iter();
    rows.map(|(name, value)| (name, value.len(), value.first().copied())).collect()
}

fn change() -> impl Strategy<Value = Change> {
    let name = || select(vec!["meta", "k/a", "k/ab", "k/b", "v/a/1", "v/a/2", "h/a", "k", "c/é"]);
    let length = select(vec![0_usize, 1, 100, 1 << 20, (1 << 20) + 1, (2 << 20) + 1]);
    prop_oneof![
        6 => (name(), length, any::<u8>())
            .prop_map(|(name, length, byte)| put(name, vec![byte; length])),
        2 => name().prop_map(delete),
        1 => select(vec!["", "k/", "k/a", "v/a/", "v/", "meta", "x"]).prop_map(delete_prefix),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<Change>),
    Get(&'static str),
    Scan(&'static str, Option<&'static str>, u32),
    /// The object is evicted and loaded again.
    Evict,
}

fn step() -> impl Strategy<Value = Step> {
    let prefixes = vec!["", "k/", "k/a", "v/a/", "v/", "c/", "meta", "x"];
    let names = vec!["meta", "k/a", "k/ab", "k", "v/a/1", "nothing"];
    let after =
        prop_oneof![Just(None), select(vec!["", "a", "k/a", "k/aa", "v/a/1", "z"]).prop_map(Some),];
    prop_oneof![
        4 => vec(change(), 1..5).prop_map(Step::Commit),
        4 => select(names).prop_map(Step::Get),
        4 => (select(prefixes), after, select(vec![1, 2, 5, u32::MAX]))
            .prop_map(|(prefix, after, limit)| Step::Scan(prefix, after, limit)),
        1 => Just(Step::Evict),
    ]
}

proptest! {
    // Failing steps are megabytes long, so they are not persisted: each failure gets a test
    // of its own instead.
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn it_answers_as_the_in_memory_reference_does(steps in vec(step(), 1..40)) {
        let (database, model) = (Database::new(), MemoryKv::default());
        let mut kv = open(&database);
        for step in steps {
            // An empty bucket needs this permission before each first commit.
            kv.begin_after(Revision(0));
            match step {
                Step::Commit(changes) => {
                    prop_assert_eq!(commit(&kv, changes.clone()), commit(&model, changes));
                }
                Step::Get(name) => {
                    let (seen, expected) = (kv.open("a").unwrap(), model.open("a").unwrap());
                    prop_assert!(seen.get(name) == expected.get(name), "{name}");
                }
                Step::Scan(prefix, after, limit) => {
                    let (seen, expected) = (kv.open("a").unwrap(), model.open("a").unwrap());
                    let seen = seen.scan(prefix, after, limit);
                    let expected = expected.scan(prefix, after, limit);
                    prop_assert!(seen == expected, "{prefix} {after:?} {limit}");
                }
                Step::Evict => kv = open(&database),
            }
            prop_assert_eq!(kv.revision(), Ok(model.open("a").unwrap().revision()));
        }
        prop_assert_eq!(summary(&kv), summary(&model));
        prop_assert_eq!(summary(&open(&database)), summary(&model));
    }
}

/// Parts of the longer value stayed behind the shorter one, because the code ignored
/// values that the same commit had made long.
#[test]
fn a_value_shortened_in_one_commit_leaves_no_parts() {
    let database = Database::new();
    let kv = open(&database);
    let (longer, shorter) = (vec![1; (2 << 20) + 1], vec![2; (1 << 20) + 1]);
    commit(&kv, vec![put("k/a", longer), put("k/a", shorter.clone()), put("meta", "m")]);
    assert!(open(&database).open("a").unwrap().get("k/a").unwrap() == Some(shorter));
}

#[test]
fn reading_creates_no_table() {
    let database = Database::new();
    let kv = open(&database);
    assert_eq!(all(&kv), []);
    assert_eq!(kv.open("a").unwrap().get("meta"), Ok(None));
    assert_eq!(kv.revision(), Ok(Revision(0)));
    assert!(!kv.is_left_over().unwrap());
    assert_eq!(database.tables(), 0);
}

#[test]
fn cached_rows_are_not_read_again() {
    let database = Database::new();
    commit(&open(&database), vec![put("meta", "m"), put("k/a", "k"), put("v/a/1", "v")]);
    let kv = open(&database);
    let read = || {
        let bucket = kv.open("a").unwrap();
        assert!(["meta", "k/a", "v/a/1"].iter().all(|it| bucket.get(it).unwrap().is_some()));
        assert_eq!(bucket.get("k/c"), Ok(None));
    };
    assert_eq!(database.statements(read), 4); // three rows, and one that does not exist
    assert_eq!(database.statements(read), 0);
    let list = || assert_eq!(kv.open("a").unwrap().scan("k/", None, 9).unwrap().len(), 1);
    assert_eq!(database.statements(list), 1);
    assert_eq!(database.statements(list), 0);
    commit(&kv, vec![put("meta", "n"), put("k/b", "k")]);
    assert_eq!(database.statements(read), 0);
}

/// Each changed row was once a call of the database, of which a write of the session has seven.
#[test]
fn a_commit_takes_few_statements() {
    let database = Database::new();
    let kv = open(&database);
    commit(&kv, vec![put("meta", "1"), put("e/1", "x")]);
    let changes = vec![put("k/a", "x"), put("e/2", "x"), delete("e/1"), put("meta", "2")];
    // The revision is checked, one row and what may be of two others deleted, three written.
    assert_eq!(database.statements(|| _ = commit(&kv, changes)), 3);
    let many = (0..100).map(|nth| put(&format!("k/{nth:03}"), "x")).collect();
    assert_eq!(database.statements(|| _ = commit(&kv, many)), 12);
    assert_eq!(all(&kv).len(), 103);
    // One name in two changes has the value of the last.
    commit(&kv, vec![put("k/a", "1"), delete("k/a"), put("k/a", "2"), delete("e/2")]);
    commit(&kv, vec![delete("k/000"), put("k/000", "3"), put("k/001", "4"), delete("k/001")]);
    let bucket = open(&database).open("a").unwrap();
    let value = |row: &str| bucket.get(row).unwrap().map(|it| String::from_utf8(it).unwrap());
    assert_eq!((value("k/a").as_deref(), value("e/2")), (Some("2"), None));
    assert_eq!((value("k/000").as_deref(), value("k/001")), (Some("3"), None));
}

/// A commit whose reply is lost has an unknown outcome: here it had happened.
#[test]
fn storage_is_read_again_after_a_failed_commit() {
    let database = Database::new();
    let kv = open(&database);
    commit(&kv, vec![put("meta", "1")]);
    for (mode, stored) in [(FaultMode::CommitReplies, "2"), (FaultMode::Statements, "2")] {
        database.set_faults(mode);
        let mut bucket = kv.open("a").unwrap();
        let changes = vec![put("meta", if mode == FaultMode::CommitReplies { "2" } else { "3" })];
        let done = bucket.commit(bucket.revision(), changes);
        assert_eq!(done, Err(CommitError::Failed(injected())));
        if mode == FaultMode::Statements {
            assert_eq!(kv.open("a").map(drop), Err(injected()));
        }
        database.set_faults(FaultMode::Off);
        assert_eq!(kv.open("a").unwrap().get("meta").unwrap().unwrap(), stored.as_bytes());
        assert_eq!(kv.revision(), Ok(Revision(2)));
    }
    assert_eq!(commit(&kv, vec![put("meta", "4")]), Revision(3));
}

/// The platform runs only one object of a name. Should it ever run two, a commit with a
/// stale revision is rejected.
#[test]
fn a_commit_with_a_stale_revision_gets_a_conflict() {
    let database = Database::new();
    let (first, second) = (open(&database), open(&database));
    commit(&first, vec![put("meta", "1")]);
    assert_eq!(all(&second).len(), 1);
    commit(&first, vec![put("meta", "2")]);
    let mut bucket = second.open("a").unwrap();
    let done = bucket.commit(bucket.revision(), vec![put("meta", "3")]);
    assert_eq!(done, Err(CommitError::Conflict));
    assert_eq!(second.revision(), Ok(Revision(2)));
    assert_eq!(second.open("a").unwrap().get("meta").unwrap().unwrap(), b"2");
}

#[test]
fn a_bucket_begins_only_after_the_directory_was_asked() {
    let database = Database::new();
    let kv = ObjectKv::new(database.clone());
    let create = || {
        let mut bucket = kv.open("a").unwrap();
        bucket.commit(bucket.revision(), vec![put("meta", "1")])
    };
    assert!(create().is_err());
    assert!(kv.take_needs_directory());
    assert_eq!(database.tables(), 0);
    kv.begin_after(Revision(7));
    assert_eq!(create(), Ok(Revision(8)));
    assert!(!kv.take_needs_directory());
    // After a deletion the directory is asked again, though the revision is still stored.
    assert_eq!(commit(&kv, vec![delete_prefix("")]), Revision(9));
    assert!(kv.is_left_over().unwrap());
    assert!(create().is_err());
    assert!(kv.take_needs_directory());
    kv.begin_after(Revision(0));
    assert_eq!(create(), Ok(Revision(10)));
}

#[test]
fn an_emptied_database_continues_its_revisions() {
    let database = Database::new();
    let kv = open(&database);
    commit(&kv, vec![put("meta", "1")]);
    let revision = commit(&kv, vec![delete_prefix("")]);
    database.connection.execute_batch("DROP TABLE rows").unwrap();
    kv.note_emptied(revision);
    assert!(!kv.is_left_over().unwrap());
    kv.begin_after(Revision(0));
    assert_eq!(commit(&kv, vec![put("meta", "2")]), Revision(3));
    assert_eq!(all(&kv), [("meta".to_owned(), b"2".to_vec())]);
}
