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
    let reply = server.send(call, Some(bearer))?;
    output.answer(&reply, || Ok(parse::<T>(&reply, &server.client)?.human(output)))
}
