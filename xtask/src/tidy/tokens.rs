//! Rust text as tokens: the words a file uses, the modules it names, the marks
//! of unfinished work. Comments and texts in quotes are not words.

use std::str::FromStr;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// Means everything in a crate's root.
const WHOLE: &str = "*";

/// The names that a file uses, each with its line.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Every identifier and keyword outside of modules called `tests`.
    pub(super) words: Vec<(String, usize)>,
    /// The modules and names right below the crate's root that it names by a path from
    /// `crate` or `super`, outside of modules called `tests`; [`WHOLE`] when it takes in
    /// the root itself.
    pub(super) modules: Vec<(String, usize)>,
    /// Words before `!` and a group: macros that are called, and `if !(…)`.
    pub(super) macros: Vec<(String, usize)>,
    /// The first words of attributes.
    pub(super) attributes: Vec<(String, usize)>,
}

impl Tokens {
    /// Reads `text`, which stands in the module `module` of its crate. The error
    /// says why it is no Rust.
    pub(super) fn read(text: &str, module: &[String]) -> Result<Self, String> {
        let stream = TokenStream::from_str(text).map_err(|error| error.to_string())?;
        let mut tokens = Self::default();
        tokens.walk(stream, module);
        Ok(tokens)
    }

    fn walk(&mut self, stream: TokenStream, module: &[String]) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let is_test = module.iter().any(|part| part == "tests");
        for (index, tree) in trees.iter().enumerate() {
            let (before, after) = trees.split_at(index);
            let after = after.get(1..).unwrap_or_default();
            match tree {
                TokenTree::Group(group) => {
                    if let (Delimiter::Bracket, [.., mark]) = (group.delimiter(), before)
                        && is_punctuation(mark, '#')
                        && let Some(word) = group.stream().into_iter().find_map(word)
                    {
                        self.attributes.push(word);
                    }
                    let inner = match before {
                        [.., keyword, TokenTree::Ident(name)] if is_word(keyword, "mod") => {
                            Some([module, &[name.to_string()]].concat())
                        }
                        _ => None,
                    };
                    self.walk(group.stream(), inner.as_deref().unwrap_or(module));
                }
                TokenTree::Ident(ident) => {
                    let (name, line) = (ident.to_string(), ident.span().start().line);
                    if let [mark, TokenTree::Group(_), ..] = after
                        && is_punctuation(mark, '!')
                    {
                        self.macros.push((name.clone(), line));
                    }
                    if !is_test {
                        self.name_modules(ident, after, module);
                        self.words.push((name, line));
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Notes the modules that the path starting with `first` and going on with `rest`
    /// names, if it leads to the crate's root or from there.
    fn name_modules(&mut self, first: &Ident, rest: &[TokenTree], module: &[String]) {
        let place = match (first.to_string().as_str(), module) {
            ("crate", _) => &[],
            ("super", [parents @ .., _]) => parents,
            _ => return,
        };
        self.follow(first.span().start().line, rest, place);
    }

    /// Follows the path that has led to the module `place` and goes on with `rest`.
    fn follow(&mut self, line: usize, rest: &[TokenTree], place: &[String]) {
        match rest {
            [colon, _, TokenTree::Group(group), ..] if is_punctuation(colon, ':') => {
                let listed: Vec<TokenTree> = group.stream().into_iter().collect();
                let parts = listed.split(|tree| is_punctuation(tree, ','));
                parts.for_each(|part| self.enter(part, place, line));
            }
            [colon, _, next @ ..] if is_punctuation(colon, ':') => self.enter(next, place, line),
            [as_word, ..] if place.is_empty() && is_word(as_word, "as") => {
                self.modules.push((WHOLE.to_owned(), line));
            }
            _ => {}
        }
    }

    /// Follows a path that starts with the first of `trees` inside of the module `place`.
    fn enter(&mut self, trees: &[TokenTree], place: &[String], line: usize) {
        let Some((first, rest)) = trees.split_first() else { return };
        match (first, place) {
            (TokenTree::Ident(it), [parents @ .., _]) if it == "super" => {
                self.follow(it.span().start().line, rest, parents);
            }
            (TokenTree::Ident(it), _) if it == "self" => {
                self.follow(it.span().start().line, rest, place);
            }
            (TokenTree::Ident(it), []) => {
                self.modules.push((it.to_string(), it.span().start().line));
            }
            (TokenTree::Punct(it), []) if it.as_char() == '*' => {
                self.modules.push((WHOLE.to_owned(), line));
            }
            _ => {}
        }
    }
}

fn word(tree: TokenTree) -> Option<(String, usize)> {
    match tree {
        TokenTree::Ident(ident) => Some((ident.to_string(), ident.span().start().line)),
        _ => None,
    }
}

fn is_word(tree: &TokenTree, text: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == text)
}

fn is_punctuation(tree: &TokenTree, text: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(text: &str, module: &[&str]) -> Vec<(String, usize)> {
        let module: Vec<String> = module.iter().map(ToString::to_string).collect();
        Tokens::read(text, &module).unwrap().modules
    }

    #[test]
    fn a_path_names_its_first_module() {
        let named = modules("fn f() -> crate::store::Entry {\n crate::key::parse(1) }", &["a"]);
        assert_eq!(named, [("store".to_owned(), 1), ("key".to_owned(), 2)]);
    }

    #[test]
    fn a_list_names_each_of_its_modules() {
        let named = modules("use crate::{Error, a::{b, c},\n d as e};", &["x"]);
        assert_eq!(named, [("Error".to_owned(), 1), ("a".to_owned(), 1), ("d".to_owned(), 2)]);
    }

    #[test]
    fn super_counts_from_where_it_stands() {
        assert_eq!(modules("use super::rounds;", &["store"]), [("rounds".to_owned(), 1)]);
        assert!(modules("use super::limits;", &["store", "entry"]).is_empty());
        assert_eq!(
            modules("use super::super::rounds;", &["store", "entry"]),
            [("rounds".to_owned(), 1)]
        );
        assert!(modules("mod tests { use super::entry; }", &["store"]).is_empty());
    }

    #[test]
    fn comments_and_quotes_are_no_words() {
        let tokens = Tokens::read("// serde\n/// serde\nconst A: &str = \"serde\";", &[]).unwrap();
        assert!(tokens.words.iter().all(|(word, _)| word != "serde"));
    }

    #[test]
    fn words_of_tests_are_left_out() {
        let text = "fn a() {} mod tests { fn b() {} }";
        let words = |module: &[String]| Tokens::read(text, module).unwrap().words;
        assert_eq!(words(&[]).iter().filter(|(word, _)| word == "fn").count(), 1);
        assert!(words(&["store".to_owned(), "tests".to_owned()]).is_empty());
    }

    #[test]
    fn macros_and_attributes_are_told_from_words() {
        let tokens = Tokens::read("#[cfg(test)]\nfn f() { if !(a) { vec![1] } }", &[]).unwrap();
        assert!(tokens.macros.contains(&("vec".to_owned(), 2)));
        assert_eq!(tokens.attributes, [("cfg".to_owned(), 1)]);
    }
}
