//! The references in a text: to sections by their markers, to decisions by their ids (spec 20.1).

use super::marker::{Marker, SIGN};
use crate::memories::DecisionId;

/// The most links of a section.
pub(crate) const LINKS_MAX: usize = 64;

/// Returns the markers in a text, in order and without repetitions.
pub(crate) fn of(text: &str) -> Vec<Marker> {
    let mut found: Vec<Marker> = Vec::new();
    for marker in text.split(SIGN).skip(1).filter_map(Marker::read) {
        if !found.contains(&marker) {
            found.push(marker);
        }
    }
    found
}

/// Returns the ids of decisions in a text, in order and without repetitions.
pub(crate) fn decisions(text: &str) -> Vec<DecisionId> {
    /// The start of an id.
    const START: &str = "DEC-";

    let mut found: Vec<DecisionId> = Vec::new();
    for rest in text.split(START).skip(1) {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(rest.len());
        let digits = rest.get(..end).unwrap_or_default().trim_end_matches('-');
        if let Some(id) = DecisionId::parse(&[START, digits].concat())
            && !found.contains(&id)
        {
            found.push(id);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_decisions_are_found_in_text() {
        let text = "[Details: §3.1](#31) see §4.a.b, §3.1 and §9.9. [DEC-2025-10-15-001] DEC-x";
        let links: Vec<String> = of(text).iter().map(ToString::to_string).collect();
        assert_eq!(links, ["§3.1", "§4.a.b"]);
        let ids: Vec<String> = decisions(text).iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["DEC-2025-10-15-001"]);
    }
}
