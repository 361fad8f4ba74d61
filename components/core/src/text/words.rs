//! Reading texts as words: lower case, without accents, inflections and stop words.
//!
//! A word is a run of letters and digits. Identifiers count as their parts and as a whole:
//! `getUser_id` is `get`, `user`, `id` and `getuserid`. Scripts without spaces between words count
//! as pairs of adjacent characters. Words are compared by a digest of 64 bits, so the memory for a
//! text does not depend on its words.
//!
//! # Invariant
//!
//! Reading takes time linear in the bytes of the text, also if it is a single word.

use std::sync::LazyLock;

use super::{
    fold::{Class, class, fold},
    stem::{STEM_BYTES_MAX, stem},
};

/// A word, as a digest of its stem. It is never 0.
pub type Word = u64;

/// Words that say nothing about the subject of a text.
const STOP_WORDS: &str = "a an and are as at be been but by ca did do does for from had has have he her his how i in \
    is it its me my of on or our she so that the their them they this to was we were what when \
    where which who why will with wo would you your";

/// Words with their irregular forms.
const IRREGULAR: &str = "become became, begin began begun, break broke broken, bring brought, build built, buy \
    bought, catch caught, child children, choose chose chosen, come came, draw drew drawn, \
    drive drove driven, eat ate eaten, fall fell fallen, feel felt, fight fought, find found, \
    fly flew flown, foot feet, forget forgot forgotten, freeze froze frozen, get got gotten, \
    give gave given, go went gone goes, grow grew grown, hear heard, hide hid hidden, hold \
    held, keep kept, know knew known, lead led, leave left, life lives, lose lost, make made, \
    man men, mean meant, meet met, pay paid, person people, ride rode ridden, rise rose risen, \
    run ran, say said, see saw seen, sell sold, send sent, show shown, sing sang sung, sleep \
    slept, speak spoke spoken, spend spent, stand stood, swim swam swum, take took taken, \
    teach taught, tell told, think thought, throw threw thrown, understand understood, wake \
    woke, wear wore worn, wife wives, win won, woman women, write wrote written";

/// The parts of contractions after an apostrophe, which are not words.
const CONTRACTED: [&[u8]; 7] = [b"s", b"t", b"re", b"ve", b"ll", b"d", b"m"];

/// The digests of stop words and irregular forms and those of their stems, sorted; 0 for a stop word.
static FORMS: LazyLock<Vec<(u64, Word)>> = LazyLock::new(forms);

/// Slots of the memory of a [`Reader`] that met few words: most texts are short.
const SLOTS_FEW: usize = 256;
/// Slots of its memory after as many words as the small one has slots.
const SLOTS_MANY: usize = 8_192;

/// A reader of words. It remembers the stems of words that it met.
#[derive(Debug)]
pub struct Reader {
    /// The digest of a form as it was read, and that of its stem; 0 for a stop word.
    known: Vec<(u64, Word)>,
    /// The number of lookups that found no form.
    missed: usize,
    part: Buffer,
    whole: Buffer,
    /// The words of the last text of [`Reader::last`].
    words: Vec<Word>,
}

/// The folded form of a word.
#[derive(Debug, Default)]
struct Buffer {
    /// Its first bytes: the whole, unless it is too long for a word of a language.
    bytes: Vec<u8>,
    length: usize,
    digest: u64,
}

/// A choice of a reader's buffers.
#[derive(Debug, Clone, Copy)]
enum Of {
    Part,
    Whole,
}

/// The state of a reader within a text.
#[derive(Debug, Default)]
struct State {
    /// The number of parts of the word before the current one.
    parts: usize,
    is_lower: bool,
    /// The last character of a script without spaces.
    last: Option<char>,
    /// True if that character is in a pair already.
    is_paired: bool,
}

impl Default for Reader {
    fn default() -> Self {
        let known = vec![(0, 0); SLOTS_FEW];
        let (part, whole) = (Buffer::default(), Buffer::default());
        Self { known, missed: 0, part, whole, words: Vec::new() }
    }
}

impl Reader {
    /// Appends the words of `text` to `words`, in their order, with repetitions.
    pub fn read(&mut self, text: &str, words: &mut Vec<Word>) {
        let mut state = State::default();
        let mut chars = text.chars();
        loop {
            // Most characters are lower-case ASCII letters: a run of them is read at once.
            let is_plain = |it: &u8| it.is_ascii_lowercase() || it.is_ascii_digit();
            let mut length: usize = 0;
            let mut digest = DIGEST_OF_NOTHING;
            for byte in chars.as_str().bytes().take_while(is_plain) {
                digest = digest_with(digest, byte);
                length = length.saturating_add(1);
            }
            if let Some((run, after)) =
                chars.as_str().split_at_checked(length).filter(|_| length > 0)
            {
                end_pairs(&mut state, words);
                // Most runs are a whole word: nothing is kept for what may follow.
                let is_alone = self.part.length == 0 && state.parts == 0;
                if is_alone && after.bytes().next().is_none_or(ends_word) {
                    state.is_lower = false;
                    words.extend(self.look_up(digest, run.as_bytes(), length));
                    chars = after.chars();
                    chars.next();
                    continue;
                }
                state.is_lower = true;
                self.part.push_plain(run.as_bytes());
                chars = after.chars();
            }
            let Some(c) = chars.next() else { break };
            match if c.is_ascii() { ascii_class(c) } else { class(c) } {
                Class::Mark => {}
                Class::Letter => {
                    end_pairs(&mut state, words);
                    let is_upper = c.is_uppercase();
                    if is_upper && state.is_lower {
                        self.end_part(&mut state, words);
                    }
                    state.is_lower = !is_upper;
                    self.part.push(c);
                }
                Class::Pair => {
                    self.end_word(&mut state, words);
                    if let Some(last) = state.last.replace(c) {
                        words.push(digest_of_chars(&[last, c]));
                        state.is_paired = true;
                    }
                }
                Class::Break if matches!(c, '\'' | '’') && self.part.length > 0 => {
                    chars = self.contract(chars.as_str()).chars();
                    self.end_word(&mut state, words);
                }
                Class::Break => {
                    end_pairs(&mut state, words);
                    let is_joined = matches!(c, '_' | '.' | '/' | '-')
                        && chars.clone().next().is_some_and(char::is_alphanumeric);
                    if is_joined {
                        self.end_part(&mut state, words);
                    } else {
                        self.end_word(&mut state, words);
                    }
                }
            }
        }
        end_pairs(&mut state, words);
        self.end_word(&mut state, words);
    }

    /// Returns the last word of `text`.
    pub(crate) fn last(&mut self, text: &str) -> Option<Word> {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        self.read(text, &mut words);
        let last = words.last().copied();
        self.words = words;
        last
    }

    /// Returns the different words of `text`, sorted by digest.
    pub fn distinct(&mut self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        self.read(text, &mut words);
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Returns what follows a contraction such as `'s` in `behind`, and removes the rest of it from
    /// the current part.
    fn contract<'a>(&mut self, behind: &'a str) -> &'a str {
        let letters = behind.bytes().take(3).take_while(u8::is_ascii_alphanumeric).count();
        let Some((ending, after)) = behind.split_at_checked(letters) else { return behind };
        if !CONTRACTED.iter().any(|it| it.eq_ignore_ascii_case(ending.as_bytes())) {
            return behind;
        }
        if ending.eq_ignore_ascii_case("t") {
            self.part.pop(b'n');
        }
        after
    }

    /// Returns the word that the current part or whole is a form of, or `None` for a stop word.
    fn look_up_form(&mut self, of: Of) -> Option<Word> {
        let form = match of {
            Of::Part => &mut self.part,
            Of::Whole => &mut self.whole,
        };
        let (digest, length) = (form.digest, form.length);
        let bytes = std::mem::take(&mut form.bytes);
        let word = self.look_up(digest, &bytes, length);
        match of {
            Of::Part => self.part.bytes = bytes,
            Of::Whole => self.whole.bytes = bytes,
        }
        word
    }

    /// Returns the word that a form is of, or `None` for a stop word. `bytes` are its first.
    fn look_up(&mut self, digest: u64, bytes: &[u8], length: usize) -> Option<Word> {
        let digest = digest.max(1);
        if length > STEM_BYTES_MAX {
            return Some(digest);
        }
        if self.missed == SLOTS_FEW && self.known.len() == SLOTS_FEW {
            self.known = vec![(0, 0); SLOTS_MANY];
        }
        // Each form has two slots, so that two frequent forms seldom displace each other.
        let mask = u64::try_from(self.known.len().saturating_sub(2)).unwrap_or_default();
        let slot = usize::try_from((digest ^ (digest >> 32)) & mask & !1).unwrap_or_default();
        let [first, second, ..] = self.known.get_mut(slot..)? else { return None };
        let mut word = first.1;
        if first.0 != digest {
            word = second.1;
            if second.0 != digest {
                self.missed = self.missed.saturating_add(1);
                word = stemmed(digest, bytes);
            }
            *second = std::mem::replace(first, (digest, word));
        }
        (word != 0).then_some(word)
    }

    /// Ends a part of a word.
    fn end_part(&mut self, state: &mut State, words: &mut Vec<Word>) {
        if self.part.length > 0 {
            state.parts = state.parts.saturating_add(1);
            self.whole.append(&self.part);
            words.extend(self.look_up_form(Of::Part));
        }
        state.is_lower = false;
        self.part.clear();
    }

    /// Ends a word. If it has several parts, it counts as a whole, too.
    fn end_word(&mut self, state: &mut State, words: &mut Vec<Word>) {
        if self.part.length == 0 && state.parts == 0 {
            return;
        }
        if state.parts == 0 {
            words.extend(self.look_up_form(Of::Part));
        } else {
            self.end_part(state, words);
            if state.parts > 1 {
                words.extend(self.look_up_form(Of::Whole));
            }
        }
        state.parts = 0;
        state.is_lower = false;
        self.part.clear();
        self.whole.clear();
    }
}

/// Ends a run of characters without spaces. One alone is a word.
fn end_pairs(state: &mut State, words: &mut Vec<Word>) {
    if let Some(last) = state.last.take()
        && !state.is_paired
    {
        words.push(digest_of_chars(&[last]));
    }
    state.is_paired = false;
}

/// Returns true for a byte that ends a word whatever follows.
fn ends_word(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"_./-'".contains(&byte)
}

/// Returns the word of a form that is short enough for one; 0 for a stop word.
fn stemmed(digest: u64, bytes: &[u8]) -> Word {
    let irregular = FORMS.binary_search_by(|(it, _)| it.cmp(&digest)).ok();
    let irregular = irregular.and_then(|place| FORMS.get(place));
    irregular.map_or_else(
        || {
            let mut form = bytes.to_vec();
            stem(&mut form);
            digest_of(form.into_iter())
        },
        |(_, word)| *word,
    )
}

/// Returns the class of an ASCII character.
fn ascii_class(c: char) -> Class {
    if c.is_ascii_alphanumeric() { Class::Letter } else { Class::Break }
}

/// Returns [`FORMS`].
fn forms() -> Vec<(u64, Word)> {
    let mut forms = Vec::new();
    STOP_WORDS.split(' ').for_each(|it| insert(&mut forms, digest_of(it.bytes()), 0));
    for line in IRREGULAR.split(", ") {
        let mut words = line.split(' ').map(str::as_bytes);
        let mut base = words.next().unwrap_or_default().to_vec();
        stem(&mut base);
        let base = digest_of(base.into_iter());
        words.for_each(|it| insert(&mut forms, digest_of(it.iter().copied()), base));
    }
    forms
}

/// Inserts a form in its place.
fn insert(forms: &mut Vec<(u64, Word)>, form: u64, word: Word) {
    let place = forms.partition_point(|(it, _)| *it < form);
    forms.insert(place, (form, word));
}

/// The digest of an empty word, as FNV-1a defines it.
pub(super) const DIGEST_OF_NOTHING: u64 = 0xCBF2_9CE4_8422_2325;

/// Returns the digest of a word with one more byte (FNV-1a).
pub(super) fn digest_with(digest: u64, byte: u8) -> u64 {
    (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
}

/// Returns the digest of a word.
pub(crate) fn digest_of(bytes: impl Iterator<Item = u8>) -> Word {
    bytes.fold(DIGEST_OF_NOTHING, digest_with).max(1)
}

fn digest_of_chars(chars: &[char]) -> Word {
    digest_of(chars.iter().flat_map(|it| u32::from(*it).to_le_bytes()))
}

impl Buffer {
    /// Appends `c`, folded.
    fn push(&mut self, c: char) {
        if c.is_ascii() {
            let lower = c.to_ascii_lowercase();
            self.push_byte(u8::try_from(lower).unwrap_or_default());
        } else {
            fold(c, |it| it.encode_utf8(&mut [0; 4]).bytes().for_each(|it| self.push_byte(it)));
        }
    }

    /// Appends bytes that are folded already.
    fn push_plain(&mut self, bytes: &[u8]) {
        let digest = if self.length == 0 { DIGEST_OF_NOTHING } else { self.digest };
        self.digest = bytes.iter().copied().fold(digest, digest_with);
        let free = STEM_BYTES_MAX.saturating_sub(self.length).min(bytes.len());
        self.bytes.extend_from_slice(bytes.get(..free).unwrap_or_default());
        self.length = self.length.saturating_add(bytes.len());
    }

    fn push_byte(&mut self, byte: u8) {
        if self.length == 0 {
            self.digest = DIGEST_OF_NOTHING;
        }
        if self.length < STEM_BYTES_MAX {
            self.bytes.push(byte);
        }
        self.length = self.length.saturating_add(1);
        self.digest = digest_with(self.digest, byte);
    }

    /// Removes the last byte, if it is `byte` and the word is short enough to be kept whole.
    fn pop(&mut self, byte: u8) {
        if self.length == self.bytes.len() && self.bytes.last() == Some(&byte) {
            self.bytes.pop();
            let bytes = std::mem::take(&mut self.bytes);
            self.clear();
            for byte in bytes {
                self.push_byte(byte);
            }
        }
    }

    /// Appends a part. Of a part that is too long to be kept, it appends the digest.
    fn append(&mut self, part: &Self) {
        part.bytes.iter().for_each(|it| self.push_byte(*it));
        if part.length > part.bytes.len() {
            part.digest.to_le_bytes().iter().for_each(|it| self.push_byte(*it));
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        Reader::default().read(text, &mut words);
        words
    }

    #[test]
    fn texts_of_the_same_words_read_the_same() {
        for (a, b) in [
            ("The agents decided on caching!", "agent decides: cache"),
            ("Melanie's children WENT swimming", "melanie child goes swim"),
            ("they don't, can't and won't", ""),
            ("café naïve Zoë", "cafe naive zoe"),
            ("cafe\u{301}", "café"),
            ("don’t it’s o'clock", "o clock"),
            ("ＡＰＩ ２", "api 2"),
            ("كِتَابٌ", "كتاب"),
            ("well 👩🏽‍🚀 done \0", "well done"),
            ("getUserName", "get user name getusername"),
            ("src/text_words.rs", "src text words rs srctextwordsrs"),
            ("BUG-2847. Next", "bug 2847 bug2847 next"),
            ("end.", "end"),
            ("a.- -b", "b"),
        ] {
            assert_eq!(read(a), read(b), "{a}");
        }
        for (a, b) in [("bug 2847", "bug 2848"), ("news", "old"), ("東京", "京東")] {
            assert_ne!(read(a), read(b), "{a}");
        }
    }

    /// Scripts without spaces are read as pairs; a single character is a word.
    #[test]
    fn characters_without_spaces_are_read_in_pairs() {
        let shared = |a: &str, b: &str| {
            let b = read(b);
            read(a).into_iter().filter(|it| b.contains(it)).count()
        };
        assert_eq!(read("東京都庁").len(), 3);
        assert_eq!(shared("東京都庁", "京都"), 1);
        assert_eq!(read("人、山").len(), 2);
        assert_eq!(read("API東京").len(), 2);
        assert_eq!(read("東京API").len(), 2);
        assert_eq!(shared("데이터베이스를", "데이터베이스"), 5);
        assert!(shared("ภาษาไทย", "ไทย") >= 2);
    }

    #[test]
    fn a_word_of_a_mebibyte_is_one_word() {
        let long = "x".repeat(1 << 20);
        assert_eq!(read(&long).len(), 1);
        assert_ne!(read(&long), read(&format!("{long}x")));
        assert_eq!(read(&"x_".repeat(1 << 19)).len(), (1 << 19) + 1);
        assert_eq!(read(&format!("{long}-a")).len(), 2);
    }

    #[test]
    fn stop_words_and_irregular_forms_are_sorted() {
        assert!(FORMS.is_sorted_by(|a, b| a.0 < b.0));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,40}|[a-zA-Z'’._/ -]{0,60}|[東京ひไ𠀀 a.]{0,20}") {
            let words = read(&text);
            // Each part of a name such as `bB` is a word, and the name is one more.
            prop_assert!(words.len() <= text.len() + text.len() / 2);
            prop_assert!(!words.contains(&0));
            prop_assert_eq!(&words, &read(&text));
        }

        #[test]
        fn what_was_read_before_changes_nothing(texts in proptest::collection::vec("\\PC{0,30}", 2)) {
            let (mut reader, mut after) = (Reader::default(), Vec::new());
            reader.read(&texts[0], &mut Vec::new());
            reader.read(&texts[1], &mut after);
            prop_assert_eq!(after, read(&texts[1]));
        }
    }
}
