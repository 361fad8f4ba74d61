//! The ids of memories, and references to memories by their ids (decision 0050).
//!
//! A memory's id is a UUID of version 8: digits of a digest of its project and number, then the
//! number. So nothing is random, an id of another project is recognized, and no index is needed to find
//! a memory by its id. A decision has a second one that a person can say: its day and a number of that
//! day.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::{Error, time::Timestamp};

/// The milliseconds of a day.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// The largest number that an id holds.
const NUMBER_MAX: u64 = (1 << 48) - 1;
/// The bits of a UUID that the standard fixes, and what they are in version 8.
const FIXED: (u128, u128) = (0xF000_C000 << 48, 0x8000_8000 << 48);
/// The lengths of the parts of a UUID in hexadecimal digits.
const PARTS: [usize; 5] = [8, 4, 4, 4, 12];

/// The id of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryId([u8; 16]);

impl MemoryId {
    /// Returns the id of the memory `number` of the project that `origin` names.
    pub(crate) fn new(origin: &str, number: u64) -> Self {
        let digest: [u8; 32] = Sha256::digest(format!("{origin}/memory/{number}")).into();
        let number = number.min(NUMBER_MAX).to_be_bytes();
        let mut bytes = [0; 16];
        let parts = digest.iter().take(10).chain(number.iter().skip(2));
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
        // The version and the variant of the standard.
        let fixed = u128::from_be_bytes(bytes) & !FIXED.0 | FIXED.1;
        Self(fixed.to_be_bytes())
    }

    /// Returns the number in the id.
    pub fn number(self) -> u64 {
        let low = u128::from_be_bytes(self.0) & u128::from(NUMBER_MAX);
        u64::try_from(low).unwrap_or_default()
    }

    /// Returns the id as bytes.
    pub(crate) fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// Returns the id of these bytes.
    pub(crate) fn of_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let has_lengths = parts.iter().map(|it| it.len()).eq(PARTS);
        let number = u128::from_str_radix(&parts.concat(), 16).ok().filter(|_| has_lengths)?;
        text.bytes().all(|it| it != b'+').then(|| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", u128::from_be_bytes(self.0));
        let mut rest = digits.as_str();
        for (nth, length) in PARTS.into_iter().enumerate() {
            let Some((part, more)) = rest.split_at_checked(length) else { break };
            rest = more;
            write!(f, "{}{part}", if nth == 0 { "" } else { "-" })?;
        }
        Ok(())
    }
}

/// The second id of a decision: its day, and its number of that day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecisionId {
    /// The days from the epoch to the day on which the decision was added, in UTC.
    pub day: u32,
    /// Its number of that day, from 1.
    pub ordinal: u32,
}

impl DecisionId {
    /// Returns the day of an instant.
    pub(crate) fn day_of(at: Timestamp) -> u32 {
        u32::try_from(at.0 / DAY_MS).unwrap_or(u32::MAX)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("DEC-")?.split('-');
        let mut number = |digits: usize| -> Option<u32> {
            let part = parts.next().filter(|it| it.len() >= digits)?;
            part.bytes().all(|it| it.is_ascii_digit()).then(|| part.parse().ok())?
        };
        let (year, month, day, ordinal) = (number(4)?, number(2)?, number(2)?, number(3)?);
        let id = Self { day: day_number(year, month, day)?, ordinal };
        // A day such as 30 February has another name, and each id has one form.
        (id.to_string() == text).then_some(id)
    }
}

/// Returns the days from the epoch to a day of the Gregorian calendar.
fn day_number(year: u32, month: u32, day: u32) -> Option<u32> {
    // Years begin with March, so that the leap day is their last. A month of such a year begins
    // after (153 × month + 2) / 5 days, and an era of 400 years has 146,097 days.
    let (year, month) = if month > 2 {
        (year, month.checked_sub(3)?)
    } else {
        (year.checked_sub(1)?, month.checked_add(9)?)
    };
    let leap_days = (year / 4).checked_sub(year / 100)?.checked_add(year / 400)?;
    let of_year = month.checked_mul(153)?.checked_add(2)? / 5;
    let days = year.checked_mul(365)?.checked_add(leap_days)?.checked_add(of_year)?;
    // The epoch is 719,468 days after 1 March of the year 0.
    days.checked_add(day)?.checked_sub(719_469)
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = Timestamp(u64::from(self.day).saturating_mul(DAY_MS)).to_string();
        write!(f, "DEC-{}-{:03}", at.get(..10).unwrap_or_default(), self.ordinal)
    }
}

/// A reference to a memory by one of its ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryRef {
    /// A reference by id.
    Id(MemoryId),
    /// A reference by the second id of a decision.
    Decision(DecisionId),
}

impl MemoryRef {
    /// Parses an id.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let id = MemoryId::parse(text).map(Self::Id);
        id.or_else(|| DecisionId::parse(text).map(Self::Decision)).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            Error::malformed(format!(
                "{shown:?} is no id of a memory; send one that add_memories or search_memories \
                 returned, such as DEC-2026-03-02-001 or a UUID"
            ))
        })
    }
}

impl fmt::Display for MemoryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(it) => it.fmt(f),
            Self::Decision(it) => it.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_8_with_the_number() {
        for number in [1, 2, 255, 10_000, NUMBER_MAX] {
            let id = MemoryId::new("webshop/1", number);
            let text = id.to_string();
            assert_eq!(id.number(), number);
            assert_eq!((text.len(), &text[14..15]), (36, "8"));
            assert!("89ab".contains(&text[19..20]), "{text}");
            assert_eq!(MemoryRef::parse(&text).unwrap(), MemoryRef::Id(id));
            assert_eq!(MemoryRef::parse(&text.to_uppercase()).unwrap(), MemoryRef::Id(id));
            assert_ne!(id, MemoryId::new("webshop/2", number));
        }
    }

    #[test]
    fn a_decision_is_named_by_its_day() {
        let id = DecisionId { day: DecisionId::day_of(Timestamp(1_762_266_720_000)), ordinal: 3 };
        assert_eq!(id.to_string(), "DEC-2025-11-04-003");
        let read = MemoryRef::parse("DEC-2025-11-04-003").unwrap();
        assert_eq!(read, MemoryRef::Decision(id));
        for date in ["1970-01-01", "2000-02-29", "2024-12-31", "2100-03-01"] {
            let text = format!("DEC-{date}-001");
            assert_eq!(MemoryRef::parse(&text).unwrap().to_string(), text);
        }
        let large = DecisionId { ordinal: 1_234, ..id };
        assert_eq!(MemoryRef::parse(&large.to_string()).unwrap(), MemoryRef::Decision(large));
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in [
            "",
            "DEC-2025-11-04-3",
            "DEC-2025-13-04-003",
            "DEC-2025-02-29-001",
            "DEC-2025-00-10-001",
            "DEC-2025-11-04-0003",
            "DEC-1969-12-31-001",
            "DEC-2025-11-04-+03",
            "dec-2025-11-04-003",
            "DEC-ä-",
            "0123",
            "+1234567-0000-8000-8000-000000000001",
            "01234567-0000-8000-8000-00000000000g",
            "0123456-70000-8000-8000-000000000001",
        ] {
            assert!(MemoryRef::parse(text).is_err(), "{text}");
        }
    }
}
