//! Feedback: the context that a worker lacked, and that it did not use (spec 18.8).

use super::kinds::{Depth, Layer, Outcome};
use crate::{Error, tokens::Tokens};

/// The most feedbacks that are kept.
pub const FEEDBACKS_MAX: u32 = 500;
/// The most gaps of a feedback, and the most unused parts.
pub const GAPS_MAX: usize = 20;
/// The longest gap, in characters.
pub const GAP_CHARS_MAX: usize = 200;
/// The longest note, in characters.
pub const NOTE_CHARS_MAX: usize = 2_000;

/// The feedback of a worker on its packet at the end of its task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The context that it lacked.
    pub gaps: Vec<String>,
    /// The context that it did not use.
    pub unused: Vec<String>,
    /// The outcome of the task; `None` if the worker does not report it.
    pub outcome: Option<Outcome>,
    /// Anything else.
    pub note: Option<String>,
}

/// One use of a packet, as statistics count it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The type of the task.
    pub task_type: String,
    /// The depth of the packet.
    pub depth: Depth,
    /// The tokens of the packet in the form that its budget counts.
    pub tokens: Tokens,
    /// The layers that were read beyond those of the packet: each is a gap.
    pub layers_read: Vec<Layer>,
    /// Questions without an answer: each is a gap.
    pub questions: Vec<String>,
    /// The feedback.
    pub feedback: Feedback,
}

impl Feedback {
    /// Validates the feedback.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: too many gaps, an invalid gap, the same for
    /// what was unused, a note that is too long.
    pub fn check(&self) -> Result<(), Error> {
        for (member, texts) in [("gaps", &self.gaps), ("unused", &self.unused)] {
            if texts.len() > GAPS_MAX {
                return Err(Error::malformed(format!(
                    "{member} has {} elements, at most {GAPS_MAX} fit; name those that mattered",
                    texts.len()
                )));
            }
            for text in texts {
                let chars = text.chars().count();
                if text.trim().is_empty() || chars > GAP_CHARS_MAX {
                    return Err(Error::malformed(format!(
                        "{member} has a text of {chars} characters; each has 1 to \
                         {GAP_CHARS_MAX}: name one thing in a few words"
                    )));
                }
            }
        }
        let chars = self.note.as_deref().unwrap_or_default().chars().count();
        if chars > NOTE_CHARS_MAX {
            return Err(Error::malformed(format!(
                "note has {chars} characters, at most {NOTE_CHARS_MAX} fit; shorten it"
            )));
        }
        Ok(())
    }
}
