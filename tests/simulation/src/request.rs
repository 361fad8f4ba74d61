//! The command that a well-formed request makes, read plainly: the codec's reading
//! is compared with it.

#![expect(clippy::option_option, reason = "absent is one thing, no request another")]

use serde_json::{Map, Value};
use shared_context_codec::{self as codec, Time};
use shared_context_core::{
    Batch, CloseRound, Command, Condition, Config, Delete, Key, Label, Line, OpenRound,
    Participant, Prefix, Proposal, ReadDeltas, RedactRounds, RequestId, RoundsCommand, Write,
    WriteOptions,
    pattern::{KeyPattern, ParticipantPattern, Participants},
    port::Revision,
    rounds::{
        Clip, PathPattern, Plan, SentDelta, SentPath, Strategy, StrategyRule, Weight, WeightRule,
    },
    store::{
        access::AccessChange,
        expiry::{Expiry, Ttl},
    },
    tokens::Tokens,
};

/// How many commits are told when a request does not say.
const LIMIT_DEFAULT: u64 = 100;

/// The members of a request.
struct Members<'a>(&'a Map<String, Value>);

/// Reads the command out of a request; `None` when it is not as requests of scripts
/// are.
pub fn command(request: &Value) -> Option<Command> {
    let it = Members(request.as_object()?);
    let revision = |name: &str| it.number(name).map(Revision);
    let key = || Key::parse(it.text("key")?).ok();
    let label = |name: &str| Label::parse(it.text(name)?).ok();
    Some(match it.text("action")? {
        "list_keys" => Command::ListKeys {
            prefix: it.maybe("prefix", |it| Prefix::parse(it).ok())?,
            if_changed_since: revision("if_changed_since"),
        },
        "read" => Command::Read { key: key()?, if_changed_since: revision("if_changed_since") },
        "read_batch" => Command::ReadBatch {
            keys: it
                .texts("keys")?
                .into_iter()
                .map(|it| Key::parse(it).ok())
                .collect::<Option<_>>()?,
            if_changed_since: revision("if_changed_since"),
        },
        "write" => Command::Write(Write { request_id: it.request_id()?, ..it.write()? }),
        "delete" => Command::Delete(Delete { request_id: it.request_id()?, ..it.delete()? }),
        "write_batch" => {
            let writes = it.objects("writes").iter().map(Members::write).collect::<Option<_>>()?;
            let deletes = it.objects("deletes").into_iter().map(|it| it.delete());
            let deletes = deletes.collect::<Option<_>>()?;
            Command::WriteBatch(Batch::new(writes, deletes, it.request_id()?).ok()?)
        }
        "read_history" => Command::ReadHistory { key: key()?, versions: it.numbers("versions") },
        "set_access" => {
            let change = it.access()?;
            (change != AccessChange::default()).then_some(())?;
            Command::SetAccess { key: key()?, change }
        }
        "snapshot" => Command::TakeSnapshot {
            label: label("label")?,
            note: it.maybe("note", |it| Line::parse("note", it).ok())?,
        },
        "list_snapshots" => Command::ListSnapshots,
        "read_snapshot" => Command::ReadSnapshot {
            label: label("label")?,
            key: it.maybe("key", |it| Key::parse(it).ok())?,
        },
        "diff_snapshots" => Command::DiffSnapshots {
            from: label("from")?,
            to: it.maybe("to", |it| Label::parse(it).ok())?,
        },
        "restore_snapshot" => Command::RestoreSnapshot(label("label")?),
        "delete_snapshot" => Command::DeleteSnapshot(label("label")?),
        "changes" => Command::Changes {
            since: revision("since"),
            limit: u32::try_from(it.number("limit").unwrap_or(LIMIT_DEFAULT)).ok()?,
            keys: it.maybe("keys", |it| KeyPattern::parse(it).ok())?,
        },
        "redact" => Command::Redact {
            key: key()?,
            revision: revision("revision"),
            reason: Line::parse("reason", it.text("reason")?).ok()?,
        },
        "prompt" => Command::Prompt {
            participant: it.maybe("participant", |it| Participant::parse(it).ok())?,
            max_tokens: it.number("max_tokens").and_then(|it| u32::try_from(it).ok()).map(Tokens),
        },
        "show_session" => Command::ShowSession,
        "create_session" => {
            let config = it.0.get("config");
            let parsed = |it: &Value| codec::parse_config(&it.to_string()).ok();
            Command::CreateSession(Box::new(config.map_or(Some(Config::default()), parsed)?))
        }
        "archive_session" => Command::ArchiveSession,
        "delete_session" => Command::DeleteSession,
        "revoke_credentials" => Command::RevokeCredentials,
        "inspect" => Command::Inspect,
        "export_session" => Command::Export,
        "import_session" => {
            let document = it.0.get("document")?.to_string();
            Command::Import(Box::new(codec::parse_document(&document).ok()?))
        }
        "audit" => Command::Audit {
            since: revision("since").unwrap_or_default(),
            limit: u32::try_from(it.number("limit").unwrap_or(LIMIT_DEFAULT)).ok()?,
        },
        _ => return it.rounds(),
    })
}

/// The revision after which a read was asked for what changed.
pub fn since(command: &Command) -> Option<u64> {
    match command {
        Command::ListKeys { if_changed_since, .. }
        | Command::Read { if_changed_since, .. }
        | Command::ReadBatch { if_changed_since, .. } => if_changed_since.map(|it| it.0),
        _ => None,
    }
}

/// The request id of a command.
pub fn request_id(command: &Command) -> Option<&RequestId> {
    match command {
        Command::Write(it) => it.request_id.as_ref(),
        Command::Delete(it) => it.request_id.as_ref(),
        Command::WriteBatch(it) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Open(it)) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Propose(it)) => it.request_id.as_ref(),
        Command::Rounds(RoundsCommand::Close(it)) => it.request_id.as_ref(),
        _ => None,
    }
}

impl<'a> Members<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    fn texts(&self, name: &str) -> Option<Vec<&'a str>> {
        self.0.get(name)?.as_array()?.iter().map(Value::as_str).collect()
    }

    fn objects(&self, name: &str) -> Vec<Self> {
        let list = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_object).map(Members).collect()
    }

    /// The command of a request about rounds.
    fn rounds(&self) -> Option<Command> {
        Some(match self.text("action")? {
            "open_round" => Command::Rounds(RoundsCommand::Open(Box::new(OpenRound {
                plan: self.plan()?,
                query: self.text("query").map(str::to_owned),
                request_id: self.request_id()?,
            }))),
            "propose_deltas" => {
                let deltas = self.objects("deltas").into_iter().map(|it| it.delta_of_round());
                let deltas = deltas.collect::<Option<_>>()?;
                Command::Rounds(RoundsCommand::Propose(
                    Proposal::new(deltas, self.request_id()?).ok()?,
                ))
            }
            "close_round" => Command::Rounds(RoundsCommand::Close(CloseRound {
                clip: self.maybe("clip", |it| Clip::parse(it).ok())?,
                discards: self.0.get("discard").and_then(Value::as_bool).unwrap_or_default(),
                request_id: self.request_id()?,
            })),
            "redact_rounds" => {
                let reason = Line::parse("reason", self.text("reason")?).ok()?;
                Command::Rounds(RoundsCommand::Redact(
                    RedactRounds::new(self.text("text")?, reason).ok()?,
                ))
            }
            "read_state" => {
                Command::Rounds(RoundsCommand::ReadState { round: self.number("round") })
            }
            "read_deltas" => Command::Rounds(RoundsCommand::ReadDeltas(ReadDeltas {
                path: self.maybe("path", |it| SentPath::parse(it).ok())?,
                round: self.number("round"),
                after: self.maybe("after", |it| {
                    let (round, sequence) = it.split_once('.')?;
                    Some((round.parse().ok()?, sequence.parse().ok()?))
                })?,
                limit: u32::try_from(self.number("limit").unwrap_or(LIMIT_DEFAULT)).ok()?,
            })),
            "convergence" => Command::Rounds(RoundsCommand::ReadConvergence),
            _ => return None,
        })
    }

    fn plan(&self) -> Option<Plan> {
        let weights = self.objects("weights").into_iter().map(|it| {
            let participants = ParticipantPattern::parse(it.text("participant")?).ok()?;
            let weight = Weight::parse(it.0.get("weight")?.as_f64()?).ok()?;
            Some(WeightRule { participants, weight })
        });
        let strategies = self.objects("strategies").into_iter().map(|it| {
            let strategy = Strategy::parse(it.text("strategy")?, it.list("experts")?).ok()?;
            Some(StrategyRule { paths: PathPattern::parse(it.text("path")?).ok()?, strategy })
        });
        let plan = Plan {
            weights: weights.collect::<Option<_>>()?,
            strategies: strategies.collect::<Option<_>>()?,
            clip: self.maybe("clip", |it| Clip::parse(it).ok())?.unwrap_or_default(),
            bytes_max: self.number("bytes_max").map(u32::try_from).transpose().ok()?,
        };
        plan.check().is_ok().then_some(plan)
    }

    fn delta_of_round(&self) -> Option<SentDelta> {
        let value = self.0.get("value").map(ToString::to_string);
        let (operation, path) = (self.text("operation")?, self.text("path")?);
        SentDelta::new(operation, path, value.as_deref(), self.text("provenance")?).ok()
    }

    fn numbers(&self, name: &str) -> Vec<u64> {
        let list = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_u64).collect()
    }

    /// A member that may be absent; `None` when it is there and is none.
    fn maybe<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
        match self.text(name) {
            None => Some(None),
            Some(text) => parse(text).map(Some),
        }
    }

    fn request_id(&self) -> Option<Option<RequestId>> {
        self.maybe("request_id", |it| RequestId::parse(it).ok())
    }

    fn condition(&self) -> Option<Condition> {
        let if_revision = self.number("if_revision").map(Revision);
        Condition::new(self.number("if_version"), if_revision).ok()
    }

    fn list(&self, name: &str) -> Option<Option<Participants>> {
        if !self.0.contains_key(name) {
            return Some(None);
        }
        let patterns = self.texts(name)?.into_iter().map(|it| ParticipantPattern::parse(it).ok());
        Some(Some(Participants::new(patterns.collect::<Option<_>>()?).ok()?))
    }

    fn access(&self) -> Option<AccessChange> {
        Some(AccessChange {
            readable_by: self.list("readable_by")?,
            writable_by: self.list("writable_by")?,
        })
    }

    fn write(&self) -> Option<Write> {
        let after = self.number("ttl_seconds").map(|it| Ttl::parse("ttl_seconds", it).ok());
        let at = self.0.get("expires_at").map(|it| serde_json::from_value::<Time>(it.clone()).ok());
        let expiry = match (after, at) {
            (Some(after), None) => Some(Expiry::After(after?)),
            (None, Some(at)) => Some(Expiry::At(at?.0)),
            (None, None) => None,
            (Some(_), Some(_)) => return None,
        };
        let keeps_history = self.0.get("history").and_then(Value::as_bool);
        Some(Write {
            key: Key::parse(self.text("key")?).ok()?,
            value: self.text("value")?.to_owned(),
            condition: self.condition()?,
            options: WriteOptions { expiry, access: self.access()?, keeps_history },
            request_id: None,
        })
    }

    fn delete(&self) -> Option<Delete> {
        let key = Key::parse(self.text("key")?).ok()?;
        Some(Delete { key, condition: self.condition()?, request_id: None })
    }
}
