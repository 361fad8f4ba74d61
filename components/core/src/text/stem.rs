//! Stems of English words, so that "decided" and "decides" are one word.
//!
//! This is the Snowball English stemmer (Porter2), without its list of exceptional words: the words
//! with an irregular form are in `words`. It expects lower case and stems a word of ASCII letters.

/// The longest word that has a stem. Longer ones are no words of a language.
pub(super) const STEM_BYTES_MAX: usize = 32;

/// Words that the rules would confuse with others.
const UNCHANGED: [&[u8]; 8] =
    [b"inning", b"outing", b"canning", b"herring", b"earring", b"proceed", b"exceed", b"succeed"];

/// Beginnings after which the first region starts.
const BEGINNINGS: [&[u8]; 3] = [b"gener", b"commun", b"arsen"];

/// An ending, and what replaces it.
type Replaced = (&'static [u8], &'static [u8]);

/// Returns the endings with this last letter that are replaced in the first region, the longer before
/// the shorter.
fn derived(last: u8) -> &'static [Replaced] {
    match last {
        b'l' => &[(b"ational", b"ate"), (b"tional", b"tion")],
        b'n' => &[(b"ization", b"ize"), (b"ation", b"ate")],
        b's' => &[(b"fulness", b"ful"), (b"ousness", b"ous"), (b"iveness", b"ive")],
        b'm' => &[(b"alism", b"al")],
        b'r' => &[(b"izer", b"ize"), (b"ator", b"ate")],
        b'i' => &[
            (b"biliti", b"ble"),
            (b"lessli", b"less"),
            (b"entli", b"ent"),
            (b"aliti", b"al"),
            (b"ousli", b"ous"),
            (b"iviti", b"ive"),
            (b"fulli", b"ful"),
            (b"enci", b"ence"),
            (b"anci", b"ance"),
            (b"abli", b"able"),
            (b"alli", b"al"),
            (b"bli", b"ble"),
            (b"ogi", b"og"),
            (b"li", b""),
        ],
        _ => &[],
    }
}

/// Returns those that are replaced after the endings of [`derived`].
fn qualities(last: u8) -> &'static [Replaced] {
    match last {
        b'l' => &[(b"ational", b"ate"), (b"tional", b"tion"), (b"ical", b"ic"), (b"ful", b"")],
        b'e' => &[(b"alize", b"al"), (b"icate", b"ic"), (b"ative", b"")],
        b'i' => &[(b"iciti", b"ic")],
        b's' => &[(b"ness", b"")],
        _ => &[],
    }
}

/// Returns those that are removed in the second region, the longer before the shorter.
fn removed(last: u8) -> &'static [&'static [u8]] {
    match last {
        b't' => &[b"ement", b"ment", b"ant", b"ent"],
        b'e' => &[b"ance", b"ence", b"able", b"ible", b"ate", b"ive", b"ize"],
        b'm' => &[b"ism"],
        b'i' => &[b"iti"],
        b's' => &[b"ous"],
        b'n' => &[b"ion"],
        b'l' => &[b"al"],
        b'r' => &[b"er"],
        b'c' => &[b"ic"],
        _ => &[],
    }
}

/// Replaces `word` by its stem. Words of other letters stay as they are.
pub(super) fn stem(word: &mut Vec<u8>) {
    let is_english = word.iter().all(u8::is_ascii_lowercase);
    if !(3..=STEM_BYTES_MAX).contains(&word.len()) || !is_english {
        return;
    }
    mark_consonants(word);
    let (first, second) = regions(word);
    remove_plural(word);
    if !UNCHANGED.contains(&word.as_slice()) {
        remove_tense(word, first);
        if let [_, .., before, last @ (b'y' | b'Y')] = word.as_mut_slice()
            && !is_vowel(*before)
        {
            *last = b'i';
        }
        replace_derived(word, first);
        replace_quality(word, first, second);
        remove_last(word, second);
        remove_end(word, first, second);
    }
    word.make_ascii_lowercase();
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Writes `y` as `Y` where it is a consonant: at the beginning and after a vowel.
fn mark_consonants(word: &mut [u8]) {
    let mut is_after_vowel = true;
    for letter in word {
        if *letter == b'y' && is_after_vowel {
            *letter = b'Y';
        }
        is_after_vowel = is_vowel(*letter);
    }
}

/// Returns where the two regions of a word begin.
fn regions(word: &[u8]) -> (usize, usize) {
    let begun = BEGINNINGS.iter().find(|it| word.starts_with(it));
    let first = begun.map_or_else(|| region(word, 0), |it| it.len());
    (first, region(word, first))
}

/// Returns the place after the first consonant that follows a vowel, from `start` on.
fn region(word: &[u8], start: usize) -> usize {
    let letters = word.iter().skip(start).zip(word.iter().skip(start.saturating_add(1)));
    let before = letters.take_while(|(a, b)| !is_vowel(**a) || is_vowel(**b)).count();
    start.saturating_add(before).saturating_add(2).min(word.len())
}

/// Returns the length of what is before `ending`, if `word` has that ending.
fn before(word: &[u8], ending: &[u8]) -> Option<usize> {
    word.strip_suffix(ending).map(<[u8]>::len)
}

fn last(word: &[u8]) -> u8 {
    word.last().copied().unwrap_or_default()
}

/// Returns true if a vowel is among the first `length` letters.
fn has_vowel(word: &[u8], length: usize) -> bool {
    word.iter().take(length).any(|it| is_vowel(*it))
}

/// Returns true if the first `length` letters end in a short syllable.
fn ends_short(word: &[u8], length: usize) -> bool {
    match word.get(..length) {
        Some([.., a, b, c]) if !is_vowel(*a) => {
            is_vowel(*b) && !is_vowel(*c) && !matches!(c, b'w' | b'x' | b'Y')
        }
        Some([a, b]) => is_vowel(*a) && !is_vowel(*b),
        _ => false,
    }
}

fn remove_plural(word: &mut Vec<u8>) {
    let length = word.len();
    if word.ends_with(b"sses") {
        word.truncate(length.saturating_sub(2));
    } else if word.ends_with(b"ied") || word.ends_with(b"ies") {
        word.truncate(length.saturating_sub(if length > 4 { 2 } else { 1 }));
    } else if word.ends_with(b"s")
        && !word.ends_with(b"us")
        && !word.ends_with(b"ss")
        && has_vowel(word, length.saturating_sub(2))
    {
        word.truncate(length.saturating_sub(1));
    }
}

fn remove_tense(word: &mut Vec<u8>, first: usize) {
    if !matches!(last(word), b'd' | b'g' | b'y') {
        return;
    }
    for ending in [b"eedly".as_slice(), b"eed"] {
        if let Some(at) = before(word, ending) {
            if at >= first {
                word.truncate(at.saturating_add(2));
            }
            return;
        }
    }
    let endings = [b"ingly".as_slice(), b"edly", b"ing", b"ed"];
    let Some(at) = endings.iter().find_map(|it| before(word, it)) else { return };
    if !has_vowel(word, at) {
        return;
    }
    word.truncate(at);
    match word.as_slice() {
        [.., b'a', b't'] | [.., b'b', b'l'] | [.., b'i', b'z'] => word.push(b'e'),
        [.., a, b] if a == b && b"bdfgmnprt".contains(a) => {
            word.pop();
        }
        _ if at <= first && ends_short(word, at) => word.push(b'e'),
        _ => {}
    }
}

fn replace_derived(word: &mut Vec<u8>, first: usize) {
    let found = derived(last(word)).iter().find_map(|(it, by)| Some((before(word, it)?, *it, *by)));
    let Some((at, ending, by)) = found.filter(|(at, ..)| *at >= first) else { return };
    let before = word.get(..at).map_or(0, last);
    let is_allowed = match ending {
        b"li" => b"cdeghkmnrt".contains(&before),
        b"ogi" => before == b'l',
        _ => true,
    };
    if is_allowed {
        word.truncate(at);
        word.extend_from_slice(by);
    }
}

fn replace_quality(word: &mut Vec<u8>, first: usize, second: usize) {
    let found =
        qualities(last(word)).iter().find_map(|(it, by)| Some((before(word, it)?, *it, *by)));
    let Some((at, ending, by)) = found else { return };
    if at >= if ending == b"ative" { second } else { first } {
        word.truncate(at);
        word.extend_from_slice(by);
    }
}

fn remove_last(word: &mut Vec<u8>, second: usize) {
    let found = removed(last(word)).iter().find_map(|it| Some((before(word, it)?, *it)));
    let Some((at, ending)) = found.filter(|(at, _)| *at >= second) else { return };
    let before = word.get(..at).map_or(0, last);
    if ending != b"ion" || matches!(before, b's' | b't') {
        word.truncate(at);
    }
}

fn remove_end(word: &mut Vec<u8>, first: usize, second: usize) {
    let at = word.len().saturating_sub(1);
    let is_removed = match word.as_slice() {
        [.., b'e'] => at >= second || at >= first && !ends_short(word, at),
        [.., b'l', b'l'] => at >= second,
        _ => false,
    };
    if is_removed {
        word.truncate(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut bytes = word.as_bytes().to_vec();
        stem(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    /// Pairs of the vocabulary that is published with the stemmer.
    #[test]
    fn words_have_the_stems_of_snowball() {
        let pairs = "caresses:caress ponies:poni ties:tie cries:cri gas:gas this:this kiwis:kiwi gaps:gap \
             bus:bus glass:glass agreed:agre feed:feed exceedingly:exceed decided:decid \
             deciding:decid planned:plan hopping:hop hoping:hope falling:fall fizzed:fizz \
             failing:fail filing:file sized:size sing:sing bleed:bleed plastered:plaster \
             motoring:motor conflated:conflat troubled:troubl relational:relat conditional:condit \
             rational:ration valency:valenc hesitancy:hesit digitizer:digit conformably:conform \
             radically:radic differently:differ vilely:vile analogously:analog \
             vietnamization:vietnam predication:predic operator:oper feudalism:feudal \
             decisiveness:decis hopefulness:hope callousness:callous formality:formal \
             sensitivity:sensit sensibility:sensibl triplicate:triplic formative:format \
             formalize:formal electricity:electr electrical:electr hopeful:hope goodness:good \
             revival:reviv allowance:allow inference:infer airliner:airlin gyroscopic:gyroscop \
             adjustable:adjust defensible:defens irritant:irrit replacement:replac \
             adjustment:adjust dependent:depend adoption:adopt communism:communism activate:activ \
             angularity:angular homologous:homolog effective:effect bowdlerize:bowdler \
             probate:probat rate:rate cease:ceas controlling:control rolling:roll \
             generally:general generate:generat generous:generous communication:communic \
             community:communiti arsenal:arsenal inning:inning outings:outing proceeding:proceed \
             succeeded:succeed happy:happi say:say enjoy:enjoy youth:youth boyish:boyish \
             yearly:year beautifully:beauti apology:apolog theology:theolog geologist:geologist \
             fearlessly:fearless cautiously:cautious able:abl visibly:visibl matting:mat \
             mating:mate being:be oed:o abled:abl added:ad wed:wed knightly:knight skating:skate \
             national:nation internationalization:internation nationality:nation painting:paint \
             painted:paint painter:painter paints:paint support:support supportive:support \
             supporting:support transgender:transgend adopted:adopt agencies:agenc agency:agenc \
             counseling:counsel counselor:counselor pottery:potteri camping:camp hiking:hike \
             research:research researching:research identity:ident relationship:relationship \
             inspired:inspir inspiration:inspir creativity:creativ careful:care carefully:care \
             thankful:thank appreciated:appreci";
        for pair in pairs.split_whitespace() {
            let (word, expected) = pair.split_once(':').unwrap();
            assert_eq!(stemmed(word), expected, "{word}");
        }
    }

    #[test]
    fn words_of_other_letters_stay() {
        for word in ["", "a", "is", "größer", "v2s", "東京", "Running"] {
            assert_eq!(stemmed(word), word);
        }
        let long = "s".repeat(STEM_BYTES_MAX + 1);
        assert_eq!(stemmed(&long), long);
    }
}
