//! Classes of characters, and their folding to lower case without accents.

/// The class of a character for a reader of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter or digit.
    Letter,
    /// A character of a script without spaces between words.
    Pair,
    /// A mark that belongs to the letter before it, or an invisible character.
    Mark,
    /// Anything else.
    Break,
}

/// Returns the class of `c`.
pub(super) fn class(c: char) -> Class {
    match u32::from(c) {
        0xAD | 0x200B..=0x200F | 0x2060 | 0xFE00..=0xFE0F => Class::Mark,
        0x300..=0x36F | 0x591..=0x5BD | 0x610..=0x61A | 0x640 | 0x64B..=0x65F | 0x670 => {
            Class::Mark
        }
        // Viramas and nuktas: the scripts of India have them at the same place of their blocks.
        code @ 0x900..=0xDFF if matches!(code & 0x7F, 0x3C | 0x4D) => Class::Mark,
        code if c.is_alphanumeric() => match code {
            // Thai, Lao, Burmese, Khmer; kana, Han, Hangul.
            0xE00..=0xEFF
            | 0x1000..=0x109F
            | 0x1780..=0x17FF
            | 0x3041..=0x30FF
            | 0x3400..=0x9FFF
            | 0xAC00..=0xD7A3
            | 0xF900..=0xFAFF
            | 0x20000..=0x3FFFF => Class::Pair,
            _ => Class::Letter,
        },
        _ => Class::Break,
    }
}

/// Letters without accents, for `ß` (U+00DF) to `ſ` (U+017F). `.` keeps the letter.
const LATIN: &[u8; 161] = b"saaaaaaaceeeeiiiidnooooo.ouuuuyty\
    aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiijjjjkkkllllllllllnnnnnnnnnoooooooo\
    rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/// Passes `c` to `push` in lower case and without accents: as one character, or a few.
pub(super) fn fold(c: char, mut push: impl FnMut(char)) {
    match c {
        '\0'..='\u{7F}' => push(c.to_ascii_lowercase()),
        'ß' => ['s', 's'].into_iter().for_each(push),
        'æ' | 'Æ' => ['a', 'e'].into_iter().for_each(push),
        'œ' | 'Œ' => ['o', 'e'].into_iter().for_each(push),
        // Full-width forms of ASCII.
        '\u{FF01}'..='\u{FF5E}' => {
            let narrow = u32::from(c).saturating_sub(0xFEE0);
            push(char::from_u32(narrow).unwrap_or(c).to_ascii_lowercase());
        }
        _ => {
            for lower in c.to_lowercase().filter(|it| class(*it) != Class::Mark) {
                push(without_accent(lower));
            }
        }
    }
}

fn without_accent(lower: char) -> char {
    let place = u32::from(lower).checked_sub(0xDF).and_then(|it| usize::try_from(it).ok());
    match place.and_then(|it| LATIN.get(it)) {
        Some(b'.') | None => lower,
        Some(plain) => char::from(*plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut folded = String::new();
        text.chars().for_each(|c| fold(c, |it| folded.push(it)));
        folded
    }

    #[test]
    fn case_and_accents_are_folded() {
        for (text, plain) in [
            ("ÀÉÎÕÜÇÑ ýÿ", "aeioucn yy"),
            ("Čeština Łódź Ğöğüş ısı İ", "cestina lodz gogus isi i"),
            ("Straße ÆON Œuvre Øre Þor đ", "strasse aeon oeuvre ore tor d"),
            ("ΣΊΣΥΦΟΣ Ёлка", "σίσυφοσ ёлка"),
            ("ＡＢＣ１２", "abc12"),
            ("ſ ž ŵ ŷ ĳ ŉ ŋ ĸ ÷", "s z w y j n n k ÷"),
        ] {
            assert_eq!(folded(text), plain, "{text}");
        }
    }

    #[test]
    fn characters_have_classes() {
        for (text, expected) in [
            ("aZ0éя٣ع", Class::Letter),
            ("東ひカ한ไ", Class::Pair),
            ("\u{301}\u{200D}\u{FE0F}\u{651}\u{94D}", Class::Mark),
            (" \0,👩🏽—、", Class::Break),
        ] {
            for c in text.chars() {
                assert_eq!(class(c), expected, "{c:?}");
            }
        }
    }
}
