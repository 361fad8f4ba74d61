//! Tests of the HTTP interface in process: the real codec and core on a `MemoryKv`, with a
//! clock that the tests set.

#[cfg(test)]
mod anything;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod destination;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod entries;
#[cfg(test)]
mod headers;
#[cfg(test)]
mod history;
#[cfg(test)]
mod host;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod listing;
#[cfg(test)]
#[cfg(feature = "memory-tool")]
mod memory;
#[cfg(test)]
mod origins;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod portable;
mod project_changes;
#[cfg(test)]
mod projects;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod sockets;
#[cfg(test)]
mod sockets_resumed;
#[cfg(test)]
mod stateless;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tool;
