//! A section of the outline (spec 20.1).

use super::{level, links, marker::Marker};
use crate::{
    Error,
    digest::is_sha256,
    key::Line,
    kv::Revision,
    participant::{Caller, Participant},
    pattern::ParticipantPattern,
    scope::SessionId,
    time::Timestamp,
    tokens::{Tokens, approximate},
};

/// The most sections of a project.
pub const SECTIONS_MAX: usize = 500;
/// The longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 100;
/// The longest description in the index, in characters.
pub const SUMMARY_CHARS_MAX: usize = 200;
/// The longest status tag, in characters.
pub const STATUS_CHARS_MAX: usize = 30;
/// The largest content of a section of level 4, in bytes.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;
/// The most shortcuts of a section of level 1.
pub const SHORTCUTS_MAX: usize = 32;
/// The number of versions of a section that are kept, the current one included.
pub const VERSIONS_KEPT: u32 = 10;
/// The most readers of a section.
const READERS_MAX: usize = 32;

/// A participant of a session. Participants of several sessions have one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The participant.
    pub participant: Participant,
    /// Its session; `None` for the operator.
    pub session: Option<SessionId>,
}

impl Owner {
    /// Returns the caller as an owner.
    pub fn of(caller: &Caller) -> Self {
        Self { participant: caller.participant.clone(), session: caller.session.clone() }
    }

    /// Returns the owner as text, as in `subagent:impl:3 of shop-42`.
    pub fn text(&self) -> String {
        let session = self.session.as_ref().map_or("", SessionId::as_str);
        let of = if session.is_empty() { "" } else { " of " };
        [self.participant.as_str(), of, session].concat()
    }
}

/// A file that a section of level 4 refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReference {
    /// Its path.
    pub path: Line,
    /// Its size in bytes.
    pub size: u64,
    /// The time of its last change.
    pub modified_at: Option<Timestamp>,
    /// The digest of its bytes.
    pub digest: Option<String>,
    /// Its purpose.
    pub purpose: Line,
}

impl FileReference {
    /// Validates the digest.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn checked(self) -> Result<Self, Error> {
        if self.digest.as_deref().is_some_and(|it| !is_sha256(it)) {
            return Err(Error::malformed("file.digest must be sha256: and 64 of 0-9 and a-f"));
        }
        Ok(self)
    }
}

/// A shortcut of the index: where to find what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortcut {
    /// The need that the place meets.
    pub need: Line,
    /// The place.
    pub marker: Marker,
    /// The name of the place, after its marker.
    pub label: Option<Line>,
}

/// A section to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSection {
    /// Its marker.
    pub marker: Marker,
    /// Its title; that of the version before when `None`.
    pub title: Option<String>,
    /// Its content.
    pub content: Option<String>,
    /// Its description in the index.
    pub summary: Option<String>,
    /// Its status tag in the index.
    pub status: Option<String>,
    /// Its progress, in percent.
    pub progress: Option<u8>,
    /// Its shortcuts, at level 1.
    pub shortcuts: Option<Vec<Shortcut>>,
    /// The file that it refers to, at level 4.
    pub file: Option<FileReference>,
    /// The other participants that may read it, at levels 3 and 4.
    pub readers: Option<Vec<String>>,
}

/// The remainder of a redacted section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedSection {
    /// The digest of the content.
    pub digest: String,
    /// The reason for the redaction.
    pub reason: String,
}

/// A section, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its marker.
    pub marker: Marker,
    /// Its title.
    pub title: String,
    /// Its description in the index.
    pub summary: String,
    /// Its status tag in the index; empty for none.
    pub status: String,
    /// Its progress, in percent.
    pub progress: Option<u8>,
    /// Its shortcuts.
    pub shortcuts: Vec<Shortcut>,
    /// The file that it refers to.
    pub file: Option<FileReference>,
    /// The other participants that may read it, as patterns.
    pub readers: Vec<String>,
    /// The reason why it is not loaded, if its owner gave one.
    pub pruned: Option<String>,
    /// The revision that wrote its first version.
    pub created: Revision,
    /// Its version, from 1.
    pub version: u32,
    /// The time of this version.
    pub changed_at: Timestamp,
    /// The participant that wrote this version.
    pub changed_by: Owner,
    /// The tokens of its content.
    pub tokens: Tokens,
    /// The digest and the reason that remain after a redaction of this version.
    pub redacted: Option<RedactedSection>,
}

/// A version of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionVersion {
    /// The content; empty if it was redacted.
    pub content: String,
    /// The time when it was written.
    pub at: Timestamp,
    /// The participant that wrote it.
    pub by: Owner,
}

/// The start of a content by which an owner marks a section as not loaded.
pub(crate) const PRUNE: &str = "PRUNE:";

impl NewSection {
    /// Validates the section, except what depends on the project.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`], or [`Error::SectionTooLarge`].
    pub fn checked(self) -> Result<Self, Error> {
        if self.is_empty() {
            return Err(Error::malformed(
                "put_section changes nothing; send what is to change, such as content or progress",
            ));
        }
        let level = self.marker.level();
        check_line("title", self.title.as_deref(), 1, TITLE_CHARS_MAX)?;
        check_line("summary", self.summary.as_deref(), 0, SUMMARY_CHARS_MAX)?;
        check_line("status", self.status.as_deref(), 0, STATUS_CHARS_MAX)?;
        if self.status.as_deref().is_some_and(|it| it.contains(['[', ']'])) {
            return Err(Error::malformed(
                "status is shown in brackets; send the word without them, as in IN PROGRESS",
            ));
        }
        if self.progress.is_some_and(|it| it > 100) {
            return Err(Error::malformed("progress must be 0 to 100 percent"));
        }
        if level != 1 && self.shortcuts.is_some() {
            return Err(Error::malformed("only a section of level 1 has shortcuts, such as §1.0"));
        }
        if self.shortcuts.as_ref().is_some_and(|it| it.len() > SHORTCUTS_MAX) {
            return Err(Error::malformed(
                "shortcuts has more than 32 elements; keep the usual ones",
            ));
        }
        if level != 4 && self.file.is_some() {
            return Err(Error::malformed("only a section of level 4 refers to a file"));
        }
        if level < 3 && self.readers.is_some() {
            return Err(Error::malformed(
                "everyone in the project reads levels 1 and 2; leave readers out",
            ));
        }
        let readers = self.readers.as_deref().unwrap_or_default();
        if readers.len() > READERS_MAX {
            return Err(Error::malformed("readers has more than 32 patterns; use * in patterns"));
        }
        for it in readers {
            ParticipantPattern::parse(it)?;
        }
        if let Some(content) = &self.content {
            self.check_content(content)?;
        }
        Ok(self)
    }

    /// Returns true if it names a section and changes nothing.
    fn is_empty(&self) -> bool {
        let texts = [&self.title, &self.content, &self.summary, &self.status];
        texts.iter().all(|it| it.is_none())
            && self.progress.is_none()
            && self.shortcuts.is_none()
            && self.file.is_none()
            && self.readers.is_none()
    }

    fn check_content(&self, content: &str) -> Result<(), Error> {
        let level = self.marker.level();
        let tokens = approximate(content);
        let rule = level::rule(level);
        let is_too_large =
            if level == 4 { content.len() > INLINE_BYTES_MAX } else { tokens.0 > rule.tokens_max };
        if is_too_large {
            return Err(Error::SectionTooLarge { level, tokens, bytes: content.len() });
        }
        if level < 4 {
            let found = links::of(content);
            if found.len() > links::LINKS_MAX {
                return Err(Error::malformed(
                    "the content has more than 64 links; keep the main ones",
                ));
            }
            if found.contains(&self.marker) {
                return Err(Error::malformed(
                    [
                        "the content of ",
                        &self.marker.to_string(),
                        " has a link to itself; remove it",
                    ]
                    .concat(),
                ));
            }
        }
        Ok(())
    }

    /// Returns the reason why the section is no longer loaded, if its content has that mark.
    pub(crate) fn prunes(&self) -> Option<String> {
        let reason = self.content.as_deref()?.trim().strip_prefix(PRUNE)?.trim();
        let own = self.marker.to_string();
        let reason = reason.strip_prefix(&own).unwrap_or(reason).trim_start_matches([' ', '-']);
        Some(reason.chars().filter(|it| !it.is_control()).take(200).collect())
    }
}

impl Section {
    /// Returns true if `caller` may read the content without owning the section: everyone at levels 1
    /// and 2, else who wrote it, its readers, orchestrators and the operator.
    pub fn is_readable_by(&self, caller: &Caller) -> bool {
        use crate::participant::Role;

        let is_reader = |it: &String| {
            ParticipantPattern::parse(it).is_ok_and(|it| it.matches(&caller.participant))
        };
        self.marker.level() < 3
            || caller.participant.role() != Role::Agent
            || self.changed_by == Owner::of(caller)
            || self.readers.iter().any(is_reader)
    }
}

fn check_line(name: &str, text: Option<&str>, least: usize, most: usize) -> Result<(), Error> {
    let Some(text) = text else { return Ok(()) };
    let chars = text.chars().count();
    if (least..=most).contains(&chars) && !text.contains(char::is_control) {
        return Ok(());
    }
    Err(Error::malformed(
        [
            name,
            " must be one line of ",
            &least.to_string(),
            " to ",
            &most.to_string(),
            " characters",
        ]
        .concat(),
    ))
}
