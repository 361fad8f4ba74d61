//! The session under test, with its model.

use std::collections::BTreeMap;

use shared_context_core::{
    Caller, Code, Command, Config, Credential, Error, Key, Outcome, Prefix, Reply, Scope,
    ScopeKind,
    audit::{AuditAction, AuditRecord},
    execute,
    memory_kv::MemoryKv,
    pattern::KeyPattern,
    port::{NoTokenizer, Ports, Revision},
    portable::Portable,
    reply::{AuditPage, SessionInfo},
};

use shared_context_simulation::{
    fixtures::{KEYS, LABELS, key, label},
    model::{Model, Transition, rows, state::Answer},
};

use crate::{
    records::{check_order, plain, sorted},
    script::{CALLERS, Step},
    support::{Failure, TestHost},
};

/// A session and its model.
pub(crate) struct Pair {
    host: TestHost,
    model: Model,
    /// Earlier states, at revisions that a caller may remember.
    past: BTreeMap<u64, Model>,
    /// The last command.
    last: Option<Command>,
    /// An earlier export.
    document: Option<Box<Portable>>,
    steps: usize,
}

impl Pair {
    pub(crate) fn new(config: &Config) -> Self {
        let host = TestHost::default();
        host.now.set(1_000_000);
        let model = created(&host, config);
        let past = BTreeMap::from([(model.revision, model.clone())]);
        let pair = Self { host, model, past, last: None, document: None, steps: 0 };
        pair.compare();
        pair
    }

    pub(crate) fn play(&mut self, step: &Step) {
        self.steps += 1;
        match step {
            Step::Clock { by_ms } => {
                self.host.now.set(self.host.now.get().saturating_add_signed(*by_ms));
            }
            Step::Fail(failure) => self.host.fail_next.set(Some(*failure)),
            Step::Change(who, request) => {
                let now = self.host.now.get();
                let command = request.command(&self.model, now);
                self.change(who, &command);
                self.last = Some(command);
            }
            Step::Again(who) => {
                if let Some(command) = self.last.clone() {
                    self.change(who, &command);
                }
            }
            Step::Recreate => {
                self.end();
                self.model = created(&self.host, self.model.config());
            }
            Step::Move { is_elsewhere } => {
                let document = self.export();
                self.end();
                if *is_elsewhere {
                    self.host.kv = MemoryKv::default();
                }
                self.import(document.clone(), *is_elsewhere);
                assert_eq!(self.export(), document, "what comes out is what went in");
            }
            Step::GoBack => {
                let now = self.export();
                if let Some(document) = self.document.replace(now) {
                    self.end();
                    self.import(document, false);
                }
            }
        }
        self.past.insert(self.model.revision, self.model.clone());
        self.compare();
    }

    /// Sends a change to both and compares the outcome.
    fn change(&mut self, who: &str, command: &Command) {
        let (expected, next) = self.expected(who, command);
        self.host.log.take();
        let answer = self.host.ask(who, command);
        let made = next.iter().filter(|_| answer.is_ok()).flat_map(Model::last_records);
        assert_eq!(
            sorted(&self.host.log.take()),
            sorted(&made.collect::<Vec<_>>()),
            "audit records"
        );
        let failure = self.host.failed.take();
        if let Err(Error::InDoubt(_)) = answer {
            // The caller cannot know the outcome; the test does.
            assert!(next.is_some() && failure.is_some(), "storage failed by itself: {answer:?}");
            assert_ne!(failure, Some(Failure::Conflict), "a conflict is retried");
            if failure == Some(Failure::BeforeCommit) {
                return;
            }
        } else {
            assert_eq!(comparable(answer), expected, "{who}: {command:?}");
        }
        if let Some(next) = next {
            self.model = next;
        }
    }

    /// Returns the expected answer to a change, and the state after it.
    fn expected(&self, who: &str, command: &Command) -> Transition {
        let expected = self.model.change(self.host.now.get(), who, command);
        expected.unwrap_or_else(|| panic!("{command:?} is no change"))
    }

    fn export(&self) -> Box<Portable> {
        let Reply::Portable(document) = self.host.ask("admin", &Command::Export).unwrap().reply
        else {
            panic!()
        };
        document
    }

    /// Deletes the session, and checks that its rows are gone.
    fn end(&mut self) {
        self.host.fail_next.set(None);
        let outcome = self.host.ask("admin", &Command::DeleteSession).unwrap();
        assert_eq!(outcome.revision.0, self.model.revision + 1);
        // Only the offset of the session's revisions remains.
        let rows = self.host.rows("");
        assert!(rows.iter().all(|(row, _)| row == "offset"), "rows are left: {rows:?}");
        let gone = self.host.ask("admin", &Command::Export).map_err(|err| err.code());
        assert_eq!(gone, Err(Code::SessionNotFound));
    }

    /// Imports a document, and checks the new session's metadata.
    fn import(&mut self, document: Box<Portable>, is_elsewhere: bool) {
        let outcome = self.host.ask("admin", &Command::Import(document.clone())).unwrap();
        let Reply::Session(about) = outcome.reply else { panic!() };
        if is_elsewhere {
            // Other storage does not know later revisions.
            self.past.retain(|it, _| *it < outcome.revision.0);
        }
        let last = self.past.last_key_value().map_or(0, |(revision, _)| *revision);
        assert!(outcome.revision.0 > last, "revisions go on");
        assert!(about.changed_at.0 >= self.host.now.get());
        assert_eq!((&about.session, about.is_archived), (&document.session, document.is_archived));
        assert_eq!((about.created_at, &about.config), (document.created_at, &document.config));
        let clock = self.host.now.get();
        self.model = Model { clock, ..Model::from_document(*document, *about, outcome.revision.0) };
    }

    /// Checks that both show the same to every caller, and that the rows are the needed ones.
    fn compare(&self) {
        let pending = self.host.fail_next.take();
        let view = self.model.at(self.host.now.get());
        for (nth, who) in CALLERS.into_iter().enumerate() {
            // Each caller compares all reads in turn, and the most informative ones every time.
            let is_turn = (nth + self.steps).is_multiple_of(CALLERS.len());
            self.compare_reads(&view, who, is_turn);
            if is_turn {
                self.compare_unchanged(&view, who);
            }
        }
        self.compare_operators(&view);
        self.compare_credentials();
        let rows = self.host.rows("").into_iter().collect();
        assert_eq!(rows::check(&rows, Some(&self.model)), Ok(()));
        self.host.fail_next.set(pending);
    }

    fn compare_reads(&self, view: &Model, who: &str, is_turn: bool) {
        let same = |command: Command, expected: Answer| {
            assert_eq!(comparable(self.host.ask(who, &command)), expected, "{who}: {command:?}");
        };
        let keys: Vec<Key> = (0..KEYS.len()).map(key).collect();
        let if_changed_since = None;
        same(Command::ListKeys { prefix: None, if_changed_since }, view.list_keys(who, None));
        let all = Command::ReadBatch { keys: keys.clone(), if_changed_since };
        same(all, view.read_batch(who, &keys));
        self.compare_changes(view, who, None, 1_000, None);
        if !is_turn {
            return;
        }
        let prefix = Some(Prefix::parse("inv").unwrap());
        same(Command::ListKeys { prefix, if_changed_since }, view.list_keys(who, Some("inv")));
        for key in keys {
            let history = Command::ReadHistory { key: key.clone(), versions: Vec::new() };
            same(history, view.read_history(who, &key, &[]));
            let some = Command::ReadHistory { key: key.clone(), versions: vec![1, 3] };
            same(some, view.read_history(who, &key, &[1, 3]));
            let read = view.read(who, &key);
            same(Command::Read { key, if_changed_since }, read);
        }
        same(Command::ListSnapshots, view.list_snapshots(who));
        let labels: Vec<_> = (0..LABELS.len()).map(label).collect();
        for (label, other) in labels.iter().zip(labels.iter().rev()) {
            let (label, other) = (label.clone(), other.clone());
            let one = (self.steps / CALLERS.len()) % KEYS.len();
            let read = view.read_snapshot(who, &label, Some(&key(one)));
            same(Command::ReadSnapshot { label: label.clone(), key: Some(key(one)) }, read);
            let read = view.read_snapshot(who, &label, None);
            same(Command::ReadSnapshot { label: label.clone(), key: None }, read);
            let (now, then) = (view.diff_snapshots(who, &label, None), Some(&other));
            same(Command::DiffSnapshots { from: label.clone(), to: None }, now);
            let diff = view.diff_snapshots(who, &label, then);
            same(Command::DiffSnapshots { from: label, to: Some(other) }, diff);
        }
        let show = Reply::Session(Box::new(view.show_to(who)));
        same(Command::ShowSession, Ok((Revision(view.revision), show)));
        let pattern = KeyPattern::parse("inv:*").unwrap();
        self.compare_changes(view, who, None, 1_000, Some(&pattern));
        for since in [self.model.revision.saturating_sub(3), self.model.revision, u64::MAX] {
            self.compare_changes(view, who, Some(since), 2, None);
        }
    }

    /// Compares a page of changes and its order.
    fn compare_changes(
        &self,
        view: &Model,
        who: &str,
        since: Option<u64>,
        limit: u32,
        keys: Option<&KeyPattern>,
    ) {
        let command = Command::Changes {
            since: since.map(Revision),
            limit,
            keys: keys.cloned(),
            except_own: false,
        };
        let answer = self.host.ask(who, &command);
        let expected = view.changes(who, since, limit, keys, false);
        let (outcome, (mut page, required)) = match (answer, expected) {
            (Ok(outcome), Ok(expected)) => (outcome, expected),
            (answer, expected) => {
                let expected = expected.map(|_| ());
                assert_eq!(answer.map(|_| ()).map_err(|err| err.code()), expected, "{command:?}");
                return;
            }
        };
        let Reply::Changes(mut shown) = outcome.reply else { panic!() };
        check_order(&shown.changes);
        let shown_records: Vec<AuditRecord> = shown.changes.iter().map(plain).collect();
        let mut required = required.into_iter();
        page.changes
            .retain(|it| required.next() == Some(true) || shown_records.contains(&plain(it)));
        page.changes = sorted(&page.changes);
        shown.changes = sorted(&shown.changes);
        assert_eq!(shown, page, "{who}: {command:?}");
    }

    /// Checks that `unchanged` is returned only if the caller would see the same at both revisions,
    /// and always if the caller has seen the latest one.
    fn compare_unchanged(&self, view: &Model, who: &str) {
        let keys: Vec<Key> = (0..KEYS.len()).map(key).collect();
        let revision = self.model.revision;
        let is_swept = view.entries.len() == self.model.entries.len();
        let mut since: Vec<u64> = self.past.keys().rev().take(3).copied().collect();
        since.extend(self.past.keys().nth(self.steps * 7 % self.past.len()));
        since.extend([0, revision + 1]);
        for since in since {
            // When the clock steps back, entries that had expired but were not swept exist again.
            let then = self.past.get(&since).map(|it| it.at(it.clock.min(self.host.now.get())));
            let if_changed_since = Some(Revision(since));
            let check = |command: Command, read: &dyn Fn(&Model) -> Answer| {
                let expected = read(view);
                match comparable(self.host.ask(who, &command)) {
                    Ok((revision, Reply::Unchanged)) => {
                        let then = then.as_ref().map(read).and_then(Result::ok);
                        let expected = expected.unwrap();
                        assert_eq!(revision, expected.0);
                        assert_eq!(then.map(|it| it.1), Some(expected.1), "{who}: {command:?}");
                    }
                    other => {
                        let must = since == revision && is_swept && expected.is_ok();
                        assert!(!must, "{who}: {command:?} is unchanged");
                        assert_eq!(other, expected, "{who}: {command:?}");
                    }
                }
            };
            let list = Command::ListKeys { prefix: None, if_changed_since };
            check(list, &|it: &Model| it.list_keys(who, None));
            for (nth, one) in keys.iter().enumerate() {
                let read = Command::Read { key: one.clone(), if_changed_since };
                check(read, &|it: &Model| it.read(who, one));
                let two = [one.clone(), key((nth + 1) % keys.len())];
                let batch = Command::ReadBatch { keys: two.to_vec(), if_changed_since };
                check(batch, &|it: &Model| it.read_batch(who, &two));
            }
        }
    }

    /// Compares the reads of the admin.
    fn compare_operators(&self, view: &Model) {
        assert_eq!(*self.export(), view.portable());
        let answer = comparable(self.host.ask("admin", &Command::Inspect));
        assert_eq!(answer, view.inspect(rows::history(&self.model)));
        let audit = Command::Audit { after: Revision(0), limit: 1_000 };
        let outcome = self.host.ask("admin", &audit).unwrap();
        let Reply::Audit(AuditPage { records, oldest, next_after }) = outcome.reply else {
            panic!()
        };
        assert_eq!((oldest, next_after), (Some(view.first()), None));
        check_order(&records);
        assert_eq!(sorted(&records), sorted(&view.audit()));
        // The timer never fires later than the first expiry.
        let expiries = self.model.entries.values().filter_map(|it| it.entry.expires_at);
        let rings = outcome.next_expiry;
        assert!(expiries.min().is_none_or(|first| rings.is_some_and(|it| it <= first)));
    }

    /// Checks that only credentials of the current incarnation and epoch are accepted.
    fn compare_credentials(&self) {
        let SessionInfo { incarnation, credential_epoch, .. } = self.model.about;
        let now = Credential { incarnation, epoch: credential_epoch };
        for (_, then) in self.past.iter().rev().take(8) {
            let SessionInfo { incarnation, credential_epoch, .. } = then.about;
            let credential = Credential { incarnation, epoch: credential_epoch };
            let mut caller = Caller::trusted("orchestrator").unwrap();
            caller.credential = Some(credential);
            let ports = Ports {
                kv: &&self.host,
                clock: &self.host,
                log: &self.host,
                tokenizer: &NoTokenizer,
            };
            let session = Scope::parse(ScopeKind::Session, "s").unwrap();
            let answer = execute(&ports, &session, &caller, &Command::ShowSession);
            let is_void = answer.is_err_and(|it| it.code() == Code::Unauthenticated);
            assert_eq!(is_void, credential != now, "{credential:?} {now:?}");
        }
    }
}

/// Creates the session, and returns its model.
fn created(host: &TestHost, config: &Config) -> Model {
    let outcome = host.ask("admin", &Command::CreateSession(Box::new(config.clone()))).unwrap();
    let Reply::Session(about) = outcome.reply else { panic!() };
    assert_eq!(about.config, *config);
    assert_eq!((about.created_at, about.changed_at.0), (about.changed_at, host.now.get()));
    Model::new(*about, outcome.revision.0, AuditAction::CreateSession)
}

/// Returns the parts of an answer that the model predicts.
fn comparable(answer: Result<Outcome, Error>) -> Answer {
    let Outcome { revision, mut reply, .. } = answer.map_err(|err| err.code())?;
    match &mut reply {
        Reply::Written(it) => it.warnings.clear(),
        Reply::BatchWritten(it) => it.written.iter_mut().for_each(|it| it.warnings.clear()),
        Reply::Redacted(it) => it.digests.sort_unstable(),
        _ => {}
    }
    Ok((revision, reply))
}
