//! Inconsistencies of an outline (spec 20.5).

use super::{
    level, links,
    marker::{Marker, SIGN},
    propagation::is_detail,
    section::Section,
};
use crate::{
    closed_list::closed_list,
    memories::DecisionId,
    text::{likeness::repetitions, lower},
};

closed_list! {
    /// The kinds of findings.
    Check "check" {
        BrokenLink "BROKEN_LINK": "A link leads to a section that does not exist.";
        NoDetails "NO_DETAILS": "A section of level 2 has none of level 3.";
        StatusMismatch "STATUS_MISMATCH": "The progress of level 1 differs from that of level 2.";
        DecisionNotFound "DECISION_NOT_FOUND": "A decision does not exist.";
        DecisionArchived "DECISION_ARCHIVED": "A decision is archived or was replaced.";
        Orphan "ORPHAN": "Nothing leads to the section, or its parent is missing.";
        DoubledMarker "DOUBLED_MARKER": "A marker is there twice.";
        NoMarkers "NO_MARKERS": "A large file has no markers inside.";
        TooSmall "TOO_SMALL": "The section has fewer tokens than its level should.";
        LevelTooLarge "LEVEL_TOO_LARGE": "The sections of the level have more tokens than they should.";
        CodeInSummary "CODE_IN_SUMMARY": "A section of level 1 or 2 has a code block.";
        MissingMember "MISSING_MEMBER": "The section lacks what its level should say.";
        Stale "STALE": "A section of level 1 is older than one of level 2.";
        Duplicate "DUPLICATE": "Two levels say the same.";
        LooksSensitive "LOOKS_SENSITIVE": "It looks like a credential or personal data.";
    }
}

/// The difference in percent between levels 1 and 2 that is allowed.
const STATUS_TOLERANCE: u32 = 5;
/// The shortest paragraph that is compared with others, in bytes.
const COMPARED_BYTES_MIN: usize = 120;
/// The most findings of a check.
pub(crate) const FINDINGS_MAX: usize = 500;

/// An inconsistency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind, for programs.
    pub code: Check,
    /// The section.
    pub marker: Marker,
    /// The problem, and what to do.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(code: Check, marker: &Marker, message: &[&str]) -> Self {
        Self { code, marker: marker.clone(), message: message.concat() }
    }
}

/// The state of a decision that a section refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionState {
    Current,
    Archived,
}

/// Returns true if a section with this marker exists, or the folder that it is in.
fn exists(marker: &Marker, markers: &[&Marker]) -> bool {
    markers.iter().any(|it| *it == marker || it.covers(marker))
}

/// Returns the findings about one section with its content.
pub(crate) fn section(
    it: &Section,
    content: &str,
    markers: &[&Marker],
    decisions: &[(DecisionId, DecisionState)],
) -> Vec<Finding> {
    let marker = &it.marker;
    let level = marker.level();
    let rule = level::rule(level);
    let mut found = Vec::new();
    let mut add = |code, message: &[&str]| found.push(Finding::new(code, marker, message));
    if level == 4 {
        inner_markers(it, content, &mut add);
        return found;
    }
    for link in links::of(content) {
        if !exists(&link, markers) {
            add(
                Check::BrokenLink,
                &["there is no section ", &link.to_string(), "; write it, or remove the link"],
            );
        }
    }
    for shortcut in it.shortcuts.iter().filter(|it| !exists(&it.marker, markers)) {
        add(
            Check::BrokenLink,
            &["a shortcut leads to ", &shortcut.marker.to_string(), ", which does not exist"],
        );
    }
    if it.tokens.0 < rule.tokens_min {
        add(
            Check::TooSmall,
            &[
                "it has ",
                &it.tokens.to_string(),
                "; a section of this level should have ",
                &rule.tokens_min.to_string(),
                " to ",
                &rule.tokens_max.to_string(),
            ],
        );
    }
    if level < 3 && content.contains("```") {
        add(
            Check::CodeInSummary,
            &["code belongs to levels 3 and 4; move it there and link to it"],
        );
    }
    let words = lower(content);
    for member in rule.members {
        let is_there = member.split('|').any(|it| words.contains(&lower(it)));
        if !is_there && it.redacted.is_none() {
            add(Check::MissingMember, &["it says nothing of: ", &member.replace('|', " or ")]);
        }
    }
    for id in links::decisions(content) {
        match decisions.iter().find(|it| it.0 == id).map(|it| it.1) {
            None => add(Check::DecisionNotFound, &["there is no decision ", &id.to_string()]),
            Some(DecisionState::Archived) => add(
                Check::DecisionArchived,
                &[&id.to_string(), " is archived or was replaced; refer to the one that holds now"],
            ),
            Some(DecisionState::Current) => {}
        }
    }
    found
}

/// Checks the markers within a file.
fn inner_markers(it: &Section, content: &str, add: &mut impl FnMut(Check, &[&str])) {
    let mut inner: Vec<Marker> = Vec::new();
    let own = [it.marker.as_str(), "."].concat();
    for marker in content.split(SIGN).skip(1).filter_map(Marker::read) {
        if !marker.as_str().starts_with(&own) {
            continue;
        }
        if inner.contains(&marker) {
            add(
                Check::DoubledMarker,
                &["the content has the marker ", &marker.to_string(), " twice"],
            );
        }
        inner.push(marker);
    }
    if it.tokens.0 > level::rule(4).tokens_max && inner.is_empty() {
        add(
            Check::NoMarkers,
            &["it has more than 5,000 tokens; put markers inside, as in §", &own, "part"],
        );
    }
}

/// Returns the findings about all sections, which are in order, with their contents.
pub(crate) fn outline(
    sections: &[Section],
    contents: &[String],
    decisions: &[(DecisionId, DecisionState)],
) -> Vec<Finding> {
    let markers: Vec<&Marker> = sections.iter().map(|it| &it.marker).collect();
    let mut found = Vec::new();
    let mut linked: Vec<Marker> = Vec::new();
    for (it, content) in sections.iter().zip(contents) {
        found.extend(section(it, content, &markers, decisions));
        if it.marker.level() < 4 {
            linked.extend(links::of(content));
        }
        linked.extend(it.shortcuts.iter().map(|it| it.marker.clone()));
    }
    for it in sections {
        orphan(it, &markers, &linked, &mut found);
        let is_detailed = |other: &&&Marker| is_detail(&it.marker, other);
        if it.marker.level() == 2 && markers.iter().find(is_detailed).is_none() {
            let links = contents.get(sections.iter().position(|one| one == it).unwrap_or_default());
            let links = links.map(|it| links::of(it)).unwrap_or_default();
            if !links.iter().any(|it| it.level() == 3 && exists(it, &markers)) {
                found.push(Finding::new(
                    Check::NoDetails,
                    &it.marker,
                    &["no section of level 3 has its details; write §3.", it.marker.parts()],
                ));
            }
        }
    }
    doubled(sections, &mut found);
    status(sections, &mut found);
    sums(sections, &mut found);
    duplicates(sections, contents, &mut found);
    found.truncate(FINDINGS_MAX);
    found
}

fn orphan(it: &Section, markers: &[&Marker], linked: &[Marker], found: &mut Vec<Finding>) {
    let marker = &it.marker;
    let message: &[&str] = match marker.parent() {
        Some(parent) if !exists(&parent, markers) => &[
            "its parent ",
            &parent.to_string(),
            " does not exist; write it, or give it another marker",
        ],
        Some(_) => return,
        None => {
            let is_named =
                linked.iter().any(|it| it == marker || it.covers(marker) || marker.covers(it));
            let is_detail = markers.iter().any(|it| is_detail(it, marker));
            if marker.level() <= 2 || is_named || is_detail || marker.folder().is_some() {
                return;
            }
            &["no section leads to it; link to it from the level above"]
        }
    };
    found.push(Finding::new(Check::Orphan, marker, message));
}

/// Finds markers that differ in case only.
fn doubled(sections: &[Section], found: &mut Vec<Finding>) {
    for (nth, it) in sections.iter().enumerate().filter(|it| it.1.marker.level() == 4) {
        let is_same =
            |other: &&Section| other.marker.as_str().eq_ignore_ascii_case(it.marker.as_str());
        if let Some(other) = sections.iter().take(nth).find(is_same) {
            let message =
                ["it differs from ", &other.marker.to_string(), " in case only; keep one"];
            found.push(Finding::new(Check::DoubledMarker, &it.marker, &message));
        }
    }
}

/// Compares the progress and the times of levels 1 and 2.
fn status(sections: &[Section], found: &mut Vec<Finding>) {
    let of = |level: u8| sections.iter().filter(move |it| it.marker.level() == level);
    let parts: Vec<u32> = of(2).filter_map(|it| it.progress).map(u32::from).collect();
    let newest = of(2).max_by_key(|it| it.changed_at);
    for it in of(1) {
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let sum: u32 = parts.iter().sum();
        if let (Some(own), Some(mean)) = (it.progress, sum.checked_div(count)) {
            // Compared as sums, so that nothing is rounded.
            let own_sum = u32::from(own).saturating_mul(count);
            if own_sum.abs_diff(sum) > STATUS_TOLERANCE.saturating_mul(count) {
                let message = [
                    "it says ",
                    &own.to_string(),
                    " %, the sections of level 2 are at ",
                    &mean.to_string(),
                    " % on average; correct one of them",
                ];
                found.push(Finding::new(Check::StatusMismatch, &it.marker, &message));
            }
        }
        if let Some(newer) = newest.filter(|newer| newer.changed_at > it.changed_at) {
            let newer = newer.marker.to_string();
            let message = [newer.as_str(), " was written later; see if the summary holds"];
            found.push(Finding::new(Check::Stale, &it.marker, &message));
        }
    }
}

/// Checks the sums of the tokens of a level.
fn sums(sections: &[Section], found: &mut Vec<Finding>) {
    for level in 1..=4 {
        let Some(most) = level::rule(level).sum_max else { continue };
        let of = || sections.iter().filter(|it| it.marker.level() == level);
        let sum: u32 = of().map(|it| it.tokens.0).sum();
        if let Some(last) = of().next_back().filter(|_| sum > most) {
            let (sum, most) = (sum.to_string(), most.to_string());
            let message = ["the level has ", &sum, " tokens, it should have at most ", &most];
            found.push(Finding::new(Check::LevelTooLarge, &last.marker, &message));
        }
    }
}

/// Finds paragraphs that two levels have in common.
fn duplicates(sections: &[Section], contents: &[String], found: &mut Vec<Finding>) {
    let mut texts: Vec<&str> = Vec::new();
    let mut owners: Vec<&Section> = Vec::new();
    for (it, content) in sections.iter().zip(contents).filter(|it| it.0.marker.level() < 4) {
        for text in content.split('\n').filter(|it| it.len() >= COMPARED_BYTES_MIN) {
            texts.push(text);
            owners.push(it);
        }
    }
    for (place, other) in repetitions(&texts).into_iter().enumerate() {
        let Some((a, b)) = owners.get(place).zip(other.and_then(|it| owners.get(it))) else {
            continue;
        };
        if a.marker.level() != b.marker.level() {
            let message =
                ["a paragraph is nearly the same as in ", &b.marker.to_string(), "; link instead"];
            found.push(Finding::new(Check::Duplicate, &a.marker, &message));
        }
    }
}
