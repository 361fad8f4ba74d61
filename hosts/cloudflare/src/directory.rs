//! The directories: the ids of all sessions and projects, and the last revisions of the
//! deleted ones. One Durable Object for each kind.
//!
//! They replace the list that a host with one database reads from it. An id is entered
//! before its bucket is created and removed after the bucket was deleted. So every bucket
//! that exists is listed, but a listed one may not exist: callers check each.
//!
//! # Invariant
//!
//! A deleted bucket's revision is kept forever. The next bucket with that name begins
//! after it; otherwise an old credential would open it (spec 8.3).

use shared_context_core::{
    Scope, ScopeKind,
    port::{CommitError, KvError, Revision},
};
use wasm_bindgen::prelude::*;
use worker::{Env, State, worker_sys::DurableObjectState};

use crate::{
    js::{self, Storage},
    kv::{Sql, SqlCell, Value},
};

/// The Worker's binding for the class.
const BINDING: &str = "DIRECTORY";

/// Returns the name of the Durable Object for `kind`.
fn name(kind: ScopeKind) -> &'static str {
    match kind {
        ScopeKind::Session => "directory",
        ScopeKind::Project => "projects",
    }
}

const CREATE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS deleted (id TEXT PRIMARY KEY, revision INTEGER NOT NULL) \
     WITHOUT ROWID",
];
const ENTER: &str = "INSERT INTO sessions (id) VALUES (?1) ON CONFLICT DO NOTHING";
const STRIKE_OUT: &str = "DELETE FROM sessions WHERE id = ?1";
const LIST: &str = "SELECT id FROM sessions WHERE id > ?1 ORDER BY id LIMIT ?2";
const DELETED_AT: &str = "SELECT revision FROM deleted WHERE id = ?1";
const NOTE_DELETED: &str = "INSERT INTO deleted (id, revision) VALUES (?1, ?2) \
    ON CONFLICT (id) DO UPDATE SET revision = max(revision, excluded.revision)";

/// The directory's rows.
pub(crate) struct Entries<S>(S);

impl<S: Sql> Entries<S> {
    /// Opens the rows in the database behind `sql`, creating its tables if necessary.
    pub(crate) fn open(sql: S) -> Result<Self, KvError> {
        for statement in CREATE {
            sql.query(statement, &[])?;
        }
        Ok(Self(sql))
    }

    /// Enters `id`; returns the revision after which its bucket begins.
    pub(crate) fn enter(&self, id: &str) -> Result<Revision, KvError> {
        self.0.query(ENTER, &[Value::Text(id)])?;
        let deleted_at = self.0.query(DELETED_AT, &[Value::Text(id)])?;
        let deleted_at = deleted_at.first().and_then(|row| row.first()).and_then(SqlCell::integer);
        Ok(Revision(deleted_at.unwrap_or_default()))
    }

    /// Removes `id`, whose bucket was deleted at `revision`.
    pub(crate) fn strike_out(&self, id: &str, revision: Revision) -> Result<(), KvError> {
        let done = self.0.transaction(&mut || {
            let run = |statement, values: &[Value<'_>]| self.0.query(statement, values).map(drop);
            run(NOTE_DELETED, &[Value::Text(id), Value::Integer(revision.0)])
                .and_then(|()| run(STRIKE_OUT, &[Value::Text(id)]))
                .map_err(CommitError::Failed)
        });
        done.map_err(|error| match error {
            CommitError::Unchanged(error) | CommitError::Failed(error) => error,
            CommitError::Conflict => KvError("a conflict where none can be".to_owned()),
        })
    }

    /// Returns at most `limit` ids after `after`.
    pub(crate) fn list(&self, after: &str, limit: u32) -> Result<Vec<String>, KvError> {
        let rows = self.0.query(LIST, &[Value::Text(after), Value::Integer(limit.into())])?;
        let ids = rows.into_iter().flatten().filter_map(|it| match it {
            SqlCell::Text(id) => Some(id),
            _ => None,
        });
        Ok(ids.collect())
    }
}

/// The Durable Object of a directory.
#[wasm_bindgen(js_name = DirectoryObject)]
#[expect(missing_debug_implementations, reason = "only JavaScript uses it")]
pub struct Directory {
    entries: Entries<Storage>,
}

#[wasm_bindgen(js_class = DirectoryObject)]
impl Directory {
    /// Creates the object over the storage of `state`.
    ///
    /// # Errors
    ///
    /// The storage could not be used.
    #[wasm_bindgen(constructor)]
    pub fn new(state: DurableObjectState) -> Result<Self, JsError> {
        let entries = Storage::of(&State::from(state)).and_then(Entries::open);
        Ok(Self { entries: entries.map_err(js_error)? })
    }

    /// Calls [`Entries::enter`].
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub fn enter(&self, id: &str) -> Result<f64, JsError> {
        self.entries.enter(id).map(|it| js::number(it.0)).map_err(js_error)
    }

    /// Calls [`Entries::strike_out`].
    ///
    /// # Errors
    ///
    /// The storage failed.
    #[wasm_bindgen(js_name = strikeOut)]
    pub fn strike_out(&self, id: &str, revision: f64) -> Result<(), JsError> {
        let revision = Revision(js::whole(revision).unwrap_or_default());
        self.entries.strike_out(id, revision).map_err(js_error)
    }

    /// Calls [`Entries::list`].
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub fn list(&self, after: &str, limit: u32) -> Result<Vec<String>, JsError> {
        self.entries.list(after, limit).map_err(js_error)
    }
}

fn js_error(KvError(why): KvError) -> JsError {
    JsError::new(&why)
}

#[wasm_bindgen]
extern "C" {
    /// A stub for calling the directory from another object.
    type DirectoryStub;

    #[wasm_bindgen(method, catch, js_name = enter)]
    async fn enter_far(this: &DirectoryStub, id: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = strikeOut)]
    async fn strike_out_far(
        this: &DirectoryStub,
        id: &str,
        revision: f64,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = list)]
    async fn list_far(this: &DirectoryStub, after: &str, limit: u32) -> Result<JsValue, JsValue>;
}

/// A client of the directories.
#[derive(Debug, Clone)]
pub(crate) struct DirectoryClient {
    env: Env,
}

impl DirectoryClient {
    /// Creates the client from the bindings in `env`.
    pub(crate) fn new(env: Env) -> Self {
        Self { env }
    }

    /// Calls [`Entries::enter`] in the directory of the scope's kind.
    pub(crate) async fn enter(&self, scope: &Scope) -> Result<Revision, KvError> {
        let begins_after =
            self.stub(scope.kind())?.enter_far(scope.id()).await.map_err(|it| js::failed(&it))?;
        let begins_after = begins_after.as_f64().and_then(js::whole);
        begins_after
            .map(Revision)
            .ok_or_else(|| KvError("the directory told no revision".to_owned()))
    }

    /// Calls [`Entries::strike_out`] in the directory of the scope's kind.
    pub(crate) async fn strike_out(
        &self,
        scope: &Scope,
        revision: Revision,
    ) -> Result<(), KvError> {
        let stub = self.stub(scope.kind())?;
        let done = stub.strike_out_far(scope.id(), js::number(revision.0)).await;
        done.map(drop).map_err(|it| js::failed(&it))
    }

    /// Calls [`Entries::list`] in the directory of `kind`.
    pub(crate) async fn list(
        &self,
        kind: ScopeKind,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, KvError> {
        let ids = self.stub(kind)?.list_far(after, limit).await.map_err(|it| js::failed(&it))?;
        let ids = js_sys::Array::from(&ids);
        Ok(ids.iter().filter_map(|it| it.as_string()).collect())
    }

    fn stub(&self, kind: ScopeKind) -> Result<DirectoryStub, KvError> {
        let namespace = self.env.durable_object(BINDING);
        let stub = namespace.and_then(|it| it.get_by_name(name(kind)));
        stub.map(worker::Stub::into_rpc).map_err(|error| KvError(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::tests::Database;

    fn list(entries: &Entries<Database>, after: &str, limit: u32) -> String {
        entries.list(after, limit).unwrap().join(" ")
    }

    #[test]
    fn entered_ids_are_listed_in_order() {
        let database = Database::new();
        let entries = Entries::open(database.clone()).unwrap();
        for id in ["b", "a", "a-1", "B", "a.1", "a"] {
            assert_eq!(entries.enter(id), Ok(Revision(0)));
        }
        assert_eq!(list(&entries, "", 9), "B a a-1 a.1 b");
        assert_eq!(list(&entries, "", 2), "B a");
        assert_eq!(list(&entries, "a", 2), "a-1 a.1");
        let entries = Entries::open(database).unwrap();
        assert_eq!(list(&entries, "a.1", 9), "b");
    }

    #[test]
    fn a_new_session_begins_after_the_deleted_one_of_its_name() {
        let entries = Entries::open(Database::new()).unwrap();
        entries.enter("a").unwrap();
        entries.strike_out("a", Revision(7)).unwrap();
        assert_eq!(list(&entries, "", 9), "");
        assert_eq!(entries.enter("a"), Ok(Revision(7)));
        assert_eq!(list(&entries, "", 9), "a");
        // A repeated or late deletion does not lower the revision.
        entries.strike_out("a", Revision(3)).unwrap();
        assert_eq!(entries.enter("a"), Ok(Revision(7)));
    }
}
