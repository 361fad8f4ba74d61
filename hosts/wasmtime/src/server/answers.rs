//! Limits the memory of large responses until they are sent.
//!
//! Invariant: all responses together take at most [`BYTES_MAX`], and those that wait for
//! memory at most [`WAITING_BYTES_MAX`], besides one buffer per connection.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    BUFFER_BYTES_MAX,
    connection_slots::{ConnectionSlot, ConnectionSlots},
    memory_budget::{MemoryBudget, MemoryPermit},
};

/// The memory limit of all responses, counting what each has beyond one buffer.
const BYTES_MAX: u32 = 64 << 20;
/// The memory limit of responses that wait for memory; further ones fail at once.
const WAITING_BYTES_MAX: u32 = 16 << 20;

/// The memory budget of responses.
#[derive(Debug)]
pub(super) struct Answers {
    budget: MemoryBudget,
    waiting: MemoryBudget,
}

/// A response body that holds its memory permit until it is sent.
struct UnsentBody {
    bytes: Bytes,
    slot: Arc<ConnectionSlot>,
    _permit: MemoryPermit,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self { budget: MemoryBudget::new(BYTES_MAX), waiting: MemoryBudget::new(WAITING_BYTES_MAX) }
    }

    /// Returns `bytes`, counted in the budget until they are sent on the connection of
    /// `slot`. Returns `None` if no memory becomes free. Meanwhile it closes the
    /// connections whose clients have not read from a large response for the longest.
    pub(super) async fn hold(
        &self,
        bytes: Bytes,
        slot: &Arc<ConnectionSlot>,
        slots: &ConnectionSlots,
    ) -> Option<Bytes> {
        let over = bytes.len().saturating_sub(BUFFER_BYTES_MAX);
        if over == 0 {
            return Some(bytes);
        }
        let permit = if let Some(permit) = self.budget.try_take(over) {
            permit
        } else {
            let _waiting = self.waiting.try_take(over)?;
            self.budget.take(over, || slots.close_unread_response()).await?
        };
        slot.add_large_response();
        Some(Bytes::from_owner(UnsentBody { bytes, slot: Arc::clone(slot), _permit: permit }))
    }
}

impl AsRef<[u8]> for UnsentBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for UnsentBody {
    fn drop(&mut self) {
        self.slot.remove_large_response();
    }
}
