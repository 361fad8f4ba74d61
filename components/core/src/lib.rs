//! Working memory for multi-agent systems: the rules of the specification, without any
//! I/O.
//!
//! A *session* holds the context that its agents share. A *project* outlives its sessions. A host
//! provides durable rows ([`port::Kv`]), the time ([`port::Clock`]), an audit log ([`port::Log`])
//! and, optionally, a tokenizer ([`port::Tokenizer`]). The core does not depend on WebAssembly or
//! HTTP. It handles JSON only as the state of rounds.
//!
//! ```
//! use shared_context_core::{
//!     Caller, Command, Config, Reply, Scope, ScopeKind, Write, execute,
//!     memory_kv::MemoryKv,
//!     port::{Clock, Log, NoTokenizer, Ports},
//!     audit::AuditRecord,
//!     time::Timestamp,
//! };
//!
//! struct Noon;
//! impl Clock for Noon {
//!     fn now(&self) -> Timestamp { Timestamp(43_200_000) }
//! }
//! struct Silent;
//! impl Log for Silent {
//!     fn record(&self, _: &AuditRecord) {}
//! }
//!
//! let kv = MemoryKv::default();
//! let ports = Ports { kv: &kv, clock: &Noon, log: &Silent, tokenizer: &NoTokenizer };
//! let session = Scope::parse(ScopeKind::Session, "ticket-7")?;
//! let admin = Caller::trusted("admin")?;
//! let orchestrator = Caller::trusted("orchestrator")?;
//! let create = Command::CreateSession(Box::new(Config::default()));
//! execute(&ports, &session, &admin, &create)?;
//! let write = Command::Write(Write::new("scope", "Find the parameter.")?);
//! let done = execute(&ports, &session, &orchestrator, &write)?;
//! let Reply::Written(written) = done.reply else { unreachable!() };
//! assert_eq!(written.entry.version, 1);
//! # Ok::<(), shared_context_core::Error>(())
//! ```
//!
//! # Map, in reading order
//!
//! `store` and `rounds` hold the rules, one folder each. `session` and `project` decide
//! the commands of their scope. `execute` opens the scope and commits. The other modules
//! are shared. docs/ARCHITECTURE.md lists which module may use which.

pub mod code;
pub mod error;
pub mod kv;
pub mod port;

pub mod key;
pub mod participant;
pub mod pattern;
pub mod scope;
pub mod time;
pub mod tokens;

pub mod audit;
pub mod budget;
pub mod canonical;
pub mod command;
pub mod compact;
pub mod config;
pub mod context;
pub mod digest;
pub mod extract;
pub mod fence;
pub mod item;
pub mod namespace;
pub mod portable;
pub mod prompt;
pub mod reply;
pub mod syntax;
pub mod text;
pub mod weight;

pub mod handoffs;
pub mod memories;
pub mod outline;
pub mod ownership;
pub mod packets;
pub mod rounds;
pub mod store;

pub mod memory_kv;

mod closed_list;
mod count;
mod decision;
mod estimate;
mod execute;
mod order;
mod project;
mod record;
mod row;
mod session;

pub use code::Code;
pub use command::{Batch, Command, Condition, Delete, ProjectCommand, Write, WriteOptions};
pub use compact::{Command as CompactionCommand, Reply as CompactionReply};
pub use config::{Config, ProjectConfig};
pub use context::{Command as ContextCommand, Reply as ContextReply};
pub use error::Error;
pub use execute::{execute, refuse};
pub use handoffs::{Command as HandoffsCommand, Reply as HandoffsReply};
pub use key::{Key, Label, Line, Prefix, RequestId};
pub use memories::{Command as MemoriesCommand, Reply as MemoriesReply};
pub use ownership::{Command as OutlineCommand, Reply as OutlineReply};
pub use packets::{Command as PacketsCommand, Reply as PacketsReply};
pub use participant::{Caller, Credential, Participant, Role};
pub use project::check_project_rows;
pub use reply::{Outcome, Reply};
pub use rounds::{
    CloseRound, Command as RoundsCommand, ExcludeDeltas, OpenRound, Proposal, ReadDeltas,
    RedactRounds, Reply as RoundsReply,
};
pub use scope::{ProjectId, Scope, ScopeKind, SessionId};
