//! Lists of sessions and of projects, in pages by id.
//!
//! There is no index of their properties; each session is asked. A page therefore examines a
//! bounded number of them; it may be short, and reports where to continue. On some hosts a session
//! is remote, so several are asked concurrently.

use bytes::Bytes;
use futures_util::stream::{FuturesOrdered, StreamExt as _};
use http::{Response, StatusCode};
use serde::Deserialize;
use shared_context_codec::{Failure, Reply, Time};
use shared_context_core::{ScopeKind, time::Timestamp};

use super::{
    call::{Call, parse_reply},
    query::Query,
    respond,
    tool::ToolRequest,
};
use crate::Engine;

/// Sessions per page when the request does not set a limit.
const LISTED_DEFAULT: u64 = 100;
/// Most sessions that a page lists, and examines.
const LISTED_MAX: u64 = 1_000;
/// Most sessions that are asked concurrently.
const CONCURRENCY: usize = 16;

/// Filter of the sessions to list.
struct Filter<'q> {
    prefix: &'q str,
    status: Option<&'q str>,
    changed_after: Option<Timestamp>,
    changed_before: Option<Timestamp>,
}

/// `GET /v1/sessions` and `GET /v1/projects`.
pub(crate) async fn list<E: Engine>(
    call: &Call<'_, E>,
    kind: ScopeKind,
) -> Result<Response<Bytes>, Failure> {
    let limit = count(call.query.number("limit")?.unwrap_or(LISTED_DEFAULT))?;
    let filter = Filter::read(&call.query)?;
    // Without a filter every session is listed, so no more are examined.
    let examined_max = if filter.is_any() { limit } else { count(LISTED_MAX)? };
    let after = filter.start_after(call.query.text("after"));
    let after = after.as_deref();
    let mut ids = call.engine.ids(kind, after, examined_max.saturating_add(1)).await?;
    ids.retain(|it| it.starts_with(filter.prefix));
    let (show, missing) = match kind {
        ScopeKind::Session => ("show_session", "SESSION_NOT_FOUND"),
        ScopeKind::Project => ("show_project", "PROJECT_NOT_FOUND"),
    };
    let mut body = format!("{{\"{}s\":[", kind.as_str()).into_bytes();
    let (mut listed, mut last) = (0, None);
    let mut left = ids.iter().take(examined_max);
    let mut pending = FuturesOrdered::new();
    loop {
        // No more than are missing on the page: every session asked counts as examined.
        while pending.len() < CONCURRENCY.min(limit.saturating_sub(listed))
            && let Some(id) = left.next()
        {
            pending.push_back(async move {
                let scope = kind.bucket_name(id);
                (id, call.invoke_on(&scope, ToolRequest::new(show)).await)
            });
        }
        let Some((id, answer)) = pending.next().await else { break };
        last = Some(id);
        match answer {
            Ok(session) if filter.matches(&session)? => {
                if listed > 0 {
                    body.push(b',');
                }
                body.extend_from_slice(&session.body);
                listed += 1;
            }
            Ok(_) => {}
            // Deleted since the ids were read.
            Err(failure) if failure.code == missing => {}
            // One that is damaged: a list without it would look complete.
            Err(mut failure) => {
                let (kind, said) = (kind.as_str(), &failure.message);
                failure.message = format!(
                    "the {kind} {id:?} cannot be shown: {said}; after={id} lists what comes after it"
                );
                return Err(failure);
            }
        }
    }
    body.extend_from_slice(b"],\"next_after\":");
    let next_after = last.filter(|it| ids.last() != Some(*it));
    // An id always serializes.
    body.extend_from_slice(&serde_json::to_vec(&next_after).unwrap_or_default());
    body.push(b'}');
    Ok(respond::json(StatusCode::OK, body))
}

fn count(limit: u64) -> Result<usize, Failure> {
    usize::try_from(limit).ok().filter(|_| (1..=LISTED_MAX).contains(&limit)).ok_or_else(|| {
        Failure::new("MALFORMED_REQUEST", format!("limit must be from 1 to {LISTED_MAX}"))
    })
}

/// Returns the position before the first id with `prefix`; `None` is the start of the list. Ids
/// that begin with `b` sort after `a~`, because no id contains a character as high as `~`.
pub(crate) fn position_before(prefix: &str) -> Option<String> {
    let mut before = prefix.to_owned();
    let below = char::from_u32(u32::from(before.pop()?).checked_sub(1)?)?;
    before.extend([below, '~']);
    Some(before)
}

impl<'q> Filter<'q> {
    fn read(query: &'q Query<'_>) -> Result<Self, Failure> {
        let status = query.text("status");
        if status.is_some_and(|it| !["active", "archived"].contains(&it)) {
            let message = "query parameter status must be active or archived";
            return Err(Failure::new("MALFORMED_REQUEST", message));
        }
        Ok(Self {
            prefix: query.text("prefix").unwrap_or_default(),
            status,
            changed_after: query.instant("changed_after")?,
            changed_before: query.instant("changed_before")?,
        })
    }

    /// Returns true if every session with the prefix matches.
    fn is_any(&self) -> bool {
        let Self { status, changed_after, changed_before, .. } = self;
        status.is_none() && changed_after.is_none() && changed_before.is_none()
    }

    /// Returns the position from which to list: no earlier id has the prefix.
    fn start_after(&self, after: Option<&str>) -> Option<String> {
        position_before(self.prefix).max(after.map(str::to_owned))
    }

    /// Returns true if `session`, the tool's reply, matches.
    fn matches(&self, session: &Reply) -> Result<bool, Failure> {
        #[derive(Deserialize)]
        struct SessionFields<'b> {
            status: &'b str,
            changed_at: Time,
        }
        if self.is_any() {
            return Ok(true);
        }
        let SessionFields { status, changed_at: Time(changed_at) } = parse_reply(session)?;
        Ok(self.status.is_none_or(|it| it == status)
            && self.changed_after.is_none_or(|it| changed_at > it)
            && self.changed_before.is_none_or(|it| changed_at < it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_starts_right_before_its_prefix() {
        #[track_caller]
        fn check(prefix: &str, after: Option<&str>, start_after: Option<&str>) {
            let query = format!("prefix={prefix}");
            let query = Query::parse(Some(&query), &["prefix"]).unwrap();
            let seen = Filter::read(&query).unwrap().start_after(after);
            assert_eq!(seen.as_deref(), start_after, "{prefix} {after:?}");
            for id in ["", "A", "Z9", "a", "capa", "capa-", "capa-1", "capa.", "capaz", "z"] {
                let is_seen = seen.as_deref().is_none_or(|it| id > it);
                let matches = id.starts_with(prefix) && after.is_none_or(|it| id > it);
                assert!(is_seen || !matches, "{prefix} {after:?} misses {id}");
            }
        }
        check("", None, None);
        check("", Some("b"), Some("b"));
        check("capa-", None, Some("capa,~"));
        check("capa-", Some("capa-1"), Some("capa-1"));
        check("capa-", Some("b"), Some("capa,~"));
        check("z", Some("a"), Some("y~"));
        check("A", None, Some("@~"));
    }
}
