//! Initial inputs, generated on demand and not stored in the repository.
//!
//! A target writes them instead of fuzzing when [`FOLDER`] names a folder. `cargo xtask
//! fuzz` does this before it runs a target.

use std::{
    collections::BTreeMap,
    env, fs, iter,
    path::{Path, PathBuf},
    process,
};

/// The environment variable that names the folder. The dictionary of words for libFuzzer is
/// written beside it, to the file with the folder's name and the extension `.dict`.
pub const FOLDER: &str = "SHARED_CONTEXT_SEEDS";

/// The maximum number of words: with more, each would be tried less often.
const WORDS_MAX: usize = 600;

/// Writes `seeds` and ends the process, if [`FOLDER`] is set.
pub fn write_if_requested(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
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

/// Returns the most frequent of the words that occur more than once in `seeds`, in
/// libFuzzer's format.
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
    // libFuzzer treats an empty file as missing.
    iter::once("# words\n".to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_has_the_repeated_words() {
        let seeds = [br#"{"action":"read"} x"#.to_vec(), br#"{"action":"write"}"#.to_vec()];
        assert_eq!(dictionary(&seeds), "# words\n\"action\"\n");
        let words = dictionary(&crate::rest::seeds());
        for word in ["if-match:", "/v1/sessions/main/entries"] {
            assert!(words.contains(&format!("\"{word}\"")), "{word}: {words}");
        }
    }
}
