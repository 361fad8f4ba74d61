//! The typed exports: sessions, store and prompt.

use shared_context_codec::{config_to_json, parse_config};
use shared_context_core::{
    Command, Condition, Config, Delete, Error, Key, Outcome, Participant, Reply, RequestId, Write,
    command::SessionInfo,
    port::Revision,
    store::{self as core_store, advice::Advice},
    tokens::Tokens,
};

use crate::{
    Component,
    bindings::{
        exports::shared_context::core::{prompt, sessions, store},
        shared_context::core::types,
    },
    ports::{self, HostClock, HostKv, HostLog},
};

/// Performs `command`; `pick` takes the answer out of the reply it must be in.
fn perform<T>(
    session: &str,
    caller: types::Caller,
    command: Result<Command, Error>,
    pick: impl FnOnce(Outcome) -> Option<T>,
) -> Result<T, types::Error> {
    let caller = ports::caller(caller);
    let outcome =
        shared_context_codec::perform(&HostKv, &HostClock, &HostLog, session, &caller, command)
            .map_err(ports::error)?;
    // Each command has one kind of reply; another one would be a bug of ours.
    pick(outcome).ok_or_else(|| ports::error(Error::malformed("the reply is of another kind")))
}

impl sessions::Guest for Component {
    fn create(
        session: String,
        caller: types::Caller,
        config: Option<String>,
    ) -> Result<sessions::SessionInfo, types::Error> {
        let config = config.map_or_else(|| Ok(Config::default()), |it| parse_config(&it));
        let command = config.map(|it| Command::CreateSession(Box::new(it)));
        perform(&session, caller, command, session_info)
    }

    fn show(session: String, caller: types::Caller) -> Result<sessions::SessionInfo, types::Error> {
        perform(&session, caller, Ok(Command::ShowSession), session_info)
    }

    fn archive(
        session: String,
        caller: types::Caller,
    ) -> Result<sessions::SessionInfo, types::Error> {
        perform(&session, caller, Ok(Command::ArchiveSession), session_info)
    }

    fn delete(session: String, caller: types::Caller) -> Result<types::Revision, types::Error> {
        perform(&session, caller, Ok(Command::DeleteSession), |it| Some(it.revision.0))
    }

    fn revoke_credentials(
        session: String,
        caller: types::Caller,
    ) -> Result<sessions::SessionInfo, types::Error> {
        perform(&session, caller, Ok(Command::RevokeCredentials), session_info)
    }
}

fn session_info(outcome: Outcome) -> Option<sessions::SessionInfo> {
    let Reply::Session(it) = outcome.reply else { return None };
    let SessionInfo { config, .. } = &*it;
    Some(sessions::SessionInfo {
        session: it.session.as_str().to_owned(),
        is_archived: it.is_archived,
        incarnation: it.incarnation,
        credential_epoch: it.credential_epoch,
        created_at_ms: it.created_at.0,
        changed_at_ms: it.changed_at.0,
        key_count: it.key_count,
        total_tokens: it.total_tokens.0,
        max_tokens: config.limits.store_tokens_max.0,
        config: config_to_json(config),
        revision: outcome.revision.0,
    })
}

impl store::Guest for Component {
    fn list_keys(session: String, caller: types::Caller) -> Result<store::Listing, types::Error> {
        perform(&session, caller, Ok(Command::ListKeys), |outcome| {
            let Reply::Listing(it) = outcome.reply else { return None };
            Some(store::Listing {
                entries: it.entries.iter().map(entry).collect(),
                total_tokens: it.totals.tokens.0,
                max_tokens: it.tokens_max.0,
                revision: outcome.revision.0,
            })
        })
    }

    fn read(
        session: String,
        caller: types::Caller,
        key: String,
    ) -> Result<(store::EntryInfo, String), types::Error> {
        perform(&session, caller, Key::parse(&key).map(Command::Read), |outcome| {
            let Reply::Entry { entry: it, value } = outcome.reply else { return None };
            Some((entry(&it), value))
        })
    }

    fn write(
        session: String,
        caller: types::Caller,
        key: String,
        value: String,
        condition: store::Condition,
        request_id: Option<String>,
    ) -> Result<store::Written, types::Error> {
        let command = || {
            let request_id = parse_request_id(request_id)?;
            let condition = parse_condition(condition);
            Ok(Command::Write(Write { key: Key::parse(&key)?, value, condition, request_id }))
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Written(it) = outcome.reply else { return None };
            let advice = |it: Advice| store::Advice {
                code: it.code.as_str().to_owned(),
                message: it.message,
            };
            let advices = it.advices.into_iter().map(advice).collect();
            Some(store::Written { entry: entry(&it.entry), advices })
        })
    }

    fn delete(
        session: String,
        caller: types::Caller,
        key: String,
        condition: store::Condition,
        request_id: Option<String>,
    ) -> Result<store::Deleted, types::Error> {
        let command = || {
            let request_id = parse_request_id(request_id)?;
            let condition = parse_condition(condition);
            Ok(Command::Delete(Delete { key: Key::parse(&key)?, condition, request_id }))
        };
        perform(&session, caller, command(), |outcome| {
            let Reply::Deleted(it) = outcome.reply else { return None };
            Some(store::Deleted {
                key: it.key.as_str().to_owned(),
                previous_version: it.previous_version,
                revision: outcome.revision.0,
            })
        })
    }
}

fn parse_request_id(text: Option<String>) -> Result<Option<RequestId>, Error> {
    text.map(|it| RequestId::parse(&it)).transpose()
}

fn parse_condition(it: store::Condition) -> Condition {
    Condition { if_version: it.if_version, if_revision: it.if_revision.map(Revision) }
}

fn entry(it: &core_store::Entry) -> store::EntryInfo {
    store::EntryInfo {
        key: it.key.as_str().to_owned(),
        written_by: it.written_by.as_str().to_owned(),
        written_at_ms: it.written_at.0,
        version: it.version,
        value_tokens: it.value_tokens.0,
        revision: it.revision.0,
    }
}

impl prompt::Guest for Component {
    fn render(
        session: String,
        caller: types::Caller,
        participant: Option<String>,
        max_tokens: Option<types::Tokens>,
    ) -> Result<prompt::Rendered, types::Error> {
        let participant = participant.map(|it| Participant::parse(&it)).transpose();
        let max_tokens = max_tokens.map(Tokens);
        let command = participant.map(|participant| Command::Prompt { participant, max_tokens });
        perform(&session, caller, command, |outcome| {
            let Reply::Prompt(it) = outcome.reply else { return None };
            let left_out = it.left_out.into_iter().map(str::to_owned).collect();
            Some(prompt::Rendered { text: it.text, tokens: it.tokens.0, left_out })
        })
    }
}
