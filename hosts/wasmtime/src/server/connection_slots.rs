//! Connection slots: limit the number of connections, and decide which one is closed when
//! there are too many.
//!
//! Serving a connection is in `connection`. Invariants:
//!
//! - A connection loses its slot only while no request of it has begun, or after its stream
//!   was asked to end.
//! - Idle time does not depend on input: partial reads do not reset the idle timer.
//! - Taking a slot never waits for another connection to leave.
//! - Listeners, which wait for changes, have half of the slots. For one more, a stream of
//!   the session with the most listeners is asked to end: the one without changes for the
//!   longest.

use std::{
    collections::HashMap,
    future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::Notify;

/// Slots reserved for the operator while all usual ones are taken.
pub(super) const RESERVED: usize = 32;
/// The minimum time for a connection to send a body, or end its stream, before it may be closed.
const GRACE: Duration = Duration::from_secs(1);
/// The minimum time that a client may leave a large response unread while others need the memory.
const UNREAD_GRACE: Duration = Duration::from_millis(500);

/// The interval between log lines that all connections are busy.
const WARN_PAUSE: Duration = Duration::from_mins(1);

/// All connection slots of a server.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    began: Instant,
    usual_max: usize,
    /// The number of listeners in usual slots.
    listening: AtomicUsize,
    table: Mutex<SlotTable>,
}

#[derive(Debug, Default)]
struct SlotTable {
    next: u64,
    /// The time of the last log line that all connections are busy.
    warned_at: Option<Instant>,
    usual: HashMap<u64, Arc<State>>,
    reserved: HashMap<u64, Arc<State>>,
}

/// The slot of a connection, held until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    id: u64,
    is_reserved: bool,
    state: Arc<State>,
}

/// The activity of a connection, and when it began.
#[derive(Debug)]
struct State {
    /// Microseconds since the server began, and in the lowest three bits the [`Phase`].
    phase: AtomicU64,
    closed: Notify,
    ending: Notify,
    /// The bucket that it listens to.
    scope: Mutex<String>,
    /// The number of large responses that are not completely sent.
    large_responses: AtomicUsize,
}

/// The activity of a connection. The order is the order of closing: the first is closed
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Idle, sending a head, or reading a response that is ready.
    Idle,
    /// Sending a body.
    Sending,
    /// Ending its stream, as requested.
    Ending,
    /// Waiting for changes.
    Listening,
    /// Waiting for the response to its request.
    Busy,
    /// Closed: it has lost its slot.
    Closed,
}

impl ConnectionSlots {
    pub(super) fn new(usual_max: usize) -> Self {
        let (listening, table) = (AtomicUsize::new(0), Mutex::default());
        Self { began: Instant::now(), usual_max, listening, table }
    }

    /// Takes a slot for a new connection. If all are taken, closes the connection that has
    /// been idle for the longest. If all are busy, returns a slot reserved for the
    /// operator, or `None` if those are busy too.
    pub(super) fn take(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut table = self.table();
        let is_free = table.usual.len() < self.usual_max || self.close_one(&mut table.usual);
        if !is_free && table.warned_at.is_none_or(|it| it.elapsed() > WARN_PAUSE) {
            table.warned_at = Some(Instant::now());
            tracing::warn!(
                "all {} connections are busy: further clients are told to come back, until \
                 some are done only the operator is served",
                self.usual_max
            );
        }
        if !is_free && table.reserved.len() >= RESERVED && !self.close_one(&mut table.reserved) {
            return None;
        }
        let (id, is_reserved) = (table.next, !is_free);
        table.next += 1;
        let phase = AtomicU64::new(Phase::Idle.at(self.now()));
        let state = Arc::new(State {
            phase,
            closed: Notify::new(),
            ending: Notify::new(),
            scope: Mutex::default(),
            large_responses: AtomicUsize::new(0),
        });
        let slots = if is_reserved { &mut table.reserved } else { &mut table.usual };
        slots.insert(id, Arc::clone(&state));
        Some(ConnectionSlot { slots: Arc::clone(self), id, is_reserved, state })
    }

    /// Closes the connection that has been sending its body for the longest, if that is
    /// longer than [`GRACE`], so that others can send theirs.
    pub(super) fn close_slowest_body(&self) {
        let grace = self.now().saturating_sub(micros(GRACE));
        let is_slow = |_: &State, phase, since| phase == Phase::Sending && since < grace;
        close_first(&mut self.table().usual, is_slow);
    }

    /// Closes the connection that has left a large response unread for the longest, if that
    /// is longer than [`UNREAD_GRACE`].
    pub(super) fn close_unread_response(&self) {
        let grace = self.now().saturating_sub(micros(UNREAD_GRACE));
        let is_slow = |state: &State, phase, since| {
            phase == Phase::Idle
                && since < grace
                && state.large_responses.load(Ordering::Acquire) > 0
        };
        close_first(&mut self.table().usual, is_slow);
    }

    /// Asks one listener to end its stream.
    fn end_one_stream(&self) {
        /// The listeners of one bucket: their number, and the one without changes for the
        /// longest.
        type Listeners<'s> = (usize, u64, &'s State);
        let table = self.table();
        let scopes: Vec<_> = table
            .usual
            .values()
            .filter_map(|state| match Phase::of(state.phase.load(Ordering::Acquire)) {
                (Phase::Listening, since) => Some((state.scope().clone(), since, &**state)),
                _ => None,
            })
            .collect();
        let mut of_scope: HashMap<&str, Listeners<'_>> = HashMap::new();
        for (scope, since, state) in &scopes {
            let (count, first, longest) = of_scope.entry(scope).or_insert((0, *since, *state));
            *count += 1;
            if *since < *first {
                (*first, *longest) = (*since, *state);
            }
        }
        let most = of_scope.values().max_by_key(|(count, since, _)| (*count, u64::MAX - since));
        if let Some((_, since, state)) = most
            && state.exchange(Phase::Listening, *since, Phase::Ending, self.now())
        {
            self.listening.fetch_sub(1, Ordering::AcqRel);
            state.ending.notify_one();
        }
    }

    /// Closes the first of `slots` in the order of closing. Returns false if none may be
    /// closed.
    fn close_one(&self, slots: &mut HashMap<u64, Arc<State>>) -> bool {
        let grace = self.now().saturating_sub(micros(GRACE));
        let may_close = |_: &State, phase, since| match phase {
            Phase::Idle => true,
            Phase::Sending | Phase::Ending => since < grace,
            Phase::Listening | Phase::Busy | Phase::Closed => false,
        };
        close_first(slots, may_close)
    }

    fn now(&self) -> u64 {
        micros(self.began.elapsed())
    }

    fn table(&self) -> MutexGuard<'_, SlotTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the first of the `slots` for which `may_close` holds. Returns false if none may be
/// closed.
fn close_first(
    slots: &mut HashMap<u64, Arc<State>>,
    may_close: impl Fn(&State, Phase, u64) -> bool,
) -> bool {
    loop {
        let first = slots
            .iter()
            .map(|(id, state)| (state, Phase::of(state.phase.load(Ordering::Acquire)), *id))
            .filter(|(state, (phase, since), _)| may_close(state, *phase, *since))
            .map(|(_, at, id)| (at, id))
            .min();
        let Some(((phase, since), id)) = first else { return false };
        // It may have begun a request just now.
        if slots.get(&id).is_some_and(|it| it.close(phase, since)) {
            slots.remove(&id);
            return true;
        }
    }
}

impl ConnectionSlot {
    /// Returns true if this slot is reserved for the operator.
    pub(super) fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// Waits until the connection has to close.
    pub(super) async fn closed(&self) {
        self.state.closed.notified().await;
    }

    /// Begins to read a body. Never returns if the connection has lost its slot: it is
    /// about to be closed, and no request on it may begin.
    pub(super) async fn begin_body(&self) {
        self.enter(Phase::Sending).await;
    }

    /// Begins to process a request. Never returns if the connection has lost its slot.
    pub(super) async fn begin_request(&self) {
        self.enter(Phase::Busy).await;
    }

    /// Notes that a response is ready.
    pub(super) fn response_ready(&self) {
        self.change(|_| Some(Phase::Idle));
    }

    /// Notes that the client read some of a response.
    pub(super) fn note_read(&self) {
        self.change(|phase| (phase == Phase::Idle).then_some(Phase::Idle));
    }

    /// Notes that the connection has one more large response.
    pub(super) fn add_large_response(&self) {
        self.state.large_responses.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that a large response was sent or given up.
    pub(super) fn remove_large_response(&self) {
        self.state.large_responses.fetch_sub(1, Ordering::AcqRel);
    }

    /// Begins to wait for changes of `scope`, if it does not yet. If there are too many
    /// listeners, one of them is asked to end.
    pub(super) fn start_listening(&self, scope: &str) {
        let (phase, _) = Phase::of(self.state.phase.load(Ordering::Acquire));
        if matches!(phase, Phase::Listening | Phase::Ending) {
            return;
        }
        scope.clone_into(&mut self.state.scope());
        self.change(|_| Some(Phase::Listening));
        if self.slots.listening.load(Ordering::Acquire) > (self.slots.usual_max / 2).max(1) {
            self.slots.end_one_stream();
        }
    }

    /// Notes that a change arrived.
    pub(super) fn note_change(&self) {
        self.change(|phase| (phase == Phase::Listening).then_some(Phase::Listening));
    }

    /// Waits until the stream is asked to end.
    pub(super) async fn must_end_stream(&self) {
        while Phase::of(self.state.phase.load(Ordering::Acquire)).0 != Phase::Ending {
            self.state.ending.notified().await;
        }
    }

    async fn enter(&self, phase: Phase) {
        if !self.change(|_| Some(phase)) {
            future::pending::<()>().await;
        }
    }

    /// Enters the phase that `change` returns for the present one. Returns true if it did;
    /// a closed connection changes no more.
    fn change(&self, change: impl Fn(Phase) -> Option<Phase>) -> bool {
        let now = self.slots.now();
        let next = |it| match Phase::of(it).0 {
            Phase::Closed => None,
            phase => change(phase),
        };
        let update = |it| next(it).map(|phase| phase.at(now));
        let was = self.state.phase.fetch_update(Ordering::AcqRel, Ordering::Acquire, update);
        if let Ok(was) = was {
            self.count(Phase::of(was).0, next(was));
        }
        was.is_ok()
    }

    /// Updates the number of listeners.
    fn count(&self, was: Phase, is: Option<Phase>) {
        let (was, is) = (was == Phase::Listening, is == Some(Phase::Listening));
        if self.is_reserved || was == is {
            return;
        }
        if is {
            self.slots.listening.fetch_add(1, Ordering::AcqRel);
        } else {
            self.slots.listening.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.change(|_| Some(Phase::Closed));
        let mut table = self.slots.table();
        let slots = if self.is_reserved { &mut table.reserved } else { &mut table.usual };
        slots.remove(&self.id);
    }
}

impl State {
    /// Closes the connection, if its phase has not changed since.
    fn close(&self, phase: Phase, since: u64) -> bool {
        let is_closed = self.exchange(phase, since, Phase::Closed, since);
        if is_closed {
            self.closed.notify_one();
        }
        is_closed
    }

    /// Enters the phase `next` at `now`, if the phase has not changed since.
    fn exchange(&self, phase: Phase, since: u64, next: Phase, now: u64) -> bool {
        let (was, is) = (phase.at(since), next.at(now));
        self.phase.compare_exchange(was, is, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn scope(&self) -> MutexGuard<'_, String> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phase {
    const ALL: [Self; 6] =
        [Self::Idle, Self::Sending, Self::Ending, Self::Listening, Self::Busy, Self::Closed];

    fn at(self, micros: u64) -> u64 {
        micros << 3 | self as u64
    }

    fn of(state: u64) -> (Self, u64) {
        let phase = Self::ALL.into_iter().find(|it| *it as u64 == state & 7);
        (phase.unwrap_or(Self::Closed), state >> 3)
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// Returns true if the connection on `slot` was asked to close.
    async fn is_closed(slot: &ConnectionSlot) -> bool {
        timeout(Duration::ZERO, slot.closed()).await.is_ok()
    }

    #[tokio::test]
    async fn only_the_longest_idle_connection_is_closed() {
        let slots = Arc::new(ConnectionSlots::new(3));
        let [first, second, third] = [0, 1, 2].map(|_| slots.take().unwrap());
        first.begin_body().await;
        first.begin_request().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        first.response_ready();
        let fourth = slots.take().unwrap();
        assert!(is_closed(&second).await && !is_closed(&first).await && !is_closed(&third).await);
        assert!(!fourth.is_reserved());
        // A client that reads a response is not idle.
        third.note_read();
        let fifth = slots.take().unwrap();
        assert!(is_closed(&first).await && !is_closed(&third).await);
        drop((first, second, third, fourth, fifth));
        assert!(slots.table().usual.is_empty());
    }

    #[tokio::test]
    async fn busy_connections_stay_and_the_operator_has_slots() {
        let slots = Arc::new(ConnectionSlots::new(2));
        let busy: Vec<_> = [0, 1].map(|_| slots.take().unwrap()).into();
        for slot in &busy {
            slot.begin_request().await;
        }
        let reserved: Vec<_> = (0..RESERVED).map(|_| slots.take().unwrap()).collect();
        assert!(reserved.iter().all(ConnectionSlot::is_reserved));
        for slot in &reserved[1..] {
            slot.begin_request().await;
        }
        let one_more = slots.take().unwrap();
        assert!(is_closed(&reserved[0]).await && one_more.is_reserved());
        one_more.begin_request().await;
        assert!(slots.take().is_none(), "all are busy");
        assert!(!is_closed(&busy[0]).await && !is_closed(&busy[1]).await);
    }

    #[tokio::test]
    async fn a_closed_connection_begins_no_request() {
        let slots = Arc::new(ConnectionSlots::new(1));
        let lost = slots.take().unwrap();
        let _other = slots.take().unwrap();
        timeout(Duration::from_millis(10), lost.begin_body()).await.unwrap_err();
        timeout(Duration::from_millis(10), lost.begin_request()).await.unwrap_err();
        lost.response_ready();
        assert!(is_closed(&lost).await);
    }

    /// Returns the indices of the `slots` that are asked to end their stream.
    async fn ending(slots: &[ConnectionSlot]) -> Vec<usize> {
        let mut ending = Vec::new();
        for (nth, slot) in slots.iter().enumerate() {
            if timeout(Duration::ZERO, slot.must_end_stream()).await.is_ok() {
                ending.push(nth);
            }
        }
        ending
    }

    /// A session once held all connections of a server with its streams, and all other
    /// clients were rejected for as long as it liked.
    #[tokio::test]
    async fn the_session_with_most_streams_ends_one() {
        let slots = Arc::new(ConnectionSlots::new(8));
        let all: Vec<_> = (0..6).map(|_| slots.take().unwrap()).collect();
        for (slot, scope) in all.iter().zip(["a", "b", "b", "b"]) {
            slot.begin_request().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            slot.start_listening(scope);
        }
        assert!(ending(&all).await.is_empty());
        // It received a change since.
        tokio::time::sleep(Duration::from_millis(1)).await;
        all[1].note_change();
        all[1].start_listening("b");
        all[4].begin_request().await;
        all[4].start_listening("a");
        assert_eq!(ending(&all).await, [2]);
        // A listener that has finished makes room.
        all[0].response_ready();
        all[5].begin_request().await;
        all[5].start_listening("c");
        assert_eq!(ending(&all).await, [2]);
        drop(all);
        assert_eq!(slots.listening.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn only_unread_large_responses_are_cut() {
        let slots = Arc::new(ConnectionSlots::new(4));
        let [unread, read, small] = [0, 1, 2].map(|_| slots.take().unwrap());
        unread.add_large_response();
        read.add_large_response();
        tokio::time::sleep(UNREAD_GRACE + Duration::from_millis(1)).await;
        read.note_read();
        slots.close_unread_response();
        slots.close_unread_response();
        assert!(is_closed(&unread).await);
        assert!(!is_closed(&read).await && !is_closed(&small).await);
    }

    #[tokio::test]
    async fn a_slow_body_is_closed_after_a_grace_period() {
        let slots = Arc::new(ConnectionSlots::new(1));
        let sending = slots.take().unwrap();
        sending.begin_body().await;
        let operator = slots.take().unwrap();
        assert!(operator.is_reserved() && !is_closed(&sending).await);
        let long_ago = Phase::Sending.at(0);
        slots.table().usual[&sending.id].phase.store(long_ago, Ordering::SeqCst);
        let began = Instant::now().checked_sub(GRACE * 2).unwrap();
        let older = Arc::new(ConnectionSlots { began, ..ConnectionSlots::new(1) });
        std::mem::swap(&mut older.table().usual, &mut slots.table().usual);
        assert!(!older.take().unwrap().is_reserved());
        assert!(is_closed(&sending).await);
    }
}
