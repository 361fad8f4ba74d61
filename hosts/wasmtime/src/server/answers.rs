//! Large answers that are not wholly sent.
//!
//! Invariant: all answers together take no more memory than [`BYTES_MAX`], and those that
//! wait for room no more than [`WAITING_BYTES_MAX`], beside one buffer for each connection.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    BUFFER_BYTES_MAX,
    room::{Room, Taken},
    seats::{Seat, Seats},
};

/// How much all answers may take, of what each is over one buffer.
const BYTES_MAX: u32 = 64 << 20;
/// How much may wait for that; what finds no room to wait is given up at once.
const WAITING_BYTES_MAX: u32 = 16 << 20;

/// Room for answers.
#[derive(Debug)]
pub(super) struct Answers {
    room: Room,
    waiting: Room,
}

/// An answer that counts until it is sent.
struct Unsent {
    bytes: Bytes,
    seat: Arc<Seat>,
    _room: Taken,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self { room: Room::new(BYTES_MAX), waiting: Room::new(WAITING_BYTES_MAX) }
    }

    /// The same `bytes`, counted until the last of them is sent over the connection on
    /// `seat`; `None` when there is no room. While there is none, the connection gives way
    /// whose client has taken nothing of a large answer the longest.
    pub(super) async fn hold(
        &self,
        bytes: Bytes,
        seat: &Arc<Seat>,
        seats: &Seats,
    ) -> Option<Bytes> {
        let over = bytes.len().saturating_sub(BUFFER_BYTES_MAX);
        if over == 0 {
            return Some(bytes);
        }
        let room = if let Some(room) = self.room.try_take(over) {
            room
        } else {
            let _waiting = self.waiting.try_take(over)?;
            self.room.take(over, || seats.clear_an_answer()).await?
        };
        seat.hold();
        Some(Bytes::from_owner(Unsent { bytes, seat: Arc::clone(seat), _room: room }))
    }
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.seat.let_go();
    }
}
