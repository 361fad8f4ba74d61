//! The rules of the four levels, as a table (spec 20.2).

/// The rules of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelRule {
    /// The heading of the level in the index.
    pub heading: &'static str,
    /// Fewer tokens in a section are reported.
    pub tokens_min: u32,
    /// More tokens in a section are rejected; at level 4, sections with more need markers inside.
    pub tokens_max: u32,
    /// More tokens in all sections of the level are reported.
    pub sum_max: Option<u32>,
    /// The words that a section should have one of, for each of its members. Words of one member are
    /// separated by `|`.
    pub members: &'static [&'static str],
}

/// The rules of levels 1 to 4.
pub const LEVELS: [LevelRule; 4] = [
    LevelRule {
        heading: "Executive Summary",
        tokens_min: 500,
        tokens_max: 1_000,
        sum_max: None,
        members: &["goal", "status", "priorit", "block"],
    },
    LevelRule {
        heading: "Section Summaries",
        tokens_min: 200,
        tokens_max: 500,
        sum_max: Some(4_000),
        members: &["overview|summary", "decision", "status", "next"],
    },
    LevelRule {
        heading: "Detailed Documentation",
        tokens_min: 1_000,
        tokens_max: 3_000,
        sum_max: Some(20_000),
        members: &["rationale|because|alternative", "§4."],
    },
    LevelRule {
        heading: "Source Files (Level 4)",
        tokens_min: 0,
        tokens_max: 5_000,
        sum_max: None,
        members: &[],
    },
];

/// Returns the rule of a level from 1 to 4.
pub(crate) fn rule(level: u8) -> &'static LevelRule {
    let [one, two, three, four] = &LEVELS;
    match level {
        1 => one,
        2 => two,
        3 => three,
        _ => four,
    }
}
