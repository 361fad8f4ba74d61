//! Markers: the names of sections, as in `§2.1` and `§4.services.auth` (spec 20.1).

use std::{cmp::Ordering, fmt};

use crate::Error;

/// The sign before a marker.
pub(crate) const SIGN: char = '§';
/// The longest marker, in bytes and without its sign.
const BYTES_MAX: usize = 128;
/// The longest marker with its sign, in bytes.
pub const MARKER_BYTES_MAX: usize = BYTES_MAX + SIGN.len_utf8();
/// The most parts after the level.
const PARTS_MAX: usize = 8;
/// The longest part, in bytes.
const PART_BYTES_MAX: usize = 64;
/// The most digits of a number.
const DIGITS_MAX: usize = 4;
/// The last part of a marker that covers every file of a folder.
const ANY: &str = "*";

/// The name of a section: a level from 1 to 4 and parts, which are numbers at levels 1 to 3 and names of
/// files at level 4.
///
/// # Invariant
///
/// Every `Marker` is valid: only [`Marker::parse`] creates one. It is kept without its sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker(String);

impl Marker {
    /// Parses a marker, with or without its sign.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bare = text.strip_prefix(SIGN).unwrap_or(text);
        if is_marker(bare) {
            return Ok(Self(bare.to_owned()));
        }
        let shown: String = text.chars().take(80).collect();
        Err(Error::malformed(
            [
                "there can be no section \"",
                &shown.escape_debug().to_string(),
                "\"; a marker is a level from 1 to 4 and 1 to 8 parts, as in §1.0, §2.1, §3.1.2 and \
                 §4.services.auth: numbers at levels 1 to 3, names at level 4",
            ]
            .concat(),
        ))
    }

    /// Returns the marker without its sign.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the level, from 1 to 4.
    pub fn level(&self) -> u8 {
        self.0.bytes().next().map_or(0, |it| it.wrapping_sub(b'0'))
    }

    /// Returns the parts after the level.
    pub(crate) fn parts(&self) -> &str {
        self.0.get(2..).unwrap_or_default()
    }

    /// Returns the section that this one is a part of: `§3.1` of `§3.1.2`. Files have none.
    pub fn parent(&self) -> Option<Self> {
        let (parent, _) = self.0.rsplit_once('.')?;
        (self.level() < 4 && parent.contains('.')).then(|| Self(parent.to_owned()))
    }

    /// Returns the folder that the marker covers, if it is that of a folder.
    pub(crate) fn folder(&self) -> Option<&str> {
        self.0.strip_suffix(".*")
    }

    /// Returns true if this is the marker of a folder that `other` is in.
    pub fn covers(&self, other: &Self) -> bool {
        let Some(folder) = self.folder() else { return false };
        other.0.strip_prefix(folder).is_some_and(|it| it.starts_with('.')) && self != other
    }

    /// Returns the marker at the start of `text`, which follows a sign, and its length in bytes.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let is_part = |it: char| it.is_ascii_alphanumeric() || "_-.*".contains(it);
        let is_number = |it: char| it.is_ascii_digit() || it == '.';
        let is_file = text.starts_with('4');
        let end = text.find(|it: char| if is_file { !is_part(it) } else { !is_number(it) });
        let found = text.get(..end.unwrap_or(text.len()))?.trim_end_matches(['.', '-', '_']);
        is_marker(found).then(|| Self(found.to_owned()))
    }
}

fn is_marker(text: &str) -> bool {
    let Some((level, parts)) = text.split_once('.') else { return false };
    let is_file = level == "4";
    let count = parts.split('.').count();
    let fits = |(nth, part): (usize, &str)| {
        if !is_file {
            let is_plain = part == "0" || !part.starts_with('0');
            return (1..=DIGITS_MAX).contains(&part.len())
                && part.bytes().all(|it| it.is_ascii_digit())
                && is_plain;
        }
        let is_allowed = |it: u8| it.is_ascii_alphanumeric() || b"_-".contains(&it);
        let is_any = part == ANY && nth > 0 && nth.saturating_add(1) == count;
        is_any
            || ((1..=PART_BYTES_MAX).contains(&part.len())
                && !part.starts_with('-')
                && part.bytes().all(is_allowed))
    };
    matches!(level, "1" | "2" | "3" | "4")
        && text.len() <= BYTES_MAX
        && count <= PARTS_MAX
        && parts.split('.').enumerate().all(fits)
}

impl Ord for Marker {
    /// Orders numbers by their value: `§3.2` comes before `§3.10`.
    fn cmp(&self, other: &Self) -> Ordering {
        let is_number = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
        let (mut own, mut others) = (self.0.split('.'), other.0.split('.'));
        loop {
            let order = match (own.next(), others.next()) {
                (None, None) => return Ordering::Equal,
                (Some(a), Some(b)) if is_number(a) && is_number(b) => {
                    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
                }
                // Numbers come before names, so that there is one order of all parts.
                (Some(a), Some(b)) if is_number(a) != is_number(b) => {
                    is_number(b).cmp(&is_number(a))
                }
                (a, b) => a.cmp(&b),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
    }
}

impl PartialOrd for Marker {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("§")?;
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_a_level_with_parts() {
        for good in ["§1.0", "§2.1", "§3.1.2", "§4.a.b", "2.1", "§4.services.auth.*", "§4.x-1_y"]
        {
            let marker = Marker::parse(good).unwrap();
            assert_eq!(marker.to_string().trim_start_matches('§'), good.trim_start_matches('§'));
        }
        let deep = ["§3", &".1".repeat(20)].concat();
        let long = ["§4.", &"a".repeat(65)].concat();
        for bad in [
            "",
            "§",
            "§0",
            "§0.1",
            "§5.1",
            "§3",
            "§4.",
            "§4.*",
            "§2.01",
            "§2.1.",
            "§2..1",
            "§2.a",
            "§4.a b",
            "§4.a.*.b",
            "§4.ä",
            "§2.12345",
            "§§2.1",
            &deep,
            &long,
        ] {
            assert!(Marker::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn markers_are_ordered_by_their_numbers() {
        let marker = |text: &str| Marker::parse(text).unwrap();
        assert!(marker("§3.2") < marker("§3.10"));
        assert!(marker("§3.1") < marker("§3.1.1"));
        assert!(marker("§3.9") < marker("§4.a"));
        assert!(marker("§4.9") < marker("§4.10"));
        assert!(marker("§4.10") < marker("§4.2a"));
        assert!(marker("§4.9") < marker("§4.2a"));
        assert_eq!(marker("§3.1.2").parent(), Some(marker("§3.1")));
        assert_eq!(marker("§3.1").parent(), None);
        assert_eq!(marker("§4.a.b").parent(), None);
        assert!(marker("§4.a.*").covers(&marker("§4.a.b.c")));
        assert!(!marker("§4.a.*").covers(&marker("§4.ab")));
    }

    #[test]
    fn a_marker_is_read_from_text() {
        let read = |text: &str| Marker::read(text).map(|it| it.to_string());
        assert_eq!(read("2.1-Architecture]").as_deref(), Some("§2.1"));
        assert_eq!(read("3.1. Then").as_deref(), Some("§3.1"));
        assert_eq!(read("4.services.auth, as").as_deref(), Some("§4.services.auth"));
        assert_eq!(read("X.Y"), None);
    }
}
