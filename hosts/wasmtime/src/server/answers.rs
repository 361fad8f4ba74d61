//! Limits the memory of large responses until they are sent.
//!
//! Invariant: all responses together take at most [`BYTES_MAX`], and those that wait for
//! memory at most [`WAITING_BYTES_MAX`], besides one buffer per connection.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    BUFFER_BYTES_MAX,
    room::{Room, Taken},
    seats::{Seat, Seats},
};

/// The most memory of all responses, counting what each has beyond one buffer.
const BYTES_MAX: u32 = 64 << 20;
/// The most memory of responses that wait for it; further ones fail at once.
const WAITING_BYTES_MAX: u32 = 16 << 20;

/// The memory budget of responses.
#[derive(Debug)]
pub(super) struct Answers {
    room: Room,
    waiting: Room,
}

/// A response body that holds its memory permit until it is sent.
struct Unsent {
    bytes: Bytes,
    seat: Arc<Seat>,
    _room: Taken,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self { room: Room::new(BYTES_MAX), waiting: Room::new(WAITING_BYTES_MAX) }
    }

    /// Returns `bytes`, counted in the budget until they are sent on the connection of
    /// `slot`. Returns `None` if no memory becomes free. Meanwhile it closes the
    /// connections whose clients have not read from a large response for the longest.
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
