//! Exact token counts with the tables that the program embeds.
//!
//! The core decides which encoding a session uses. Invariants:
//!
//! - The tables of an encoding are unpacked at its first use, once per process. A program
//!   that counts approximately never pays for them.
//! - The time to count grows with the length of a text, whatever its content.

use bpe_openai::{Tokenizer as Tables, cl100k_base, o200k_base};
use shared_context_core::port::Tokenizer;

/// A tokenizer for `o200k_base` and `cl100k_base`. Their tables take 35 MB and 15 MB of
/// memory from their first use on.
#[derive(Debug, Clone, Copy, Default)]
pub struct BpeTokenizer;

const ENCODINGS: [&str; 2] = ["o200k_base", "cl100k_base"];

/// Returns the unpacked tables of `encoding`.
fn tables(encoding: &str) -> Option<&'static Tables> {
    match encoding {
        "o200k_base" => Some(o200k_base()),
        "cl100k_base" => Some(cl100k_base()),
        _ => None,
    }
}

impl Tokenizer for BpeTokenizer {
    fn encodings(&self) -> Vec<String> {
        ENCODINGS.map(str::to_owned).into()
    }

    fn count(&self, encoding: &str, text: &str) -> Option<u32> {
        Some(u32::try_from(tables(encoding)?.count(text)).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod definitions;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::{prop_assert_eq, proptest};

    use super::*;

    fn counts(text: &str) -> [u32; 2] {
        ENCODINGS.map(|it| BpeTokenizer.count(it, text).unwrap())
    }

    #[test]
    fn counts_match_published_ones() {
        for (text, published) in [
            ("", [0, 0]),
            ("hello world", [2, 2]),
            ("antidisestablishmentarianism", [6, 6]),
            ("2 + 2 = 4", [7, 7]),
            ("お誕生日おめでとう", [8, 9]),
            ("👩‍🚀", [5, 8]),
            ("  leading and\n\n\ttrailing \r\n", [7, 7]),
        ] {
            assert_eq!(counts(text), published, "{text:?}");
        }
    }

    #[test]
    fn control_tokens_count_as_text() {
        assert_eq!(counts("<|endoftext|>"), [7, 7]);
        assert_eq!(counts("<|fim_prefix|>"), [6, 7]);
    }

    #[test]
    fn only_named_encodings_count() {
        let named = BpeTokenizer.encodings();
        assert!(!named.is_empty() && named.iter().all(|it| BpeTokenizer.count(it, "a") == Some(1)));
        for name in ["", "approximate", "O200K_BASE", "o200k", "p50k_base"] {
            assert_eq!(BpeTokenizer.count(name, "a"), None, "{name}");
        }
    }

    /// Long runs that no rule splits, which cost other tokenizers quadratic time or a stack
    /// overflow. The dashes are the slowest of all repeated tokens.
    #[test]
    fn no_text_takes_long() {
        assert!(counts("unpack the tables") > [0, 0]);
        for part in
            ["a", " ", "\n", "-", "=", "//", "漢", "\u{301}", "\0", "aB", "'s ", "\r\n", "👩‍🚀"]
        {
            let time = |bytes: usize| {
                let text = part.repeat(bytes / part.len());
                let begin = Instant::now();
                let counts = counts(&text);
                let time = begin.elapsed();
                // More than a thousand tokens a megabyte.
                let least = u32::try_from(bytes / 1_048).unwrap();
                assert!(counts.iter().all(|it| *it > least), "{part:?}: {counts:?}");
                time
            };
            // Eight times the text takes eight times as long, and at most three times that on a
            // busy machine. Quadratic time would be 64 times as long.
            let (eighth, whole) = ((0..3).map(|_| time(1 << 17)).max(), time(1 << 20));
            assert!(Some(whole / 24) < eighth, "{part:?}: {eighth:?}, {whole:?}");
        }
    }

    proptest! {
        /// Text is split by patterns before it is counted. A character that no pattern
        /// matches would not be counted.
        #[test]
        fn no_character_goes_uncounted(text in r"\PC*|.*|[\s\S]*") {
            for encoding in ENCODINGS {
                let cut = tables(encoding).unwrap().split(&text);
                prop_assert_eq!(cut.collect::<String>(), &*text);
            }
        }
    }
}
