//! The HTTP interface over the real rules: the codec and the core on a
//! `MemoryKv`, in process, with a clock that tests set.

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
mod forgetful;
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
mod memory;
#[cfg(test)]
mod origins;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod portable;
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
mod sockets_kept;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tool;
