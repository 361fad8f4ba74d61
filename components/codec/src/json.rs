//! JSON serialization, parse errors, and the format of times.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shared_context_core::time::Timestamp;

/// Parse error with a message for the sender.
#[derive(Debug)]
pub(crate) struct ParseError(pub(crate) String);

/// Largest whole number that every JSON parser holds exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;

/// Returns the whole number that `number` is, as JSON Schema has it: `60.0` is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole and within the range"
)]
pub fn whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number);
    is_whole.then_some(number as u64)
}

/// Parses a whole number in JSON, which may be written as `60.0`.
pub fn parse_whole(json: &str) -> Option<u64> {
    serde_json::from_str(json).ok().or_else(|| whole(serde_json::from_str(json).ok()?))
}

/// Serializes `form` as JSON. Every form is plain data, so serialization cannot fail.
pub(crate) fn to_vec(form: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(form).unwrap_or_default()
}

/// An instant, in RFC 3339 and UTC. Milliseconds are written only if they are not zero, so that
/// whole seconds look as in spec 3.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time(pub Timestamp);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let ms = parse_time(text.as_bytes()).and_then(|ms| u64::try_from(ms).ok());
        ms.map(|ms| Self(Timestamp(ms))).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            de::Error::custom(format!(
                "{shown:?} is no time; write it as RFC 3339, for example 2026-02-20T14:30:00Z"
            ))
        })
    }
}

/// Parses an RFC 3339 (§5.6) instant into milliseconds since the epoch and truncates finer digits.
/// Returns `None` if it is invalid. (Jiff accepts many more formats, and its parser would be a
/// tenth of the component.)
fn parse_time(text: &[u8]) -> Option<i64> {
    fn number(digits: &[u8]) -> Option<i16> {
        let is_number = digits.iter().all(u8::is_ascii_digit);
        str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
    }
    fn small(digits: &[u8]) -> Option<i8> {
        number(digits).and_then(|it| i8::try_from(it).ok())
    }
    let (time, mut rest) = text.split_at_checked(19)?;
    let [
        y @ ..,
        b'-',
        m1,
        m2,
        b'-',
        d1,
        d2,
        b'T' | b't' | b' ',
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
    ] = time
    else {
        return None;
    };
    let at = jiff::civil::DateTime::new(
        number(y)?,
        small(&[*m1, *m2])?,
        small(&[*d1, *d2])?,
        small(&[*h1, *h2])?,
        small(&[*n1, *n2])?,
        small(&[*s1, *s2])?,
        0,
    );
    let mut ms = jiff::tz::Offset::UTC.to_timestamp(at.ok()?).ok()?.as_millisecond();
    if let [b'.', fraction @ ..] = rest {
        let digits = fraction.iter().take_while(|it| it.is_ascii_digit()).count();
        let (fraction, behind) = fraction.split_at_checked(digits)?;
        let [first, second, third] = [0, 1, 2].map(|nth| *fraction.get(nth).unwrap_or(&b'0'));
        ms += i64::from(number(&[first, second, third]).filter(|_| digits > 0)?);
        rest = behind;
    }
    let offset_minutes = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            let is_offset = hours < 24 && minutes < 60;
            let offset = hours * 60 + minutes;
            is_offset.then_some(if *sign == b'+' { offset } else { -offset })?
        }
        _ => return None,
    };
    Some(ms - i64::from(offset_minutes) * 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_of_rfc_3339_is_parsed() {
        let read = |text: &str| parse_time(text.as_bytes());
        for (text, shown) in [
            ("2026-02-20T14:30:00Z", "2026-02-20T14:30:00Z"),
            ("2026-02-20t14:30:00.120z", "2026-02-20T14:30:00.120Z"),
            ("2026-02-20 14:30:00.1209+05:30", "2026-02-20T09:00:00.120Z"),
            ("2026-02-20T00:30:00-01:00", "2026-02-20T01:30:00Z"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
            ("9999-12-30T20:59:59Z", "9999-12-30T20:59:59Z"),
        ] {
            let ms = read(text).and_then(|it| u64::try_from(it).ok());
            let ms = ms.unwrap_or_else(|| panic!("{text}"));
            assert_eq!(Time(Timestamp(ms)).to_string(), shown, "{text}");
            // Jiff parses the same instant.
            let known: jiff::Timestamp = text.parse().unwrap();
            assert_eq!(Some(known.as_millisecond()), read(text), "{text}");
        }
        for bad in [
            "",
            "tomorrow",
            "2026-02-20",
            "2026-02-20T14:30Z",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-02-20T24:30:00Z",
            "2026-02-20T14:30:00",
            "2026-02-20T14:30:00.Z",
            "2026-02-20T14:30:00+5:30",
            "2026-02-20T14:30:00+24:00",
            "2026-02-20T14:30:00Z ",
            "+026-02-20T14:30:00Z",
            "2026-02-20T-1:30:00Z",
            "２026-02-20T14:30:00Z",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn whole_seconds_look_as_in_the_specification() {
        let shown = |ms| Time(Timestamp(ms)).to_string();
        assert_eq!(shown(1_771_597_800_000), "2026-02-20T14:30:00Z");
        assert_eq!(shown(1_771_597_800_120), "2026-02-20T14:30:00.120Z");
        assert_eq!(shown(0), "1970-01-01T00:00:00Z");
        assert!(shown(u64::MAX).starts_with("9999-12-30T"), "{}", shown(u64::MAX));
    }
}
