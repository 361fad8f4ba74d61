//! A bucket: its session, if any, and the counters that outlive deleted sessions. Defines the
//! expected answer and effect of every command.

use std::rc::Rc;

use shared_context_core::{
    Caller, Code, Command, CompactionCommand, Config, ContextCommand, ContextReply, Credential,
    Error, Key, PacketsCommand, Prefix, Reply, SessionId,
    audit::{AuditAction, AuditRecord},
    context,
    namespace::Namespace,
    pattern::KeyPatterns,
    port::Revision,
    portable::Portable,
    prompt,
    reply::{AuditPage, ChangesPage, SessionInfo},
    time::Timestamp,
    tokens::{Estimator, Tokens, approximate},
};

use super::{
    rows,
    state::{Answer, Model, participant},
};

/// Number of changes for which a request id is remembered.
const REQUESTS_REMEMBERED: u64 = 256;
/// Largest allowed clock difference for imported documents: one day, in milliseconds.
const AHEAD_MS_MAX: u64 = 86_400_000;

/// Expected state of a bucket.
#[derive(Debug, Clone, Default)]
pub struct BucketModel {
    /// Number of commits.
    pub revision: u64,
    /// Offset of the session's revisions from the bucket's.
    pub offset: u64,
    /// The session, if one exists.
    pub session: Option<Rc<Model>>,
}

/// The caller of a request.
#[derive(Debug, Clone)]
pub struct Requester {
    /// The participant and, as in `subagent:a only inv_*,scope`, the keys that its credential is
    /// limited to.
    pub who: String,
    /// The credential, if any.
    pub credential: Option<Credential>,
}

/// Expected answer to a request.
#[derive(Debug, Clone)]
pub enum ExpectedAnswer {
    /// Exactly this reply or error code.
    Exactly(Answer),
    /// A page with at least the changes marked `true`, and no changes besides these.
    Changes(Revision, ChangesPage, Vec<bool>),
    /// One of these error codes, or a commit if the command allows one.
    Rejected(Vec<Code>),
}

/// The expected answer, and the new state if the command changes the bucket.
pub type Decision = (ExpectedAnswer, Option<BucketModel>);

impl BucketModel {
    /// Returns the latest revision of any session in the bucket.
    pub fn latest(&self) -> u64 {
        self.revision + self.offset
    }

    /// Returns the expected answer and new state when `requester` sends `command` at `clock` to the
    /// session `name`.
    pub fn decide(
        &self,
        clock: u64,
        name: &str,
        requester: &Requester,
        command: &Command,
    ) -> Decision {
        match command {
            Command::Named { request_id, command: inner } => {
                return self.decide_named(
                    clock,
                    name,
                    requester,
                    (request_id.as_str(), command),
                    inner,
                );
            }
            Command::CreateSession(config) => return self.create(clock, name, requester, config),
            Command::Import(document) => return self.import(clock, name, requester, document),
            _ => {}
        }
        let reject = |code| (ExpectedAnswer::Exactly(Err(code)), None);
        let Some(model) = &self.session else { return reject(Code::SessionNotFound) };
        if self.is_void(requester) {
            return reject(Code::Unauthenticated);
        }
        if !model.config().allows_prefixes && has_prefixes(command) {
            return reject(Code::InvalidKey);
        }
        let who = requester.who.as_str();
        let changed = model.change(clock, who, command);
        let changed = changed.map(|(answer, next)| (ExpectedAnswer::Exactly(answer), next));
        let changed = changed.or_else(|| model.change_rounds(clock, who, command));
        let in_context = || {
            let (answer, next) = model.change_context(clock, who, command)?;
            Some((ExpectedAnswer::Exactly(answer), next))
        };
        let in_packets = || {
            let (answer, next) = model.change_packets(clock, who, command)?;
            Some((ExpectedAnswer::Exactly(answer), next))
        };
        if let Some((expected, next)) = changed.or_else(in_context).or_else(in_packets) {
            let next = next.map(|it| Self {
                revision: self.revision + 1,
                session: Some(Rc::new(pruned(it))),
                ..*self
            });
            return (expected, next);
        }
        match command {
            Command::DeleteSession if who == "admin" => self.delete(model),
            Command::DeleteSession => reject(Code::Forbidden),
            Command::Changes { since, limit, keys, except_own } => {
                let since = since.map(|it| it.0);
                let view = model.at(clock);
                match view.changes(who, since, *limit, keys.as_ref(), *except_own) {
                    Ok((page, required)) => {
                        (ExpectedAnswer::Changes(Revision(model.revision), page, required), None)
                    }
                    Err(code) => reject(code),
                }
            }
            _ => (ExpectedAnswer::Exactly(self.read(clock, requester, command)), None),
        }
    }

    /// Returns the expected answer and new state for `command`, which is `inner` with this id.
    fn decide_named(
        &self,
        clock: u64,
        name: &str,
        requester: &Requester,
        (id, command): (&str, &Command),
        inner: &Command,
    ) -> Decision {
        let (expected, mut next) = self.decide(clock, name, requester, inner);
        let keeps_none = match inner {
            Command::Context(ContextCommand::Assemble(it)) => !it.keeps,
            Command::Packets(PacketsCommand::Generate(it)) => it.is_preview,
            Command::Compaction(CompactionCommand::Compact(it)) => !it.keeps,
            _ => false,
        };
        let creates = matches!(inner, Command::CreateSession(_) | Command::Import(_));
        let is_first = |code: &Code| match code {
            Code::MalformedRequest => creates,
            Code::SessionNotFound
            | Code::Unauthenticated
            | Code::InvalidKey
            | Code::SessionArchived
            | Code::Forbidden => true,
            _ => false,
        };
        if expected.codes().iter().any(is_first) {
            return (expected, None);
        }
        if keeps_none {
            return (ExpectedAnswer::Exactly(Err(Code::MalformedRequest)), None);
        }
        let key = (super::state::name(&requester.who).to_owned(), id.to_owned());
        let known = self.session.as_ref().and_then(|it| Some((it, it.answers.get(&key)?)));
        if let Some((model, (request, answer))) = known {
            let again = match answer {
                _ if request != command => Err(Code::RequestIdReused),
                Ok((_, Reply::Session(_))) => {
                    let shown = Reply::Session(Box::new(model.at(clock).show()));
                    Ok((Revision(model.revision), shown))
                }
                answer => model.at(clock).repeated(&requester.who, answer),
            };
            return (ExpectedAnswer::Exactly(again), None);
        }
        let session = next.as_mut().and_then(|it| it.session.as_mut());
        if let (Some(session), ExpectedAnswer::Exactly(answer)) = (session, &expected) {
            Rc::make_mut(session).answers.insert(key, (command.clone(), answer.clone()));
        }
        (expected, next)
    }

    /// Returns the expected answer to a read.
    pub fn read(&self, clock: u64, requester: &Requester, command: &Command) -> Answer {
        let Some(model) = &self.session else { return Err(Code::SessionNotFound) };
        let (view, who) = (model.at(clock), requester.who.as_str());
        let revision = Revision(view.revision);
        let only_admin = || if who == "admin" { Ok(()) } else { Err(Code::Forbidden) };
        match command {
            Command::ShowSession => Ok((revision, Reply::Session(Box::new(view.show_to(who))))),
            Command::ListKeys { prefix, .. } => {
                view.list_keys(who, prefix.as_ref().map(Prefix::as_str))
            }
            Command::Read { key, .. } => view.read(who, key),
            Command::ReadBatch { keys, .. } => view.read_batch(who, keys),
            Command::ReadHistory { key, versions } => view.read_history(who, key, versions),
            Command::ListSnapshots => view.list_snapshots(who),
            Command::ReadSnapshot { label, key } => view.read_snapshot(who, label, key.as_ref()),
            Command::DiffSnapshots { from, to } => view.diff_snapshots(who, from, to.as_ref()),
            Command::Inspect => only_admin().and_then(|()| view.inspect(rows::history(model))),
            Command::Export => {
                only_admin().map(|()| (revision, Reply::Portable(Box::new(view.portable()))))
            }
            Command::RenderContext { task, max_tokens, .. } => {
                let rendered = context::render(
                    task.as_deref().map(|it| (it, Timestamp(clock))),
                    view.readable(who),
                    |entry| Ok(view.value_of(entry)),
                    |text| Ok(approximate(text)),
                    max_tokens.unwrap_or(Tokens(2_000)),
                );
                Ok((revision, Reply::RenderedContext(rendered.map_err(|err| err.code())?)))
            }
            Command::Context(ContextCommand::PlanWindow(it)) => {
                let count = |by: &Estimator, text: &str| match by {
                    Estimator::Approximate => Ok(approximate(text)),
                    // Only the request names one.
                    Estimator::Encoding(_) => Err(Error::malformed("no such encoding")),
                };
                let planned = it.answer(&Estimator::Approximate, count);
                let planned = Box::new(planned.map_err(|err| err.code())?);
                Ok((revision, Reply::Context(ContextReply::Window(planned))))
            }
            Command::Context(it) => view.read_context(clock, who, it),
            Command::Compaction(it) => {
                super::compaction::answer(it).map(|it| (revision, Reply::Compaction(it)))
            }
            Command::Prompt { participant, max_tokens } => {
                let own = super::state::participant(who);
                let namespace = view.config().namespace.clone();
                let rendered = prompt::render(
                    participant.as_ref().unwrap_or(&own),
                    caller(requester).keys(),
                    &namespace.unwrap_or_else(Namespace::template),
                    &view.config().tools,
                    |text| Ok(approximate(text)),
                    max_tokens.unwrap_or(Tokens(1_000)),
                );
                let rendered = rendered.map_err(|err| err.code())?;
                Ok((revision, Reply::Prompt(rendered)))
            }
            Command::Audit { after, limit } => {
                only_admin().map(|()| (revision, Reply::Audit(view.audit_page(after.0, *limit))))
            }
            Command::Rounds(request) => view.read_rounds(who, request),
            other => panic!("{other:?} is no read"),
        }
    }

    /// Returns true if the requester's credential is void.
    pub fn is_void(&self, requester: &Requester) -> bool {
        let Some(model) = &self.session else { return false };
        let now = (model.about.incarnation, model.about.credential_epoch);
        requester.credential.is_some_and(|it| (it.incarnation, it.epoch) != now)
    }

    fn create(&self, clock: u64, name: &str, requester: &Requester, config: &Config) -> Decision {
        let first = self.latest() + 1;
        let about = SessionInfo {
            session: SessionId::new(name).unwrap(),
            is_archived: false,
            incarnation: first,
            credential_epoch: clock,
            created_at: Timestamp(clock),
            changed_at: Timestamp(clock),
            key_count: 0,
            total_tokens: Tokens(0),
            config: config.clone(),
        };
        let model = Model::new(about, first, AuditAction::CreateSession);
        self.begin(requester, config, self.offset, model)
    }

    fn import(
        &self,
        clock: u64,
        name: &str,
        requester: &Requester,
        document: &Portable,
    ) -> Decision {
        let (revision, time) = latest(document);
        if time > clock + AHEAD_MS_MAX {
            return (ExpectedAnswer::Exactly(Err(Code::MalformedRequest)), None);
        }
        let offset = revision.saturating_sub(self.revision).max(self.offset);
        let first = self.revision + offset + 1;
        let about = SessionInfo {
            session: SessionId::new(name).unwrap(),
            is_archived: document.is_archived,
            // The time makes incarnations unique, since one document can be imported into several
            // places at the same revision.
            incarnation: clock + first,
            credential_epoch: clock,
            created_at: document.created_at,
            changed_at: Timestamp(time.max(clock)),
            key_count: 0,
            total_tokens: Tokens(0),
            config: document.config.clone(),
        };
        let model = Model { clock, ..Model::from_document(document.clone(), about, first) };
        self.begin(requester, &document.config, offset, model)
    }

    /// Creates a session, or rejects its creation.
    fn begin(&self, requester: &Requester, config: &Config, offset: u64, model: Model) -> Decision {
        let is_none = config.check().is_err() || config.estimator != Estimator::default();
        let rejection = match &self.session {
            _ if is_none => Some(Code::MalformedRequest),
            _ if requester.who != "admin" => Some(Code::Forbidden),
            Some(_) => Some(Code::SessionExists),
            None => None,
        };
        if let Some(code) = rejection {
            return (ExpectedAnswer::Exactly(Err(code)), None);
        }
        let reply = Reply::Session(Box::new(model.show()));
        let answer = Ok((Revision(model.revision), reply));
        let session = Some(Rc::new(pruned(model)));
        let next = Self { revision: self.revision + 1, offset, session };
        (ExpectedAnswer::Exactly(answer), Some(next))
    }

    fn delete(&self, model: &Model) -> Decision {
        let reply = Reply::SessionDeleted(model.about.session.clone());
        let next = Self { revision: self.revision + 1, session: None, ..*self };
        (ExpectedAnswer::Exactly(Ok((Revision(next.latest()), reply))), Some(next))
    }

    /// Returns the audit records of the commit that led from `before` to this state.
    pub fn commit_records(&self, before: &Self, clock: u64) -> Vec<AuditRecord> {
        match (&self.session, &before.session) {
            (Some(model), _) => model.last_records(),
            (None, Some(model)) => {
                let mut end = Model::clone(model);
                end.about.changed_at = Timestamp(model.now(clock));
                end.revision += 1;
                end.record("admin", AuditAction::DeleteSession, None);
                end.last_records()
            }
            (None, None) => Vec::new(),
        }
    }

    /// Returns the earliest expiry of a stored entry, in milliseconds.
    pub fn first_expiry(&self) -> Option<u64> {
        let entries = self.session.iter().flat_map(|it| it.entries.values());
        entries.filter_map(|it| it.entry.expires_at).min().map(|it| it.0)
    }
}

impl ExpectedAnswer {
    /// Returns the acceptable error codes.
    pub fn codes(&self) -> &[Code] {
        match self {
            Self::Exactly(Err(code)) => std::slice::from_ref(code),
            Self::Rejected(codes) => codes,
            _ => &[],
        }
    }
}

impl Model {
    /// Returns a page of the audit trail.
    fn audit_page(&self, since: u64, limit: u32) -> AuditPage {
        let first = since.max(self.first().0 - 1);
        let last = self.revision.min(first.saturating_add(limit.into()));
        let records = self.changes.iter().map(|it| &it.record);
        let in_page = |it: &&AuditRecord| it.revision.0 > since && it.revision.0 <= last;
        AuditPage {
            records: records.filter(in_page).cloned().collect(),
            oldest: Some(self.first()),
            next_after: (last > since && last < self.revision).then_some(Revision(last)),
        }
    }
}

/// Returns `requester` as a caller of the core.
fn caller(requester: &Requester) -> Caller {
    let (name, keys) = requester.who.split_once(" only ").unwrap_or((&requester.who, ""));
    let keys: Vec<&str> = keys.split(',').filter(|it| !it.is_empty()).collect();
    let caller = Caller::trusted(participant(name).as_str()).unwrap();
    caller.limited_to(KeyPatterns::parse(&keys).unwrap()).unwrap()
}

/// Drops old versions over the history budget, and old request ids.
fn pruned(mut model: Model) -> Model {
    model.enforce_history_budget();
    let now = model.revision;
    let is_kept = |answer: &Answer| match answer {
        Ok((revision, _)) => revision.0 + REQUESTS_REMEMBERED > now,
        Err(_) => false,
    };
    model.answers.retain(|_, (_, answer)| is_kept(answer));
    model
}

/// Returns the latest revision and timestamp in a document.
fn latest(document: &Portable) -> (u64, u64) {
    let snapshot_entries = document.snapshots.iter().flat_map(|it| &it.entries);
    let past = document.history.iter();
    let entries =
        document.entries.iter().chain(past.clone().map(|it| &it.entry)).chain(snapshot_entries);
    let mut last = (0, document.created_at.0);
    let mut see = |revision: Revision, at: Timestamp| {
        last = (last.0.max(revision.0), last.1.max(at.0));
    };
    for it in entries {
        see(it.revision.max(it.touched), it.written_at);
    }
    past.for_each(|it| see(it.ended.revision, it.ended.at));
    document.snapshots.iter().for_each(|it| see(it.info.revision, it.info.taken_at));
    document.context.injections.iter().for_each(|it| see(Revision(0), it.at));
    for it in &document.context.missing {
        see(Revision(0), it.at);
        it.answer.iter().for_each(|it| see(Revision(0), it.at));
    }
    for packet in &document.packets.packets {
        packet.versions.iter().for_each(|it| see(it.revision, it.created_at));
        packet.readers.iter().for_each(|it| see(Revision(0), it.read_at));
    }
    document.packets.feedback.iter().for_each(|it| see(Revision(0), it.at));
    for it in &document.rounds.rounds {
        see(Revision(0), it.round.opened_at);
        it.deltas.iter().for_each(|it| see(Revision(0), it.proposed_at));
        it.round.ended.iter().for_each(|it| see(Revision(0), it.at));
    }
    last
}

/// Returns true if a command names a key with a prefix, or lists a prefix.
fn has_prefixes(command: &Command) -> bool {
    let keys: Vec<&Key> = match command {
        Command::ListKeys { prefix, .. } => return prefix.is_some(),
        Command::Read { key, .. }
        | Command::ReadHistory { key, .. }
        | Command::SetAccess { key, .. }
        | Command::ReadSnapshot { key: Some(key), .. }
        | Command::Redact { key, .. } => vec![key],
        Command::Write(it) => vec![&it.key],
        Command::Delete(it) => vec![&it.key],
        Command::ReadBatch { keys, .. } => keys.iter().collect(),
        Command::WriteBatch(it) => {
            let written = it.writes.iter().map(|it| &it.key);
            written.chain(it.deletes.iter().map(|it| &it.key)).collect()
        }
        _ => Vec::new(),
    };
    keys.iter().any(|it| it.prefix().is_some())
}
