//! MCP over the real rules: the codec and the core on a `MemoryKv`, in process,
//! with a clock that tests set.

#![cfg_attr(test, expect(clippy::needless_pass_by_value, reason = "JSON is made where it is sent"))]

#[cfg(test)]
mod anything;
/// The server without sockets, shared with the tests of HTTP.
#[cfg(test)]
#[path = "../http/bench.rs"]
mod bench;
#[cfg(test)]
mod both;
#[cfg(test)]
mod client;
#[cfg(test)]
mod completion;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod cut_off;
#[cfg(test)]
mod forgetful;
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
mod live;
#[cfg(test)]
mod log;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod versions;
