//! The projects in which the memories of a project got their numbers (decision 0053).
//!
//! The id of a memory depends on the project in which it was added, so that an import keeps it. New
//! memories of the imported project have ids of their own: the same number means another memory there.

use super::id::MemoryId;
use crate::Error;

/// The most origins that a project has.
pub const ORIGINS_MAX: usize = 1_000;
/// The longest origin, in bytes.
const ORIGIN_BYTES_MAX: usize = 256;

/// The origins of memories: each with the number of its first memory, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(Vec<(u64, String)>);

impl Origins {
    /// Creates a list of origins.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if there are too many, one is too long, or they are not in their order.
    pub fn new(all: Vec<(u64, String)>) -> Result<Self, Error> {
        let is_valid = |text: &str| {
            (1..=ORIGIN_BYTES_MAX).contains(&text.len())
                && text.bytes().all(|it| it.is_ascii_graphic())
        };
        let firsts = all.iter().map(|it| it.0);
        let is_sorted = firsts.clone().zip(firsts.skip(1)).all(|(a, b)| a < b);
        let begins = all.first().is_none_or(|it| it.0 == 1);
        if all.len() > ORIGINS_MAX || !is_sorted || !begins || !all.iter().all(|it| is_valid(&it.1))
        {
            return Err(Error::invalid_document(
                "origins must be at most 1000, each of one word, in the order of their first \
                 memories, the first with memory 1",
            ));
        }
        Ok(Self(all))
    }

    /// Adds the project itself, where its memories begin with `first`.
    pub(crate) fn with(mut self, first: u64, origin: String) -> Self {
        self.0.push((first, origin));
        self
    }

    /// Returns those that memories up to `last` have.
    pub(crate) fn until(&self, last: u64) -> Self {
        Self(self.0.iter().filter(|it| it.0 <= last).cloned().collect())
    }

    /// Returns the origins, each with the number of its first memory.
    pub fn all(&self) -> &[(u64, String)] {
        &self.0
    }

    /// Returns the id of the memory `number`.
    pub fn id(&self, number: u64) -> MemoryId {
        let own = self.0.iter().rev().find(|it| it.0 <= number);
        MemoryId::new(own.map_or("", |it| &it.1), number)
    }

    /// Returns the number in an id; `None` if it is the id of a memory of another project.
    pub fn number(&self, id: MemoryId) -> Option<u64> {
        Some(id.number()).filter(|it| self.id(*it) == id)
    }
}
