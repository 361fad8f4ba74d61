//! Bodies of requests, as they come: whole or not at all.
//!
//! Invariant: all bodies together take no more memory than [`BYTES_MAX`], beside one
//! buffer for each connection. A change that goes on although its client left is counted
//! by the engine.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::{
    BUFFER_BYTES_MAX,
    room::{Room, Taken},
    seats::Seats,
};

/// How much of a body that is too long is still read, so that a client that
/// sends all before it listens hears why it is refused.
const REFUSED_BYTES_MAX: usize = 32 << 20;
/// How much all bodies may take, of what each is over one buffer.
const BYTES_MAX: u32 = 64 << 20;

/// Room for bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    room: Room,
}

/// A body, and its room until it is dropped.
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    _room: Option<Taken>,
}

/// Why there is no body.
#[derive(Debug)]
pub(super) enum NoBody {
    /// It is longer than it may be.
    TooLong,
    /// It ended before it was whole.
    Broken,
    /// There is no room for it now.
    NoRoom,
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self { room: Room::new(BYTES_MAX) }
    }

    /// Reads a whole body of at most `bytes_max`. When there is no room, one that has
    /// been on its way for long gives way.
    pub(super) async fn read(
        &self,
        mut body: Incoming,
        bytes_max: usize,
        seats: &Seats,
    ) -> Result<Whole, NoBody> {
        let (mut first, mut more, mut room) = (Bytes::new(), Vec::new(), None);
        let mut bytes = 0_usize;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| NoBody::Broken)?.into_data() else { continue };
            bytes = bytes.saturating_add(data.len());
            if bytes > REFUSED_BYTES_MAX {
                return Err(NoBody::TooLong);
            }
            if bytes > bytes_max {
                (first, more, room) = (Bytes::new(), Vec::new(), None);
                continue;
            }
            let has = room.as_ref().map_or(0, Taken::num_permits);
            let wanted = bytes.saturating_sub(BUFFER_BYTES_MAX).saturating_sub(has);
            if wanted > 0 {
                let got = self.room.take(wanted, || seats.clear_a_body()).await;
                let got = got.ok_or(NoBody::NoRoom)?;
                match &mut room {
                    Some(room) => room.merge(got),
                    None => room = Some(got),
                }
            }
            if first.is_empty() {
                first = data; // Most bodies come in one piece.
            } else {
                if more.is_empty() {
                    more.extend_from_slice(&first);
                }
                more.extend_from_slice(&data);
            }
        }
        if bytes > bytes_max {
            return Err(NoBody::TooLong);
        }
        let bytes = if more.is_empty() { first } else { more.into() };
        Ok(Whole { bytes, _room: room })
    }
}
