//! Direct calls to the Workers runtime: the parts of a Durable Object's storage that
//! the `worker` crate lacks, the clocks, and the log.
//!
//! # Invariant
//!
//! Every call that may throw is caught and becomes an error. The clocks do not throw;
//! if one did, the instance would be discarded (`entry.mjs`).

#![expect(unreachable_pub, reason = "JavaScript gets the `pub` items")]

use std::{cell::Cell, time::Duration};

use js_sys::{Array, Promise, Uint8Array};
use shared_context_core::{
    port::{CommitError, KvError},
    time::Timestamp,
};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use worker::State;

use crate::kv::{Sql, SqlCell, SqlRow, Value};

#[wasm_bindgen]
extern "C" {
    type RawStorage;

    #[wasm_bindgen(method, getter, catch)]
    fn sql(this: &RawStorage) -> Result<RawSql, JsValue>;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &RawStorage,
        work: &mut dyn FnMut() -> Result<(), JsValue>,
    ) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    fn set_alarm(this: &RawStorage, at_ms: f64) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = deleteAlarm)]
    fn delete_alarm(this: &RawStorage) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = deleteAll)]
    fn delete_all(this: &RawStorage) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn sync(this: &RawStorage) -> Result<Promise, JsValue>;

    type RawSql;

    #[wasm_bindgen(method, catch, variadic)]
    fn exec(this: &RawSql, statement: &str, values: &Array) -> Result<RawCursor, JsValue>;

    type RawCursor;

    #[wasm_bindgen(method, catch)]
    fn raw(this: &RawCursor) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(js_namespace = Array, js_name = from, catch)]
    fn collected(iterator: &JsValue) -> Result<Array, JsValue>;

    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;

    #[wasm_bindgen(js_namespace = console, js_name = log)]
    fn console_log(line: &str);

    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(line: &str);
}

/// The largest integer that a JavaScript number holds exactly.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// The storage of a Durable Object.
pub(crate) struct Storage {
    raw: RawStorage,
    sql: RawSql,
}

impl Storage {
    /// Returns the storage of the object with the state `state`.
    ///
    /// # Errors
    ///
    /// The class was not set up with `SQLite` storage.
    pub(crate) fn of(state: &State) -> Result<Self, KvError> {
        let storage = state.storage();
        let storage: &JsValue = storage.as_raw().as_ref();
        let raw: RawStorage = storage.clone().unchecked_into();
        let sql = raw.sql().map_err(|error| failed(&error))?;
        Ok(Self { raw, sql })
    }

    /// Returns an unusable storage, on which every call fails.
    pub(crate) fn unusable() -> Self {
        Self { raw: JsValue::UNDEFINED.unchecked_into(), sql: JsValue::UNDEFINED.unchecked_into() }
    }

    /// Returns another handle to the same storage.
    pub(crate) fn handle(&self) -> Self {
        let raw: &JsValue = self.raw.as_ref();
        let sql: &JsValue = self.sql.as_ref();
        Self { raw: raw.clone().unchecked_into(), sql: sql.clone().unchecked_into() }
    }

    /// Waits until all writes so far are durable.
    ///
    /// # Errors
    ///
    /// A write failed and will not become durable.
    pub(crate) async fn sync(&self) -> Result<(), KvError> {
        settled(self.raw.sync()).await
    }

    /// Sets the object's alarm to `at`, replacing an earlier setting. Takes effect with
    /// the writes before it, without waiting; the future reports a failure.
    pub(crate) fn set_alarm(
        &self,
        at: Timestamp,
    ) -> impl Future<Output = Result<(), KvError>> + use<> {
        settled(self.raw.set_alarm(number(at.0)))
    }

    /// Deletes the object's alarm. Takes effect as [`Storage::set_alarm`] does.
    pub(crate) fn delete_alarm(&self) -> impl Future<Output = Result<(), KvError>> + use<> {
        settled(self.raw.delete_alarm())
    }

    /// Deletes all stored data. Takes effect as [`Storage::set_alarm`] does.
    pub(crate) fn delete_all(&self) -> impl Future<Output = Result<(), KvError>> + use<> {
        settled(self.raw.delete_all())
    }
}

impl Sql for Storage {
    fn query(&self, statement: &str, values: &[Value<'_>]) -> Result<Vec<SqlRow>, KvError> {
        let values: Array = values.iter().map(|it| to_js(*it)).collect();
        let rows = self.sql.exec(statement, &values).and_then(|it| it.raw());
        let rows = rows.and_then(|it| collected(&it)).map_err(|error| failed(&error))?;
        rows.iter()
            .map(|row| row.unchecked_into::<Array>().iter().map(|it| from_js(&it)).collect())
            .collect()
    }

    fn transaction(
        &self,
        work: &mut dyn FnMut() -> Result<(), CommitError>,
    ) -> Result<(), CommitError> {
        let mut done = None;
        let thrown = self.raw.transaction_sync(&mut || {
            let outcome = work();
            let is_undone = outcome.is_err();
            done = Some(outcome);
            if is_undone { Err(JsValue::from_str("undone")) } else { Ok(()) }
        });
        match (done, thrown) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(CommitError::Failed(failed(&error))),
            (Some(Ok(())), Ok(())) => Ok(()),
            (None, Ok(())) => Err(CommitError::Failed(KvError("nothing was done".to_owned()))),
        }
    }
}

/// Waits for the promise of a storage call.
async fn settled(promise: Result<Promise, JsValue>) -> Result<(), KvError> {
    let settled = JsFuture::from(promise.map_err(|error| failed(&error))?).await;
    settled.map(drop).map_err(|error| failed(&error))
}

fn to_js(value: Value<'_>) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Integer(it) => JsValue::from_f64(number(it)),
        Value::Text(it) => JsValue::from_str(it),
        Value::Bytes(it) => Uint8Array::from(it).into(),
    }
}

fn from_js(value: &JsValue) -> Result<SqlCell, KvError> {
    if value.is_null() {
        return Ok(SqlCell::Null);
    }
    if let Some(number) = value.as_f64() {
        let integer = whole(number).ok_or_else(|| KvError(format!("no revision: {number}")))?;
        return Ok(SqlCell::Integer(integer));
    }
    Ok(match value.as_string() {
        Some(text) => SqlCell::Text(text),
        None => SqlCell::Bytes(Uint8Array::new(value).to_vec()),
    })
}

/// Converts an integer to a JavaScript number, saturating at [`SAFE_MAX`].
#[expect(clippy::cast_precision_loss, reason = "limited to the exact range")]
pub(crate) fn number(integer: u64) -> f64 {
    integer.min(SAFE_MAX) as f64
}

/// Converts a JavaScript number to an integer if it holds one exactly.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
pub(crate) fn whole(number: f64) -> Option<u64> {
    let is_held = number >= 0.0 && number <= self::number(SAFE_MAX) && number.fract() == 0.0;
    is_held.then_some(number as u64)
}

/// Converts a thrown JavaScript value to an error for the log.
pub(crate) fn failed(thrown: &JsValue) -> KvError {
    let message = thrown.dyn_ref::<js_sys::Error>().map(|it| String::from(it.message()));
    KvError(
        message.or_else(|| thrown.as_string()).unwrap_or_else(|| "an unknown failure".to_owned()),
    )
}

/// Returns the current time.
pub(crate) fn now() -> Timestamp {
    Timestamp(whole(date_now().trunc()).unwrap_or_default())
}

/// Returns the microseconds of a monotonic clock. On Workers it stands still while a
/// program computes.
pub(crate) fn monotonic_micros() -> u64 {
    thread_local! {
        static LATEST: Cell<u64> = const { Cell::new(0) };
    }
    let micros = whole((performance_now() * 1_000.0).trunc()).unwrap_or_default();
    LATEST.with(|latest| {
        latest.set(micros.max(latest.get()));
        latest.get()
    })
}

/// Waits for `duration`.
pub(crate) async fn sleep(duration: Duration) {
    worker::Delay::from(duration).await;
}

thread_local! {
    /// The number of running tasks.
    static TASKS: Cell<u32> = const { Cell::new(0) };
}

/// Runs `task` in the background.
pub(crate) fn spawn(task: impl Future<Output = ()> + 'static) {
    TASKS.with(|it| it.set(it.get().saturating_add(1)));
    spawn_local(async {
        task.await;
        TASKS.with(|it| it.set(it.get().saturating_sub(1)));
    });
}

/// The size of memory above which an idle instance is replaced: an instance never
/// returns memory, and its isolate has 128 MB for everything.
#[cfg(target_family = "wasm")]
const PAGES_MAX: usize = (48 << 20) / 65_536;

/// Returns true if the instance uses much memory, for example after an export, and has no
/// background task running.
#[wasm_bindgen(js_name = isBloated)]
pub fn is_bloated() -> bool {
    #[cfg(target_family = "wasm")]
    let is_large = core::arch::wasm32::memory_size(0) > PAGES_MAX;
    #[cfg(not(target_family = "wasm"))]
    let is_large = false;
    is_large && TASKS.with(Cell::get) == 0
}

/// Writes a line to the log.
pub(crate) fn log(line: &str) {
    console_log(line);
}

/// Writes a line to the log as an error, for operators.
pub(crate) fn log_error(line: &str) {
    console_error(line);
}
