//! Reads forms: all of them by one function, so that there is one copy of it.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{Form, List, Optional, To};
use crate::json::{ParseError, Time};

/// Reads `bytes` as one form.
pub(crate) fn parse<F: Form + Default>(bytes: &[u8]) -> Result<F, ParseError> {
    parse_or_null(bytes, |_| false)
}

/// Reads `bytes` as one form, in which members of other names may be null if
/// `may_be_null` says so.
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
    let mut place = Place::default();
    let read = read_form(form, may_be_null, &mut place, &mut json);
    read.map_err(|err| ParseError(format!("{place}{err}")))?;
    json.end().map_err(|err| ParseError(err.to_string()))
}

/// Reads the text of the member `name` of the object `bytes`, and looks at nothing behind
/// it.
pub(crate) fn text(bytes: &[u8], name: &'static str) -> Result<String, ParseError> {
    let (mut found, mut place) = (None, Place::default());
    let mut json = serde_json::Deserializer::from_slice(bytes);
    // Once it is found, what the reader says of the rest does not count.
    let read = json.deserialize_map(ReadOne(name, &mut found, &mut place));
    found.map_or_else(|| read.map_err(|err| ParseError(format!("{place}{err}"))), Ok)
}

/// Reads one value.
fn read<'de, D: Deserializer<'de>>(to: To<'_>, place: &mut Place, from: D) -> Result<(), D::Error> {
    match to {
        To::Text(it) => *it = String::deserialize(from)?,
        To::Number(it) => *it = u64::deserialize(from)?,
        To::Small(it) => *it = u32::deserialize(from)?,
        To::Real(it) => *it = f64::deserialize(from)?,
        To::Flag(it) => *it = bool::deserialize(from)?,
        To::Instant(it) => *it = Time::deserialize(from)?,
        To::Raw(it) => *it = Box::deserialize(from)?,
        To::Sent(it) => *it = Some(Box::deserialize(from)?),
        To::Named(it) => from.deserialize_map(ReadNamed(it, place))?,
        To::Form(it) => read_form(it, |_| false, place, from)?,
        To::List(it) => from.deserialize_seq(ReadList(it, place))?,
        To::Optional(it) => from.deserialize_option(ReadOptional(it, place))?,
    }
    Ok(())
}

/// Reads one form, in which members of other names may be null if `may_be_null` says so.
fn read_form<'de, D: Deserializer<'de>>(
    form: &mut dyn Form,
    may_be_null: fn(&str) -> bool,
    place: &mut Place,
    from: D,
) -> Result<(), D::Error> {
    from.deserialize_map(ReadForm(form, may_be_null, place))?;
    form.finish().map_err(D::Error::custom)
}

/// Where something is wrong: the way to it, from inside.
#[derive(Debug, Default)]
struct Place(Vec<Step>);

#[derive(Debug)]
enum Step {
    Member(Cow<'static, str>),
    Item(usize),
    /// To a member whose name cannot be read.
    Unnamed,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.0.iter().rev().enumerate() {
            let dot = if nth == 0 { "" } else { "." };
            match step {
                Step::Member(name) => write!(f, "{dot}{name}")?,
                Step::Item(nth) => write!(f, "[{nth}]")?,
                Step::Unnamed => write!(f, "{dot}?")?,
            }
        }
        if self.0.is_empty() { Ok(()) } else { f.write_str(": ") }
    }
}

/// Reads the value behind a step.
struct Behind<'a, 'b>(To<'b>, Step, &'a mut Place);

impl<'de> DeserializeSeed<'de> for Behind<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let Self(to, step, place) = self;
        read(to, place, from).inspect_err(|_| place.0.push(step))
    }
}

/// Reads the name of a member.
struct Name<'a> {
    /// The names that there are; `None`: any.
    known: Option<&'static [&'static str]>,
    /// Which others there may be.
    may_be_other: fn(&str) -> bool,
    place: &'a mut Place,
}

/// A name, and which of those it is that there are; `None`: another.
type Named = (Option<usize>, Cow<'static, str>);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Named;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Named, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field identifier")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Named, E> {
        let known = self.known.unwrap_or_default();
        let found = known.iter().enumerate().find(|(_, it)| **it == name);
        if let Some((nth, name)) = found {
            return Ok((Some(nth), (*name).into()));
        }
        if self.known.is_none() || (self.may_be_other)(name) {
            return Ok((None, name.to_owned().into()));
        }
        self.place.0.push(Step::Member(name.to_owned().into()));
        Err(E::unknown_field(name, known))
    }
}

/// Returns the next name of a map, one of `known` if those are all that there are, or one that
/// `may_be_other`.
fn next_name<'de, A: MapAccess<'de>>(
    map: &mut A,
    known: Option<&'static [&'static str]>,
    may_be_other: fn(&str) -> bool,
    place: &mut Place,
) -> Result<Option<Named>, A::Error> {
    map.next_key_seed(Name { known, may_be_other, place }).inspect_err(|_| {
        if place.0.is_empty() {
            place.0.push(Step::Unnamed);
        }
    })
}

struct ReadForm<'a, 'b>(&'a mut (dyn Form + 'b), fn(&str) -> bool, &'a mut Place);

impl<'de> Visitor<'de> for ReadForm<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(form, may_be_null, place) = self;
        let names = form.names();
        let mut slots = form.slots();
        while let Some((nth, name)) = next_name(&mut map, Some(names), may_be_null, place)? {
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
            map.next_value_seed(Behind(slot.to, Step::Member(name), place))?;
        }
        let mut missing =
            names.iter().zip(slots).filter(|(_, it)| it.as_ref().is_some_and(|it| it.is_needed));
        missing.next().map_or(Ok(()), |(name, _)| Err(A::Error::missing_field(name)))
    }
}

struct ReadNamed<'a>(&'a mut BTreeMap<String, String>, &'a mut Place);

impl<'de> Visitor<'de> for ReadNamed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(named, place) = self;
        while let Some((_, name)) = next_name(&mut map, None, |_| false, place)? {
            let mut text = String::new();
            let step = Step::Member(name.clone());
            map.next_value_seed(Behind(To::Text(&mut text), step, place))?;
            named.insert(name.into_owned(), text);
        }
        Ok(())
    }
}

/// Reads the text of one member, and stops there.
struct ReadOne<'a>(&'static str, &'a mut Option<String>, &'a mut Place);

impl<'de> Visitor<'de> for ReadOne<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        let Self(wanted, found, place) = self;
        while let Some((_, name)) = next_name(&mut map, None, |_| false, place)? {
            if name == wanted {
                let mut text = String::new();
                map.next_value_seed(Behind(To::Text(&mut text), Step::Member(name), place))?;
                *found = Some(text);
                return Ok(String::new());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Err(A::Error::missing_field(wanted))
    }
}

struct ReadList<'a, 'b>(&'a mut (dyn List + 'b), &'a mut Place);

impl<'de> Visitor<'de> for ReadList<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self(list, place) = self;
        for nth in 0.. {
            let Some(to) = list.grow() else { break };
            if items.next_element_seed(Behind(to, Step::Item(nth), place))?.is_none() {
                list.shrink();
                break;
            }
        }
        Ok(())
    }
}

struct ReadOptional<'a, 'b>(&'a mut (dyn Optional + 'b), &'a mut Place);

impl<'de> Visitor<'de> for ReadOptional<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("option")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        read(self.0.insert(), self.1, from)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{AsSent, form},
        *,
    };

    #[derive(Debug, Default)]
    struct Outer {
        inner: Vec<Inner>,
        sent: AsSent,
        named: Option<BTreeMap<String, String>>,
    }

    form! { Outer: inner, sent, named }

    #[derive(Debug, Default)]
    struct Inner {
        text: String,
        small: Option<u32>,
        texts: Vec<String>,
    }

    form! { Inner: text, small, texts = or_absent }

    #[test]
    fn a_form_is_read_whole() {
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
    fn what_is_wrong_is_told_with_its_place() {
        for (json, wrong) in [
            ("[]", "invalid type: sequence, expected a JSON object at line 1 column 0"),
            ("{}", "missing field `inner` at line 1 column 2"),
            (r#"{"inner":[]} 1"#, "trailing characters at line 1 column 14"),
            (r#"{"inner":[],"inner":[]}"#, "duplicate field `inner` at line 1 column 19"),
            (
                r#"{"in":1}"#,
                "in: unknown field `in`, expected one of `inner`, `sent`, `named` at line 1 column 5",
            ),
            (r#"{"inner":[{}]}"#, "inner[0]: missing field `text` at line 1 column 12"),
            (
                r#"{"inner":[{"text":1}]}"#,
                "inner[0].text: invalid type: integer `1`, expected a string at line 1 column 19",
            ),
            (
                r#"{"inner":[{"text":"","texts":["",2]}]}"#,
                "inner[0].texts[1]: invalid type: integer `2`, expected a string at line 1 column 34",
            ),
            (
                r#"{"inner":[{"small":-1}]}"#,
                "inner[0].small: invalid value: integer `-1`, expected u32 at line 1 column 21",
            ),
            (
                r#"{"inner":[],"named":{"a":1}}"#,
                "named.a: invalid type: integer `1`, expected a string at line 1 column 26",
            ),
            (r#"{"inner":[],}"#, "?: trailing comma at line 1 column 13"),
            (r#"{"inner" []}"#, "expected `:` at line 1 column 10"),
        ] {
            let ParseError(told) = parse::<Outer>(json.as_bytes()).unwrap_err();
            assert_eq!(told, wrong, "{json}");
        }
    }
}
