//! Seats: how many connections there are, and which gives way when there are too many.
//!
//! Not here: what is done on a connection (`connection`). Invariants:
//!
//! - A connection loses its seat only while nothing it asked for has begun, or after it
//!   was asked to end its stream.
//! - How long it sits idle does not depend on what it sends: bytes one by one keep
//!   nobody young.
//! - Who looks for a seat never waits for another to leave.
//! - Those who wait for changes have half of the seats: for one more, that stream is asked
//!   to end which has had nothing to tell the longest, of the session with most of them.

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

/// Seats beside the usual ones, for the operator while all of those are taken.
pub(super) const RESERVED: usize = 32;
/// How long a connection may send a body, or end its stream, before it may be closed.
const GRACE: Duration = Duration::from_secs(1);
/// How long a client may take nothing of a large answer while others need the room.
const UNREAD_GRACE: Duration = Duration::from_millis(500);

/// How long the log is spared that all are busy, once it was told.
const TELL_AGAIN: Duration = Duration::from_mins(1);

/// All seats of a server.
#[derive(Debug)]
pub(super) struct Seats {
    began: Instant,
    usual_max: usize,
    /// How many of the usual seats wait for changes.
    listening: AtomicUsize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// When the log was told last that all are busy.
    told: Option<Instant>,
    usual: HashMap<u64, Arc<State>>,
    reserved: HashMap<u64, Arc<State>>,
}

/// A connection's seat, until it is dropped.
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
    /// How many large answers it has that are not wholly sent.
    answers: AtomicUsize,
}

/// What a connection does; the first is the first to give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Nothing, or sending a head, or taking an answer that is ready.
    Idle,
    /// Sending a body.
    Sending,
    /// Ending its stream, as it was asked to.
    Leaving,
    /// Waiting for changes.
    Listening,
    /// Waiting for what it asked for.
    Busy,
    /// Nothing any more: it lost its seat.
    Ended,
}

impl Seats {
    pub(super) fn new(usual_max: usize) -> Self {
        let (listening, taken) = (AtomicUsize::new(0), Mutex::default());
        Self { began: Instant::now(), usual_max, listening, taken }
    }

    /// Returns a seat for one more connection. If all are taken, that of the connection which has
    /// been idle the longest; if all are busy, one of those reserved for the operator.
    /// `None` when there is none either.
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

    /// Ends the connection that has been sending its body the longest, if it had time
    /// enough: so that others can send theirs.
    pub(super) fn clear_a_body(&self) {
        let grace = self.now().saturating_sub(micros(GRACE));
        let is_slow = |_: &State, phase, since| phase == Phase::Sending && since < grace;
        clear(&mut self.taken().usual, is_slow);
    }

    /// Ends the connection that has taken nothing of a large answer for the longest, if
    /// it had time enough.
    pub(super) fn clear_an_answer(&self) {
        let grace = self.now().saturating_sub(micros(UNREAD_GRACE));
        let is_slow = |state: &State, phase, since| {
            phase == Phase::Idle && since < grace && state.answers.load(Ordering::Acquire) > 0
        };
        clear(&mut self.taken().usual, is_slow);
    }

    /// Asks one of those who wait for changes to end its stream.
    fn make_room_to_listen(&self) {
        /// Those who listen to one bucket: how many, and the one that heard nothing the
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

    /// Ends the first of `seats` to give way, if one may be asked to.
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

/// Ends that of `seats` which comes first of those that `may_be_asked`.
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
        // It may have begun something just now.
        if seats.get(&id).is_some_and(|it| it.end(phase, since)) {
            seats.remove(&id);
            return true;
        }
    }
}

impl Seat {
    /// Returns whether it is one of those for the operator only.
    pub(super) fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// Ends when the connection has to give way.
    pub(super) async fn ended(&self) {
        self.state.ended.notified().await;
    }

    /// Begins to take a body. Waits for good when the connection has lost its seat: it
    /// is about to be closed, and nothing it asks for may begin.
    pub(super) async fn send(&self) {
        self.enter(Phase::Sending).await;
    }

    /// Begins what was asked for; waits as [`Seat::send`] does.
    pub(super) async fn work(&self) {
        self.enter(Phase::Busy).await;
    }

    /// Says that an answer is ready.
    pub(super) fn rest(&self) {
        self.change(|_| Some(Phase::Idle));
    }

    /// Says that the client took some of an answer.
    pub(super) fn is_taking(&self) {
        self.change(|phase| (phase == Phase::Idle).then_some(Phase::Idle));
    }

    /// Says that it has a large answer.
    pub(super) fn hold(&self) {
        self.state.answers.fetch_add(1, Ordering::AcqRel);
    }

    /// Says that a large answer is wholly sent, or given up.
    pub(super) fn let_go(&self) {
        self.state.answers.fetch_sub(1, Ordering::AcqRel);
    }

    /// Begins to wait for changes of `scope`, if it does not yet. If too many do, one of
    /// them is asked to end.
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

    /// Says that what it waited for came.
    pub(super) fn hear(&self) {
        self.change(|phase| (phase == Phase::Listening).then_some(Phase::Listening));
    }

    /// Ends when its stream is to end.
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

    /// Changes what it does, from now on, to what `change` says; whether it did. Who has
    /// lost its seat does nothing any more.
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

    /// Counts it among those who wait for changes, or no longer.
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
    /// Ends it, if it still does what it did.
    fn end(&self, phase: Phase, since: u64) -> bool {
        let is_ended = self.exchange(phase, since, Phase::Ended, since);
        if is_ended {
            self.ended.notify_one();
        }
        is_ended
    }

    /// Has it do `next` since `now`, if it still does what it did.
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

    /// Returns whether the connection on `seat` was told to give way.
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
        // Taking an answer is not idling.
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

    /// Returns how many of `seats` are asked to end their stream.
    async fn leaving(seats: &[Seat]) -> Vec<usize> {
        let mut leaving = Vec::new();
        for (nth, seat) in seats.iter().enumerate() {
            if timeout(Duration::ZERO, seat.leaves()).await.is_ok() {
                leaving.push(nth);
            }
        }
        leaving
    }

    /// One session held all connections of a server with its streams, and everyone else
    /// was told to come back, for as long as it liked.
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
        // It was told something since.
        tokio::time::sleep(Duration::from_millis(1)).await;
        all[1].hear();
        all[1].listen("b");
        all[4].work().await;
        all[4].listen("a");
        assert_eq!(leaving(&all).await, [2]);
        // Those who are done leave room.
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
