//! Carrying: whatever was made of a session, it can be exported, imported elsewhere, and
//! exports to the same bytes there.

use shared_context_codec::{self as codec, Caller};
use shared_context_core::{
    Caller as CoreCaller, Command, Reply, Scope, ScopeKind,
    audit::AuditRecord,
    execute,
    memory_kv::MemoryKv,
    port::{Bucket, Clock, Kv, Log, NoTokenizer, Ports},
    portable::Portable,
    time::Timestamp,
    weight,
};

use super::World;

/// An instant, at which nobody listens.
struct Now(u64);

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp(self.0)
    }
}

impl Log for Now {
    fn record(&self, _: &AuditRecord) {}
}

impl World {
    /// Checks that the session, if there is one, can be carried.
    pub(super) fn check_carried(&self, session: &str) {
        if self.place(session).session.is_none() {
            return;
        }
        self.check_stored(session);
        let ask = |kv: &MemoryKv, request: &[u8]| {
            let now = Now(self.now());
            let ports = Ports { kv, clock: &now, log: &now, tokenizer: &NoTokenizer };
            let caller =
                Caller { participant: "admin".to_owned(), credential: None, keys: Vec::new() };
            let answer = codec::invoke(&ports, &format!("session/{session}"), &caller, request);
            answer.map(|it| it.body).map_err(|failure| failure.to_string())
        };
        let export = |kv: &MemoryKv| ask(kv, br#"{"action":"export_session"}"#);
        let carried = || {
            let document = export(&self.kv.borrow())?;
            let elsewhere = MemoryKv::default();
            let import =
                [br#"{"action":"import_session","document":"#, document.as_slice(), b"}"].concat();
            ask(&elsewhere, &import)?;
            Ok::<_, String>((export(&elsewhere)?, document))
        };
        match carried() {
            Ok((there, here)) if there == here => self.counts.borrow_mut().carried += 1,
            Ok((there, here)) => {
                let (there, here) =
                    (String::from_utf8_lossy(&there), String::from_utf8_lossy(&here));
                self.fail("carry", format!("{session} is {here}\n  and elsewhere {there}"));
            }
            Err(what) => self.fail("carry", format!("{session} cannot be carried: {what}")),
        }
    }

    /// Returns the session as it is stored.
    ///
    /// # Errors
    ///
    /// Why it cannot be exported.
    pub(super) fn exported(&self, session: &str) -> Result<Portable, String> {
        let (kv, now) = (self.kv.borrow(), Now(self.now()));
        let ports = Ports { kv: &*kv, clock: &now, log: &now, tokenizer: &NoTokenizer };
        let admin = CoreCaller::trusted("admin").unwrap();
        let id = Scope::parse(ScopeKind::Session, session).unwrap();
        match execute(&ports, &id, &admin, &Command::Export).map(|it| it.reply) {
            Ok(Reply::Portable(it)) => Ok(*it),
            Ok(other) => Err(format!("exported as {other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Checks that the session is stored to take no less than it takes, unless something of
    /// it has expired and was not swept, and that its rounds are those that changes of them
    /// left.
    fn check_stored(&self, session: &str) {
        let Ok(it) = self.exported(session) else { return };
        if self
            .place(session)
            .session
            .as_ref()
            .is_some_and(|model| *model.rounds.history() != it.rounds)
        {
            self.fail("rounds", format!("{session} has others: {:?}", it.rounds));
        }
        let kv = self.kv.borrow();
        let bucket = kv.open(&format!("session/{session}")).unwrap();
        if bucket.scan("k/", None, u32::MAX).unwrap().len() > it.entries.len() {
            return;
        }
        let meta = bucket.get("meta").unwrap().unwrap();
        let (stored, takes) = (weight::stored(&meta).unwrap(), weight::of(&it));
        // More where a value could not be read that was removed.
        if stored < Some(takes) {
            self.fail(
                "weight",
                format!("{session} is stored to take {stored:?}, and takes {takes}"),
            );
        }
    }
}
