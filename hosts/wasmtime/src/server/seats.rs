//! Seats: how many connections there are, and which gives way when there are too many.
//!
//! Not here: what is done on a connection (`connection`). Invariants:
//!
//! - A connection loses its seat only while nothing it asked for has begun.
//! - How long it sits idle does not depend on what it sends: bytes one by one keep
//!   nobody young.
//! - Who looks for a seat never waits for another to leave.

use std::{
    collections::HashMap,
    future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::Notify;

/// Seats beside the usual ones, for the operator while all of those are taken.
pub(super) const RESERVED: usize = 32;
/// How long a connection may send a body before it may be asked to give way.
const BODY_GRACE: Duration = Duration::from_secs(1);

/// How long the log is spared that all are busy, once it was told.
const TELL_AGAIN: Duration = Duration::from_mins(1);

/// All seats of a server.
#[derive(Debug)]
pub(super) struct Seats {
    began: Instant,
    usual_max: usize,
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
    /// Microseconds since the server began, and in the lowest two bits the [`Phase`].
    phase: AtomicU64,
    ended: Notify,
}

/// What a connection does; the first is the first to give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Nothing, or sending a head, or taking an answer that is ready.
    Idle,
    /// Sending a body.
    Sending,
    /// Waiting for what it asked for, or listening to a stream.
    Busy,
    /// Nothing any more: it lost its seat.
    Ended,
}

impl Seats {
    pub(super) fn new(usual_max: usize) -> Self {
        Self { began: Instant::now(), usual_max, taken: Mutex::default() }
    }

    /// A seat for one more connection. If all are taken, that of the connection which has
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
        let state = Arc::new(State { phase, ended: Notify::new() });
        let seats = if is_reserved { &mut taken.reserved } else { &mut taken.usual };
        seats.insert(id, Arc::clone(&state));
        Some(Seat { seats: Arc::clone(self), id, is_reserved, state })
    }

    /// Ends the connection that has been sending its body the longest, if it had time
    /// enough: so that others can send theirs.
    pub(super) fn clear_a_body(&self) {
        let grace = self.now().saturating_sub(micros(BODY_GRACE));
        let is_slow = |phase, since| phase == Phase::Sending && since < grace;
        clear(&mut self.taken().usual, is_slow);
    }

    /// Ends the first of `seats` to give way, if one may be asked to.
    fn clear_one(&self, seats: &mut HashMap<u64, Arc<State>>) -> bool {
        let grace = self.now().saturating_sub(micros(BODY_GRACE));
        let may_be_asked = |phase, since| match phase {
            Phase::Idle => true,
            Phase::Sending => since < grace,
            Phase::Busy | Phase::Ended => false,
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
fn clear(seats: &mut HashMap<u64, Arc<State>>, may_be_asked: impl Fn(Phase, u64) -> bool) -> bool {
    loop {
        let first = seats
            .iter()
            .map(|(id, state)| (Phase::of(state.phase.load(Ordering::Acquire)), *id))
            .filter(|((phase, since), _)| may_be_asked(*phase, *since))
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
    /// Whether it is one of those for the operator only.
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
        self.state.change(|_| Some(Phase::Idle.at(self.seats.now())));
    }

    /// Says that the client took some of an answer.
    pub(super) fn is_taking(&self) {
        let now = Phase::Idle.at(self.seats.now());
        self.state.change(|phase| (phase == Phase::Idle).then_some(now));
    }

    async fn enter(&self, phase: Phase) {
        let now = phase.at(self.seats.now());
        if !self.state.change(|_| Some(now)) {
            future::pending::<()>().await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        let seats = if self.is_reserved { &mut taken.reserved } else { &mut taken.usual };
        seats.remove(&self.id);
    }
}

impl State {
    /// Changes what it does to what `change` says; whether it did. Who has lost its seat
    /// does nothing any more.
    fn change(&self, change: impl Fn(Phase) -> Option<u64>) -> bool {
        let update = |it| {
            let (phase, _) = Phase::of(it);
            if phase == Phase::Ended { None } else { change(phase) }
        };
        self.phase.fetch_update(Ordering::AcqRel, Ordering::Acquire, update).is_ok()
    }

    /// Ends it, if it still does what it did.
    fn end(&self, phase: Phase, since: u64) -> bool {
        let (was, is) = (phase.at(since), Phase::Ended.at(since));
        let ended = self.phase.compare_exchange(was, is, Ordering::AcqRel, Ordering::Acquire);
        if ended.is_ok() {
            self.ended.notify_one();
        }
        ended.is_ok()
    }
}

impl Phase {
    fn at(self, micros: u64) -> u64 {
        let phase = match self {
            Self::Idle => 0,
            Self::Sending => 1,
            Self::Busy => 2,
            Self::Ended => 3,
        };
        micros << 2 | phase
    }

    fn of(state: u64) -> (Self, u64) {
        let phase = match state & 3 {
            0 => Self::Idle,
            1 => Self::Sending,
            2 => Self::Busy,
            _ => Self::Ended,
        };
        (phase, state >> 2)
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

    /// Whether the connection on `seat` was told to give way.
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

    #[tokio::test]
    async fn a_body_has_a_while_before_it_gives_way() {
        let seats = Arc::new(Seats::new(1));
        let sending = seats.take().unwrap();
        sending.send().await;
        let operator = seats.take().unwrap();
        assert!(operator.is_reserved() && !is_ended(&sending).await);
        let long_ago = Phase::Sending.at(0);
        seats.taken().usual[&sending.id].phase.store(long_ago, Ordering::SeqCst);
        let began = Instant::now().checked_sub(BODY_GRACE * 2).unwrap();
        let older = Arc::new(Seats { began, ..Seats::new(1) });
        std::mem::swap(&mut older.taken().usual, &mut seats.taken().usual);
        assert!(!older.take().unwrap().is_reserved());
        assert!(is_ended(&sending).await);
    }
}
