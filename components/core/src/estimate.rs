//! Counting tokens with the estimator that a session or project names.

use crate::{
    Error,
    port::Tokenizer,
    tokens::{Estimator, Tokens, approximate},
};

/// Counts the tokens of `text` with `estimator`.
///
/// # Errors
///
/// [`Error::TokenizerUnavailable`].
pub(crate) fn count(
    tokenizer: &dyn Tokenizer,
    estimator: &Estimator,
    text: &str,
) -> Result<Tokens, Error> {
    match estimator {
        Estimator::Approximate => Ok(approximate(text)),
        Estimator::Encoding(_) => {
            let encoding = estimator.as_str();
            let tokens = tokenizer.count(encoding, text).map(Tokens);
            tokens.ok_or_else(|| Error::TokenizerUnavailable { encoding: encoding.to_owned() })
        }
    }
}

/// Rejects an estimator that the host lacks; `member` of the request names it.
///
/// # Errors
///
/// [`Error::Malformed`], with those the host has.
pub(crate) fn check(
    tokenizer: &dyn Tokenizer,
    member: &str,
    estimator: &Estimator,
) -> Result<(), Error> {
    count(tokenizer, estimator, "").map(drop).map_err(|_| {
        let known = [Estimator::Approximate.as_str().to_owned()];
        unknown_encoding(member, estimator, known.into_iter().chain(tokenizer.encodings()))
    })
}

/// Creates the error for a `member` of a request that names an estimator that the host lacks;
/// `known` are those it has.
pub(crate) fn unknown_encoding(
    member: &str,
    named: &Estimator,
    known: impl IntoIterator<Item = String>,
) -> Error {
    let known: Vec<String> = known.into_iter().collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let named = named.as_str();
    Error::malformed(format!("{member} {named} is not one this host has; it has {known}"))
}
