//! Patterns that match paths in a round state.

use std::fmt::Write as _;

use rsonpath_syntax::{Index, JsonPathQuery, Segment, Selector, Selectors};

use super::{
    BINDINGS, MEMBERS, QUERY,
    json::DEPTH_MAX,
    path::{PATH_BYTES_MAX, Path, Step, invalid, parse, write_name},
};
use crate::Error;

/// A pattern of names, indexes, `*` and `..`. It also matches every path below a path
/// that it selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    query: JsonPathQuery,
}

impl PathPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// [`RoundError::InvalidPath`](super::RoundError::InvalidPath), also if no state has a
    /// path that it matches.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let pattern = Self::parse_to(PATH_BYTES_MAX, text)?;
        match pattern.missing_part() {
            None => Ok(pattern),
            Some(why) => Err(invalid(text, why)),
        }
    }

    /// Parses a stored pattern. A redaction may have made it longer than a pattern that
    /// can be sent.
    ///
    /// # Errors
    ///
    /// [`RoundError::InvalidPath`](super::RoundError::InvalidPath).
    pub fn restore(text: &str) -> Result<Self, Error> {
        Self::parse_to(usize::MAX, text)
    }

    fn parse_to(bytes_max: usize, text: &str) -> Result<Self, Error> {
        let query = parse(text, bytes_max)?;
        let is_simple = |selectors: &Selectors| {
            selectors.as_slice().iter().all(|it| {
                matches!(
                    it,
                    Selector::Name(_) | Selector::Wildcard | Selector::Index(Index::FromStart(_))
                )
            })
        };
        let selectors = |it: &Segment| is_simple(it.selectors());
        if query.segments().len() <= DEPTH_MAX && query.segments().iter().all(selectors) {
            return Ok(Self { text: text.to_owned(), query });
        }
        Err(invalid(text, "a pattern has names, indexes, * and .. only, at most 32 of them"))
    }

    /// Returns why no state has a path that the pattern matches, or `None` if one can.
    fn missing_part(&self) -> Option<&'static str> {
        let mut segments = self.query.segments().iter();
        let mut selectors = || match segments.next()? {
            Segment::Child(selectors) => Some(selectors.as_slice()),
            // It selects at any depth.
            Segment::Descendant(_) => None,
        };
        let members = selectors()?;
        let selected = |member: &&str| {
            let step = Step::Name((*member).to_owned());
            members.iter().any(|it| selects(it, &step))
        };
        let members: Vec<&str> = MEMBERS.into_iter().filter(selected).collect();
        if members.is_empty() {
            return Some("a state has the members query, bindings, entities and rules only");
        }
        let below = selectors()?;
        let is_name = |it: &Selector| matches!(it, Selector::Name(_) | Selector::Wildcard);
        let is_index = |it: &Selector| matches!(it, Selector::Index(_) | Selector::Wildcard);
        let has_part = |member: &&str| match *member {
            BINDINGS => below.iter().any(is_name),
            QUERY => false,
            _ => below.iter().any(is_index),
        };
        let members: Vec<&str> = members.into_iter().filter(has_part).collect();
        if members.is_empty() {
            return Some(
                "the query is a text, bindings have names, entities and rules have indexes, such \
                 as $.entities[*].name",
            );
        }
        let is_in_terms = members == [BINDINGS] && selectors().is_some();
        is_in_terms.then_some("a term is bound to a text, which has nothing below it")
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the pattern as text, with its names replaced by `rename`. Members of the
    /// state are not renamed.
    pub(super) fn renamed(&self, mut rename: impl FnMut(&str) -> Option<String>) -> String {
        let mut text = "$".to_owned();
        for segment in self.query.segments() {
            text.push_str(if segment.is_descendant() { "..[" } else { "[" });
            for (nth, selector) in segment.selectors().as_slice().iter().enumerate() {
                if nth > 0 {
                    text.push(',');
                }
                // Writing to a string does not fail.
                let _ = match selector {
                    Selector::Name(name) => {
                        let name = name.unquoted();
                        let new = if MEMBERS.contains(&name) { None } else { rename(name) };
                        write_name(&mut text, new.as_deref().unwrap_or(name))
                    }
                    Selector::Index(Index::FromStart(nth)) => write!(text, "{}", nth.as_u64()),
                    // A pattern has no other selectors.
                    _ => text.write_str("*"),
                };
            }
            text.push(']');
        }
        text
    }

    /// Returns true if the pattern matches `path`, and adds the number of comparisons to
    /// `comparisons`.
    pub(super) fn matches(&self, path: &Path, comparisons: &mut usize) -> bool {
        // Bit n: the first n steps of the path, which has at most 33, are selected by the
        // segments so far.
        let mut ends = 1_u64;
        for segment in self.query.segments() {
            let selectors = segment.selectors().as_slice();
            let (first, is_deep) = (ends.trailing_zeros(), segment.is_descendant());
            let steps = path.steps().iter().skip(usize::try_from(first).unwrap_or_default());
            let mut next = 0_u64;
            for (nth, step) in (first..63).zip(steps) {
                if !is_deep && ends >> nth == 0 {
                    break;
                }
                if is_deep || ends >> nth & 1 == 1 {
                    *comparisons = comparisons.saturating_add(selectors.len());
                    if selectors.iter().any(|it| selects(it, step)) {
                        next |= 2 << nth;
                    }
                }
            }
            ends = next;
            if ends == 0 {
                return false;
            }
        }
        true
    }
}

fn selects(selector: &Selector, step: &Step) -> bool {
    match (selector, step) {
        (Selector::Wildcard, _) => true,
        (Selector::Name(name), Step::Name(it)) => name.unquoted() == it,
        (Selector::Index(Index::FromStart(nth)), Step::Index(it)) => nth.as_u64() == u64::from(*it),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{super::SentPath, *};

    fn path(text: &str) -> Path {
        SentPath::parse(text).unwrap().resolve(&Value::Null).unwrap()
    }

    #[test]
    fn renaming_changes_only_the_names_of_a_pattern() {
        let pattern = PathPattern::parse("$.entities[*]..['it\\'s', 'b'][3,*]").unwrap();
        let as_is = pattern.renamed(|_| None);
        assert_eq!(as_is, "$['entities'][*]..['it\\'s','b'][3,*]");
        assert_eq!(PathPattern::parse(&as_is).unwrap().query, pattern.query);
        let renamed = pattern.renamed(|it| it.contains('s').then(|| "new".to_owned()));
        assert_eq!(renamed, "$['entities'][*]..['new','b'][3,*]");
    }

    #[test]
    fn a_pattern_matches_what_it_selects_and_all_below() {
        for (pattern, matching, others) in [
            ("$", &["$.query", "$.entities[0].id"][..], &[][..]),
            ("$.bindings", &["$.bindings", "$.bindings.a"], &["$.entities"]),
            ("$.bindings.*", &["$.bindings.a"], &["$.bindings"]),
            (
                "$.entities[*].id",
                &["$.entities[3].id", "$.entities[3].id.x"],
                &["$.entities[3].name"],
            ),
            ("$.entities[1]", &["$.entities[1].id"], &["$.entities[11]"]),
            ("$..id", &["$.entities[3].id", "$.entities[0].a.id.b"], &["$.entities[3]"]),
            ("$.entities..a.b", &["$.entities[0].a.b"], &["$.rules[0].a.b", "$.entities[0].a.c.b"]),
            ("$['query','rules']", &["$.query", "$.rules[1]"], &["$.bindings"]),
        ] {
            let it = PathPattern::parse(pattern).unwrap();
            for path_text in matching {
                assert!(it.matches(&path(path_text), &mut 0), "{pattern} {path_text}");
            }
            for path_text in others {
                assert!(!it.matches(&path(path_text), &mut 0), "{pattern} {path_text}");
            }
        }
        for bad in ["", "bindings", "$.rules[?@.b]", "$.rules[1:2]", "$.rules[-1]"] {
            assert!(PathPattern::parse(bad).is_err(), "{bad}");
        }
    }

    /// Such a rule was once accepted, and never applied.
    #[test]
    fn a_pattern_that_matches_no_state_is_rejected() {
        for (bad, why) in [
            ("$.rule", "query, bindings, entities and rules"),
            ("$[0]", "query, bindings, entities and rules"),
            ("$.entities.name", "have indexes"),
            ("$['query','rules'].x", "have indexes"),
            ("$.bindings[0]", "bindings have names"),
            ("$.query.x", "a text"),
            ("$.bindings.a.b", "nothing below"),
            ("$.bindings.*[0]", "nothing below"),
        ] {
            let error = PathPattern::parse(bad).unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
            assert!(PathPattern::restore(bad).is_ok(), "{bad}: an older version stored it");
        }
        for good in ["$", "$.*", "$[*].a", "$..id", "$.rules..a", "$.query", "$.entities[0,1].a.b"]
        {
            assert!(PathPattern::parse(good).is_ok(), "{good}");
        }
    }
}
