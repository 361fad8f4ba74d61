//! Handles each message of the client.
//!
//! # Invariants
//!
//! - Every request is answered, unless the client cancels it. Notifications are not.
//! - All tool calls are carried out in the order they were sent. Other requests may
//!   overtake them.

use std::{
    io::BufRead,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use http::Method;

use super::{
    exchange::{self, Answer, Call, Failure},
    handshake::{Handshake, HandshakeChange, Handshakes},
    header,
    input::{Input, LINE_BYTES_MAX},
    listen,
    message::{self, Message, ParseError, ServerMessage},
    output::{Output, Ticket},
    stream,
    upstream::{Need, Upstream},
};
use crate::cli::{
    client::AnswerTime, event::Events, output::remark, problem::Problem, signals::no_thread,
};

/// The maximum length of a queue. When it is full, the client's next message waits.
const WAITING_MAX: usize = 16;
/// The number of requests processed in parallel, besides the ordered one.
const SIDE_LANES: usize = 4;
/// The time limit at shutdown for telling the server that the handshake ends.
const FAREWELL_TIME_MAX: Duration = Duration::from_millis(500);

/// The bridge between a client on standard input and output, and a server.
pub(super) struct Bridge {
    pub(super) upstream: Upstream,
    pub(super) output: Output,
    pub(super) handshakes: Handshakes,
    /// The number of open subscriptions.
    pub(super) listening: AtomicUsize,
}

/// A message to be processed.
struct Job {
    message: Arc<Message>,
    /// The ticket of a request; `None` for a notification.
    ticket: Option<Arc<Ticket>>,
}

/// The queues of messages to be processed.
pub(super) struct Lanes {
    ordered: SyncSender<Job>,
    side: SyncSender<Job>,
    /// The number of handshakes in progress. While there is one, nothing overtakes it.
    handshakes: Arc<AtomicUsize>,
}

impl Bridge {
    pub(super) fn new(upstream: Upstream, output: Output) -> Self {
        let handshakes = Handshakes::default();
        Self { upstream, output, handshakes, listening: AtomicUsize::new(0) }
    }

    /// Handles a line of input.
    pub(super) fn take(self: &Arc<Self>, input: Input, lanes: &Lanes) {
        let line = match input {
            Input::Line(line) => line,
            Input::TooLong(id) => {
                let text = format!(
                    "the line has more than {LINE_BYTES_MAX} bytes and was not read; distill what \
                     you send"
                );
                let line = message::error(id.as_ref(), message::INVALID_REQUEST, &text, None);
                return self.output.send(&line);
            }
        };
        let message = match Message::parse(line) {
            Ok(message) => Arc::new(message),
            Err(ParseError::Invalid(answer)) => return self.output.send(&answer),
            Err(ParseError::Response) => {
                return remark("a response came, to nothing that was asked");
            }
        };
        let is_listening = message.method == "subscriptions/listen";
        let ticket = message.id.clone().map(|id| self.output.begin(id, is_listening));
        match (&*message.method, ticket) {
            ("notifications/cancelled", None) => {
                if let Some(id) = message.request_id() {
                    self.output.cancel(&id);
                }
            }
            ("subscriptions/listen", Some(ticket)) => listen::begin(self, message, &ticket),
            (_, ticket) => lanes.take(Job { message, ticket }),
        }
    }

    /// Sends `message` and returns the answer. If the server has forgotten the handshake,
    /// it is repeated first.
    ///
    /// # Errors
    ///
    /// No answer arrived.
    pub(super) fn send(
        &self,
        message: &Message,
        time: AnswerTime,
        need: Need,
    ) -> Result<Answer, Failure> {
        let handshake = self.handshakes.of(message);
        let send = |handshake: Option<&Handshake>| {
            let call = Call {
                method: Method::POST,
                headers: header::of(message, handshake),
                body: &message.line,
                is_repeatable: message.is_repeatable(),
                time,
                need,
            };
            exchange::send(&self.upstream, &call)
        };
        let answer = send(handshake.as_ref())?;
        match handshake {
            Some(forgotten) if forgotten.is_forgotten(&answer) => {
                let handshake = self.handshakes.renewed(&self.upstream, &forgotten, need)?;
                send(Some(&handshake))
            }
            _ => Ok(answer),
        }
    }

    fn carry_out(self: &Arc<Self>, Job { message, ticket }: Job) {
        if ticket.as_ref().is_some_and(|it| !self.output.is_open(it)) {
            return;
        }
        let sent = self.send(&message, AnswerTime::After(message.wait()), Need::Request);
        if let Ok(answer) = &sent {
            match self.handshakes.record(&message, answer) {
                HandshakeChange::Unchanged => {}
                HandshakeChange::Complete => stream::begin(self),
                HandshakeChange::Replaced(ended) => self.end(&ended),
            }
        }
        let Some(ticket) = ticket else {
            return match sent {
                Ok(answer) if answer.status.is_success() => {}
                Ok(answer) => remark(&answer.rejection(&message.method)),
                Err(failure) => remark(failure.problem().message()),
            };
        };
        let answered = sent.map(Answer::stream);
        let line = match answered {
            Ok(Ok(body)) => match self.relay(body, &ticket) {
                Some(failure) => failure.line(&message, &ticket.id),
                None => return,
            },
            Ok(Err(answer)) => answer.line(&ticket.id),
            Err(failure) => failure.line(&message, &ticket.id),
        };
        self.output.answer(&ticket, &line);
    }

    /// Forwards the events for `ticket` up to its answer. Returns a failure if the stream
    /// ends without an answer.
    fn relay(&self, body: impl BufRead, ticket: &Arc<Ticket>) -> Option<Failure> {
        let mut events = Events::new(body);
        while let Ok(Some(event)) = events.next() {
            let line = event.data.as_bytes();
            match ServerMessage::parse(line) {
                Some(message) if message.answers(&ticket.id) => {
                    self.output.answer(ticket, line);
                    return None;
                }
                Some(_) => self.output.notify(ticket, line),
                None => {}
            }
        }
        let url = self.upstream.target().server.client.url().to_owned();
        Some(Failure::Unknown(exchange::cut_off(&url)))
    }

    /// Notifies the server that `handshake` has ended, if it can be reached.
    fn end(&self, handshake: &Handshake) {
        if handshake.session_id.is_none() {
            return;
        }
        let call = Call {
            method: Method::DELETE,
            headers: header::of_handshake(handshake),
            body: &[],
            is_repeatable: false,
            time: AnswerTime::USUAL,
            need: Need::Stream,
        };
        // An error does no harm: the server expires handshakes by itself.
        drop(exchange::send(&self.upstream, &call));
    }

    /// Ends subscriptions, the handshake and a server of this process, after waiting up to
    /// `time_max` for pending answers. Returns the number of requests without an answer.
    pub(super) fn finish(self: &Arc<Self>, time_max: Duration) -> usize {
        let unanswered = self.output.wait_until_answered(time_max);
        self.output.end_subscriptions();
        if let (Some(handshake), false) = (self.handshakes.current(), self.upstream.is_own()) {
            let (bridge, (done, ended)) = (Arc::clone(self), sync_channel(1));
            let farewell = move || {
                bridge.end(&handshake);
                let _ = done.send(());
            };
            if thread::Builder::new().spawn(farewell).is_ok() {
                let _ = ended.recv_timeout(FAREWELL_TIME_MAX);
            }
        }
        self.upstream.stop(time_max);
        unanswered
    }
}

impl Lanes {
    /// Starts the threads that process messages for `bridge`.
    ///
    /// # Errors
    ///
    /// The system provides no threads.
    pub(super) fn new(bridge: &Arc<Bridge>) -> Result<Self, Problem> {
        let handshakes = Arc::new(AtomicUsize::new(0));
        let (ordered, waiting) = sync_channel(WAITING_MAX);
        lane(bridge, &handshakes, &Arc::new(Mutex::new(waiting)))?;
        let (side, waiting) = sync_channel(WAITING_MAX);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..SIDE_LANES {
            lane(bridge, &handshakes, &waiting)?;
        }
        Ok(Self { ordered, side, handshakes })
    }

    /// Queues `job`.
    fn take(&self, job: Job) {
        if job.message.method == "initialize" {
            self.handshakes.fetch_add(1, Ordering::SeqCst);
        }
        let keeps_order = job.ticket.is_none()
            || matches!(
                &*job.message.method,
                "tools/call" | "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel"
            );
        let waits = self.handshakes.load(Ordering::SeqCst) > 0;
        let lane = if keeps_order || waits { &self.ordered } else { &self.side };
        // The receiving threads live as long as this process.
        drop(lane.send(job));
    }
}

/// Starts a thread that processes the jobs in `waiting`, one after the other.
fn lane(
    bridge: &Arc<Bridge>,
    handshakes: &Arc<AtomicUsize>,
    waiting: &Arc<Mutex<Receiver<Job>>>,
) -> Result<(), Problem> {
    let (bridge, handshakes) = (Arc::clone(bridge), Arc::clone(handshakes));
    let waiting = Arc::clone(waiting);
    let work = move || {
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(job) = next() {
            let is_handshake = job.message.method == "initialize";
            bridge.carry_out(job);
            if is_handshake {
                handshakes.fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
    thread::Builder::new().spawn(work).map(drop).map_err(|error| no_thread(&error))
}
