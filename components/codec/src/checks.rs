//! Checks of members that requests of several systems have.

use shared_context_core::{
    Code, Error, RequestId,
    pattern::{ParticipantPattern, Participants},
    store::access::AccessChange,
};

/// How many commits or deltas are told when the request does not say.
const LIMIT_DEFAULT: u32 = 100;
/// How many commits or deltas are told at most.
const LIMIT_MAX: u32 = 1_000;

/// Returns the name that a request was given, so that it can be sent again.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn request_id(sent: Option<&str>) -> Result<Option<RequestId>, Error> {
    sent.map(RequestId::parse).transpose()
}

/// Returns how many commits or deltas are to be told.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub fn limit(limit: Option<u32>) -> Result<u32, Error> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::malformed(format!("limit is {limit}; it must be 1 to {LIMIT_MAX}")))
}

/// Returns all of `parsed`; the first of them that is refused for something else than that
/// it is malformed, such as a key that is none, goes to `later`, since whatever is
/// malformed comes before it.
pub(crate) fn all_but_later<T>(
    parsed: impl Iterator<Item = Result<T, Error>>,
    later: &mut Option<Error>,
) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    for it in parsed {
        match it {
            Ok(it) => all.push(it),
            Err(error) if error.code() == Code::MalformedRequest => return Err(error),
            Err(error) => drop(later.get_or_insert(error)),
        }
    }
    Ok(all)
}

/// Returns the change of access that these lists ask for.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn access_change(
    readable_by: Option<&[String]>,
    writable_by: Option<&[String]>,
) -> Result<AccessChange, Error> {
    Ok(AccessChange {
        readable_by: readable_by.map(participants).transpose()?,
        writable_by: writable_by.map(participants).transpose()?,
    })
}

/// Returns the participants that `patterns` are of.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn participants(patterns: &[String]) -> Result<Participants, Error> {
    let patterns = patterns.iter().map(|it| ParticipantPattern::parse(it));
    Participants::new(patterns.collect::<Result<_, _>>()?)
}
