//! Warnings on a write: the anti-patterns of spec 9 that can be detected mechanically.
//! They are part of the reply and do not affect the stored value.

use super::{Entry, Limits, Totals, sensitive};
use crate::{key::Key, time::Timestamp, tokens::Tokens};

/// A warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The kind, for programs.
    pub code: WarningCode,
    /// The text, for agents. It never repeats the value.
    pub message: String,
}

/// The kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningCode {
    /// The value or the store is at 80 % or more of its limit (spec 9.1).
    NearLimit,
    /// The value is at 50 % or more of its limit and may be raw data (spec 9.1).
    Distill,
    /// The key is new and not in the session's own key conventions (spec 9.5).
    OutsideNamespace,
    /// The value looks like raw data (spec 9.2).
    LooksRaw,
    /// The value looks like a credential or personal data (spec 9.6).
    LooksSensitive,
    /// A key was added while other entries are stale (spec 9.3).
    StaleKeys,
    /// The key is new and similar to an existing one (spec 9.5).
    SimilarKey,
}

impl WarningCode {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::NearLimit,
        Self::Distill,
        Self::OutsideNamespace,
        Self::LooksRaw,
        Self::LooksSensitive,
        Self::StaleKeys,
        Self::SimilarKey,
    ];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NearLimit => "NEAR_LIMIT",
            Self::Distill => "DISTILL",
            Self::OutsideNamespace => "OUTSIDE_NAMESPACE",
            Self::LooksRaw => "LOOKS_RAW",
            Self::LooksSensitive => "LOOKS_SENSITIVE",
            Self::StaleKeys => "STALE_KEYS",
            Self::SimilarKey => "SIMILAR_KEY",
        }
    }
}

/// The share of a limit, in percent, that counts as near.
pub const NEAR_LIMIT_PERCENT: u8 = 80;
/// The share of the value limit, in percent, from which a value should be distilled.
pub const DISTILL_PERCENT: u8 = 50;
/// The time without a write, in milliseconds, after which an entry is stale: 7 days.
pub const STALE_AFTER_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// The most stale keys that one warning names.
const STALE_KEYS_NAMED_MAX: usize = 5;
/// The normalized edit distance, from 0 to 1, from which names are similar.
const SIMILAR_NAMES_MIN: f64 = 0.8;
/// The most lines of a distilled text.
const LINES_MAX: usize = 40;
/// The longest word of prose, in characters.
const WORD_CHARS_MAX: usize = 200;
/// The fewest records that make a JSON list raw data.
const JSON_RECORDS_MIN: usize = 3;
/// The fewest lines that make a log or a transcript.
const LOG_LINES_MIN: usize = 5;

/// Returns the warnings about a written value and the store's new totals, which a writer that
/// `is_limited` to some keys is not told.
pub fn on_value(
    limits: &Limits,
    totals: Totals,
    is_limited: bool,
    tokens: Tokens,
    value: &str,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |code, message| warnings.push(Warning { code, message });
    if tokens.is_share_of(NEAR_LIMIT_PERCENT, limits.value_tokens_max) {
        let max = limits.value_tokens_max.0;
        warn(
            WarningCode::NearLimit,
            format!("value has {tokens} of at most {max}; distill it before it grows further"),
        );
    } else if tokens.is_share_of(DISTILL_PERCENT, limits.value_tokens_max) {
        warn(
            WarningCode::Distill,
            format!("value has {tokens}; if it is raw data, store its conclusions instead"),
        );
    }
    if totals.tokens.is_share_of(NEAR_LIMIT_PERCENT, limits.store_tokens_max) {
        let (tokens, max) = (totals.tokens, limits.store_tokens_max.0);
        let message = if is_limited {
            format!(
                "the store is near its limit of {max} tokens; delete what is settled of your keys"
            )
        } else {
            format!("the store holds {tokens} of at most {max}; delete what is settled")
        };
        warn(WarningCode::NearLimit, message);
    }
    if let Some(what) = raw_kind(value) {
        warn(
            WarningCode::LooksRaw,
            format!("value looks like {what}; store what follows from it, and where to find it"),
        );
    }
    if let Some(what) = sensitive::kind(value) {
        warn(
            WarningCode::LooksSensitive,
            format!(
                "value looks as if it held {what}; whoever may read the entry sees it: \
                 store a role, a record id or a reference instead"
            ),
        );
    }
    warnings
}

/// Returns the warnings about a key added to `others`. `is_convention` is true if the
/// session's namespace names the key.
pub fn on_new_key(
    key: &Key,
    is_convention: bool,
    others: &[Entry],
    now: Timestamp,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |code, message| warnings.push(Warning { code, message });
    if !is_convention {
        warn(
            WarningCode::OutsideNamespace,
            format!("{key} is not among the session's key conventions; others may not look for it"),
        );
    }
    let is_stale = |it: &&Entry| now.0.saturating_sub(it.written_at.0) >= STALE_AFTER_MS;
    let stale: Vec<&str> = others.iter().filter(is_stale).map(|it| it.key.as_str()).collect();
    if !stale.is_empty() {
        let named: Vec<&str> = stale.iter().take(STALE_KEYS_NAMED_MAX).copied().collect();
        let more = match stale.len().saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        warn(
            WarningCode::StaleKeys,
            format!(
                "not written for 7 days: {}{more}; delete those that are no longer relevant",
                named.join(", ")
            ),
        );
    }
    if let Some(other) = others.iter().find(|it| are_similar(key, &it.key)) {
        warn(
            WarningCode::SimilarKey,
            format!("there is {} already; update it if it means the same", other.key),
        );
    }
    warnings
}

/// Returns true if two different keys probably name one concept: the same words in
/// another order or number, or nearly the same letters. Keys that differ only in digits
/// are a numbered series, not similar.
fn are_similar(a: &Key, b: &Key) -> bool {
    fn words(key: &Key) -> impl Iterator<Item = &str> {
        let words = key.as_str().split('_').filter(|word| !word.is_empty());
        words.map(|word| word.strip_suffix('s').unwrap_or(word))
    }
    fn letters(key: &Key) -> impl Iterator<Item = u8> {
        key.as_str().bytes().filter(|it| !it.is_ascii_digit())
    }
    if a == b || letters(a).eq(letters(b)) {
        return false;
    }
    let are_within = |a, b| words(a).all(|word| words(b).any(|other| word == other));
    are_within(a, b) && are_within(b, a)
        || strsim::normalized_levenshtein(a.as_str(), b.as_str()) >= SIMILAR_NAMES_MIN
}

/// Returns the kind of sensitive data that `value` probably contains, if any.
pub(crate) fn sensitive_kind(value: &str) -> Option<&'static str> {
    sensitive::kind(value)
}

/// Returns the kind of raw data that `value` looks like, if any.
pub(crate) fn raw_kind(value: &str) -> Option<&'static str> {
    let count = |is_one: fn(&str) -> bool| value.lines().filter(|line| is_one(line)).count();
    if count(is_turn) >= LOG_LINES_MIN {
        Some("a chat transcript")
    } else if count(is_log_line) >= LOG_LINES_MIN {
        Some("a log")
    } else if value.len() > WORD_CHARS_MAX && value.split_whitespace().any(is_encoded) {
        Some("encoded data")
    } else if is_json_list(value) {
        Some("a list of JSON records")
    } else if value.lines().count() > LINES_MAX {
        Some("a full document")
    } else {
        None
    }
}

/// Returns true if `word` is encoded data. That is ASCII: languages that are written without spaces
/// are not. A long URL is a reference, which is wanted.
fn is_encoded(word: &str) -> bool {
    let is_long = |it: &str| it.len() > WORD_CHARS_MAX;
    !word.contains("://") && word.split(|it: char| !it.is_ascii()).any(is_long)
}

/// Returns true if `value` is a JSON list with several objects or lists in it.
fn is_json_list(value: &str) -> bool {
    let value = value.trim();
    let inner = value.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let Some(inner) = inner else { return false };
    let opens = inner.trim_start().starts_with(['{', '[']);
    opens && inner.matches(['{', '[']).count() >= JSON_RECORDS_MIN
}

/// Returns true if a line starts a turn of a conversation.
fn is_turn(line: &str) -> bool {
    const SPEAKERS: [&str; 6] = ["user:", "assistant:", "human:", "ai:", "system:", "tool:"];
    let line = line.trim_start_matches(['*', '#', ' ', '<', '[']);
    SPEAKERS.iter().any(|speaker| {
        line.get(..speaker.len()).is_some_and(|start| start.eq_ignore_ascii_case(speaker))
    })
}

/// Returns true if a line starts like a log line: with a date and a time, or a time of
/// day.
fn is_log_line(line: &str) -> bool {
    let line = line.trim_start_matches(['[', ' ']);
    let shape: String =
        line.chars().take(13).map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    shape.starts_with("9999-99-99") && matches!(shape.get(10..), Some("T99" | " 99"))
        || shape.starts_with("99:99:99")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(a: &str, b: &str) -> bool {
        are_similar(&Key::parse(a).unwrap(), &Key::parse(b).unwrap())
    }

    #[test]
    fn similar_keys_are_detected() {
        assert!(similar("problem_summary", "summary_problem"));
        assert!(similar("open_question", "open_questions"));
        assert!(similar("finding_summary", "findings_sumary"));
        assert!(!similar("findings_1", "findings_2"));
        assert!(!similar("scope", "constraints"));
        assert!(!similar("current_phase", "phase_status"));
    }

    #[test]
    fn no_two_keys_of_the_template_are_similar() {
        let keys = crate::namespace::Namespace::template().keys;
        for a in &keys {
            for b in &keys {
                assert!(!are_similar(&a.key, &b.key), "{} {}", a.key, b.key);
            }
        }
    }

    #[test]
    fn raw_data_is_distinguished_from_conclusions() {
        let transcript = "User: it broke\nAssistant: when?\n".repeat(3);
        let log = "2026-02-18T09:00:01Z pool exhausted\n".repeat(5);
        let times = "[12:00:01] GET /\n".repeat(5);
        assert_eq!(raw_kind(&transcript), Some("a chat transcript"));
        assert_eq!(raw_kind(&log), Some("a log"));
        assert_eq!(raw_kind(&times), Some("a log"));
        assert_eq!(raw_kind(&"A1b2".repeat(60)), Some("encoded data"));
        let image = format!("结论：data:image/png;base64,{}", "iVBORw0K".repeat(30));
        assert_eq!(raw_kind(&image), Some("encoded data"));
        let rows = r#"[{"id":1,"name":"a"}, {"id":2,"name":"b"}, {"id":3,"name":"c"}]"#;
        assert_eq!(raw_kind(rows), Some("a list of JSON records"));
        assert_eq!(raw_kind(r#"["INC-1","INC-2","INC-3"]"#), None, "references are wanted");
        assert_eq!(raw_kind(&"line\n".repeat(41)), Some("a full document"));
        assert_eq!(raw_kind("On 2026-02-18 the pool was cut from 200 to 20."), None);
        // Once taken for encoded data: prose of a language without spaces, and a long link.
        assert_eq!(raw_kind(&"连接池从两百缩小到二十".repeat(40)), None);
        let link = format!("See https://example.com/search?q={}", "a%20b".repeat(60));
        assert_eq!(raw_kind(&link), None);
        assert_eq!(raw_kind("User: approved the plan.\n- revert\n- tell QA"), None);
    }
}
