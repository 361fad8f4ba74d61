//! Signatures: the attributes of a memory for searches, in the row of its segment (decision 0050).
//!
//! A signature has the memory's kind, states and times, digests of its tags, its writer and its
//! session, and the words of its title (with its tags) and of its content with their counts. The
//! signatures of 64 memories are one row, so that a search reads few rows, and a change writes one.
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

/// Returns the name of the row of a segment.
pub(crate) fn segment_row(segment: u64) -> String {
    format!("{SEGMENTS}{segment:08x}")
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

/// The signatures of a segment, each as bytes; empty where there is no memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Segment(Vec<Vec<u8>>);

impl Segment {
    /// Decodes the row of a segment.
    pub(crate) fn decode(row: &[u8]) -> Result<Self, Error> {
        let mut slots = Vec::new();
        each(row, |it| {
            slots.push(it.to_owned());
            Ok(())
        })?;
        Ok(Self(slots))
    }

    /// Encodes the row; `None` if no memory is left.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let used = self.0.iter().rposition(|it| !it.is_empty())?;
        let mut row = vec![FORMAT];
        for slot in self.0.iter().take(used.saturating_add(1)) {
            let length = u32::try_from(slot.len()).unwrap_or_default();
            row.extend(length.to_le_bytes());
            row.extend(slot);
        }
        Some(row)
    }

    /// Sets the signature of a memory; `None` removes it.
    pub(crate) fn set(&mut self, place: usize, memory: Option<&Memory>) {
        if place >= self.0.len() {
            self.0.resize(place.saturating_add(1), Vec::new());
        }
        if let Some(it) = self.0.get_mut(place) {
            *it = memory.map(encode).unwrap_or_default();
        }
    }
}

/// Calls `visit` for each signature of a row.
pub(crate) fn each_signature(
    segment: u64,
    row: &[u8],
    mut visit: impl FnMut(Signature<'_>),
) -> Result<(), Error> {
    let mut number = segment.saturating_mul(SEGMENT);
    each(row, |bytes| {
        number = number.saturating_add(1);
        if !bytes.is_empty() {
            visit(decode(number, bytes).ok_or_else(|| damaged("a signature is too short"))?);
        }
        Ok(())
    })
}

/// Returns the number of a segment from the name of its row.
pub(crate) fn segment_of(row: &str) -> Result<u64, Error> {
    let digits = row.strip_prefix(SEGMENTS).unwrap_or(row);
    u64::from_str_radix(digits, 16).map_err(damaged)
}

fn each(row: &[u8], mut visit: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
    let Some((&FORMAT, mut rest)) = row.split_first() else {
        return Err(damaged("a segment is of another format"));
    };
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
