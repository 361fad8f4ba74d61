//! Writes lines to the client and tracks pending requests.
//!
//! # Invariants
//!
//! - Lines are written whole, one at a time, and contain no line breaks.
//! - After a request is answered or cancelled, no line is written for it.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc::Sender},
    time::Duration,
};

use super::{
    End,
    message::{Id, listen_result},
};

/// A pending request.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) id: Id,
    /// True for a subscription, which lasts until it is cancelled.
    pub(super) is_listening: bool,
}

/// The output to the client.
pub(super) struct Output {
    state: Mutex<State>,
    /// Notified when a request is answered or cancelled.
    closed: Condvar,
    /// Receives the end when the client closes the pipe.
    over: Sender<End>,
}

struct State {
    out: Box<dyn Write + Send>,
    open: Vec<Arc<Ticket>>,
}

impl Output {
    /// Creates the output that writes to `out`.
    pub(super) fn new(out: impl Write + Send + 'static, over: Sender<End>) -> Self {
        let state = State { out: Box::new(out), open: Vec::new() };
        Self { state: Mutex::new(state), closed: Condvar::new(), over }
    }

    /// Adds the request `id` to the pending ones.
    pub(super) fn begin(&self, id: Id, is_listening: bool) -> Arc<Ticket> {
        let ticket = Arc::new(Ticket { id, is_listening });
        self.lock().open.push(Arc::clone(&ticket));
        ticket
    }

    /// Writes `line`, which belongs to no request.
    pub(super) fn send(&self, line: &[u8]) {
        self.write(&mut self.lock(), line);
    }

    /// Writes `line` for a request that stays pending.
    pub(super) fn notify(&self, ticket: &Arc<Ticket>, line: &[u8]) {
        let mut state = self.lock();
        if state.is_open(ticket) {
            self.write(&mut state, line);
        }
    }

    /// Writes `line`, which answers a request.
    pub(super) fn answer(&self, ticket: &Arc<Ticket>, line: &[u8]) {
        let mut state = self.lock();
        if state.is_open(ticket) {
            self.write(&mut state, line);
            state.open.retain(|it| !Arc::ptr_eq(it, ticket));
            self.closed.notify_all();
        }
    }

    /// Cancels the request `id`, so that it is not answered.
    pub(super) fn cancel(&self, id: &Id) {
        self.lock().open.retain(|it| it.id != *id);
        self.closed.notify_all();
    }

    /// Returns true if the request is pending.
    pub(super) fn is_open(&self, ticket: &Arc<Ticket>) -> bool {
        self.lock().is_open(ticket)
    }

    /// Returns the number of requests without an answer, after waiting up to `time_max` for the
    /// answers of all but the subscriptions.
    pub(super) fn wait_until_answered(&self, time_max: Duration) -> usize {
        let waiting = |state: &State| state.open.iter().filter(|it| !it.is_listening).count();
        let is_waiting = |state: &mut State| waiting(state) > 0;
        drop(self.closed.wait_timeout_while(self.lock(), time_max, is_waiting));
        waiting(&self.lock())
    }

    /// Ends the subscriptions, as a stopping server does (2026-07-28,
    /// `SubscriptionsListenResult`).
    pub(super) fn end_subscriptions(&self) {
        let mut state = self.lock();
        let open = mem::take(&mut state.open);
        let (listening, open): (Vec<_>, _) = open.into_iter().partition(|it| it.is_listening);
        state.open = open;
        for ticket in listening {
            self.write(&mut state, &listen_result(&ticket.id));
        }
    }

    fn write(&self, state: &mut State, line: &[u8]) {
        // JSON has line breaks only between tokens, where a space is equivalent.
        let space = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
        let mut line: Vec<u8> = line.trim_ascii().iter().map(space).collect();
        line.push(b'\n');
        let written = state.out.write_all(&line).and_then(|()| state.out.flush());
        if written.is_err() {
            state.out = Box::new(io::sink());
            // The receiver is gone if the program is already ending.
            drop(self.over.send(End::OutputClosed));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_open(&self, ticket: &Arc<Ticket>) -> bool {
        self.open.iter().any(|it| Arc::ptr_eq(it, ticket))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use serde_json::json;

    use super::{super::tests::Lines, *};

    fn id(number: u64) -> Id {
        Id::new(&json!(number)).unwrap()
    }

    fn output() -> (Output, Receiver<String>) {
        let (lines, written) = Lines::new();
        (Output::new(lines, channel().0), written)
    }

    fn lines(written: &Receiver<String>) -> Vec<String> {
        written.try_iter().collect()
    }

    #[test]
    fn a_message_is_one_line() {
        let (output, written) = output();
        output.send(b"{\n  \"a\": 1\r\n}\n");
        output.send(b"{}");
        assert_eq!(lines(&written), ["{   \"a\": 1  }", "{}"]);
    }

    #[test]
    fn a_request_is_answered_once() {
        let (output, written) = output();
        let ticket = output.begin(id(1), false);
        output.notify(&ticket, b"a");
        output.answer(&ticket, b"b");
        output.answer(&ticket, b"c");
        output.notify(&ticket, b"d");
        assert_eq!(lines(&written), ["a", "b"]);
        // The id may be used again.
        output.answer(&output.begin(id(1), false), b"e");
        assert_eq!(lines(&written), ["e"]);
    }

    #[test]
    fn nothing_is_said_for_what_was_cancelled() {
        let (output, written) = output();
        let [one, other] = [1, 2].map(|it| output.begin(id(it), true));
        output.cancel(&id(1));
        output.cancel(&id(9));
        output.notify(&one, b"a");
        output.answer(&one, b"b");
        output.notify(&other, b"c");
        assert_eq!(lines(&written), ["c"]);
        assert!(!output.is_open(&one) && output.is_open(&other));
    }

    #[test]
    fn who_ends_waits_for_answers_and_not_for_subscriptions() {
        let (output, written) = output();
        output.begin(id(1), true);
        output.wait_until_answered(Duration::MAX);
        let ticket = output.begin(id(2), false);
        output.wait_until_answered(Duration::ZERO);
        assert!(output.is_open(&ticket));
        std::thread::scope(|scope| {
            scope.spawn(|| output.answer(&ticket, b"a"));
            output.wait_until_answered(Duration::MAX);
        });
        output.end_subscriptions();
        output.end_subscriptions();
        let [answer, end] = &lines(&written)[..] else { panic!("not two lines") };
        assert_eq!(answer, "a");
        assert!(end.contains("\"io.modelcontextprotocol/subscriptionId\":1"), "{end}");
    }

    #[test]
    fn nobody_who_reads_is_a_reason_to_end() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (over, ended) = channel();
        let output = Output::new(Closed, over);
        output.send(b"a");
        output.send(b"b");
        assert!(matches!(ended.try_iter().collect::<Vec<_>>()[..], [End::OutputClosed]));
    }
}
