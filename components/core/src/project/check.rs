//! Checks the rows of a project: all derived rows match the memories, and sections have their
//! versions.
//!
//! No request calls this. Tests do, after random changes and faults.

use super::record::{META, Meta};
use crate::{
    Error, handoffs,
    kv::Row,
    memories::{
        Memory,
        near::{self, Index, Near},
        rows, signature,
    },
    outline::{
        VERSIONS_KEPT,
        rows::{SECTIONS, decode_section, decode_version, section_row, version_row, versions_of},
    },
    ownership::rows::{TENURES, decode_tenure, marker_of},
    row::damaged,
    scope::ProjectId,
};

/// Checks all rows of a project.
///
/// # Errors
///
/// [`Error::Unread`] with the first thing that is wrong: a row that cannot be decoded, totals that are
/// not those of the rows, a signature or sketch that is not that of its memory, more than 10 versions
/// or versions with gaps, an id of another number, a link that is not there both ways, a circle, an
/// owner of no section, a package of no handoff.
pub fn check_project_rows(project: &ProjectId, all: &[Row]) -> Result<(), Error> {
    let of = |prefix: &'static str| all.iter().filter(move |it| it.0.starts_with(prefix));
    let row = |name: &str| all.iter().find(|it| it.0 == name).map(|it| it.1.as_slice());
    let Some(meta) = row(META) else {
        return if all.is_empty() { Ok(()) } else { Err(damaged("rows without meta")) };
    };
    let meta = Meta::decode(meta)?;
    let origins = meta.origins(project);
    let mut memories: Vec<Memory> = Vec::new();
    let mut bytes = 0_usize;
    for (name, row) in of(rows::MEMORIES) {
        let memory = rows::decode_memory(row)?;
        let number = memory.number();
        if *name != rows::memory_row(number) || memory.id != origins.id(number) {
            return Err(damaged(format!("{name} has the memory {}", memory.id)));
        }
        if number > meta.totals.last_memory {
            return Err(damaged(format!("{name} is after the last memory")));
        }
        bytes = bytes.saturating_add(row.len());
        memories.push(memory);
    }
    let find = |number: u64| memories.iter().find(|it| it.number() == number);
    for (name, row) in of("v/") {
        let versions = rows::decode_versions(row)?;
        let number = versions.first().map_or(0, Memory::number);
        let Some(now) = find(number).filter(|_| *name == rows::versions_row(number)) else {
            return Err(damaged(format!("{name} has versions of no memory")));
        };
        let first = now.version.checked_sub(versions.len().try_into().unwrap_or(u32::MAX));
        let numbers = first.map(|it| it..now.version).filter(|it| it.start > 0);
        if versions.len() > 9
            || !versions.iter().map(|it| it.version).eq(numbers.into_iter().flatten())
        {
            return Err(damaged(format!("{name} has versions with gaps, or too many")));
        }
        bytes = bytes.saturating_add(row.len());
    }
    for it in memories.iter().filter(|it| it.version > 1) {
        if row(&rows::versions_row(it.number())).is_none() {
            return Err(damaged(format!("the earlier versions of {} are missing", it.id)));
        }
    }
    bytes = bytes.saturating_add(check_sections(all)?).saturating_add(check_handoffs(all)?);
    let totals = &meta.totals;
    let is_counted = usize::try_from(totals.memories) == Ok(memories.len());
    if !is_counted || usize::try_from(totals.bytes) != Ok(bytes) {
        return Err(damaged(format!(
            "{totals:?} for {} memories, and {bytes} bytes",
            memories.len()
        )));
    }
    signature::check(&memories, &of(signature::SEGMENTS).collect::<Vec<_>>())?;
    check_sketches(&memories, totals.last_memory, &of(near::PAGES).cloned().collect::<Vec<_>>())?;
    check_links(&memories)?;
    for (_, row) in of(rows::USES) {
        rows::decode_uses(row)?;
    }
    for (name, row) in of(rows::SESSIONS) {
        let it = rows::decode_session(row)?;
        if it.recalled.len() > 64 || it.first_at > it.last_at {
            return Err(damaged(format!("{name} says what no session did")));
        }
    }
    Ok(())
}

/// Checks the sections with their versions and owners. Returns the bytes of the sections.
fn check_sections(all: &[Row]) -> Result<usize, Error> {
    let (mut bytes, mut rows, mut markers) = (0_usize, 0_usize, Vec::new());
    let stored = rows_of(all, SECTIONS);
    for (name, row) in stored.iter().filter(|it| !it.0.starts_with("o/v/")) {
        let section = decode_section(row)?;
        let marker = &section.marker;
        let first = section.version.saturating_sub(VERSIONS_KEPT).saturating_add(1);
        let kept = rows_of(all, &versions_of(marker));
        let expected = (first..=section.version).map(|it| version_row(marker, it));
        if *name != section_row(marker) || !kept.iter().map(|it| it.0.clone()).eq(expected) {
            return Err(damaged(format!("{name} has other versions than it should")));
        }
        for (_, row) in kept {
            decode_version(row)?;
            bytes = bytes.saturating_add(row.len());
            rows = rows.saturating_add(1);
        }
        bytes = bytes.saturating_add(row.len());
        rows = rows.saturating_add(1);
        markers.push(section.marker);
    }
    if stored.len() != rows {
        return Err(damaged("there are versions of no section"));
    }
    for (name, row) in rows_of(all, TENURES) {
        if decode_tenure(row)?.lease.is_some() && !markers.contains(&marker_of(name)?) {
            return Err(damaged(format!("{name} has an owner of no section")));
        }
    }
    Ok(bytes)
}

fn rows_of<'a>(all: &'a [Row], prefix: &str) -> Vec<&'a Row> {
    all.iter().filter(|it| it.0.starts_with(prefix)).collect()
}

/// Checks that each handoff has its package, or was redacted. Returns the bytes of the packages.
fn check_handoffs(all: &[Row]) -> Result<usize, Error> {
    let mut packages = Vec::new();
    for (name, row) in rows_of(all, handoffs::rows::HANDOFFS) {
        let handoff = handoffs::rows::decode_handoff(row)?;
        if *name != handoffs::rows::handoff_row(handoff.id) {
            return Err(damaged(format!("{name} has the handoff {}", handoff.id)));
        }
        if handoff.redacted.is_none() {
            packages.push(handoffs::rows::package_row(handoff.id));
        }
    }
    let stored = rows_of(all, handoffs::rows::PACKAGES);
    if stored.iter().map(|it| &it.0).eq(&packages) {
        return Ok(stored.iter().fold(0, |bytes: usize, it| bytes.saturating_add(it.1.len())));
    }
    Err(damaged("there are packages of no handoff, or handoffs without package"))
}

/// Checks that the digests and sketches are those of the memories, and that a memory that was removed
/// or redacted has none.
fn check_sketches(memories: &[Memory], last: u64, stored: &[Row]) -> Result<(), Error> {
    let index = Index::decode(stored)?;
    for number in 1..=last {
        let memory = memories.iter().find(|it| it.number() == number);
        let given = memory.filter(|it| it.redacted.is_none());
        let given = given.map(|it| Near::new(&it.digest(), &it.title, &it.text()));
        if index.get(number) != given.unwrap_or_default() {
            return Err(damaged(format!("the sketch of {number} is not that of the memory")));
        }
    }
    Ok(())
}

/// Checks that the links between existing memories are mutual and have no cycle.
fn check_links(memories: &[Memory]) -> Result<(), Error> {
    let find = |number: u64| memories.iter().find(|it| it.number() == number);
    for it in memories {
        let number = it.number();
        let back = it.supersedes.iter().filter_map(|it| find(*it));
        let forth = it.superseded_by.and_then(find);
        let is_linked = back.clone().all(|one| one.superseded_by == Some(number))
            && forth.is_none_or(|one| one.supersedes.contains(&number));
        if !is_linked {
            return Err(damaged(format!("{} is linked one way only", it.id)));
        }
        let mut next = it.superseded_by;
        for _ in memories {
            next = next.and_then(find).and_then(|it| it.superseded_by);
        }
        if next.is_some_and(|it| find(it).is_some()) {
            return Err(damaged(format!("{} is superseded in a circle", it.id)));
        }
    }
    Ok(())
}
