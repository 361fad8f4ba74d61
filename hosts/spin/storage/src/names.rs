//! The bytewise order of names: the end of the range of names with a prefix.

/// Returns the least text after all texts that start with `prefix`, or `None` if there is
/// none.
pub(crate) fn prefix_end(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = after(last) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// Returns the character after `char`.
fn after(char: char) -> Option<char> {
    ((char..=char::MAX).nth(1)).filter(|_| char != char::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefix: &str, end: Option<&str>) {
        assert_eq!(prefix_end(prefix).as_deref(), end);
    }

    #[test]
    fn a_prefix_ends_at_its_successor() {
        check("k/", Some("k0"));
        check("k", Some("l"));
        check("é", Some("ê"));
        check("\0", Some("\u{1}"));
        check("\u{7f}", Some("\u{80}"));
        check("\u{7ff}", Some("\u{800}"));
        check("\u{ffff}", Some("\u{10000}"));
    }

    #[test]
    fn surrogates_are_skipped() {
        check("\u{d7ff}", Some("\u{e000}"));
    }

    #[test]
    fn the_largest_character_carries_to_the_one_before() {
        check("k\u{10ffff}", Some("l"));
        check("k\u{10ffff}\u{10ffff}", Some("l"));
    }

    #[test]
    fn the_range_of_all_names_has_no_end() {
        check("", None);
        check("\u{10ffff}", None);
    }
}
