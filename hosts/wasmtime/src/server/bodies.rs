//! Bodies of requests, as they come: whole or not at all.
//!
//! Invariant: all bodies together take no more memory than [`BYTES_MAX`], beside one
//! buffer for each connection. A change that goes on although its client left is counted
//! by the engine.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{BUFFER_BYTES_MAX, seats::Seats};

/// How much of a body that is too long is still read, so that a client that
/// sends all before it listens hears why it is refused.
const REFUSED_BYTES_MAX: usize = 32 << 20;
/// How much all bodies may take, of what each is over one buffer.
const BYTES_MAX: usize = 64 << 20;
/// How long a body waits for room.
const ROOM_TIME_MAX: Duration = Duration::from_secs(1);

/// Room for bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    room: Arc<Semaphore>,
}

/// A body, and its room until it is dropped.
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
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
        Self { room: Arc::new(Semaphore::new(BYTES_MAX)) }
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
            let has = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let wanted = bytes.saturating_sub(BUFFER_BYTES_MAX).saturating_sub(has);
            if wanted > 0 {
                let got = self.take(wanted, seats).await?;
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

    async fn take(&self, wanted: usize, seats: &Seats) -> Result<OwnedSemaphorePermit, NoBody> {
        let wanted = u32::try_from(wanted).map_err(|_| NoBody::NoRoom)?;
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(wanted) {
            return Ok(room);
        }
        seats.clear_a_body();
        let room = Arc::clone(&self.room).acquire_many_owned(wanted);
        match timeout(ROOM_TIME_MAX, room).await {
            Ok(Ok(room)) => Ok(room),
            _ => Err(NoBody::NoRoom),
        }
    }
}
