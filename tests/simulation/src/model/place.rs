//! A bucket: a session, or none, and what is left of those that were there. What
//! every command must answer there, and what it makes of it.

use std::rc::Rc;

use shared_context_core::{
    Caller, Code, Command, Config, Credential, Key, Prefix, Reply, SessionId,
    audit::{AuditAction, AuditRecord},
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

/// For how many changes a request id is remembered.
const REQUESTS_REMEMBERED: u64 = 256;
/// How far the clock of where a document comes from may be ahead: a day.
const AHEAD_MS_MAX: u64 = 86_400_000;

/// A bucket.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// How often it was changed.
    pub revision: u64,
    /// How far the revisions of its sessions are ahead of that.
    pub offset: u64,
    /// The session that is there.
    pub session: Option<Rc<Model>>,
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Asker {
    /// The participant and, as in `subagent:a only inv_*,scope`, the keys that it is
    /// limited to.
    pub who: String,
    /// The credential that is shown.
    pub credential: Option<Credential>,
}

/// What must be answered.
#[derive(Debug, Clone)]
pub enum Expected {
    /// The refusal of this code, or this reply.
    Exactly(Answer),
    /// Of these changes at least those that are marked, and no others.
    Changes(Revision, ChangesPage, Vec<bool>),
    /// The refusal of one of these codes; or a commit, if there may be one.
    Refused(Vec<Code>),
}

/// What a command must answer, and the bucket after it if it changes.
pub type Decided = (Expected, Option<Place>);

impl Place {
    /// Returns the last revision that its sessions had.
    pub fn latest(&self) -> u64 {
        self.revision + self.offset
    }

    /// Returns what `command` must answer to `asker` at `clock`, and what it makes of the
    /// bucket, in which sessions are called `name`.
    pub fn decide(&self, clock: u64, name: &str, asker: &Asker, command: &Command) -> Decided {
        match command {
            Command::CreateSession(config) => return self.create(clock, name, asker, config),
            Command::Import(document) => return self.import(clock, name, asker, document),
            _ => {}
        }
        let refused = |code| (Expected::Exactly(Err(code)), None);
        let Some(model) = &self.session else { return refused(Code::SessionNotFound) };
        if self.is_void(asker) {
            return refused(Code::Unauthenticated);
        }
        if !model.config().allows_prefixes && has_prefixes(command) {
            return refused(Code::InvalidKey);
        }
        let who = asker.who.as_str();
        let changed = model.change(clock, who, command);
        let changed = changed.map(|(answer, next)| (Expected::Exactly(answer), next));
        if let Some((expected, next)) = changed.or_else(|| model.change_rounds(clock, who, command))
        {
            let next = next.map(|it| Self {
                revision: self.revision + 1,
                session: Some(Rc::new(pruned(it))),
                ..*self
            });
            return (expected, next);
        }
        match command {
            Command::DeleteSession if who == "admin" => self.delete(model),
            Command::DeleteSession => refused(Code::Forbidden),
            Command::Changes { since, limit, keys } => {
                let since = since.map(|it| it.0);
                let view = model.at(clock);
                match view.changes(who, since, *limit, keys.as_ref()) {
                    Ok((page, musts)) => {
                        (Expected::Changes(Revision(model.revision), page, musts), None)
                    }
                    Err(code) => refused(code),
                }
            }
            _ => (Expected::Exactly(self.read(clock, asker, command)), None),
        }
    }

    /// Returns what must be answered to a read that changes nothing.
    pub fn read(&self, clock: u64, asker: &Asker, command: &Command) -> Answer {
        let Some(model) = &self.session else { return Err(Code::SessionNotFound) };
        let (view, who) = (model.at(clock), asker.who.as_str());
        let revision = Revision(view.revision);
        let only_admin = || if who == "admin" { Ok(()) } else { Err(Code::Forbidden) };
        match command {
            Command::ShowSession => Ok((revision, Reply::Session(Box::new(view.show())))),
            Command::ListKeys { prefix, .. } => {
                view.list_keys(who, prefix.as_ref().map(Prefix::as_str))
            }
            Command::Read { key, .. } => view.read(who, key),
            Command::ReadBatch { keys, .. } => view.read_batch(who, keys),
            Command::ReadHistory { key, versions } => view.read_history(who, key, versions),
            Command::ListSnapshots => view.list_snapshots(),
            Command::ReadSnapshot { label, key } => view.read_snapshot(who, label, key.as_ref()),
            Command::DiffSnapshots { from, to } => view.diff_snapshots(who, from, to.as_ref()),
            Command::Inspect => only_admin().and_then(|()| view.inspect(rows::history(model))),
            Command::Export => {
                only_admin().map(|()| (revision, Reply::Portable(Box::new(view.portable()))))
            }
            Command::Prompt { participant, max_tokens } => {
                let own = super::state::participant(who);
                let namespace = view.config().namespace.clone();
                let rendered = prompt::render(
                    participant.as_ref().unwrap_or(&own),
                    caller(asker).keys(),
                    &namespace.unwrap_or_else(Namespace::template),
                    |text| Ok(approximate(text)),
                    max_tokens.unwrap_or(Tokens(1_000)),
                );
                let rendered = rendered.map_err(|err| err.code())?;
                Ok((revision, Reply::Prompt(rendered)))
            }
            Command::Audit { since, limit } => {
                only_admin().map(|()| (revision, Reply::Audit(view.audited(since.0, *limit))))
            }
            Command::Rounds(asked) => view.read_rounds(who, asked),
            other => panic!("{other:?} is no read"),
        }
    }

    /// Returns whether the credential that `asker` shows opens the session no more.
    pub fn is_void(&self, asker: &Asker) -> bool {
        let Some(model) = &self.session else { return false };
        let now = (model.about.incarnation, model.about.credential_epoch);
        asker.credential.is_some_and(|it| (it.incarnation, it.epoch) != now)
    }

    fn create(&self, clock: u64, name: &str, asker: &Asker, config: &Config) -> Decided {
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
        self.begin(asker, config, self.offset, model)
    }

    fn import(&self, clock: u64, name: &str, asker: &Asker, document: &Portable) -> Decided {
        let (revision, time) = latest(document);
        if time > clock + AHEAD_MS_MAX {
            return (Expected::Exactly(Err(Code::MalformedRequest)), None);
        }
        let offset = revision.saturating_sub(self.revision).max(self.offset);
        let first = self.revision + offset + 1;
        let about = SessionInfo {
            session: SessionId::new(name).unwrap(),
            is_archived: document.is_archived,
            // A document can be imported in many places under one revision.
            incarnation: clock + first,
            credential_epoch: clock,
            created_at: document.created_at,
            changed_at: Timestamp(time.max(clock)),
            key_count: 0,
            total_tokens: Tokens(0),
            config: document.config.clone(),
        };
        let model = Model { clock, ..Model::of(document.clone(), about, first) };
        self.begin(asker, &document.config, offset, model)
    }

    /// Begins a session, if it can be.
    fn begin(&self, asker: &Asker, config: &Config, offset: u64, model: Model) -> Decided {
        let is_none = config.check().is_err() || config.estimator != Estimator::default();
        let refusal = match &self.session {
            _ if is_none => Some(Code::MalformedRequest),
            _ if asker.who != "admin" => Some(Code::Forbidden),
            Some(_) => Some(Code::SessionExists),
            None => None,
        };
        if let Some(code) = refusal {
            return (Expected::Exactly(Err(code)), None);
        }
        let reply = Reply::Session(Box::new(model.show()));
        let answer = Ok((Revision(model.revision), reply));
        let session = Some(Rc::new(pruned(model)));
        let next = Self { revision: self.revision + 1, offset, session };
        (Expected::Exactly(answer), Some(next))
    }

    fn delete(&self, model: &Model) -> Decided {
        let reply = Reply::SessionDeleted(model.about.session.clone());
        let next = Self { revision: self.revision + 1, session: None, ..*self };
        (Expected::Exactly(Ok((Revision(next.latest()), reply))), Some(next))
    }

    /// Returns what is to be logged of the commit that made this bucket of `before`.
    pub fn made(&self, before: &Self, clock: u64) -> Vec<AuditRecord> {
        match (&self.session, &before.session) {
            (Some(model), _) => model.made(),
            (None, Some(model)) => {
                let mut end = Model::clone(model);
                end.about.changed_at = Timestamp(model.now(clock));
                end.revision += 1;
                end.tell("admin", AuditAction::DeleteSession, None);
                end.made()
            }
            (None, None) => Vec::new(),
        }
    }

    /// Returns the first instant at which an entry that is stored expires.
    pub fn first_expiry(&self) -> Option<u64> {
        let entries = self.session.iter().flat_map(|it| it.entries.values());
        entries.filter_map(|it| it.entry.expires_at).min().map(|it| it.0)
    }
}

impl Expected {
    /// Returns the codes of the refusals that it may be.
    pub fn codes(&self) -> &[Code] {
        match self {
            Self::Exactly(Err(code)) => std::slice::from_ref(code),
            Self::Refused(codes) => codes,
            _ => &[],
        }
    }
}

impl Model {
    /// Returns a page of the audit trail.
    fn audited(&self, since: u64, limit: u32) -> AuditPage {
        let first = since.max(self.first().0 - 1);
        let last = self.revision.min(first.saturating_add(limit.into()));
        let records = self.changes.iter().map(|it| &it.record);
        let is_told = |it: &&AuditRecord| it.revision.0 > since && it.revision.0 <= last;
        AuditPage {
            records: records.filter(is_told).cloned().collect(),
            oldest: Some(self.first()),
            next_since: (last > since && last < self.revision).then_some(Revision(last)),
        }
    }
}

/// Returns the caller that `asker` is.
fn caller(asker: &Asker) -> Caller {
    let (name, keys) = asker.who.split_once(" only ").unwrap_or((&asker.who, ""));
    let keys: Vec<&str> = keys.split(',').filter(|it| !it.is_empty()).collect();
    let caller = Caller::trusted(participant(name).as_str()).unwrap();
    caller.limited_to(KeyPatterns::parse(&keys).unwrap()).unwrap()
}

/// Returns the session without what it forgets: versions over its budget, and old request ids.
fn pruned(mut model: Model) -> Model {
    model.keep_to_the_budget();
    let now = model.revision;
    let is_kept = |answer: &Answer| match answer {
        Ok((revision, _)) => revision.0 + REQUESTS_REMEMBERED > now,
        Err(_) => false,
    };
    model.answers.retain(|_, (_, answer)| is_kept(answer));
    model
}

/// Returns the last revision and the last instant that a document tells of.
fn latest(document: &Portable) -> (u64, u64) {
    let kept = document.snapshots.iter().flat_map(|it| &it.entries);
    let past = document.history.iter();
    let entries = document.entries.iter().chain(past.clone().map(|it| &it.entry)).chain(kept);
    let mut last = (0, document.created_at.0);
    let mut see = |revision: Revision, at: Timestamp| {
        last = (last.0.max(revision.0), last.1.max(at.0));
    };
    for it in entries {
        see(it.revision.max(it.touched), it.written_at);
    }
    past.for_each(|it| see(it.ended.revision, it.ended.at));
    document.snapshots.iter().for_each(|it| see(it.info.revision, it.info.taken_at));
    for it in &document.rounds.rounds {
        see(Revision(0), it.round.opened_at);
        it.deltas.iter().for_each(|it| see(Revision(0), it.proposed_at));
        it.round.ended.iter().for_each(|it| see(Revision(0), it.at));
    }
    last
}

/// Returns whether a command names a key or keys with a prefix.
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
