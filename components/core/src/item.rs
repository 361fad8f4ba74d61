//! Items: everything that can be shown to an agent, with its size and source (spec 16.1).
//!
//! An item describes itself. `context` decides if it is shown, and where.
//!
//! # Invariant
//!
//! An item that passed [`Item::check`] has a valid id, at least one target, and a number of tokens.

mod kinds;
pub(crate) mod units;

use std::{borrow::Cow, collections::BTreeSet};

use crate::{
    Error,
    closed_list::closed_list,
    digest,
    time::Timestamp,
    tokens::{Tokens, approximate},
};

pub use kinds::{Authority, KIND_BYTES_MAX, Kind, ListedKind, Target, Visibility};

/// The most items of one request.
pub const ITEMS_MAX: u32 = 2_000;
/// The longest id of an item, in characters.
pub const ID_CHARS_MAX: usize = 200;
/// The most bytes of the texts of all items of a request: 2 MiB.
pub const ITEMS_BYTES_MAX: usize = 2 << 20;
/// The longest task for which items are chosen, in bytes.
pub const TASK_BYTES_MAX: usize = 65_536;
/// The most bytes of an inline text: 1 MiB.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// The most selectors of a source.
pub const SELECTORS_MAX: usize = 16;
/// The most ids that a source has in other systems.
pub const NATIVE_IDS_MAX: usize = 16;
/// The most ids that an item depends on.
pub const DEPENDS_ON_MAX: usize = 64;
/// The range of an item's importance.
pub const IMPORTANCE: std::ops::RangeInclusive<u8> = 1..=10;

closed_list! {
    /// The role of an item in its project (spec 16.8).
    ItemRole "role" {
        Active "active": "It is being worked on.";
        Core "core": "Much depends on it, such as a schema or a configuration.";
        Utility "utility": "A helper.";
    }
}

/// A unit of context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its id, unique among the items of a request; for a file its path.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// Its text, or a reference to it.
    pub body: Body,
    /// Its size, whether it is inline or not.
    pub tokens: Tokens,
    /// Its source.
    pub source: Source,
    /// The targets that may see it.
    pub visibility: Visibility,
    /// The time when it was written or last modified.
    pub at: Option<Timestamp>,
    /// The time of its expiry.
    pub expires_at: Option<Timestamp>,
    /// Its importance, 1 to 10.
    pub importance: Option<u8>,
    /// Its roles.
    pub roles: Vec<ItemRole>,
    /// The number of operations since it was modified: 1 for the last operation.
    pub operations_ago: Option<u32>,
    /// The number of its open issues.
    pub open_issues: u32,
    /// The ids of the items that it depends on.
    pub depends_on: Vec<String>,
    /// The id of the item that it is never separated from: the call of a tool's result.
    pub pair: Option<String>,
    /// The name of the group that it belongs to, such as a conversation. Items of a group are in
    /// the order of the request.
    pub group: Option<String>,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The text itself.
    Text(String),
    /// A reference to a text that the client has.
    Reference {
        /// The digest of the text, as [`digest::sha256`] writes it.
        digest: String,
    },
}

/// The source of an item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The system or file that it comes from.
    pub origin: Option<String>,
    /// The parts of the origin, such as a range of lines.
    pub selectors: Vec<String>,
    /// The digest of the text, as the client reports it.
    pub digest: Option<String>,
    /// The authority of the source: how far it can be trusted.
    pub authority: Authority,
    /// The item's ids in other systems: the system, and the id there.
    pub native_ids: Vec<(String, String)>,
}

impl Item {
    /// Validates the item.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], naming the item and the member, for the first of: an invalid `id`, no
    /// target, an `importance` out of range, too many selectors, native ids or dependencies, a
    /// dependency on or a pair with itself, a text over its limit, tokens that cannot belong to the
    /// text, a digest that has not the form `sha256:` and 64 hexadecimal digits.
    ///
    /// A digest that has the form but does not match the text is no error:
    /// [`Item::matches_digest`] reports it.
    pub fn check(&self) -> Result<(), Error> {
        check_id(&self.id)?;
        let malformed = |what: String| Err(Error::malformed(format!("item {}: {what}", self.id)));
        if self.visibility.is_empty() {
            return malformed("targets is empty; name a target, or leave targets out".to_owned());
        }
        if let Some(importance) = self.importance
            && !IMPORTANCE.contains(&importance)
        {
            let (min, max) = (IMPORTANCE.start(), IMPORTANCE.end());
            return malformed(format!("importance is {importance}; it must be {min} to {max}"));
        }
        let counts = [
            ("selectors", self.source.selectors.len(), SELECTORS_MAX),
            ("native_ids", self.source.native_ids.len(), NATIVE_IDS_MAX),
            ("depends_on", self.depends_on.len(), DEPENDS_ON_MAX),
        ];
        for (member, count, max) in counts {
            if count > max {
                return malformed(format!("{member} has {count} elements; at most {max} fit"));
            }
        }
        if self.depends_on.contains(&self.id) || self.pair.as_ref() == Some(&self.id) {
            return malformed(
                "depends_on and pair name other items, not the item itself".to_owned(),
            );
        }
        let referenced = match &self.body {
            Body::Text(text) => {
                self.check_text(text)?;
                None
            }
            Body::Reference { digest } => Some(digest),
        };
        for digest in referenced.into_iter().chain(&self.source.digest) {
            if !digest::is_sha256(digest) {
                return malformed(
                    "digest must be sha256: and 64 of 0-9 and a-f, the SHA-256 of the text"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    /// Validates the size of the text. A token is at least one byte, so a text has no more tokens
    /// than bytes, and one without tokens is empty.
    fn check_text(&self, text: &str) -> Result<(), Error> {
        let (bytes, tokens) = (text.len(), self.tokens.0);
        let malformed = |what: String| Err(Error::malformed(format!("item {}: {what}", self.id)));
        if bytes > TEXT_BYTES_MAX {
            return malformed(format!(
                "text has {bytes} bytes, at most {TEXT_BYTES_MAX} fit; send a reference, or parts"
            ));
        }
        let is_possible = usize::try_from(tokens).is_ok_and(|it| it <= bytes);
        if !is_possible || (tokens == 0 && bytes > 0) {
            return malformed(format!(
                "tokens is {tokens}, but a text of {bytes} bytes has {} to {bytes}; leave tokens \
                 out to have it counted",
                bytes.min(1)
            ));
        }
        Ok(())
    }

    /// Returns the text, if it is inline.
    pub fn text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            Body::Reference { .. } => None,
        }
    }

    /// Returns true if the inline text has the digest that the client gave. Without either there
    /// is nothing to compare.
    pub fn matches_digest(&self) -> bool {
        match (&self.body, &self.source.digest) {
            (Body::Text(text), Some(digest)) => digest::sha256(text) == *digest,
            (Body::Reference { digest }, Some(other)) => digest == other,
            (_, None) => true,
        }
    }

    /// Returns true if the item exists at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|it| it > now)
    }

    /// Creates an item with a text, counted as spec 8.2 estimates, and defaults for the rest.
    pub fn inline(id: impl Into<String>, kind: Kind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            id: id.into(),
            kind,
            tokens: approximate(&text),
            body: Body::Text(text),
            source: Source::default(),
            visibility: Visibility::default(),
            at: None,
            expires_at: None,
            importance: None,
            roles: Vec::new(),
            operations_ago: None,
            open_issues: 0,
            depends_on: Vec::new(),
            pair: None,
            group: None,
        }
    }
}

/// Returns the items of one request with their tokens: `count` counts the text of those at the
/// places `uncounted`. Mostly they have as many already, and are not copied.
///
/// # Errors
///
/// Those of `count`.
pub(crate) fn counted<'a>(
    items: &'a [Item],
    uncounted: &[usize],
    count: &dyn Fn(&str) -> Result<Tokens, Error>,
) -> Result<Cow<'a, [Item]>, Error> {
    let mut items = Cow::Borrowed(items);
    for place in uncounted {
        let Some(item) = items.get(*place) else { continue };
        let tokens = count(item.text().unwrap_or_default())?;
        if item.tokens != tokens
            && let Some(item) = items.to_mut().get_mut(*place)
        {
            item.tokens = tokens;
        }
    }
    Ok(items)
}

/// Validates the items of one request.
///
/// # Errors
///
/// [`Error::Malformed`] for the first of: more than [`ITEMS_MAX`] items, an invalid item, an id
/// that an earlier item has.
pub fn check_all(items: &[Item]) -> Result<(), Error> {
    check_up_to(items, ITEMS_MAX)
}

/// Validates the items of one request as [`check_all`] does, with the limit `max`.
pub(crate) fn check_up_to(items: &[Item], max: u32) -> Result<(), Error> {
    if !u32::try_from(items.len()).is_ok_and(|it| it <= max) {
        return Err(Error::malformed(format!(
            "the request has {} items, at most {max} fit; send fewer of them",
            items.len()
        )));
    }
    let mut ids = BTreeSet::new();
    for item in items {
        item.check()?;
        if !ids.insert(item.id.as_str()) {
            return Err(Error::malformed(format!(
                "item {} is in the request twice; give each item an id of its own",
                item.id
            )));
        }
    }
    Ok(())
}

/// Validates the bytes of the texts of all items. `remedy` says what to send in place of too many.
///
/// # Errors
///
/// [`Error::Malformed`] for more than [`ITEMS_BYTES_MAX`].
pub(crate) fn check_bytes(items: &[Item], remedy: &str) -> Result<(), Error> {
    let bytes = items.iter().filter_map(Item::text).map(str::len).fold(0, usize::saturating_add);
    if bytes <= ITEMS_BYTES_MAX {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "the texts of the items have {bytes} bytes, at most {ITEMS_BYTES_MAX} fit; {remedy}"
    )))
}

/// Validates an id of an item.
fn check_id(id: &str) -> Result<(), Error> {
    let fits = (1..=ID_CHARS_MAX).contains(&id.chars().count());
    let breaks = |it: char| it.is_control() || matches!(it, '\u{2028}' | '\u{2029}');
    if fits && !id.contains(breaks) && id.trim() == id {
        return Ok(());
    }
    let shown: String = id.chars().take(80).collect();
    Err(Error::malformed(format!(
        "item {shown:?}: id must be one line of 1 to {ID_CHARS_MAX} characters without spaces \
         around it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> Item {
        Item::inline("src/a.rs", Kind::Listed(ListedKind::FileExcerpt), text)
    }

    /// Returns the error of the item that `change` makes of a valid one.
    fn error(change: impl Fn(&mut Item)) -> String {
        let mut it = item("some text");
        change(&mut it);
        it.check().map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn an_item_with_defaults_is_valid() {
        for text in ["", "x", "some text", "😀😀😀", "عربي", "中文", "a\0b"] {
            let it = item(text);
            assert_eq!(it.check(), Ok(()), "{text:?}");
            assert_eq!((it.text(), it.tokens), (Some(text), approximate(text)));
        }
        assert_eq!(item("x").source.authority, Authority::Unknown);
    }

    #[test]
    fn an_id_is_one_line() {
        for id in ["a", "§4.auth", &"i".repeat(200), &"ü".repeat(200), "two words"] {
            assert_eq!(error(|it| id.clone_into(&mut it.id)), "", "{id}");
        }
        for id in ["", " a", "a\nb", "a\0", "x\u{2028}# fake", &"i".repeat(201)] {
            let error = error(|it| id.clone_into(&mut it.id));
            assert!(error.contains("id must be one line of 1 to 200"), "{id:?} {error}");
        }
    }

    #[test]
    fn invalid_members_are_reported_by_name() {
        let digest = digest::sha256("");
        assert_eq!(error(|it| it.source.digest = Some(digest.clone())), "", "checked later");
        assert_eq!(error(|it| it.importance = Some(10)), "");
        assert_eq!(error(|it| it.source.selectors = vec![String::new(); 16]), "");
        assert_eq!(error(|it| it.tokens = Tokens(9)), "");
        let empty = error(|it| it.visibility = Visibility::of([]));
        assert!(empty.starts_with("item src/a.rs: targets is empty"), "{empty}");
        for importance in [0, 11] {
            let it = error(|it| it.importance = Some(importance));
            assert!(
                it.contains(&format!("importance is {importance}; it must be 1 to 10")),
                "{it}"
            );
        }
        let it = error(|it| it.source.selectors = vec![String::new(); 17]);
        assert!(it.contains("selectors has 17 elements; at most 16 fit"), "{it}");
        let it = error(|it| it.depends_on = vec![String::new(); 65]);
        assert!(it.contains("depends_on has 65 elements; at most 64 fit"), "{it}");
        for it in [
            error(|it| it.depends_on = vec!["b".to_owned(), "src/a.rs".to_owned()]),
            error(|it| it.pair = Some("src/a.rs".to_owned())),
        ] {
            assert!(it.contains("name other items"), "{it}");
        }
        for tokens in [0, 10] {
            let it = error(|it| it.tokens = Tokens(tokens));
            assert!(it.contains("a text of 9 bytes has 1 to 9"), "{it}");
        }
        let it = error(|it| it.body = Body::Text("x".repeat(TEXT_BYTES_MAX + 1)));
        assert!(it.contains("text has 1048577 bytes, at most 1048576 fit"), "{it}");
        for bad in ["", "sha256:", "md5:00", &digest.to_uppercase(), &format!("{digest}0")] {
            let it = error(|it| it.source.digest = Some(bad.to_owned()));
            assert!(it.contains("digest must be sha256: and 64"), "{bad} {it}");
            let it = error(|it| it.body = Body::Reference { digest: bad.to_owned() });
            assert!(it.contains("digest must be sha256: and 64"), "{bad} {it}");
        }
    }

    #[test]
    fn a_request_has_2000_items_with_different_ids() {
        let items = |count: u32| -> Vec<Item> {
            (0..count).map(|id| Item { id: id.to_string(), ..item("x") }).collect()
        };
        let error = |items: &[Item]| check_all(items).unwrap_err().to_string();
        assert_eq!(check_all(&[]), Ok(()));
        assert_eq!(check_all(&items(2_000)), Ok(()));
        assert!(error(&items(2_001)).contains("has 2001 items, at most 2000 fit"));
        let twice = [item("x"), item("y")];
        assert!(error(&twice).starts_with("item src/a.rs is in the request twice"));
        let invalid = [item("x"), Item { id: String::new(), ..item("y") }];
        assert!(error(&invalid).contains("id must be one line"));
    }

    #[test]
    fn a_digest_is_compared_with_the_text() {
        let with = |digest: Option<String>| {
            let mut it = item("some text");
            it.source.digest = digest;
            it.matches_digest()
        };
        assert!(with(None) && with(Some(digest::sha256("some text"))));
        assert!(!with(Some(digest::sha256("other text"))));
    }

    #[test]
    fn an_item_ends_at_the_instant_of_its_expiry() {
        let mut it = item("x");
        assert!(it.is_live(Timestamp(u64::MAX)));
        it.expires_at = Some(Timestamp(1_000));
        assert!(it.is_live(Timestamp(999)) && !it.is_live(Timestamp(1_000)));
    }
}
