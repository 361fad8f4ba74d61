//! Reads request bodies completely, within a memory budget.
//!
//! Invariant: all bodies together take at most [`BYTES_MAX`], besides one buffer per
//! connection. The engine counts a change that continues after its client has left.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::{
    BUFFER_BYTES_MAX,
    room::{Room, Taken},
    seats::Seats,
};

/// How much of a body that is too long is still read, so that a client that sends
/// everything before it reads gets the error.
const REFUSED_BYTES_MAX: usize = 32 << 20;
/// The most memory of all bodies, counting what each has beyond one buffer.
const BYTES_MAX: u32 = 64 << 20;

/// The memory budget of request bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    room: Room,
}

/// A complete body. It holds its memory permit until it is dropped.
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    _room: Option<Taken>,
}

/// Why a body could not be read.
#[derive(Debug)]
pub(super) enum NoBody {
    /// It is too long.
    TooLong,
    /// It ended early.
    Broken,
    /// No memory became free for it.
    NoRoom,
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self { room: Room::new(BYTES_MAX) }
    }

    /// Reads a body of at most `bytes_max`. If there is no memory, the connection that has
    /// been sending its body for the longest is closed.
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
