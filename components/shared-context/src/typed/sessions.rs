//! The interface `sessions`.

use shared_context_codec::{
    config_to_json, parse_config, parse_config_change, parse_document, to_json,
};
use shared_context_core::{Command, Config, Outcome, Reply, reply::SessionInfo as Info};

use super::{Caller, Result, perform, types};
use crate::{
    Component,
    bindings::exports::shared_context::core::sessions::{Guest, SessionInfo},
};

impl Guest for Component {
    fn create(session: String, caller: Caller, config: Option<String>) -> Result<SessionInfo> {
        let config = config.map_or_else(|| Ok(Config::default()), |it| parse_config(&it));
        let command = config.map(|it| Command::CreateSession(Box::new(it)));
        perform(&session, caller, command, info)
    }

    fn show(session: String, caller: Caller) -> Result<SessionInfo> {
        perform(&session, caller, Ok(Command::ShowSession), info)
    }

    fn update(session: String, caller: Caller, config: String) -> Result<SessionInfo> {
        let command = parse_config_change(&config).map(|it| Command::UpdateSession(Box::new(it)));
        perform(&session, caller, command, info)
    }

    fn archive(session: String, caller: Caller) -> Result<SessionInfo> {
        perform(&session, caller, Ok(Command::ArchiveSession), info)
    }

    fn delete(session: String, caller: Caller) -> Result<types::Revision> {
        perform(&session, caller, Ok(Command::DeleteSession), |it| Some(it.revision.0))
    }

    fn revoke_credentials(session: String, caller: Caller) -> Result<SessionInfo> {
        perform(&session, caller, Ok(Command::RevokeCredentials), info)
    }

    fn inspect(session: String, caller: Caller) -> Result<String> {
        perform(&session, caller, Ok(Command::Inspect), |it| Some(to_json(&it)))
    }

    fn export_document(session: String, caller: Caller) -> Result<String> {
        perform(&session, caller, Ok(Command::Export), |it| Some(to_json(&it)))
    }

    fn import_document(session: String, caller: Caller, document: String) -> Result<SessionInfo> {
        let command = parse_document(&document).map(|it| Command::Import(Box::new(it)));
        perform(&session, caller, command, info)
    }
}

fn info(outcome: Outcome) -> Option<SessionInfo> {
    let Reply::Session(it) = outcome.reply else { return None };
    let Info { config, .. } = &*it;
    Some(SessionInfo {
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
