//! Replies to reads of entries, kept until the session changes.
//!
//! Such a reply depends on the rows of the session, the caller, the request and, where an entry
//! expires, the time. The rows are known by their revision, which is read from the database for each
//! request. So a kept reply is exactly what the component would reply, whoever made the last change.
//!
//! # Invariants
//!
//! - A reply is for the same caller with the same credential and keys, the same bytes of the request
//!   and the same revision, at a time from when it was computed until an entry expires.
//! - The cache is bounded in bytes.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use shared_context_core::{port::Revision, time::Timestamp};
use shared_context_wire::{EntryReads, Recent};

use crate::{Caller, Reply};

/// The most bytes of the cache.
const BYTES_MAX: usize = 8 << 20;
/// The approximate size of a reply besides its texts.
const REPLY_BYTES: usize = 300;

/// A question: whose answer is always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Question<'a> {
    pub(super) scope: &'a str,
    pub(super) revision: Revision,
    pub(super) caller: &'a Caller,
    pub(super) request: &'a [u8],
}

/// The replies that are kept.
#[derive(Debug)]
pub(super) struct Answers {
    recent: Recent<Answer>,
    hasher: RandomState,
    asked: AtomicU64,
    found: AtomicU64,
}

#[derive(Debug)]
struct Answer {
    scope: Box<str>,
    revision: Revision,
    caller: Caller,
    request: Box<[u8]>,
    reply: Reply,
    computed_at: Timestamp,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            recent: Recent::new(BYTES_MAX),
            hasher: RandomState::new(),
            asked: AtomicU64::default(),
            found: AtomicU64::default(),
        }
    }
}

impl Answers {
    /// Returns the kept reply to `question`, whose hash is `hash`, if it still holds at `now`.
    pub(super) fn find(&self, hash: u64, question: &Question<'_>, now: Timestamp) -> Option<Reply> {
        let found = self.recent.find(hash, |it| {
            let holds = it.question() == *question
                && it.computed_at <= now
                && it.reply.next_expiry_ms.is_none_or(|at| now.0 < at);
            holds.then(|| it.reply.clone())
        });
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.found.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
        found
    }

    /// Returns how many questions were asked, and how many of them had a kept reply.
    pub(super) fn counts(&self) -> EntryReads {
        let [all, kept] = [&self.asked, &self.found].map(|it| it.load(Ordering::Relaxed));
        EntryReads { all, kept }
    }

    /// Keeps the reply to `question`, whose hash is `hash`; it was computed at `now`.
    pub(super) fn keep(&self, hash: u64, question: &Question<'_>, reply: &Reply, now: Timestamp) {
        let Question { scope, revision, caller, request } = *question;
        let keys = caller.keys.iter().map(String::len).sum::<usize>();
        let names = scope.len() + caller.participant.len() + keys;
        let bytes = names + request.len() + reply.body.len() + REPLY_BYTES;
        let answer = Answer {
            scope: scope.into(),
            revision,
            caller: caller.clone(),
            request: request.into(),
            reply: reply.clone(),
            computed_at: now,
        };
        self.recent.insert(hash, bytes, answer);
    }

    /// Returns the hash by which the reply to `question` is kept.
    pub(super) fn hash(&self, question: &Question<'_>) -> u64 {
        let Question { scope, revision, caller, request } = *question;
        let Caller { participant, credential, keys, session } = caller;
        let credential = credential.as_ref().map(|it| (it.incarnation, it.epoch));
        self.hasher.hash_one((scope, revision.0, participant, credential, keys, session, request))
    }
}

impl Answer {
    fn question(&self) -> Question<'_> {
        let Self { scope, revision, caller, request, .. } = self;
        Question { scope, revision: *revision, caller, request }
    }
}

#[cfg(test)]
mod tests {
    use shared_context_codec::Effect;

    use super::*;

    fn reply(next_expiry_ms: Option<u64>) -> Reply {
        Reply { revision: 7, body: b"{}".to_vec(), effect: Effect::Done, next_expiry_ms }
    }

    #[test]
    fn a_reply_is_found_for_the_same_question_alone() {
        let answers = Answers::default();
        let limited = |keys: &[&str]| Caller {
            keys: keys.iter().map(|it| (*it).to_owned()).collect(),
            ..Caller::trusted("subagent:a")
        };
        let caller = limited(&["a*"]);
        let question = Question {
            scope: "session/s",
            revision: Revision(7),
            caller: &caller,
            request: br#"{"action":"read","key":"a"}"#,
        };
        let find = |it: &Question<'_>, at| answers.find(answers.hash(it), it, Timestamp(at));
        answers.keep(answers.hash(&question), &question, &reply(None), Timestamp(5));
        assert_eq!(find(&question, 5), Some(reply(None)));
        let others = [limited(&["a*", "b*"]), limited(&[]), Caller::trusted("subagent:b")];
        let with = |participant: &str, session: Option<&str>, incarnation| Caller {
            credential: Some(shared_context_codec::Credential { incarnation, epoch: 1 }),
            session: session.map(str::to_owned),
            ..Caller::trusted(participant)
        };
        let more = [with("subagent:a", None, 1), with("subagent:a", Some("s"), 1)];
        let others = others.iter().chain(&more).map(|caller| Question { caller, ..question });
        let others = others.chain([
            Question { scope: "session/t", ..question },
            Question { revision: Revision(8), ..question },
            Question { request: br#"{"action":"read","key":"b"}"#, ..question },
        ]);
        for other in others {
            assert_eq!(find(&other, 5), None, "{other:?}");
            // Nor where the hashes are the same.
            assert_eq!(answers.find(answers.hash(&question), &other, Timestamp(5)), None);
        }
    }

    #[test]
    fn a_reply_holds_until_an_entry_expires() {
        let answers = Answers::default();
        let caller = Caller::trusted("orchestrator");
        let (scope, request) = ("session/s", &b"{}"[..]);
        let question = Question { scope, revision: Revision(1), caller: &caller, request };
        let hash = answers.hash(&question);
        answers.keep(hash, &question, &reply(Some(100)), Timestamp(10));
        for (now, holds) in [(9, false), (10, true), (99, true), (100, false), (101, false)] {
            assert_eq!(answers.find(hash, &question, Timestamp(now)).is_some(), holds, "{now}");
        }
    }
}
