//! A memory: a piece of knowledge that outlives a session (spec 19.1).

use super::{
    content::Content,
    id::{DecisionId, MemoryId, MemoryRef},
    kinds::{Kind, Status},
};
use crate::{
    Error,
    canonical::Writer,
    digest::{is_sha256, sha256},
    item::Authority,
    key::Line,
    participant::Participant,
    scope::SessionId,
    text::lower,
    time::Timestamp,
    tokens::{Tokens, approximate},
};

/// The longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 100;
/// The most tags.
pub const TAGS_MAX: usize = 16;
/// The longest tag, in characters.
pub const TAG_CHARS_MAX: usize = 40;
/// The range of importance: 10 is critical.
pub const IMPORTANCE: std::ops::RangeInclusive<u32> = 1..=10;
/// The importance of a memory that names none.
pub const IMPORTANCE_DEFAULT: u8 = 5;
/// The largest memory: title, content and tags as JSON, in bytes.
pub const MEMORY_BYTES_MAX: usize = 8 * 1024;
/// The text in place of the title of a redacted memory.
pub(crate) const REDACTED_TITLE: &str = "[redacted]";
/// The most earlier versions that are kept.
pub(crate) const VERSIONS_KEPT: usize = 9;
/// The most memories that one may supersede at once.
pub const SUPERSEDES_MAX: usize = 16;

/// The source of a memory within its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySource {
    /// The entry, the item of a conversation or the round, in one line.
    pub place: Line,
    /// The digest of what stood there.
    pub digest: Option<String>,
}

impl MemorySource {
    /// Creates a source.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for a place that is not one line, or an invalid digest.
    pub fn new(place: &str, digest: Option<String>) -> Result<Self, Error> {
        if digest.as_deref().is_some_and(|it| !is_sha256(it)) {
            return Err(Error::malformed("source.digest must be sha256: and 64 of 0-9 and a-f"));
        }
        Ok(Self { place: Line::parse("source.place", place)?, digest })
    }
}

/// A memory to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// Its title, in one line.
    pub title: String,
    /// Its content, and with it its kind.
    pub content: Content,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Its importance, from 1 to 10.
    pub importance: u8,
    /// The status of an issue; open when `None`.
    pub status: Option<Status>,
    /// The authority of its source: how far it can be trusted.
    pub authority: Authority,
    /// The time when it happened; now when `None`.
    pub at: Option<Timestamp>,
    /// The instant from which it does not exist.
    pub expires_at: Option<Timestamp>,
    /// A memory that it belongs to.
    pub parent: Option<MemoryRef>,
    /// The memories that it replaces.
    pub supersedes: Vec<MemoryRef>,
    /// The source of its words.
    pub source: Option<MemorySource>,
}

/// The remainder of a redacted memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedMemory {
    /// The digest of the memory.
    pub digest: String,
    /// The reason for the redaction.
    pub reason: Line,
}

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// The second id of a decision.
    pub decision: Option<DecisionId>,
    /// Its title.
    pub title: String,
    /// Its content; `None` if it was redacted.
    pub content: Option<Content>,
    /// Its kind.
    pub kind: Kind,
    /// Its tags, in lower case.
    pub tags: Vec<String>,
    /// Its importance.
    pub importance: u8,
    /// The status of an issue.
    pub status: Option<Status>,
    /// The authority of its source: how far it can be trusted.
    pub authority: Authority,
    /// False if it is only shown to callers that ask for unverified memories.
    pub is_verified: bool,
    /// The time when it happened.
    pub at: Timestamp,
    /// The time when it was added.
    pub created_at: Timestamp,
    /// The participant that added it.
    pub created_by: Participant,
    /// The session in which it was added; `None` for the operator.
    pub created_in: Option<SessionId>,
    /// The time of this version.
    pub changed_at: Timestamp,
    /// The participant that wrote this version.
    pub changed_by: Participant,
    /// Its version, from 1.
    pub version: u32,
    /// The instant from which it does not exist.
    pub expires_at: Option<Timestamp>,
    /// The number of the memory that it belongs to.
    pub parent: Option<u64>,
    /// The numbers of the memories that it replaced.
    pub supersedes: Vec<u64>,
    /// The number of the memory that replaced it.
    pub superseded_by: Option<u64>,
    /// The time when it was archived.
    pub archived_at: Option<Timestamp>,
    /// True if the next maintenance removes it.
    pub is_marked: bool,
    /// The source of its words.
    pub source: Option<MemorySource>,
    /// The digest and the reason that remain after a redaction.
    pub redacted: Option<RedactedMemory>,
}

impl NewMemory {
    /// Validates the memory, except what depends on the project, and normalizes its tags.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for the first of: title, tags, importance, status, number of superseded
    /// memories, size.
    pub fn checked(mut self) -> Result<Self, Error> {
        check_title(&self.title)?;
        self.tags = checked_tags(&self.tags)?;
        check_importance(self.importance.into())?;
        check_status(self.content.kind(), self.status)?;
        if self.supersedes.len() > SUPERSEDES_MAX {
            return Err(Error::malformed(format!(
                "supersedes names {} memories, at most {SUPERSEDES_MAX} fit",
                self.supersedes.len()
            )));
        }
        check_size(&self.title, &self.content, &self.tags)?;
        Ok(self)
    }

    /// Returns the digest that identifies what the memory says.
    pub fn digest(&self) -> String {
        sha256(document(&self.title, &self.content, &self.tags))
    }
}

impl Memory {
    /// Returns an empty memory with this id and writer, to be filled.
    pub fn blank(id: MemoryId, writer: &Participant) -> Self {
        Self {
            id,
            decision: None,
            title: String::new(),
            content: None,
            kind: Kind::Decision,
            tags: Vec::new(),
            importance: IMPORTANCE_DEFAULT,
            status: None,
            authority: Authority::Unknown,
            is_verified: false,
            at: Timestamp(0),
            created_at: Timestamp(0),
            created_by: writer.clone(),
            created_in: None,
            changed_at: Timestamp(0),
            changed_by: writer.clone(),
            version: 1,
            expires_at: None,
            parent: None,
            supersedes: Vec::new(),
            superseded_by: None,
            archived_at: None,
            is_marked: false,
            source: None,
            redacted: None,
        }
    }

    /// Returns the number of the memory.
    pub fn number(&self) -> u64 {
        self.id.number()
    }

    /// Returns the digest that identifies what the memory says.
    pub fn digest(&self) -> String {
        match (&self.content, &self.redacted) {
            (Some(content), _) => sha256(document(&self.title, content, &self.tags)),
            (None, redacted) => redacted.as_ref().map(|it| it.digest.clone()).unwrap_or_default(),
        }
    }

    /// Returns true if it does not exist any more at `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|it| it <= now)
    }

    /// Returns the text that similarity and warnings are computed from.
    pub(crate) fn text(&self) -> String {
        let content = self.content.as_ref().map(Content::text).unwrap_or_default();
        [self.title.as_str(), "\n", &content].concat()
    }

    /// Returns the tokens of its text.
    pub fn tokens(&self) -> Tokens {
        let content = self.content.as_ref().map(Content::text).unwrap_or_default();
        approximate(&self.title).plus(approximate(&content))
    }
}

/// Returns what identifies a memory, as canonical JSON.
fn document(title: &str, content: &Content, tags: &[String]) -> String {
    let mut writer = Writer::default();
    writer.open('{');
    writer.text("content", &content.json());
    writer.list("tags");
    for it in tags {
        writer.item(it);
    }
    writer.close(']');
    writer.text("title", title);
    writer.text("type", content.kind().as_str());
    writer.close('}');
    writer.into_text()
}

/// Validates a title.
///
/// # Errors
///
/// [`Error::Malformed`].
pub(crate) fn check_title(title: &str) -> Result<(), Error> {
    let chars = title.chars().count();
    // Some readers break a line at these two as well.
    let breaks = |it: char| it.is_control() || matches!(it, '\u{2028}' | '\u{2029}');
    let what = if title.trim().is_empty() {
        "is blank".to_owned()
    } else if title.contains(breaks) {
        "has a line break or another control character".to_owned()
    } else if chars > TITLE_CHARS_MAX {
        format!("has {chars} characters")
    } else {
        return Ok(());
    };
    Err(Error::malformed(format!(
        "title {what}; it must be one line of 1 to {TITLE_CHARS_MAX} characters: say what the memory \
         is, and put the rest in content"
    )))
}

/// Returns tags in lower case, sorted and without repetitions.
///
/// # Errors
///
/// [`Error::Malformed`] for an invalid tag, or too many.
pub fn checked_tags(tags: &[String]) -> Result<Vec<String>, Error> {
    if tags.len() > TAGS_MAX {
        return Err(Error::malformed(format!(
            "tags has {} elements, at most {TAGS_MAX} fit; keep those that somebody searches for",
            tags.len()
        )));
    }
    let mut checked: Vec<String> = Vec::new();
    for tag in tags {
        // What is kept is what is checked: lower case has other characters than some capitals.
        let tag = lower(tag);
        let is_allowed = |it: char| it.is_alphanumeric() || "_-.:/+#".contains(it);
        let chars = tag.chars().count();
        if !(1..=TAG_CHARS_MAX).contains(&chars) || !tag.chars().all(is_allowed) {
            let shown: String = tag.chars().take(80).collect();
            return Err(Error::malformed(format!(
                "tag {shown:?} must be 1 to {TAG_CHARS_MAX} letters, digits or _-.:/+#, without \
                 spaces and commas; send several tags as several elements"
            )));
        }
        if let Err(place) = checked.binary_search(&tag) {
            checked.insert(place, tag);
        }
    }
    Ok(checked)
}

/// Validates an importance.
///
/// # Errors
///
/// [`Error::Malformed`].
pub fn check_importance(importance: u32) -> Result<u8, Error> {
    let small = u8::try_from(importance).ok().filter(|_| IMPORTANCE.contains(&importance));
    small.ok_or_else(|| {
        Error::malformed(format!(
            "importance is {importance}; it must be 1 to 10: 8 to 10 are kept for ever, 5 to 7 at \
             least 30 days, 1 to 4 at least 7"
        ))
    })
}

/// Validates that only an issue has a status.
///
/// # Errors
///
/// [`Error::Malformed`].
pub(crate) fn check_status(kind: Kind, status: Option<Status>) -> Result<(), Error> {
    if kind != Kind::Issue && status.is_some() {
        return Err(Error::malformed(format!(
            "only an issue has a status, this is {}; leave status out",
            kind.with_article()
        )));
    }
    Ok(())
}

/// Validates the size of a memory.
///
/// # Errors
///
/// [`Error::Malformed`].
pub(crate) fn check_size(title: &str, content: &Content, tags: &[String]) -> Result<(), Error> {
    let bytes = document(title, content, tags).len();
    if bytes > MEMORY_BYTES_MAX {
        return Err(Error::malformed(format!(
            "the memory has {bytes} bytes, at most {MEMORY_BYTES_MAX} fit; keep what matters, and \
             name where the rest is"
        )));
    }
    Ok(())
}
