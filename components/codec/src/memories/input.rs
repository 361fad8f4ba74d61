//! Builders of commands about memories (spec 19).

use shared_context_core::{
    Command, Error, MemoriesCommand, Participant, ProjectCommand, SessionId,
    key::Line,
    memories::{
        Cursor, Kind, Mark, MemoryRef, REHYDRATE_TOKENS, REHYDRATE_TOKENS_DEFAULT,
        RehydrateMemories, SEARCH_LIMIT_DEFAULT, SearchMemories, Sort, Status, UpdateMemory,
        check_importance, check_query, checked_tags,
    },
    tokens::Tokens,
};

use super::{content::ContentMember, forms::MemoryForm};
use crate::{checks, json::Time};

/// The most memories that are added in one request.
pub(super) const ADDED_MAX: usize = 500;
/// The most memories that a request names.
pub(super) const NAMED_MAX: usize = 100;

fn command(request_id: Option<&str>, it: MemoriesCommand) -> Result<Command, Error> {
    let id = checks::request_id(request_id)?;
    Ok(checks::named(id, Command::Project(ProjectCommand::Memories(it))))
}

/// Builds the command to add memories.
///
/// # Errors
///
/// `MALFORMED_REQUEST`, with the place of the memory.
pub(super) fn add(all: Vec<MemoryForm>, request_id: Option<&str>) -> Result<Command, Error> {
    if !(1..=ADDED_MAX).contains(&all.len()) {
        return Err(Error::malformed(format!(
            "memories has {} elements; it must be 1 to {ADDED_MAX}: add the rest in another request",
            all.len()
        )));
    }
    let is_one = all.len() == 1;
    let memory = |(nth, it): (usize, MemoryForm)| {
        it.memory().map_err(|error| match error {
            Error::Malformed { message } if !is_one => Error::malformed(format!(
                "memories[item {}]: {message}; nothing was added",
                nth.saturating_add(1)
            )),
            other => other,
        })
    };
    let new = all.into_iter().enumerate().map(memory).collect::<Result<_, _>>()?;
    command(request_id, MemoriesCommand::Add(new))
}

/// Parses ids of memories.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn references(ids: &[String]) -> Result<Vec<MemoryRef>, Error> {
    ids.iter().map(|it| MemoryRef::parse(it)).collect()
}

/// Parses the ids of a request, which are different.
fn ids(ids: &[String]) -> Result<Vec<MemoryRef>, Error> {
    if !(1..=NAMED_MAX).contains(&ids.len()) {
        return Err(Error::malformed(format!(
            "ids names {} memories; it must be 1 to {NAMED_MAX}",
            ids.len()
        )));
    }
    let all = references(ids)?;
    let is_again = |(nth, it): &(usize, &MemoryRef)| all.iter().take(*nth).any(|one| one == *it);
    match all.iter().enumerate().find(is_again) {
        Some((_, it)) => Err(Error::malformed(format!("ids names {it} twice; name it once"))),
        None => Ok(all),
    }
}

/// Builds the command to read memories.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn read(sent: &[String]) -> Result<Command, Error> {
    command(None, MemoriesCommand::Read(ids(sent)?))
}

/// Builds the command to read the versions of a memory.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn history(id: &str) -> Result<Command, Error> {
    command(None, MemoriesCommand::History(MemoryRef::parse(id)?))
}

/// A change of a memory, not yet validated. Null is `Some(None)`.
#[derive(Debug, Default)]
#[expect(clippy::option_option, reason = "null differs from absent")]
pub(super) struct UpdateInput {
    pub(super) id: String,
    pub(super) if_version: Option<u64>,
    pub(super) title: Option<String>,
    pub(super) content: Option<ContentMember>,
    pub(super) tags: Option<Option<Vec<String>>>,
    pub(super) importance: Option<u32>,
    pub(super) status: Option<String>,
    pub(super) expires_at: Option<Option<Time>>,
    pub(super) keeps_forever: Option<bool>,
}

/// Builds the command to write the next version of a memory.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn update(it: UpdateInput, request_id: Option<&str>) -> Result<Command, Error> {
    let not_null = |message: &'static str| move || Error::malformed(message);
    let expires_at = it.expires_at.map(|it| {
        it.ok_or_else(not_null("expires_at is null; send keeps_forever true to remove it"))
    });
    let tags = it.tags.map(|it| {
        it.ok_or_else(not_null("tags is null; send [] to remove all tags, or leave it out"))
    });
    let (expires_at, tags) = (expires_at.transpose()?, tags.transpose()?);
    let expires_at = match (expires_at, it.keeps_forever) {
        (Some(_), Some(true)) => {
            return Err(Error::malformed(
                "a memory with keeps_forever has no expires_at; send one of them",
            ));
        }
        (None, Some(true)) => Some(None),
        (at, _) => at.map(|it| Some(it.0)),
    };
    let content = it.content.map(|it| it.members()).transpose()?.unwrap_or_default();
    let change = UpdateMemory {
        id: MemoryRef::parse(&it.id)?,
        if_version: it.if_version.map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
        title: it.title,
        content,
        tags: tags.as_deref().map(checked_tags).transpose()?,
        importance: it.importance.map(check_importance).transpose()?,
        status: it.status.as_deref().map(Status::parse).transpose()?,
        expires_at,
    };
    if change.is_empty() {
        return Err(Error::malformed(
            "update_memory changes nothing; send what is to change, such as status or content",
        ));
    }
    command(request_id, MemoriesCommand::Update(Box::new(change)))
}

/// Builds the command to replace a memory by another.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn supersede(id: &str, by: &str, request_id: Option<&str>) -> Result<Command, Error> {
    let (id, by) = (MemoryRef::parse(id)?, MemoryRef::parse(by)?);
    command(request_id, MemoriesCommand::Supersede { id, by })
}

/// Builds the command to mark memories.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn mark(
    sent: &[String],
    mark: &str,
    request_id: Option<&str>,
) -> Result<Command, Error> {
    let it = MemoriesCommand::Mark { ids: ids(sent)?, mark: Mark::parse(mark)? };
    command(request_id, it)
}

/// A search, not yet validated.
#[derive(Debug, Default)]
pub(super) struct SearchInput<'a> {
    pub(super) query: Option<String>,
    pub(super) memory_type: Option<&'a str>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) importance_gte: Option<u32>,
    pub(super) timestamp_after: Option<Time>,
    pub(super) timestamp_before: Option<Time>,
    pub(super) status: Option<&'a str>,
    pub(super) is_archived: Option<bool>,
    pub(super) session_id: Option<&'a str>,
    pub(super) agent_id: Option<&'a str>,
    pub(super) sort_by: Option<&'a str>,
    pub(super) limit: Option<u32>,
    pub(super) cursor: Option<&'a str>,
}

/// Builds the command to find memories.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn search(it: SearchInput<'_>) -> Result<Command, Error> {
    let session = it.session_id.map(|id| {
        SessionId::new(id).ok_or_else(|| {
            Error::malformed("session_id is the id of a session; leave it out for all sessions")
        })
    });
    let search = SearchMemories {
        query: it.query,
        kind: it.memory_type.map(Kind::parse).transpose()?,
        tags: checked_tags(&it.tags.unwrap_or_default())?,
        importance_min: it.importance_gte.map(check_importance).transpose()?,
        after: it.timestamp_after.map(|it| it.0),
        before: it.timestamp_before.map(|it| it.0),
        status: it.status.map(Status::parse).transpose()?,
        is_archived: it.is_archived.unwrap_or(false),
        session: session.transpose()?,
        participant: it.agent_id.map(Participant::parse).transpose()?,
        sort: it.sort_by.map(Sort::parse).transpose()?,
        limit: it.limit.unwrap_or(SEARCH_LIMIT_DEFAULT),
        cursor: it.cursor.map(Cursor::parse).transpose()?,
    };
    search.check()?;
    command(None, MemoriesCommand::Search(Box::new(search)))
}

/// Builds the command for what a new session should know.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn rehydrate(
    task: Option<String>,
    max_tokens: Option<u32>,
    with_unverified: Option<bool>,
) -> Result<Command, Error> {
    check_query("task", task.as_deref())?;
    let budget = max_tokens.map_or(REHYDRATE_TOKENS_DEFAULT, Tokens);
    if !REHYDRATE_TOKENS.contains(&budget.0) {
        return Err(Error::malformed(format!(
            "max_tokens is {}; it must be {} to {}",
            budget.0,
            REHYDRATE_TOKENS.start(),
            REHYDRATE_TOKENS.end()
        )));
    }
    let with_unverified = with_unverified.unwrap_or(false);
    let request = RehydrateMemories { task, budget, with_unverified };
    command(None, MemoriesCommand::Rehydrate(request))
}

/// Builds the command to archive and remove memories by the rules.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn maintain(dry_run: Option<bool>, request_id: Option<&str>) -> Result<Command, Error> {
    let is_dry_run = dry_run.unwrap_or(false);
    if is_dry_run && request_id.is_some() {
        return Err(Error::malformed("a dry run changes nothing; leave request_id out"));
    }
    command(request_id, MemoriesCommand::Maintain { is_dry_run })
}

/// Builds the command to read the log of decisions.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn decision_log(limit: Option<u32>) -> Result<Command, Error> {
    command(None, MemoriesCommand::DecisionLog { limit: checks::limit(limit)? })
}

/// Builds the command to replace what a memory says by its digest.
///
/// # Errors
///
/// `MALFORMED_REQUEST`.
pub(super) fn redact(id: &str, reason: &str, request_id: Option<&str>) -> Result<Command, Error> {
    let (id, reason) = (MemoryRef::parse(id)?, Line::parse("reason", reason)?);
    command(request_id, MemoriesCommand::Redact { id, reason })
}
