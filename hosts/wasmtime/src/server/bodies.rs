//! Reads request bodies completely, within a memory budget.
//!
//! Invariant: all bodies together take at most [`BYTES_MAX`], besides one buffer per
//! connection. The engine counts a change that continues after its client has left.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::{
    BUFFER_BYTES_MAX,
    connection_slots::ConnectionSlots,
    memory_budget::{MemoryBudget, MemoryPermit},
};

/// The maximum number of bytes that are still read from a body that is too long. A client that
/// sends everything before it reads can so receive the error.
const READ_BYTES_MAX: usize = 32 << 20;
/// The memory limit of all bodies, counting what each has beyond one buffer.
const BYTES_MAX: u32 = 64 << 20;

/// The memory budget of request bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    budget: MemoryBudget,
}

/// A complete body. It holds its memory permit until it is dropped.
pub(super) struct WholeBody {
    pub(super) bytes: Bytes,
    _permit: Option<MemoryPermit>,
}

/// The reason that a body could not be read.
#[derive(Debug)]
pub(super) enum BodyError {
    /// It is too long.
    TooLong,
    /// It ended early.
    Broken,
    /// No memory became free for it.
    NoMemory,
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self { budget: MemoryBudget::new(BYTES_MAX) }
    }

    /// Reads a body of at most `bytes_max`. If there is no memory, the connection that has
    /// been sending its body for the longest is closed.
    pub(super) async fn read(
        &self,
        mut body: Incoming,
        bytes_max: usize,
        slots: &ConnectionSlots,
    ) -> Result<WholeBody, BodyError> {
        let (mut first, mut more, mut permit) = (Bytes::new(), Vec::new(), None);
        let mut bytes = 0_usize;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
            bytes = bytes.saturating_add(data.len());
            if bytes > READ_BYTES_MAX {
                return Err(BodyError::TooLong);
            }
            if bytes > bytes_max {
                (first, more, permit) = (Bytes::new(), Vec::new(), None);
                continue;
            }
            let taken = permit.as_ref().map_or(0, MemoryPermit::num_permits);
            let wanted = bytes.saturating_sub(BUFFER_BYTES_MAX).saturating_sub(taken);
            if wanted > 0 {
                let more_permit = self.budget.take(wanted, || slots.close_slowest_body()).await;
                let more_permit = more_permit.ok_or(BodyError::NoMemory)?;
                match &mut permit {
                    Some(permit) => permit.merge(more_permit),
                    None => permit = Some(more_permit),
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
            return Err(BodyError::TooLong);
        }
        let bytes = if more.is_empty() { first } else { more.into() };
        Ok(WholeBody { bytes, _permit: permit })
    }
}
