//! Checks of members that several systems share.

use shared_context_core::{
    Code, Command, Error, RequestId,
    pattern::{ParticipantPattern, Participants},
    store::access::AccessChange,
};

/// Commits or deltas per page when the request does not set a limit.
const LIMIT_DEFAULT: u32 = 100;
/// Most commits or deltas per page.
const LIMIT_MAX: u32 = 1_000;

/// Parses the request id, under which a request can safely be sent again.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn request_id(sent: Option<&str>) -> Result<Option<RequestId>, Error> {
    sent.map(RequestId::parse).transpose()
}

/// Adds the caller's name for the request, if there is one, to `command`.
pub(crate) fn named(request_id: Option<RequestId>, command: Command) -> Command {
    match request_id {
        Some(request_id) => Command::Named { request_id, command: Box::new(command) },
        None => command,
    }
}

/// Validates the requested number of commits or deltas, and applies the default.
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

/// Collects all values of `parsed`, or returns the first malformed error. Any other first error,
/// such as an invalid key, goes to `later`: malformed requests take precedence.
pub(crate) fn collect_malformed_first<T>(
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

/// Builds the access change from the two lists.
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

/// Parses `patterns` as participants.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(crate) fn participants(patterns: &[String]) -> Result<Participants, Error> {
    let patterns = patterns.iter().map(|it| ParticipantPattern::parse(it));
    Participants::new(patterns.collect::<Result<_, _>>()?)
}
