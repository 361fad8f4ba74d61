//! The rank of found memories (spec 19.3, source 002): title 15 %, content 25 %, importance 25 %,
//! recency 20 %, use 15 %.

use super::{id::DAY_MS, rows::Use};
use crate::{text::Score, time::Timestamp};

/// The parts of a rank, each in units of 1/10,000 of the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rank {
    /// The similarity of the title to the query: at most 1,500.
    pub title: u16,
    /// The similarity of the content to the query: at most 2,500.
    pub content: u16,
    /// The importance: at most 2,500.
    pub importance: u16,
    /// The recency: at most 2,000; half of it after 30 days.
    pub recency: u16,
    /// The count of reads: at most 1,500, from ten reads on.
    pub access: u16,
}

/// The days after which recency counts half.
const HALF_DAYS: u64 = 30;
/// The number of reads that counts whole.
const READS_MAX: u32 = 10;

impl Rank {
    /// Returns the rank of a memory.
    pub(crate) fn new(
        (title, content): (Score, Score),
        importance: u8,
        at: Timestamp,
        uses: Use,
        now: Timestamp,
    ) -> Self {
        let part = |Score(score): Score, percent: u32| small(u32::from(score) * percent / 100);
        let days = now.0.saturating_sub(at.0) / DAY_MS;
        let recency = (2_000 * HALF_DAYS).checked_div(days.saturating_add(HALF_DAYS));
        Self {
            title: part(title, 15),
            content: part(content, 25),
            importance: small(u32::from(importance) * 250),
            recency: recency.and_then(|it| u16::try_from(it).ok()).unwrap_or_default(),
            access: small(uses.count.min(READS_MAX) * 150),
        }
    }

    /// Returns the sum of the parts.
    pub fn total(&self) -> u16 {
        let parts = [self.title, self.content, self.importance, self.recency, self.access];
        parts.into_iter().fold(0, u16::saturating_add)
    }
}

fn small(it: u32) -> u16 {
    u16::try_from(it).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_that_of_the_source() {
        let uses = |count| Use { count, last: Timestamp(0) };
        let now = Timestamp(90 * DAY_MS);
        let best = Rank::new((Score::ONE, Score::ONE), 10, now, uses(10), now);
        assert_eq!((best.total(), best.title, best.content), (10_000, 1_500, 2_500));
        let month = Rank::new((Score(5_000), Score(0)), 5, Timestamp(60 * DAY_MS), uses(3), now);
        assert_eq!(
            month,
            Rank { title: 750, content: 0, importance: 1_250, recency: 1_000, access: 450 }
        );
        let old = Rank::new((Score(0), Score(1)), 1, Timestamp(0), uses(99), now);
        assert_eq!((old.recency, old.access, old.content), (500, 1_500, 0));
        let later = Rank::new((Score(0), Score(0)), 1, Timestamp(now.0 + 1), uses(0), now);
        assert_eq!(later.recency, 2_000, "a clock that went back makes nothing old");
    }

    #[test]
    fn only_whole_days_count() {
        let at =
            |ms| Rank::new((Score(0), Score(0)), 1, Timestamp(0), Use::default(), Timestamp(ms));
        assert_eq!(at(DAY_MS - 1).recency, 2_000);
        assert_eq!(at(DAY_MS).recency, 1_935);
    }
}
