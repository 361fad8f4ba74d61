//! The stream of notifications that belongs to a handshake (2025-11-25, Listening
//! for Messages from the Server).
//!
//! It is opened before the client's next message is sent, so that no notification is lost.
//! When it breaks it is opened again, and every subscribed resource is reported as changed.
//!
//! # Invariant
//!
//! The stream ends with its handshake.

use std::{io::BufReader, sync::Arc, thread};

use http::{Method, StatusCode};
use ureq::BodyReader;

use super::{
    bridge::Bridge,
    exchange::{self, Answer, Call, Failure},
    handshake::Handshake,
    header,
    listen::{LIST_CHANGED, Pause, UPDATED},
    message::notification,
    upstream::Need,
};
use crate::cli::{client::AnswerTime, event::Events, output::remark};

/// The outcome of an attempt to open the stream.
enum OpenOutcome {
    Stream(BufReader<BodyReader<'static>>),
    /// It may succeed later.
    NotNow,
    /// The server does not offer a stream.
    Never,
}

/// Opens the stream of the current handshake and follows it in a thread.
pub(super) fn begin(bridge: &Arc<Bridge>) {
    let Some(handshake) = bridge.handshakes.current() else { return };
    let first = open(bridge, handshake.era);
    let bridge = Arc::clone(bridge);
    let follow = move || follow(&bridge, handshake.era, first);
    if thread::Builder::new().spawn(follow).is_err() {
        remark("the system gives no threads: changes are not sent as they happen");
    }
}

fn follow(bridge: &Bridge, era: u64, first: OpenOutcome) {
    let mut opened = first;
    let mut pause = Pause::default();
    let mut is_first = true;
    loop {
        match opened {
            OpenOutcome::Stream(body) => {
                if !is_first && let Some(handshake) = current(bridge, era) {
                    report_missed_changes(bridge, &handshake);
                }
                pause = Pause::default();
                let mut events = Events::new(body);
                while let Ok(Some(event)) = events.next() {
                    if current(bridge, era).is_none() {
                        return;
                    }
                    // The first event of the stream is empty.
                    if !event.data.is_empty() {
                        bridge.output.send(event.data.as_bytes());
                    }
                }
            }
            OpenOutcome::NotNow => {}
            OpenOutcome::Never => return,
        }
        is_first = false;
        pause.wait();
        opened = open(bridge, era);
    }
}

/// Returns the client's handshake number `era`, if it is still the current one.
fn current(bridge: &Bridge, era: u64) -> Option<Handshake> {
    bridge.handshakes.current().filter(|it| it.era == era)
}

fn open(bridge: &Bridge, era: u64) -> OpenOutcome {
    let Some(mut handshake) = current(bridge, era).filter(|it| it.session_id.is_some()) else {
        return OpenOutcome::Never;
    };
    let mut answer = get(bridge, &handshake);
    if let Ok(refused) = &answer
        && handshake.is_forgotten(refused)
    {
        match bridge.handshakes.renewed(&bridge.upstream, &handshake, Need::Stream) {
            Ok(renewed) => handshake = renewed,
            Err(_) => return OpenOutcome::NotNow,
        }
        answer = get(bridge, &handshake);
    }
    match answer.map(|it| (it.status, it.is_temporary(), it.stream())) {
        Ok((_, _, Ok(body))) => OpenOutcome::Stream(body),
        Ok((StatusCode::METHOD_NOT_ALLOWED, ..)) => OpenOutcome::Never,
        Ok((_, false, Err(answer))) => {
            remark(&answer.rejection("GET /mcp"));
            OpenOutcome::Never
        }
        Ok((_, true, _)) | Err(_) => OpenOutcome::NotNow,
    }
}

fn get(bridge: &Bridge, handshake: &Handshake) -> Result<Answer, Failure> {
    let call = Call {
        method: Method::GET,
        headers: header::of_handshake(handshake),
        body: &[],
        is_repeatable: true,
        time: AnswerTime::Endless,
        need: Need::Stream,
    };
    exchange::send(&bridge.upstream, &call)
}

/// Reports a change of every subscribed resource.
fn report_missed_changes(bridge: &Bridge, handshake: &Handshake) {
    for uri in handshake.uris() {
        bridge.output.send(&notification(UPDATED, Some(uri), None));
    }
    bridge.output.send(&notification(LIST_CHANGED, None, None));
}
