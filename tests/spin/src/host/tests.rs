//! Tests of the host's interfaces, called as an instance calls them.

use std::collections::{BTreeMap, BTreeSet};

use tokio::runtime::Runtime;
use wasmtime::component::Resource;

use super::*;
use crate::{
    Kill, Storage,
    app::Shared,
    bindings::{
        fermyon::spin::key_value::{Error as StoreError, HostStore as _},
        spin::sqlite::sqlite::{Error, HostConnection as _, QueryResult, Value},
    },
    output::{Lines, Output},
    variables::Texts,
};

struct Instances {
    runtime: Runtime,
    component: Arc<Component>,
    _folder: tempfile::TempDir,
}

impl Instances {
    /// Creates instances of a component with these rights.
    fn new(databases: &[&str], stores: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shared = Arc::new(Shared::new(folder.path(), Lines::collect()).unwrap());
        let output = Output::open("it", "stderr", folder.path(), Lines::collect()).unwrap();
        let owned = |labels: &[&str]| labels.iter().map(|it| (*it).to_owned()).collect();
        let component = Component {
            name: "it".to_owned(),
            texts: Texts::default(),
            environment: BTreeMap::new(),
            databases: owned(databases),
            stores: BTreeSet::from_iter(owned(stores)),
            stdout: output.clone(),
            stderr: output,
            shared,
        };
        Self { runtime: Runtime::new().unwrap(), component: Arc::new(component), _folder: folder }
    }

    fn both() -> Self {
        Self::new(&["default"], &["default"])
    }

    /// Runs `work` in a new instance.
    fn with<T>(&self, work: impl AsyncFnOnce(Host) -> T) -> T {
        self.runtime.block_on(work(Host::new(Arc::clone(&self.component))))
    }

    /// Executes `statement` in a new instance; returns `None` if the instance was aborted.
    fn sql(&self, statement: &str, parameters: Vec<Value>) -> Option<Result<QueryResult, Error>> {
        self.with(async |mut host| {
            let connection = sqlite::open(&mut host, "default").await.unwrap();
            host.execute(connection, statement.to_owned(), parameters).await.ok()
        })
    }

    #[track_caller]
    fn done(&self, statement: &str) -> Vec<Vec<i64>> {
        let answer = self.sql(statement, Vec::new()).unwrap().unwrap();
        let number = |it| match it {
            Value::Integer(it) => it,
            _ => panic!("a number is expected"),
        };
        answer.rows.into_iter().map(|it| it.values.into_iter().map(number).collect()).collect()
    }

    fn count(&self) -> i64 {
        self.done("SELECT count(*) FROM a")[0][0]
    }

    fn fails(&self, statement: &str) -> bool {
        matches!(self.sql(statement, Vec::new()), Some(Err(Error::Io(_))))
    }

    fn storage(&self, storage: Storage) {
        self.component.shared.faults.set_storage(storage);
    }

    fn kill(&self, kill: Kill) {
        self.component.shared.faults.set_kill(kill);
    }
}

mod sqlite {
    use super::*;
    use crate::host::sqlite::Connection;

    pub(super) async fn open(host: &mut Host, label: &str) -> Result<Resource<Connection>, Error> {
        crate::bindings::spin::sqlite::sqlite::HostConnection::open(host, label.to_owned())
            .await
            .unwrap()
    }
}

mod key_value {
    use super::*;
    use crate::host::key_value::Store;

    pub(super) async fn open(host: &mut Host, label: &str) -> Result<Resource<Store>, StoreError> {
        crate::bindings::fermyon::spin::key_value::HostStore::open(host, label.to_owned())
            .await
            .unwrap()
    }
}

#[test]
fn a_label_that_is_not_granted_is_denied() {
    Instances::new(&[], &["default"]).with(async |mut host| {
        let denied = sqlite::open(&mut host, "default").await;
        assert!(matches!(denied, Err(Error::AccessDenied)));
        key_value::open(&mut host, "default").await.unwrap();
    });
    Instances::new(&["default"], &[]).with(async |mut host| {
        let denied = key_value::open(&mut host, "default").await;
        assert!(matches!(denied, Err(StoreError::AccessDenied)));
        sqlite::open(&mut host, "default").await.unwrap();
        assert!(matches!(sqlite::open(&mut host, "other").await, Err(Error::AccessDenied)));
    });
}

#[test]
fn values_are_returned_unchanged() {
    let values = || {
        let text = || Value::Text("ä\0".to_owned());
        vec![Value::Integer(-1), Value::Real(0.5), text(), Value::Blob(vec![0, 255]), Value::Null]
    };
    let answer = Instances::both().sql("SELECT ?1 AS a, ?2 AS b, ?3, ?4, ?5", values());
    let answer = answer.unwrap().unwrap();
    assert_eq!(answer.columns[..2], ["a", "b"]);
    assert_eq!(format!("{:?}", answer.rows[0].values), format!("{:?}", values()));
}

#[test]
fn stored_data_is_visible_to_the_next_instance() {
    let instances = Instances::both();
    assert_eq!(instances.done("CREATE TABLE a (b)"), [[0; 0]; 0]);
    instances.done("INSERT INTO a VALUES (7)");
    assert_eq!(instances.done("SELECT b FROM a"), [[7]]);
    instances.with(async |mut host| {
        let connection = sqlite::open(&mut host, "default").await.unwrap();
        let again = || Resource::new_borrow(connection.rep());
        let statement = "INSERT INTO a VALUES (8), (9)".to_owned();
        host.execute(again(), statement, Vec::new()).await.unwrap().unwrap();
        assert_eq!(host.changes(again()).await.unwrap(), 2);
        assert_eq!(host.last_insert_rowid(again()).await.unwrap(), 3);
    });
    let error = instances.sql("SELECT c FROM a", Vec::new()).unwrap().unwrap_err();
    assert!(matches!(error, Error::Io(why) if why.contains("no such column")));
}

#[test]
fn storage_fails_as_configured() {
    let instances = Instances::both();
    instances.done("CREATE TABLE a (b)");
    instances.storage(Storage::ReadsFail);
    assert!(instances.fails("SELECT 1"));
    instances.done("INSERT INTO a VALUES (1)");
    instances.storage(Storage::CommitsFail);
    assert!(instances.fails("INSERT INTO a VALUES (2)"));
    assert_eq!(instances.count(), 1);
    instances.storage(Storage::AnswersLost);
    assert!(instances.fails("INSERT INTO a VALUES (2)"));
    assert_eq!(instances.count(), 2);
    instances.storage(Storage::ReadsFail);
    instances.done("CREATE TABLE IF NOT EXISTS a (b)");
}

#[test]
fn another_commit_comes_first_when_configured() {
    let instances = Instances::both();
    instances.storage(Storage::CommitsConflict);
    instances.done("CREATE TABLE a (b)");
    instances.done("INSERT INTO a VALUES (1)");
    instances.done("CREATE TABLE shared_context_bucket (name, revision)");
    instances.storage(Storage::Works);
    instances.done("INSERT INTO shared_context_bucket VALUES ('a', 3), ('b', 5)");
    instances.storage(Storage::CommitsConflict);
    instances.done("INSERT INTO a VALUES (2)");
    assert_eq!(instances.done("SELECT revision FROM shared_context_bucket"), [[4], [6]]);
}

#[test]
fn an_instance_is_aborted_before_or_after_a_call() {
    let instances = Instances::both();
    instances.done("CREATE TABLE a (b)");
    instances.kill(Kill::Before(2));
    assert_eq!(instances.count(), 0);
    assert!(instances.sql("INSERT INTO a VALUES (1)", Vec::new()).is_none());
    assert_eq!(instances.count(), 0);
    instances.kill(Kill::After(1));
    assert!(instances.sql("INSERT INTO a VALUES (1)", Vec::new()).is_none());
    assert_eq!(instances.count(), 1);
    let faults = &instances.component.shared.faults;
    assert_eq!((faults.calls(), faults.killed()), (6, 2));
}

#[test]
fn a_store_keeps_values() {
    let instances = Instances::both();
    instances.with(async |mut host| {
        let store = key_value::open(&mut host, "default").await.unwrap();
        let it = || Resource::new_borrow(store.rep());
        let key = || "key".to_owned();
        assert_eq!(host.get(it(), key()).await.unwrap().unwrap(), None);
        for value in [vec![1], vec![2, 0, 255]] {
            host.set(it(), key(), value.clone()).await.unwrap().unwrap();
            assert_eq!(host.get(it(), key()).await.unwrap().unwrap(), Some(value));
        }
        assert!(host.exists(it(), key()).await.unwrap().unwrap());
        assert_eq!(host.get_keys(it()).await.unwrap().unwrap(), ["key"]);
        host.delete(it(), key()).await.unwrap().unwrap();
        assert!(!host.exists(it(), key()).await.unwrap().unwrap());
        instances.storage(Storage::AnswersLost);
        assert!(host.set(it(), key(), vec![3]).await.unwrap().is_err());
        instances.storage(Storage::CommitsFail);
        assert!(host.delete(it(), key()).await.unwrap().is_err());
        assert_eq!(host.get(it(), key()).await.unwrap().unwrap(), Some(vec![3]));
        instances.storage(Storage::ReadsFail);
        assert!(host.get_keys(it()).await.unwrap().is_err());
        instances.kill(Kill::Before(1));
        assert!(host.get_keys(it()).await.is_err());
    });
}
