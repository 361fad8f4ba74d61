//! Sends a request and prints its reply: what most commands about a project do.

use serde::de::DeserializeOwned;

use super::{
    client::{Bearer, Call, parse},
    output::Output,
    problem::Problem,
    reply::Human,
    server::Server,
};

/// Sends `call` and prints the reply, which is a `T`.
///
/// # Errors
///
/// The server rejects the request, is unreachable, or its reply is not a `T`.
pub(crate) fn answer<T: DeserializeOwned + Human>(
    server: &Server,
    call: &Call,
    bearer: &Bearer,
    output: Output,
) -> Result<(), Problem> {
    answer_as(server, call, bearer, output, |_: &mut T| {})
}

/// Sends `call` and prints the reply, which is a `T`, for people as `adapt` changes it.
///
/// # Errors
///
/// The errors of [`answer`].
pub(crate) fn answer_as<T: DeserializeOwned + Human>(
    server: &Server,
    call: &Call,
    bearer: &Bearer,
    output: Output,
    adapt: impl FnOnce(&mut T),
) -> Result<(), Problem> {
    let reply = server.send(call, Some(bearer))?;
    output.answer(&reply, || {
        let mut parsed: T = parse(&reply, &server.client)?;
        adapt(&mut parsed);
        Ok(parsed.human(output))
    })
}
