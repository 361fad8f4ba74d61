//! The rows of sections: `o/<marker>` without content, `o/v/<marker>/<version>` with it.

use serde::{Deserialize, Serialize};

use super::{
    marker::Marker,
    section::{FileReference, Owner, RedactedSection, Section, SectionVersion, Shortcut},
};
use crate::{
    Error,
    kv::Revision,
    row::{damaged, decode, encode, stored_line, stored_participant},
    scope::SessionId,
    time::Timestamp,
    tokens::Tokens,
};

/// The start of the rows of the sections of a level, without the level.
pub(crate) const SECTIONS: &str = "o/";
/// The start of the rows of versions.
const VERSIONS: &str = "o/v/";

/// An owner in its stored form: participant, and session.
pub(crate) type OwnerRecord = (String, String);

/// Returns the name of a section's row.
pub(crate) fn section_row(marker: &Marker) -> String {
    [SECTIONS, marker.as_str()].concat()
}

/// Returns the name of the row of a version.
pub(crate) fn version_row(marker: &Marker, version: u32) -> String {
    format!("{VERSIONS}{}/{version:08x}", marker.as_str())
}

/// Returns the start of the rows of a section's versions.
pub(crate) fn versions_of(marker: &Marker) -> String {
    [VERSIONS, marker.as_str(), "/"].concat()
}

/// Returns the version of a row.
pub(crate) fn version_of(row: &str) -> Result<u32, Error> {
    let digits = row.rsplit_once('/').map_or(row, |it| it.1);
    u32::from_str_radix(digits, 16).map_err(damaged)
}

/// Returns an owner in its stored form.
pub(crate) fn owner_record(it: &Owner) -> OwnerRecord {
    let session = it.session.as_ref().map_or("", SessionId::as_str);
    (it.participant.as_str().to_owned(), session.to_owned())
}

/// Returns a stored owner.
pub(crate) fn stored_owner((participant, session): &OwnerRecord) -> Result<Owner, Error> {
    let id = || SessionId::new(session).ok_or_else(|| damaged("an owner has an invalid session"));
    Ok(Owner {
        participant: stored_participant(participant)?,
        session: if session.is_empty() { None } else { Some(id()?) },
    })
}

#[derive(Serialize, Deserialize)]
struct SectionRecord {
    marker: String,
    title: String,
    summary: String,
    status: String,
    progress: Option<u8>,
    shortcuts: Vec<(String, String, String)>,
    file: Option<(String, u64, Option<u64>, String, String)>,
    readers: Vec<String>,
    pruned: Option<String>,
    version: u32,
    changed_at_ms: u64,
    changed_by: OwnerRecord,
    tokens: u32,
    redacted: Option<(String, String)>,
    created: u64,
}

/// Encodes the row of a section.
pub(crate) fn encode_section(it: &Section) -> Result<Vec<u8>, Error> {
    let shortcut = |it: &Shortcut| {
        let label = it.label.as_ref().map_or("", |it| it.as_str());
        (it.need.as_str().to_owned(), it.marker.as_str().to_owned(), label.to_owned())
    };
    let file = it.file.as_ref().map(|it| {
        let digest = it.digest.clone().unwrap_or_default();
        let modified = it.modified_at.map(|it| it.0);
        (it.path.as_str().to_owned(), it.size, modified, digest, it.purpose.as_str().to_owned())
    });
    encode(&SectionRecord {
        marker: it.marker.as_str().to_owned(),
        title: it.title.clone(),
        summary: it.summary.clone(),
        status: it.status.clone(),
        progress: it.progress,
        shortcuts: it.shortcuts.iter().map(shortcut).collect(),
        file,
        readers: it.readers.clone(),
        pruned: it.pruned.clone(),
        version: it.version,
        changed_at_ms: it.changed_at.0,
        changed_by: owner_record(&it.changed_by),
        tokens: it.tokens.0,
        redacted: it.redacted.as_ref().map(|it| (it.digest.clone(), it.reason.clone())),
        created: it.created.0,
    })
}

/// Decodes the row of a section.
pub(crate) fn decode_section(bytes: &[u8]) -> Result<Section, Error> {
    let it: SectionRecord = decode(bytes)?;
    let mut shortcuts = Vec::new();
    for (need, marker, label) in &it.shortcuts {
        shortcuts.push(Shortcut {
            need: stored_line(need)?,
            marker: Marker::parse(marker).map_err(damaged)?,
            label: if label.is_empty() { None } else { Some(stored_line(label)?) },
        });
    }
    let file = match it.file {
        None => None,
        Some((path, size, modified_at, digest, purpose)) => Some(FileReference {
            path: stored_line(&path)?,
            size,
            modified_at: modified_at.map(Timestamp),
            digest: (!digest.is_empty()).then_some(digest),
            purpose: stored_line(&purpose)?,
        }),
    };
    Ok(Section {
        marker: Marker::parse(&it.marker).map_err(damaged)?,
        title: it.title,
        summary: it.summary,
        status: it.status,
        progress: it.progress,
        shortcuts,
        file,
        readers: it.readers,
        pruned: it.pruned,
        created: Revision(it.created),
        version: it.version,
        changed_at: Timestamp(it.changed_at_ms),
        changed_by: stored_owner(&it.changed_by)?,
        tokens: Tokens(it.tokens),
        redacted: it.redacted.map(|(digest, reason)| RedactedSection { digest, reason }),
    })
}

/// Encodes the row of a version.
pub(crate) fn encode_version(it: &SectionVersion) -> Result<Vec<u8>, Error> {
    encode(&(&it.content, it.at.0, owner_record(&it.by)))
}

/// Decodes the row of a version.
pub(crate) fn decode_version(bytes: &[u8]) -> Result<SectionVersion, Error> {
    let (content, at, by): (String, u64, OwnerRecord) = decode(bytes)?;
    Ok(SectionVersion { content, at: Timestamp(at), by: stored_owner(&by)? })
}
