//! Sketches of texts: a few numbers that texts which repeat each other mostly share, so that the texts
//! that a new one may repeat are found without reading all (Broder, "On the resemblance and containment
//! of documents", 1997).

use super::{
    counted, normal,
    words::{DIGEST_OF_NOTHING, Reader},
};

/// The sketch of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// The least digest of its pairs of words, by each of three orders.
    pub(crate) least: [u32; 3],
    /// The digest of the words of its title; 0 if it has none.
    pub(crate) subject: u32,
}

/// The factors of the three orders.
const ORDERS: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9];

impl Sketch {
    /// Returns the sketch of a text with a title.
    pub(crate) fn new(title: &str, text: &str) -> Self {
        let mut least = [u64::MAX; 3];
        let mut last = DIGEST_OF_NOTHING;
        normal::tokens(text, |token| {
            let pair = mixed(last, token);
            last = token;
            for (least, order) in least.iter_mut().zip(ORDERS) {
                *least = (*least).min(mixed(pair, order));
            }
        });
        let words = counted::terms(&mut Reader::default(), title);
        let subject = words.iter().fold(DIGEST_OF_NOTHING, |sum, it| mixed(sum, (*it).into()));
        Self {
            least: least.map(high),
            subject: if words.is_empty() { 0 } else { high(subject).max(1) },
        }
    }

    /// Returns true if the texts may repeat each other, or have the same subject.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let is_least = self.least.iter().zip(&other.least).any(|(a, b)| a == b);
        is_least || self.has_subject_of(other)
    }

    /// Returns true if the titles have the same words.
    pub(crate) fn has_subject_of(&self, other: &Self) -> bool {
        self.subject != 0 && self.subject == other.subject
    }
}

fn high(it: u64) -> u32 {
    u32::try_from(it >> 32).unwrap_or_default()
}

fn mixed(digest: u64, more: u64) -> u64 {
    let product = (digest ^ more).wrapping_mul(0x5851_F42D_4C95_7F2D);
    product ^ (product >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_share_their_sketch() {
        let text =
            "The pool was cut from 200 to 20 connections because the database ran out of memory";
        let one = Sketch::new("Pool size", text);
        let like =
            Sketch::new("Size of the pool", &text.replace("because", "since").to_uppercase());
        assert!(one.is_like(&like) && one.has_subject_of(&like));
        let other = Sketch::new("Cache", "Sessions are kept in Redis for an hour");
        assert!(!one.is_like(&other));
        let untitled = Sketch::new("of the", "Sessions are kept in Redis for a day");
        assert!(!untitled.has_subject_of(&Sketch::new("the", "x")), "no words are no subject");
    }

    /// Of texts whose likeness is just above the threshold, sketches find almost all.
    #[test]
    fn nearly_all_repetitions_are_found() {
        let words: Vec<String> = (0..40).map(|it| format!("w{}", it * 7919 % 1_000)).collect();
        let mut found = 0;
        for nth in 0..100 {
            let mut other = words.clone();
            other[nth % 40] = format!("other{nth}");
            other[(nth * 3 + 11) % 40] = format!("another{nth}");
            let (a, b) = (words.join(" "), other.join(" "));
            assert!(super::super::likeness(&a, &b) > crate::text::likeness::REPEATED_ABOVE);
            found += u32::from(Sketch::new("", &a).is_like(&Sketch::new("", &b)));
        }
        assert!(found >= 95, "{found}");
    }
}
