//! Inputs to begin with, made where they are wanted and not kept in the repository.
//!
//! A target writes them instead of fuzzing when [`FOLDER`] names a folder; `cargo
//! xtask fuzz` does that before it runs one.

use std::{
    collections::BTreeMap,
    env, fs, iter,
    path::{Path, PathBuf},
    process,
};

/// The variable that names the folder. The words of all inputs, for libFuzzer to put
/// anywhere, are written beside it: to the file of its name that ends in `.dict`.
pub const FOLDER: &str = "SHARED_CONTEXT_SEEDS";

/// The most words: more would be tried less often each.
const WORDS_MAX: usize = 600;

/// Writes `seeds` and ends the process, if it is asked to.
pub fn write_if_asked(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let seeds = seeds();
    write(&folder.with_extension("dict"), dictionary(&seeds).as_bytes());
    for (nth, seed) in seeds.iter().enumerate() {
        write(&folder.join(format!("{nth:04}")), seed);
    }
    process::exit(0);
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Returns the words that stand in `seeds` more than once, the most frequent ones, in the form
/// that libFuzzer reads.
fn dictionary(seeds: &[Vec<u8>]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let texts = seeds.iter().filter_map(|it| str::from_utf8(it).ok());
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.:/*".contains(c);
    for word in texts.flat_map(|it| it.split(|c: char| !is_part(c))) {
        if (2..=40).contains(&word.len()) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    words.sort_by_key(|(_, count)| usize::MAX - count);
    let lines = words.iter().take(WORDS_MAX).map(|(word, _)| format!("\"{word}\"\n"));
    // libFuzzer takes an empty file for one that is not there.
    iter::once("# words\n".to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_holds_the_words_that_come_again() {
        let seeds = [br#"{"action":"read"} x"#.to_vec(), br#"{"action":"write"}"#.to_vec()];
        assert_eq!(dictionary(&seeds), "# words\n\"action\"\n");
        let words = dictionary(&crate::rest::seeds());
        for word in ["if-match:", "/v1/sessions/main/entries"] {
            assert!(words.contains(&format!("\"{word}\"")), "{word}: {words}");
        }
    }
}
