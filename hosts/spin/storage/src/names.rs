//! Names in their order, bytewise: where those with one beginning end.

/// Returns the least text after all that start with `prefix`; `None` when there is none.
pub(crate) fn end_of(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = after(last) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// Returns the character after `it`.
fn after(it: char) -> Option<char> {
    ((it..=char::MAX).nth(1)).filter(|_| it != char::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefix: &str, end: Option<&str>) {
        assert_eq!(end_of(prefix).as_deref(), end);
    }

    #[test]
    fn a_beginning_ends_before_the_next_one() {
        check("k/", Some("k0"));
        check("k", Some("l"));
        check("é", Some("ê"));
        check("\0", Some("\u{1}"));
        check("\u{7f}", Some("\u{80}"));
        check("\u{7ff}", Some("\u{800}"));
        check("\u{ffff}", Some("\u{10000}"));
    }

    #[test]
    fn no_end_is_half_of_a_pair() {
        check("\u{d7ff}", Some("\u{e000}"));
    }

    #[test]
    fn after_the_last_character_the_one_before_it_counts() {
        check("k\u{10ffff}", Some("l"));
        check("k\u{10ffff}\u{10ffff}", Some("l"));
    }

    #[test]
    fn all_there_is_has_no_end() {
        check("", None);
        check("\u{10ffff}", None);
    }
}
