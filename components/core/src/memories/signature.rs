//! Signatures: the attributes of a memory for searches, in the row of its segment (decision 0050).
//!
//! A signature has the memory's kind, states and times, digests of its tags, its writer and its
//! session, and the words of its title (with its tags) and of its content with their counts. The
//! signatures of 64 memories are one row, so that a search reads few rows, and a change writes one.
//! The newest ones are in a row of their own until there are eight, so that an addition writes
//! little.
//!
//! Digests of tags, participants and sessions have 32 bits, so a match must be checked in the
//! memory itself.

use super::{
    Memory,
    content::Content,
    kinds::{Kind, Severity, Status},
};
use crate::{
    Error,
    count::widen,
    kv::Change,
    row::{FORMAT, damaged},
    text::{counted, words::Reader},
    time::Timestamp,
};

/// The number of memories in a segment.
pub(crate) const SEGMENT: u64 = 64;
/// The prefix of the rows of segments.
pub(crate) const SEGMENTS: &str = "i/";

const VERIFIED: u8 = 1;
const MARKED: u8 = 2;
const SUPERSEDED: u8 = 4;
const RESOLVED: u8 = 8;
const REDACTED: u8 = 16;

/// Returns the segment of a memory, and its place in it.
pub(crate) fn place(number: u64) -> (u64, usize) {
    let nth = number.saturating_sub(1);
    (nth / SEGMENT, usize::try_from(nth % SEGMENT).unwrap_or_default())
}

/// The end of the name of the row of a segment's newest signatures.
const NEWEST: char = '+';
/// The number of signatures in that row from which they join the others.
const NEWEST_MAX: usize = 8;

/// Returns the name of the row of a segment.
fn segment_row(segment: u64) -> String {
    format!("{SEGMENTS}{segment:08x}")
}

/// Returns the name of the row of a segment's newest signatures.
fn newest_row(segment: u64) -> String {
    format!("{SEGMENTS}{segment:08x}{NEWEST}")
}

/// Returns the digest of a tag, a participant or a session.
pub(crate) fn digest(text: &str) -> u32 {
    // FNV-1a.
    text.bytes().fold(0x811C_9DC5, |sum, it| (sum ^ u32::from(it)).wrapping_mul(0x0100_0193))
}

/// The attributes of a memory for searches, besides its words and tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    pub(crate) importance: u8,
    pub(crate) severity: Option<Severity>,
    pub(crate) status: Option<Status>,
    pub(crate) is_verified: bool,
    pub(crate) is_marked: bool,
    pub(crate) is_superseded: bool,
    pub(crate) at: Timestamp,
    pub(crate) created_at: Timestamp,
    pub(crate) changed_at: Timestamp,
    pub(crate) archived_at: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    /// The number of a decision within its day; 0 for none.
    pub(crate) ordinal: u32,
    pub(crate) by: u32,
    /// 0 for none.
    pub(crate) session: u32,
}

/// The attributes of a [`Head`] that order and choose memories. A search keeps one for each memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Brief {
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    pub(crate) kind: Kind,
    pub(crate) importance: u8,
    pub(crate) severity: Option<Severity>,
    pub(crate) status: Option<Status>,
}

impl Head {
    /// Returns what orders and chooses the memory.
    pub(crate) fn brief(&self) -> Brief {
        let Self { number, at, kind, importance, severity, status, .. } = *self;
        Brief { number, at, kind, importance, severity, status }
    }

    /// Returns true if the memory does not exist any more at `now`.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|it| it <= now)
    }
}

/// A signature in its row.
#[derive(Debug, Clone)]
pub(crate) struct Signature<'a> {
    pub(crate) head: Head,
    tags: &'a [[u8; 4]],
    /// The counted words of the title and the tags, sorted.
    pub(crate) title: &'a [[u8; 4]],
    /// The counted words of the content, sorted.
    pub(crate) content: &'a [[u8; 4]],
    pub(crate) title_words: u32,
    pub(crate) content_words: u32,
}

impl Signature<'_> {
    /// Returns true if the memory has a tag of this digest.
    pub(crate) fn has_tag(&self, tag: u32) -> bool {
        self.tags.contains(&tag.to_le_bytes())
    }
}

/// Signatures, each as bytes; empty where there is no memory.
type Slots = Vec<Vec<u8>>;

/// A segment that is changed: the signatures in its row, and the newest ones in theirs.
#[derive(Debug)]
pub(crate) struct Segment {
    number: u64,
    /// `None` until it is needed.
    first: Option<Slots>,
    newest: Slots,
    /// The place of the first of the newest.
    start: usize,
    has_newest_row: bool,
    is_first_changed: bool,
    is_newest_changed: bool,
}

/// Reads a row.
type ReadRow<'r> = &'r dyn Fn(&str) -> Result<Option<Vec<u8>>, Error>;

impl Segment {
    /// Opens a segment, whose rows `read` reads.
    pub(crate) fn open(number: u64, read: ReadRow<'_>) -> Result<Self, Error> {
        let mut it = Self {
            number,
            first: None,
            newest: Slots::new(),
            start: 0,
            has_newest_row: false,
            is_first_changed: false,
            is_newest_changed: false,
        };
        if let Some(row) = read(&newest_row(number))? {
            (it.start, it.newest) = decode_newest(&row)?;
            it.has_newest_row = true;
        } else {
            it.start = it.first(read)?.len();
        }
        Ok(it)
    }

    /// Returns the number of the segment.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Sets the signature of a memory; `None` removes it.
    pub(crate) fn set(
        &mut self,
        place: usize,
        memory: Option<&Memory>,
        read: ReadRow<'_>,
    ) -> Result<(), Error> {
        let signature = memory.map(encode).unwrap_or_default();
        let (slots, place) = if let Some(place) = place.checked_sub(self.start) {
            self.is_newest_changed = true;
            (&mut self.newest, place)
        } else {
            self.is_first_changed = true;
            (self.first(read)?, place)
        };
        if place >= slots.len() {
            slots.resize(place.saturating_add(1), Vec::new());
        }
        if let Some(it) = slots.get_mut(place) {
            *it = signature;
        }
        Ok(())
    }

    /// Returns the changes of its rows.
    pub(crate) fn changes(mut self, read: ReadRow<'_>) -> Result<Vec<Change>, Error> {
        if self.newest.len() >= NEWEST_MAX {
            let (start, newest) = (self.start, std::mem::take(&mut self.newest));
            let first = self.first(read)?;
            first.resize(start, Vec::new());
            first.extend(newest);
            self.is_first_changed = true;
            self.is_newest_changed = self.has_newest_row;
        }
        let change = |row: String, bytes: Option<Vec<u8>>| match bytes {
            Some(bytes) => Change::put(row, bytes),
            None => Change::Delete(row),
        };
        let mut changes = Vec::new();
        if let Some(first) = self.first.filter(|_| self.is_first_changed) {
            changes.push(change(segment_row(self.number), encode_slots(vec![FORMAT], &first)));
        }
        if self.is_newest_changed {
            let head = vec![FORMAT, u8::try_from(self.start).unwrap_or_default()];
            changes.push(change(newest_row(self.number), encode_slots(head, &self.newest)));
        }
        Ok(changes)
    }

    fn first(&mut self, read: ReadRow<'_>) -> Result<&mut Slots, Error> {
        if self.first.is_none() {
            let row = read(&segment_row(self.number))?;
            self.first = Some(row.map_or_else(|| Ok(Slots::new()), |it| decode_slots(&it))?);
        }
        Ok(self.first.get_or_insert_default())
    }
}

/// Appends slots to `row`; `None` if no memory is left.
fn encode_slots(mut row: Vec<u8>, slots: &[Vec<u8>]) -> Option<Vec<u8>> {
    let used = slots.iter().rposition(|it| !it.is_empty())?;
    for slot in slots.iter().take(used.saturating_add(1)) {
        let length = u32::try_from(slot.len()).unwrap_or_default();
        row.extend(length.to_le_bytes());
        row.extend(slot);
    }
    Some(row)
}

fn decode_slots(row: &[u8]) -> Result<Slots, Error> {
    let Some((&FORMAT, slots)) = row.split_first() else {
        return Err(damaged("a segment is of another format"));
    };
    owned(slots)
}

fn decode_newest(row: &[u8]) -> Result<(usize, Slots), Error> {
    let Some((&[FORMAT, start], slots)) = row.split_first_chunk() else {
        return Err(damaged("a segment is of another format"));
    };
    Ok((usize::from(start), owned(slots)?))
}

fn owned(slots: &[u8]) -> Result<Slots, Error> {
    let mut all = Slots::new();
    each(slots, |it| {
        all.push(it.to_owned());
        Ok(())
    })?;
    Ok(all)
}

/// Calls `visit` for each signature of the row `name`.
pub(crate) fn each_signature(
    name: &str,
    row: &[u8],
    mut visit: impl FnMut(Signature<'_>),
) -> Result<(), Error> {
    each_slot(name, row, |number, bytes| {
        visit(decode(number, bytes).ok_or_else(|| damaged("a signature is too short"))?);
        Ok(())
    })
}

/// Checks that the signatures of `rows` are those of the memories.
pub(crate) fn check(memories: &[Memory], rows: &[&(String, Vec<u8>)]) -> Result<(), Error> {
    let mut stored = Vec::new();
    for (name, row) in rows {
        each_slot(name, row, |number, bytes| {
            stored.push((number, bytes.to_owned()));
            Ok(())
        })?;
    }
    if memories.iter().map(|it| (it.number(), encode(it))).eq(stored) {
        return Ok(());
    }
    Err(damaged("the signatures are not those of the memories"))
}

/// Calls `visit` for each signature of the row `name` as bytes, with the memory's number.
fn each_slot(
    name: &str,
    row: &[u8],
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let name = name.strip_prefix(SEGMENTS).unwrap_or(name);
    let segment = u64::from_str_radix(name.trim_end_matches(NEWEST), 16).map_err(damaged)?;
    let (start, slots) = match row {
        [FORMAT, start, slots @ ..] if name.ends_with(NEWEST) => (u64::from(*start), slots),
        [FORMAT, slots @ ..] => (0, slots),
        _ => return Err(damaged("a segment is of another format")),
    };
    let mut number = segment.saturating_mul(SEGMENT).saturating_add(start);
    each(slots, |bytes| {
        number = number.saturating_add(1);
        if bytes.is_empty() { Ok(()) } else { visit(number, bytes) }
    })
}

fn each(mut rest: &[u8], mut visit: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
    while !rest.is_empty() {
        let length = small(&mut rest).map(widen);
        let slot = length.and_then(|it| rest.split_at_checked(it));
        let (slot, more) = slot.ok_or_else(|| damaged("a segment ends early"))?;
        visit(slot)?;
        rest = more;
    }
    Ok(())
}

fn encode(it: &Memory) -> Vec<u8> {
    let mut reader = Reader::default();
    let text = it.content.as_ref().map(Content::text).unwrap_or_default();
    // A tag counts as a word of the title: who searches need not know which words are tags.
    let named = format!("{} {}", it.title, it.tags.join(" "));
    let (title, title_words) = counted::count(&mut reader, &named);
    let (content, content_words) = counted::count(&mut reader, &text);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(it.is_verified, VERIFIED)
        | flag(it.is_marked, MARKED)
        | flag(it.superseded_by.is_some(), SUPERSEDED)
        | flag(it.status == Some(Status::Resolved), RESOLVED)
        | flag(it.redacted.is_some(), REDACTED);
    let severity = it.content.as_ref().and_then(Content::severity);
    let severity = Severity::ALL.into_iter().position(|one| Some(one) == severity);
    let kind = Kind::ALL.into_iter().position(|one| one == it.kind);
    let byte = |it: usize| u8::try_from(it).unwrap_or_default();
    let severity = severity.map_or(0, |it| byte(it.saturating_add(1)));
    let mut bytes = vec![kind.map_or(0, byte), flags, it.importance, severity];
    let times = [Some(it.at), Some(it.created_at), Some(it.changed_at)];
    for time in times.into_iter().chain([it.archived_at, it.expires_at]) {
        bytes.extend(time.map_or(0, |it| it.0).to_le_bytes());
    }
    let session = it.created_in.as_ref().map_or(0, |it| digest(it.as_str()).max(1));
    let ordinal = it.decision.map_or(0, |it| it.ordinal);
    for number in [ordinal, digest(it.created_by.as_str()), session, title_words, content_words] {
        bytes.extend(number.to_le_bytes());
    }
    let tags: Vec<u32> = it.tags.iter().map(|it| digest(it)).collect();
    for list in [tags, title, content] {
        bytes.extend(u32::try_from(list.len()).unwrap_or_default().to_le_bytes());
        bytes.extend(list.into_iter().flat_map(u32::to_le_bytes));
    }
    bytes
}

fn decode(number: u64, bytes: &[u8]) -> Option<Signature<'_>> {
    let (&[kind, flags, importance, severity], mut rest) = bytes.split_first_chunk()?;
    let [at, created_at, changed_at, archived_at, expires_at] = [(); 5].map(|()| time(&mut rest));
    let [ordinal, by, session, title_words, content_words] = [(); 5].map(|()| small(&mut rest));
    let [tags, title, content] = [(); 3].map(|()| list(&mut rest));
    let kind = *Kind::ALL.get(usize::from(kind))?;
    let has = |flag: u8| flags & flag != 0;
    let status = if has(RESOLVED) { Status::Resolved } else { Status::Open };
    let severity = usize::from(severity).checked_sub(1);
    let given = |it: Timestamp| (it.0 > 0).then_some(it);
    let head = Head {
        number,
        kind,
        importance,
        severity: severity.and_then(|it| Severity::ALL.get(it).copied()),
        status: (kind == Kind::Issue).then_some(status),
        is_verified: has(VERIFIED),
        is_marked: has(MARKED),
        is_superseded: has(SUPERSEDED),
        at: at?,
        created_at: created_at?,
        changed_at: changed_at?,
        archived_at: archived_at.and_then(given),
        expires_at: expires_at.and_then(given),
        ordinal: ordinal?,
        by: by?,
        session: session?,
    };
    let (tags, title, content) = (tags?, title?, content?);
    let (title_words, content_words) = (title_words?, content_words?);
    Some(Signature { head, tags, title, content, title_words, content_words })
}

fn time(rest: &mut &[u8]) -> Option<Timestamp> {
    let (bytes, more) = rest.split_first_chunk()?;
    *rest = more;
    Some(Timestamp(u64::from_le_bytes(*bytes)))
}

fn small(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, more) = rest.split_first_chunk()?;
    *rest = more;
    Some(u32::from_le_bytes(*bytes))
}

fn list<'a>(rest: &mut &'a [u8]) -> Option<&'a [[u8; 4]]> {
    let length = widen(small(rest)?);
    let (list, more) = rest.split_at_checked(length.checked_mul(4)?)?;
    *rest = more;
    Some(list.as_chunks().0)
}
