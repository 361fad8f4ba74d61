//! Export round trip: every session can be exported and imported elsewhere, and its export there
//! has the same bytes.

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

/// A fixed clock and a discarding log.
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
    /// Checks that the session, if it exists, survives an export and import.
    pub(super) fn check_round_trip(&self, session: &str) {
        if self.bucket(session).session.is_none() {
            return;
        }
        self.check_stored(session);
        let ask = |kv: &MemoryKv, request: &[u8]| {
            let now = Now(self.now());
            let ports = Ports { kv, clock: &now, log: &now, tokenizer: &NoTokenizer };
            let caller = Caller::trusted("admin");
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

    /// Exports the stored session.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be exported.
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

    /// Checks that the stored document size is not below the real one, except while expired entries
    /// await cleanup, and that stored rounds and contexts match the model.
    fn check_stored(&self, session: &str) {
        let Ok(it) = self.exported(session) else { return };
        if let Some(model) = &self.bucket(session).session {
            if *model.rounds.history() != it.rounds {
                self.fail("rounds", format!("{session} has others: {:?}", it.rounds));
            }
            if *model.context != it.context {
                let what = format!("{:?}\n  must be {:?}", it.context, model.context);
                self.fail("context", format!("{session} keeps {what}"));
            }
        }
        if let Some(model) = &self.bucket(session).session
            && *model.packets != it.packets
        {
            let what = format!("{:?}\n  must be {:?}", it.packets, model.packets);
            self.fail("packets", format!("{session} keeps {what}"));
        }
        let kv = self.kv.borrow();
        let bucket = kv.open(&format!("session/{session}")).unwrap();
        if bucket.scan("k/", None, u32::MAX).unwrap().len() > it.entries.len() {
            return;
        }
        let meta = bucket.get("meta").unwrap().unwrap();
        let (stored, takes) = (weight::stored(&meta).unwrap(), weight::of(&it));
        // The stored size is larger if a removed value could not be read.
        if stored < Some(takes) {
            self.fail(
                "weight",
                format!("{session} is stored to take {stored:?}, and takes {takes}"),
            );
        }
    }
}
