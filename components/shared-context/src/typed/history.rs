//! The interface `history`.

use shared_context_core::{
    Command, Key, Reply,
    reply::PastVersion,
    store::{Entry, history::Ended as EndedAs},
};

use super::{Caller, Result, perform};
use crate::{
    Component,
    bindings::exports::shared_context::core::history::{Ended, Guest, Kept, KeptVersion},
};

impl Guest for Component {
    fn read(session: String, caller: Caller, key: String, versions: Vec<u64>) -> Result<Kept> {
        let command = Key::parse(&key).map(|key| Command::ReadHistory { key, versions });
        perform(&session, caller, command, |outcome| {
            let Reply::History(it) = outcome.reply else { return None };
            let past = it.past.into_iter().map(|PastVersion { version, value, is_deleted }| {
                let ended = Some(ended(&version.ended));
                KeptVersion { ended, is_deleted, ..kept_version(&version.entry, value) }
            });
            let current = it.current.map(|it| kept_version(&it.shown.entry, it.value));
            let versions = past.chain(current).collect();
            Some(Kept { versions, revision: outcome.revision.0 })
        })
    }
}

fn kept_version(it: &Entry, value: String) -> KeptVersion {
    KeptVersion {
        version: it.version,
        value,
        written_by: it.written_by.as_str().to_owned(),
        written_at_ms: it.written_at.0,
        value_tokens: it.value_tokens.0,
        revision: it.revision.0,
        ended: None,
        is_deleted: false,
    }
}

fn ended(it: &EndedAs) -> Ended {
    Ended { how: it.how.as_str().to_owned(), at_ms: it.at.0, by: it.by.as_str().to_owned() }
}
