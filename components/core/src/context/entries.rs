//! Entries of a session as candidates of an assembly.

use crate::{
    item::{Authority, Item, Kind, ListedKind},
    key::Key,
    store::Entry,
};

/// The prefix of the ids of items that are values of entries.
pub(crate) const PREFIX: &str = "entry:";

/// Returns the key of the entry whose value is the item with this id; `None` for other items.
pub(crate) fn key(id: &str) -> Option<Key> {
    Key::parse(id.strip_prefix(PREFIX)?).ok()
}

/// Returns the value of an entry as an item.
pub(crate) fn item(entry: &Entry, value: String) -> Item {
    let kind = Kind::Listed(ListedKind::WorkingMemory);
    let mut item = Item::inline(format!("{PREFIX}{}", entry.key), kind, value);
    item.tokens = entry.value_tokens;
    item.at = Some(entry.written_at);
    item.expires_at = entry.expires_at;
    item.source.origin = Some(entry.written_by.as_str().to_owned());
    item.source.authority = Authority::Model;
    item
}
