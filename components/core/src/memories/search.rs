//! Searches: the memories that match, their scores and their order (spec 19.3).

use super::{
    commands::{Cursor, SearchMemories},
    content::Content,
    kinds::{Severity, Sort},
    memory::Memory,
    rank::Rank,
    rows::Use,
    signature::{Brief, Signature, digest},
};
use crate::{
    Error,
    count::{narrow, widen},
    text::{
        Score,
        counted::{self, Hit},
        words::Reader,
    },
    time::Timestamp,
};

/// The longest query, in bytes.
pub const QUERY_BYTES_MAX: usize = 2_000;
/// The most memories of a page.
pub const SEARCH_LIMIT_MAX: u32 = 100;
/// The memories of a page that names no limit.
pub const SEARCH_LIMIT_DEFAULT: u32 = 10;
/// The longest snippet, in characters.
pub const SNIPPET_CHARS_MAX: usize = 160;

impl SearchMemories {
    /// Validates the search.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: query, limit, times that exclude each other.
    pub fn check(&self) -> Result<(), Error> {
        check_query("query", self.query.as_deref())?;
        if !(1..=SEARCH_LIMIT_MAX).contains(&self.limit) {
            return Err(Error::malformed(format!(
                "limit is {}; it must be 1 to {SEARCH_LIMIT_MAX}",
                self.limit
            )));
        }
        match (self.after, self.before) {
            (Some(after), Some(before)) if after >= before => Err(Error::malformed(
                "timestamp_after is not earlier than timestamp_before, so that nothing can match; \
                 between the two is what you look for",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the order.
    pub fn order(&self) -> Sort {
        let own = if self.query.is_some() { Sort::Relevance } else { Sort::Timestamp };
        self.sort.unwrap_or(own)
    }

    /// Returns true if a memory may match, by its signature.
    pub(crate) fn may_match(&self, it: &Signature<'_>, now: Timestamp) -> bool {
        let head = &it.head;
        !head.is_expired(now)
            && head.archived_at.is_some() == self.is_archived
            && self.kind.is_none_or(|it| it == head.kind)
            && self.importance_min.is_none_or(|it| it <= head.importance)
            && self.after.is_none_or(|it| it < head.at)
            && self.before.is_none_or(|it| head.at < it)
            && (self.status.is_none() || self.status == head.status)
            && self.session.as_ref().is_none_or(|it| digest(it.as_str()).max(1) == head.session)
            && self.participant.as_ref().is_none_or(|it| digest(it.as_str()) == head.by)
            && self.tags.iter().all(|tag| it.has_tag(digest(tag)))
    }

    /// Returns true if a memory matches in the details of which its signature has only digests.
    pub(crate) fn matches(&self, it: &Memory) -> bool {
        self.session.as_ref().is_none_or(|session| it.created_in.as_ref() == Some(session))
            && self.participant.as_ref().is_none_or(|by| it.created_by == *by)
            && self.tags.iter().all(|tag| it.tags.contains(tag))
    }
}

/// Validates a query or a task.
///
/// # Errors
///
/// [`Error::Malformed`] if it is empty or too long.
pub fn check_query(member: &str, text: Option<&str>) -> Result<(), Error> {
    let Some(text) = text else { return Ok(()) };
    if text.trim().is_empty() || text.len() > QUERY_BYTES_MAX {
        return Err(Error::malformed(format!(
            "{member} has {} bytes; it must be 1 to {QUERY_BYTES_MAX}: name what you look for in a \
             few words, or leave it out",
            text.len()
        )));
    }
    Ok(())
}

/// The memories that may match, with the words of the query that they have.
#[derive(Debug)]
pub(crate) struct Matches<'a> {
    /// The words of the query, sorted.
    terms: &'a [u32],
    briefs: Vec<Brief>,
    titles: Field,
    contents: Field,
}

/// The titles or the contents of memories.
#[derive(Debug, Default)]
struct Field {
    lengths: Vec<u32>,
    hits: Vec<Hit>,
}

impl<'a> Matches<'a> {
    /// Prepares to look for `terms` in at most `most` memories.
    pub(crate) fn new(terms: &'a [u32], most: u32) -> Self {
        // A vector that grows copies itself, and most of the time of a search goes into memory.
        let briefs = Vec::with_capacity(widen(most));
        Self { terms, briefs, titles: Field::default(), contents: Field::default() }
    }

    /// Adds a memory.
    pub(crate) fn push(&mut self, it: &Signature<'_>) {
        let text = narrow(self.briefs.len());
        self.briefs.push(it.head.brief());
        self.titles.push(self.terms, text, it.title_words, it.title);
        self.contents.push(self.terms, text, it.content_words, it.content);
    }

    /// Returns each memory, with the scores of its title and its content.
    pub(crate) fn scored(self) -> impl Iterator<Item = (Brief, (Score, Score))> {
        let titles = self.titles.scores(self.terms.len());
        let contents = self.contents.scores(self.terms.len());
        self.briefs.into_iter().zip(titles.into_iter().zip(contents))
    }
}

impl Field {
    fn push(&mut self, terms: &[u32], text: u32, length: u32, words: &[[u8; 4]]) {
        self.lengths.push(length);
        counted::each_common(words, terms, |term, count| {
            self.hits.push(Hit { text, term: narrow(term), count });
        });
    }

    fn scores(&self, terms: usize) -> Vec<Score> {
        counted::scores(&self.lengths, terms, &self.hits)
    }
}

/// A memory in the order of a search.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    pub(crate) cursor: Cursor,
    pub(crate) number: u64,
    pub(crate) uses: Use,
    pub(crate) rank: Rank,
}

/// Returns the place of a memory in the order of `sort`.
pub(crate) fn cursor(sort: Sort, it: &Brief, uses: Use, rank: &Rank) -> Cursor {
    let severity = Severity::ALL.into_iter().position(|one| Some(one) == it.severity);
    let key = match sort {
        Sort::Relevance => rank.total().into(),
        Sort::Importance => it.importance.into(),
        Sort::Timestamp => 0,
        Sort::Severity => severity.map_or(0, |it| u64::from(narrow(it)).saturating_add(1)),
        Sort::Access => uses.count.into(),
    };
    Cursor { key, at: it.at.0, number: it.number }
}

/// The first memories of an order: as many as were asked for.
#[derive(Debug)]
pub(crate) struct First {
    most: usize,
    after: Option<Cursor>,
    /// The first ones, in their order.
    pub(crate) ranked: Vec<Ranked>,
}

impl First {
    /// Prepares to keep `most` memories after `after`.
    pub(crate) fn new(most: usize, after: Option<Cursor>) -> Self {
        Self { most, after, ranked: Vec::new() }
    }

    /// Adds a memory, if it is among the first.
    pub(crate) fn push(&mut self, it: Ranked) {
        if self.after.is_some_and(|after| it.cursor >= after) {
            return;
        }
        let place = self.ranked.partition_point(|one| one.cursor > it.cursor);
        if place < self.most {
            self.ranked.insert(place, it);
            self.ranked.truncate(self.most);
        }
    }
}

/// Returns the part of a content that has most in common with a query, whose words are `terms`, in
/// one line.
pub(crate) fn snippet(content: &Content, terms: &[u32], reader: &mut Reader) -> String {
    let text = content.text();
    let mut best = ("", 0_usize);
    for line in text.lines().flat_map(|it| it.split_inclusive(". ")) {
        let words = counted::terms(reader, line);
        let shared = words.iter().filter(|it| terms.binary_search(it).is_ok()).count();
        if best.0.trim().is_empty() || shared > best.1 {
            best = (line, shared);
        }
    }
    let line = best.0.trim();
    let is_long = line.chars().count() > SNIPPET_CHARS_MAX;
    let keep = if is_long { SNIPPET_CHARS_MAX.saturating_sub(1) } else { SNIPPET_CHARS_MAX };
    let kept: String =
        line.chars().take(keep).map(|it| if it.is_control() { ' ' } else { it }).collect();
    if is_long { format!("{}…", kept.trim_end()) } else { kept }
}

impl Cursor {
    /// Returns the cursor as text.
    pub fn text(&self) -> String {
        format!("{:x}.{:x}.{:x}", self.key, self.at, self.number)
    }

    /// Parses a cursor.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let part = |it: Option<&str>| {
            let digits = it.filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit()));
            digits.and_then(|it| u64::from_str_radix(it, 16).ok())
        };
        let mut parts = text.split('.');
        let read = (part(parts.next()), part(parts.next()), part(parts.next()), parts.next());
        match read {
            (Some(key), Some(at), Some(number), None) => Ok(Self { key, at, number }),
            _ => Err(Error::malformed(
                "cursor is none that a search returned; send the next_cursor of the page before, or \
                 leave it out",
            )),
        }
    }
}
