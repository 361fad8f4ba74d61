//! Tests of the MCP interface in process: the real codec and core on a `MemoryKv`, with a
//! clock that the tests set.

#![cfg_attr(
    test,
    expect(clippy::needless_pass_by_value, reason = "JSON is built where it is sent")
)]

#[cfg(test)]
mod anything;
/// The in-process server, shared with the HTTP tests.
#[cfg(test)]
#[path = "../http/bench.rs"]
mod bench;
#[cfg(test)]
mod both_eras;
#[cfg(test)]
mod client;
#[cfg(test)]
mod completion;
#[cfg(test)]
mod first_calls;
#[cfg(test)]
mod framing;
#[cfg(test)]
mod handshakes;
#[cfg(test)]
mod headers;
#[cfg(test)]
mod legacy;
#[cfg(test)]
mod listen;
#[cfg(test)]
mod listen_ends;
#[cfg(test)]
mod log;
#[cfg(test)]
mod memories;
#[cfg(test)]
mod packets;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod reconnects;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod stateless;
#[cfg(test)]
mod stream_limit;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod versions;
