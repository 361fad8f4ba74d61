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
/// How long a connection may send a body, or end its stream, before it may be closed.
const GRACE: Duration = Duration::from_secs(1);
/// How long a client may leave a large response unread while others need the memory.
const UNREAD_GRACE: Duration = Duration::from_millis(500);

/// The interval between log lines that all connections are busy.
const TELL_AGAIN: Duration = Duration::from_mins(1);

/// All connection slots of a server.
#[derive(Debug)]
pub(super) struct Seats {
    began: Instant,
    usual_max: usize,
    /// The number of listeners in usual slots.
    listening: AtomicUsize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// When it was last logged that all connections are busy.
    told: Option<Instant>,
    usual: HashMap<u64, Arc<State>>,
    reserved: HashMap<u64, Arc<State>>,
}

/// The slot of a connection, held until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    id: u64,
    is_reserved: bool,
    state: Arc<State>,
}

/// What a connection does, and since when.
#[derive(Debug)]
struct State {
    /// Microseconds since the server began, and in the lowest three bits the [`Phase`].
    phase: AtomicU64,
    ended: Notify,
    leaving: Notify,
    /// The bucket that it listens to.
    scope: Mutex<String>,
    /// The number of large responses that are not completely sent.
    answers: AtomicUsize,
}

/// What a connection does. The order is the order of closing: the first is closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Idle, sending a head, or reading a response that is ready.
    Idle,
    /// Sending a body.
    Sending,
    /// Ending its stream, as requested.
    Leaving,
    /// Waiting for changes.
    Listening,
    /// Waiting for the response to its request.
    Busy,
    /// Closed: it has lost its slot.
    Ended,
}

impl Seats {
    pub(super) fn new(usual_max: usize) -> Self {
        let (listening, taken) = (AtomicUsize::new(0), Mutex::default());
        Self { began: Instant::now(), usual_max, listening, taken }
    }

    /// Takes a slot for a new connection. If all are taken, closes the connection that has
    /// been idle for the longest. If all are busy, returns a slot reserved for the
    /// operator, or `None` if those are busy too.
    pub(super) fn take(self: &Arc<Self>) -> Option<Seat> {
        let mut taken = self.taken();
        let is_free = taken.usual.len() < self.usual_max || self.clear_one(&mut taken.usual);
        if !is_free && taken.told.is_none_or(|it| it.elapsed() > TELL_AGAIN) {
            taken.told = Some(Instant::now());
            tracing::warn!(
                "all {} connections are busy: further clients are told to come back, until \
                 some are done only the operator is served",
                self.usual_max
            );
        }
        if !is_free && taken.reserved.len() >= RESERVED && !self.clear_one(&mut taken.reserved) {
            return None;
        }
        let (id, is_reserved) = (taken.next, !is_free);
        taken.next += 1;
        let phase = AtomicU64::new(Phase::Idle.at(self.now()));
        let state = Arc::new(State {
            phase,
            ended: Notify::new(),
            leaving: Notify::new(),
            scope: Mutex::default(),
            answers: AtomicUsize::new(0),
        });
        let seats = if is_reserved { &mut taken.reserved } else { &mut taken.usual };
        seats.insert(id, Arc::clone(&state));
        Some(Seat { seats: Arc::clone(self), id, is_reserved, state })
    }

    /// Closes the connection that has been sending its body for the longest, if that is
    /// longer than [`GRACE`], so that others can send theirs.
    pub(super) fn clear_a_body(&self) {
        let grace = self.now().saturating_sub(micros(GRACE));
        let is_slow = |_: &State, phase, since| phase == Phase::Sending && since < grace;
        clear(&mut self.taken().usual, is_slow);
    }

    /// Closes the connection that has left a large response unread for the longest, if that
    /// is longer than [`UNREAD_GRACE`].
    pub(super) fn clear_an_answer(&self) {
        let grace = self.now().saturating_sub(micros(UNREAD_GRACE));
        let is_slow = |state: &State, phase, since| {
            phase == Phase::Idle && since < grace && state.answers.load(Ordering::Acquire) > 0
        };
        clear(&mut self.taken().usual, is_slow);
    }

    /// Asks one listener to end its stream.
    fn make_room_to_listen(&self) {
        /// The listeners of one bucket: their number, and the one without changes for the
        /// longest.
        type Listeners<'s> = (usize, u64, &'s State);
        let taken = self.taken();
        let scopes: Vec<_> = taken
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
            && state.exchange(Phase::Listening, *since, Phase::Leaving, self.now())
        {
            self.listening.fetch_sub(1, Ordering::AcqRel);
            state.leaving.notify_one();
        }
    }

    /// Closes the first of `slots` in the order of closing. Returns false if none may be
    /// closed.
    fn clear_one(&self, seats: &mut HashMap<u64, Arc<State>>) -> bool {
        let grace = self.now().saturating_sub(micros(GRACE));
        let may_be_asked = |_: &State, phase, since| match phase {
            Phase::Idle => true,
            Phase::Sending | Phase::Leaving => since < grace,
            Phase::Listening | Phase::Busy | Phase::Ended => false,
        };
        clear(seats, may_be_asked)
    }

    fn now(&self) -> u64 {
        micros(self.began.elapsed())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the first of the `slots` for which `may_be_asked` holds. Returns false if there
/// is none.
fn clear(
    seats: &mut HashMap<u64, Arc<State>>,
    may_be_asked: impl Fn(&State, Phase, u64) -> bool,
) -> bool {
    loop {
        let first = seats
            .iter()
            .map(|(id, state)| (state, Phase::of(state.phase.load(Ordering::Acquire)), *id))
            .filter(|(state, (phase, since), _)| may_be_asked(state, *phase, *since))
            .map(|(_, at, id)| (at, id))
            .min();
        let Some(((phase, since), id)) = first else { return false };
        // It may have begun a request just now.
        if seats.get(&id).is_some_and(|it| it.end(phase, since)) {
            seats.remove(&id);
            return true;
        }
    }
}

impl Seat {
    /// Returns true if this slot is reserved for the operator.
    pub(super) fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// Waits until the connection has to close.
    pub(super) async fn ended(&self) {
        self.state.ended.notified().await;
    }

    /// Begins to read a body. Never returns if the connection has lost its slot: it is
    /// about to be closed, and no request on it may begin.
    pub(super) async fn send(&self) {
        self.enter(Phase::Sending).await;
    }

    /// Begins to process a request. Never returns if the connection has lost its slot.
    pub(super) async fn work(&self) {
        self.enter(Phase::Busy).await;
    }

    /// Notes that a response is ready.
    pub(super) fn rest(&self) {
        self.change(|_| Some(Phase::Idle));
    }

    /// Notes that the client read some of a response.
    pub(super) fn is_taking(&self) {
        self.change(|phase| (phase == Phase::Idle).then_some(Phase::Idle));
    }

    /// Notes that the connection has one more large response.
    pub(super) fn hold(&self) {
        self.state.answers.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that a large response was sent or given up.
    pub(super) fn let_go(&self) {
        self.state.answers.fetch_sub(1, Ordering::AcqRel);
    }

    /// Begins to wait for changes of `scope`, if it does not yet. If there are too many
    /// listeners, one of them is asked to end.
    pub(super) fn listen(&self, scope: &str) {
        let (phase, _) = Phase::of(self.state.phase.load(Ordering::Acquire));
        if matches!(phase, Phase::Listening | Phase::Leaving) {
            return;
        }
        scope.clone_into(&mut self.state.scope());
        self.change(|_| Some(Phase::Listening));
        if self.seats.listening.load(Ordering::Acquire) > (self.seats.usual_max / 2).max(1) {
            self.seats.make_room_to_listen();
        }
    }

    /// Notes that a change arrived.
    pub(super) fn hear(&self) {
        self.change(|phase| (phase == Phase::Listening).then_some(Phase::Listening));
    }

    /// Waits until the stream is asked to end.
    pub(super) async fn leaves(&self) {
        while Phase::of(self.state.phase.load(Ordering::Acquire)).0 != Phase::Leaving {
            self.state.leaving.notified().await;
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
        let now = self.seats.now();
        let next = |it| match Phase::of(it).0 {
            Phase::Ended => None,
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
            self.seats.listening.fetch_add(1, Ordering::AcqRel);
        } else {
            self.seats.listening.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.change(|_| Some(Phase::Ended));
        let mut taken = self.seats.taken();
        let seats = if self.is_reserved { &mut taken.reserved } else { &mut taken.usual };
        seats.remove(&self.id);
    }
}

impl State {
    /// Closes the connection, if its phase has not changed since.
    fn end(&self, phase: Phase, since: u64) -> bool {
        let is_ended = self.exchange(phase, since, Phase::Ended, since);
        if is_ended {
            self.ended.notify_one();
        }
        is_ended
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
        [Self::Idle, Self::Sending, Self::Leaving, Self::Listening, Self::Busy, Self::Ended];

    fn at(self, micros: u64) -> u64 {
        micros << 3 | self as u64
    }

    fn of(state: u64) -> (Self, u64) {
        let phase = Self::ALL.into_iter().find(|it| *it as u64 == state & 7);
        (phase.unwrap_or(Self::Ended), state >> 3)
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
    async fn is_ended(seat: &Seat) -> bool {
        timeout(Duration::ZERO, seat.ended()).await.is_ok()
    }

    #[tokio::test]
    async fn the_longest_idle_gives_way_and_no_other() {
        let seats = Arc::new(Seats::new(3));
        let [first, second, third] = [0, 1, 2].map(|_| seats.take().unwrap());
        first.send().await;
        first.work().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        first.rest();
        let fourth = seats.take().unwrap();
        assert!(is_ended(&second).await && !is_ended(&first).await && !is_ended(&third).await);
        assert!(!fourth.is_reserved());
        // A client that reads a response is not idle.
        third.is_taking();
        let fifth = seats.take().unwrap();
        assert!(is_ended(&first).await && !is_ended(&third).await);
        drop((first, second, third, fourth, fifth));
        assert!(seats.taken().usual.is_empty());
    }

    #[tokio::test]
    async fn what_has_begun_is_finished_and_the_operator_has_seats_left() {
        let seats = Arc::new(Seats::new(2));
        let busy: Vec<_> = [0, 1].map(|_| seats.take().unwrap()).into();
        for seat in &busy {
            seat.work().await;
        }
        let reserved: Vec<_> = (0..RESERVED).map(|_| seats.take().unwrap()).collect();
        assert!(reserved.iter().all(Seat::is_reserved));
        for seat in &reserved[1..] {
            seat.work().await;
        }
        let one_more = seats.take().unwrap();
        assert!(is_ended(&reserved[0]).await && one_more.is_reserved());
        one_more.work().await;
        assert!(seats.take().is_none(), "all are busy");
        assert!(!is_ended(&busy[0]).await && !is_ended(&busy[1]).await);
    }

    #[tokio::test]
    async fn who_has_lost_its_seat_begins_nothing() {
        let seats = Arc::new(Seats::new(1));
        let lost = seats.take().unwrap();
        let _other = seats.take().unwrap();
        timeout(Duration::from_millis(10), lost.send()).await.unwrap_err();
        timeout(Duration::from_millis(10), lost.work()).await.unwrap_err();
        lost.rest();
        assert!(is_ended(&lost).await);
    }

    /// Returns the indices of the `slots` that are asked to end their stream.
    async fn leaving(seats: &[Seat]) -> Vec<usize> {
        let mut leaving = Vec::new();
        for (nth, seat) in seats.iter().enumerate() {
            if timeout(Duration::ZERO, seat.leaves()).await.is_ok() {
                leaving.push(nth);
            }
        }
        leaving
    }

    /// One session once held all connections of a server with its streams, and all other
    /// clients were rejected for as long as it liked.
    #[tokio::test]
    async fn streams_have_half_of_the_seats_and_the_largest_session_gives_way() {
        let seats = Arc::new(Seats::new(8));
        let all: Vec<_> = (0..6).map(|_| seats.take().unwrap()).collect();
        for (seat, scope) in all.iter().zip(["a", "b", "b", "b"]) {
            seat.work().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            seat.listen(scope);
        }
        assert!(leaving(&all).await.is_empty());
        // It received a change since.
        tokio::time::sleep(Duration::from_millis(1)).await;
        all[1].hear();
        all[1].listen("b");
        all[4].work().await;
        all[4].listen("a");
        assert_eq!(leaving(&all).await, [2]);
        // Listeners that have finished free their places.
        all[0].rest();
        all[5].work().await;
        all[5].listen("c");
        assert_eq!(leaving(&all).await, [2]);
        drop(all);
        assert_eq!(seats.listening.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn of_large_answers_only_those_are_cut_that_nobody_takes() {
        let seats = Arc::new(Seats::new(4));
        let [unread, read, small] = [0, 1, 2].map(|_| seats.take().unwrap());
        unread.hold();
        read.hold();
        tokio::time::sleep(UNREAD_GRACE + Duration::from_millis(1)).await;
        read.is_taking();
        seats.clear_an_answer();
        seats.clear_an_answer();
        assert!(is_ended(&unread).await);
        assert!(!is_ended(&read).await && !is_ended(&small).await);
    }

    #[tokio::test]
    async fn a_body_has_a_while_before_it_gives_way() {
        let seats = Arc::new(Seats::new(1));
        let sending = seats.take().unwrap();
        sending.send().await;
        let operator = seats.take().unwrap();
        assert!(operator.is_reserved() && !is_ended(&sending).await);
        let long_ago = Phase::Sending.at(0);
        seats.taken().usual[&sending.id].phase.store(long_ago, Ordering::SeqCst);
        let began = Instant::now().checked_sub(GRACE * 2).unwrap();
        let older = Arc::new(Seats { began, ..Seats::new(1) });
        std::mem::swap(&mut older.taken().usual, &mut seats.taken().usual);
        assert!(!older.take().unwrap().is_reserved());
        assert!(is_ended(&sending).await);
    }
}
