//! Expected answers of compaction. They depend on the request alone, and nothing is stored.

use shared_context_core::{Code, CompactionCommand, CompactionReply, tokens::approximate};

/// Returns the expected answer to an operation of compaction.
pub(super) fn answer(it: &CompactionCommand) -> Result<CompactionReply, Code> {
    it.answer(&|text| Ok(approximate(text))).map_err(|error| error.code())
}
