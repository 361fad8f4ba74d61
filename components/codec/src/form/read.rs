//! Parser of forms: one copy of the code for all of them.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
};

use super::{Form, List, Optional, Target};
use crate::json::{ParseError, Time, whole};

/// Parses `bytes` as one form.
pub(crate) fn parse<F: Form + Default>(bytes: &[u8]) -> Result<F, ParseError> {
    parse_or_null(bytes, |_| false)
}

/// Parses `bytes` as one form. Other members may be null if `may_be_null` accepts their names.
pub(crate) fn parse_or_null<F: Form + Default>(
    bytes: &[u8],
    may_be_null: fn(&str) -> bool,
) -> Result<F, ParseError> {
    let mut form = F::default();
    fill(&mut form, bytes, may_be_null)?;
    Ok(form)
}

fn fill(
    form: &mut dyn Form,
    bytes: &[u8],
    may_be_null: fn(&str) -> bool,
) -> Result<(), ParseError> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut location = Location::default();
    let read = read_form(form, may_be_null, &mut location, &mut json);
    read.map_err(|err| ParseError(format!("{location}{err}")))?;
    json.end().map_err(|err| ParseError(err.to_string()))
}

/// Parses the text of the member `name` of the object `bytes`, and ignores everything after it.
pub(crate) fn text(bytes: &[u8], name: &'static str) -> Result<String, ParseError> {
    let (mut found, mut location) = (None, Location::default());
    let mut json = serde_json::Deserializer::from_slice(bytes);
    // Once the member is found, an error in the rest is ignored.
    let read = json.deserialize_map(ReadOne(name, &mut found, &mut location));
    found.map_or_else(|| read.map_err(|err| ParseError(format!("{location}{err}"))), Ok)
}

/// Parses one value.
fn read<'de, D: Deserializer<'de>>(
    to: Target<'_>,
    location: &mut Location,
    from: D,
) -> Result<(), D::Error> {
    match to {
        Target::Text(it) => *it = String::deserialize(from)?,
        Target::Number(it) => *it = from.deserialize_u64(ReadWhole("u64", u64::MAX))?,
        Target::Small(it) => {
            let number = from.deserialize_u64(ReadWhole("u32", u32::MAX.into()))?;
            *it = u32::try_from(number).unwrap_or_default();
        }
        Target::Real(it) => *it = f64::deserialize(from)?,
        Target::Flag(it) => *it = bool::deserialize(from)?,
        Target::Instant(it) => *it = Time::deserialize(from)?,
        Target::Raw(it) => *it = Box::deserialize(from)?,
        Target::RawOrAbsent(it) => *it = Some(Box::deserialize(from)?),
        Target::TextMap(it) => from.deserialize_map(ReadTextMap(it, location))?,
        Target::Form(it) => read_form(it, |_| false, location, from)?,
        Target::List(it) => from.deserialize_seq(ReadList(it, location))?,
        Target::Optional(it) => from.deserialize_option(ReadOptional(it, location))?,
    }
    Ok(())
}

/// Parses a whole number up to a largest one; `60.0` is one too, as in JSON Schema.
struct ReadWhole(&'static str, u64);

impl Visitor<'_> for ReadWhole {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if number <= self.1 {
            Ok(number)
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(number), &self))
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        let positive = u64::try_from(number);
        let positive = positive.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))?;
        self.visit_u64(positive)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        match whole(number) {
            Some(number) => self.visit_u64(number),
            None => Err(E::invalid_type(Unexpected::Float(number), &self)),
        }
    }
}

/// Parses one form. Other members may be null if `may_be_null` accepts their names.
fn read_form<'de, D: Deserializer<'de>>(
    form: &mut dyn Form,
    may_be_null: fn(&str) -> bool,
    location: &mut Location,
    from: D,
) -> Result<(), D::Error> {
    from.deserialize_map(ReadForm(form, may_be_null, location))?;
    form.finish().map_err(D::Error::custom)
}

/// Location of an error: the steps from the innermost outwards.
#[derive(Debug, Default)]
struct Location(Vec<Step>);

#[derive(Debug)]
enum Step {
    Member(Cow<'static, str>),
    Item(usize),
    /// A member with an unreadable name.
    Unnamed,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.0.iter().rev().enumerate() {
            let dot = if nth == 0 { "" } else { "." };
            match step {
                Step::Member(name) => write!(f, "{dot}{name}")?,
                Step::Item(nth) => write!(f, "[item {}]", nth.saturating_add(1))?,
                Step::Unnamed => write!(f, "{dot}?")?,
            }
        }
        if self.0.is_empty() { Ok(()) } else { f.write_str(": ") }
    }
}

/// Parses the value at a step, and records the step if that fails.
struct ValueSeed<'a, 'b>(Target<'b>, Step, &'a mut Location);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let Self(to, step, location) = self;
        read(to, location, from).inspect_err(|_| location.0.push(step))
    }
}

/// Parses the name of a member.
struct NameSeed<'a> {
    /// Known names; `None` accepts any.
    known: Option<&'static [&'static str]>,
    /// Returns true for other names that are accepted.
    may_be_other: fn(&str) -> bool,
    location: &'a mut Location,
}

/// A name and its index among the known names; `None` if it is not one of them.
type MemberName = (Option<usize>, Cow<'static, str>);

impl<'de> DeserializeSeed<'de> for NameSeed<'_> {
    type Value = MemberName;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<MemberName, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for NameSeed<'_> {
    type Value = MemberName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field identifier")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<MemberName, E> {
        let known = self.known.unwrap_or_default();
        let found = known.iter().enumerate().find(|(_, it)| **it == name);
        if let Some((nth, name)) = found {
            return Ok((Some(nth), (*name).into()));
        }
        if self.known.is_none() || (self.may_be_other)(name) {
            return Ok((None, name.to_owned().into()));
        }
        self.location.0.push(Step::Member(name.to_owned().into()));
        Err(E::unknown_field(name, known))
    }
}

/// Parses the next name of a map: one of `known` if given, or one that `may_be_other` accepts.
fn next_name<'de, A: MapAccess<'de>>(
    map: &mut A,
    known: Option<&'static [&'static str]>,
    may_be_other: fn(&str) -> bool,
    location: &mut Location,
) -> Result<Option<MemberName>, A::Error> {
    map.next_key_seed(NameSeed { known, may_be_other, location }).inspect_err(|_| {
        if location.0.is_empty() {
            location.0.push(Step::Unnamed);
        }
    })
}

struct ReadForm<'a, 'b>(&'a mut (dyn Form + 'b), fn(&str) -> bool, &'a mut Location);

impl<'de> Visitor<'de> for ReadForm<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(form, may_be_null, location) = self;
        let names = form.names();
        let mut slots = form.slots();
        while let Some((nth, name)) = next_name(&mut map, Some(names), may_be_null, location)? {
            let Some(nth) = nth else {
                if map.next_value::<Option<IgnoredAny>>()?.is_some() {
                    return Err(A::Error::unknown_field(&name, names));
                }
                continue;
            };
            let Some(slot) = slots.get_mut(nth).and_then(Option::take) else {
                let name = names.get(nth).copied().unwrap_or_default();
                return Err(A::Error::duplicate_field(name));
            };
            map.next_value_seed(ValueSeed(slot.to, Step::Member(name), location))?;
        }
        let mut missing =
            names.iter().zip(slots).filter(|(_, it)| it.as_ref().is_some_and(|it| it.is_needed));
        missing.next().map_or(Ok(()), |(name, _)| Err(A::Error::missing_field(name)))
    }
}

struct ReadTextMap<'a>(&'a mut BTreeMap<String, String>, &'a mut Location);

impl<'de> Visitor<'de> for ReadTextMap<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(named, location) = self;
        while let Some((_, name)) = next_name(&mut map, None, |_| false, location)? {
            let mut text = String::new();
            let step = Step::Member(name.clone());
            map.next_value_seed(ValueSeed(Target::Text(&mut text), step, location))?;
            named.insert(name.into_owned(), text);
        }
        Ok(())
    }
}

/// Parses the text of one member, and stops there.
struct ReadOne<'a>(&'static str, &'a mut Option<String>, &'a mut Location);

impl<'de> Visitor<'de> for ReadOne<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        let Self(wanted, found, location) = self;
        while let Some((_, name)) = next_name(&mut map, None, |_| false, location)? {
            if name == wanted {
                let mut text = String::new();
                map.next_value_seed(ValueSeed(
                    Target::Text(&mut text),
                    Step::Member(name),
                    location,
                ))?;
                *found = Some(text);
                return Ok(String::new());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Err(A::Error::missing_field(wanted))
    }
}

struct ReadList<'a, 'b>(&'a mut (dyn List + 'b), &'a mut Location);

impl<'de> Visitor<'de> for ReadList<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self(list, location) = self;
        for nth in 0.. {
            let Some(to) = list.grow() else { break };
            if items.next_element_seed(ValueSeed(to, Step::Item(nth), location))?.is_none() {
                list.shrink();
                break;
            }
        }
        Ok(())
    }
}

struct ReadOptional<'a, 'b>(&'a mut (dyn Optional + 'b), &'a mut Location);

impl<'de> Visitor<'de> for ReadOptional<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("option")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.0.insert_null();
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        read(self.0.insert(), self.1, from)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{RawMember, form},
        *,
    };

    #[derive(Debug, Default)]
    struct Outer {
        inner: Vec<Inner>,
        sent: RawMember,
        named: Option<BTreeMap<String, String>>,
    }

    form! { Outer: inner, sent, named }

    #[derive(Debug, Default)]
    struct Inner {
        text: String,
        small: Option<u32>,
        texts: Vec<String>,
        #[expect(clippy::option_option, reason = "as forms of updates")]
        patched: Option<Option<u32>>,
    }

    form! { Inner: text, small, texts = or_absent, patched }

    #[test]
    fn a_complete_form_is_parsed() {
        let json = br#"{"named": {"a": "b"}, "inner": [{"text": "c", "small": null},
            {"texts": ["d", "e"], "small": 7, "text": ""}], "sent": null}"#;
        let Outer { inner, sent, named } = parse(json).unwrap();
        let [first, second] = inner.as_slice() else { panic!("{inner:?}") };
        assert_eq!((first.text.as_str(), first.small, first.texts.len()), ("c", None, 0));
        assert_eq!(
            (second.small, second.texts.as_slice()),
            (Some(7), &["d", "e"].map(str::to_owned)[..])
        );
        assert_eq!(sent.0.unwrap().get(), "null");
        assert_eq!(named.unwrap().get("a").unwrap(), "b");
    }

    #[test]
    fn null_differs_from_absent_in_nested_options() {
        for (json, expected) in [
            (r#"{"text":""}"#, None),
            (r#"{"text":"","patched":null}"#, Some(None)),
            (r#"{"text":"","patched":7}"#, Some(Some(7))),
        ] {
            assert_eq!(parse::<Inner>(json.as_bytes()).unwrap().patched, expected, "{json}");
        }
    }

    /// JSON Schema calls `60.0` an integer, and some languages know no other numbers.
    #[test]
    fn a_whole_number_may_have_a_fraction_of_zero() {
        let small = |json: &str| {
            let inner = parse::<Inner>(format!(r#"{{"text":"","small":{json}}}"#).as_bytes());
            inner.map(|it| it.small).ok().flatten()
        };
        assert_eq!((small("60.0"), small("6e1"), small("60")), (Some(60), Some(60), Some(60)));
        for wrong in ["60.5", "-1.0", "4294967296.0", "4294967296", "1e300"] {
            assert_eq!(small(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_error_names_its_location() {
        for (json, expected) in [
            ("[]", "invalid type: sequence, expected a JSON object at line 1 column 0"),
            ("{}", "missing field `inner` at line 1 column 2"),
            (r#"{"inner":[]} 1"#, "trailing characters at line 1 column 14"),
            (r#"{"inner":[],"inner":[]}"#, "duplicate field `inner` at line 1 column 19"),
            (
                r#"{"in":1}"#,
                "in: unknown field `in`, expected one of `inner`, `sent`, `named` at line 1 column 5",
            ),
            (r#"{"inner":[{}]}"#, "inner[item 1]: missing field `text` at line 1 column 12"),
            (
                r#"{"inner":[{"text":1}]}"#,
                "inner[item 1].text: invalid type: integer `1`, expected a string at line 1 column 19",
            ),
            (
                r#"{"inner":[{"text":"","texts":["",2]}]}"#,
                "inner[item 1].texts[item 2]: invalid type: integer `2`, expected a string at line 1 column 34",
            ),
            (
                r#"{"inner":[{"small":-1}]}"#,
                "inner[item 1].small: invalid value: integer `-1`, expected u32 at line 1 column 21",
            ),
            (
                r#"{"inner":[],"named":{"a":1}}"#,
                "named.a: invalid type: integer `1`, expected a string at line 1 column 26",
            ),
            (r#"{"inner":[],}"#, "?: trailing comma at line 1 column 13"),
            (r#"{"inner" []}"#, "expected `:` at line 1 column 10"),
        ] {
            let ParseError(message) = parse::<Outer>(json.as_bytes()).unwrap_err();
            assert_eq!(message, expected, "{json}");
        }
    }
}
