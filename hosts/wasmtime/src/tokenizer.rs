//! Exact token counts: the encodings whose tables the program carries inside.
//!
//! Which sessions count with which encoding is the core's to know. Invariants:
//!
//! - An encoding's tables are unpacked when a text is first counted with it, and
//!   once a process; a program that counts approximately never pays for them.
//! - The time to count grows with the length of a text, whatever stands in it.

use bpe_openai::{Tokenizer as Tables, cl100k_base, o200k_base};
use shared_context_core::port::Tokenizer;

/// Counts tokens by `o200k_base` and `cl100k_base`. Their tables take 35 MB and
/// 15 MB of memory once they are used, for the life of the process.
#[derive(Debug, Clone, Copy, Default)]
pub struct BpeTokenizer;

const ENCODINGS: [&str; 2] = ["o200k_base", "cl100k_base"];

/// Returns the tables of `encoding`, unpacked.
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
    use std::time::{Duration, Instant};

    use proptest::{prop_assert_eq, proptest};

    use super::*;

    fn counts(text: &str) -> [u32; 2] {
        ENCODINGS.map(|it| BpeTokenizer.count(it, text).unwrap())
    }

    #[test]
    fn counts_are_those_the_makers_of_the_encodings_publish() {
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
    fn a_model_s_control_tokens_are_text() {
        assert_eq!(counts("<|endoftext|>"), [7, 7]);
        assert_eq!(counts("<|fim_prefix|>"), [6, 7]);
    }

    #[test]
    fn every_encoding_it_names_counts_and_no_other() {
        let named = BpeTokenizer.encodings();
        assert!(!named.is_empty() && named.iter().all(|it| BpeTokenizer.count(it, "a") == Some(1)));
        for name in ["", "approximate", "O200K_BASE", "o200k", "p50k_base"] {
            assert_eq!(BpeTokenizer.count(name, "a"), None, "{name}");
        }
    }

    /// What takes other tokenizers quadratic time, or overflows their stack: long
    /// runs that no rule cuts. The dashes are the slowest of all repeated tokens.
    #[test]
    fn no_text_of_a_request_takes_long() {
        assert!(counts("unpack the tables") > [0, 0]);
        for part in
            ["a", " ", "\n", "-", "=", "//", "漢", "\u{301}", "\0", "aB", "'s ", "\r\n", "👩‍🚀"]
        {
            let text = part.repeat((1 << 20) / part.len());
            let begin = Instant::now();
            let counts = counts(&text);
            let time = begin.elapsed();
            assert!(counts.iter().all(|it| *it > 1_000), "{part:?}: {counts:?}");
            assert!(time < Duration::from_secs(4), "1 MB of {part:?} takes {time:?}");
        }
    }

    proptest! {
        /// Text is cut by patterns before it is counted; what none of them matched
        /// would go uncounted.
        #[test]
        fn no_character_goes_uncounted(text in r"\PC*|.*|[\s\S]*") {
            for encoding in ENCODINGS {
                let cut = tables(encoding).unwrap().split(&text);
                prop_assert_eq!(cut.collect::<String>(), &*text);
            }
        }
    }
}
