//! The navigation index (spec 20.3).

use super::{
    level,
    marker::Marker,
    section::{Section, Shortcut},
};
use crate::tokens::{Tokens, approximate};

/// The least and the largest budget of an index.
pub const INDEX_TOKENS: std::ops::RangeInclusive<u32> = 50..=20_000;
/// The budget of a request that names none.
pub const INDEX_TOKENS_DEFAULT: u32 = 500;

/// The navigation index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The text.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
    /// The number of sections of each level, 1 to 4, that did not fit.
    pub omitted: [u32; 4],
    /// The number of shortcuts that did not fit.
    pub shortcuts_omitted: u32,
}

const TITLE: &str = "# NAVIGATION INDEX";
const SHORTCUTS: &str = "---\nNavigation Shortcuts:\n<!-- Quick jump to specific information -->";

/// Returns the index of sections, which are in order, within a budget. What does not fit falls out from
/// the end: files first, then details, then shortcuts, then summaries.
pub(crate) fn write(sections: &[Section], budget: Tokens) -> Index {
    let folders: Vec<&Marker> =
        sections.iter().map(|it| &it.marker).filter(|it| it.folder().is_some()).collect();
    let is_listed = |it: &&Section| !folders.iter().any(|folder| folder.covers(&it.marker));
    let mut lines: [Vec<String>; 5] = Default::default();
    for it in sections.iter().filter(is_listed) {
        if let Some(lines) = lines.get_mut(usize::from(it.marker.level().saturating_sub(1))) {
            lines.push(line(it));
        }
        let [.., shortcuts] = &mut lines;
        shortcuts.extend(it.shortcuts.iter().map(|it| shortcut(it, sections)));
    }
    let mut omitted = [0_u32; 5];
    let mut text = compose(&lines, &omitted);
    let mut chars = text.chars().count();
    let most = usize::try_from(budget.0).unwrap_or(usize::MAX).saturating_mul(4);
    // The note about what fell out, at its longest, so that one pass suffices.
    let note = note(&[u32::MAX; 5]).chars().count().saturating_add(1);
    if chars > most {
        for place in [3, 2, 4, 1, 0] {
            let (Some(lines), Some(omitted)) = (lines.get_mut(place), omitted.get_mut(place))
            else {
                continue;
            };
            while chars.saturating_add(note) > most
                && let Some(it) = lines.pop()
            {
                chars = chars.saturating_sub(it.chars().count().saturating_add(1));
                *omitted = omitted.saturating_add(1);
                if lines.is_empty() {
                    chars = chars.saturating_sub(heading(place).chars().count().saturating_add(1));
                }
            }
        }
        text = compose(&lines, &omitted);
    }
    let [one, two, three, four, shortcuts_omitted] = omitted;
    let tokens = approximate(&text);
    Index { text, tokens, omitted: [one, two, three, four], shortcuts_omitted }
}

fn heading(place: usize) -> String {
    if place == 4 {
        return SHORTCUTS.to_owned();
    }
    let level = u8::try_from(place).unwrap_or(4).saturating_add(1);
    ["## ", level::rule(level).heading].concat()
}

fn compose(lines: &[Vec<String>; 5], omitted: &[u32; 5]) -> String {
    let mut text = String::from(TITLE);
    for (place, lines) in lines.iter().enumerate().filter(|it| !it.1.is_empty()) {
        text.push('\n');
        text.push_str(&heading(place));
        for it in lines {
            text.push('\n');
            text.push_str(it);
        }
    }
    if omitted.iter().any(|it| *it > 0) {
        text.push('\n');
        text.push_str(&note(omitted));
    }
    text
}

/// Returns how much fell out.
fn note(omitted: &[u32; 5]) -> String {
    let mut text = String::from("(left out:");
    for (it, of) in omitted.iter().zip([" at L1", " at L2", " at L3", " at L4", " shortcuts"]) {
        if *it > 0 {
            text.push_str(if text.ends_with(':') { " " } else { ", " });
            text.push_str(&it.to_string());
            text.push_str(of);
        }
    }
    text.push(')');
    text
}

/// Returns the line of a section.
fn line(it: &Section) -> String {
    let mut line = String::from("[");
    line.push_str(&it.marker.to_string());
    if it.marker.level() < 4 {
        line.push_str(" - ");
        line.push_str(&it.title);
    }
    line.push_str("](");
    line.push_str(&anchor(&it.marker, &it.title));
    line.push(')');
    let summary =
        if it.summary.is_empty() && it.marker.level() == 4 { &it.title } else { &it.summary };
    if !summary.is_empty() {
        line.push_str(" - ");
        line.push_str(summary);
    }
    for tag in [it.status.as_str(), if it.pruned.is_some() { "NOT LOADED" } else { "" }] {
        if !tag.is_empty() {
            line.push_str(" [");
            line.push_str(tag);
            line.push(']');
        }
    }
    line
}

fn shortcut(it: &Shortcut, sections: &[Section]) -> String {
    let marker = it.marker.to_string();
    let found = sections.iter().find(|section| section.marker == it.marker);
    let title = found.map_or("", |it| it.title.as_str());
    let label = it.label.as_ref().map_or("", |it| it.as_str());
    let space = if label.is_empty() { "" } else { " " };
    let anchor = anchor(&it.marker, title);
    ["Need: ", it.need.as_str(), " → [", &marker, space, label, "](", &anchor, ")"].concat()
}

/// Returns the anchor of a section: `#21-architecture`, `#4-services-auth` of a folder, `#jwt-handler` of
/// a file.
fn anchor(marker: &Marker, title: &str) -> String {
    let mut anchor = String::from("#");
    if let Some(folder) = marker.folder() {
        slug(folder, &mut anchor);
    } else if marker.level() == 4 {
        slug(marker.parts().rsplit('.').next().unwrap_or_default(), &mut anchor);
    } else {
        anchor.extend(marker.as_str().chars().filter(|it| *it != '.'));
        anchor.push('-');
        slug(title, &mut anchor);
    }
    anchor
}

/// Appends the letters and digits of a text in lower case, with a hyphen for what is between them.
fn slug(text: &str, slug: &mut String) {
    let mut is_open = false;
    for it in text.chars().flat_map(char::to_lowercase) {
        if it.is_alphanumeric() {
            slug.push(it);
            is_open = true;
        } else if is_open {
            slug.push('-');
            is_open = false;
        }
    }
    if slug.ends_with('-') {
        slug.pop();
    }
}
