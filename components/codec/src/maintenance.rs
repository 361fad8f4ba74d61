//! Daily maintenance of projects, for hosts that have a timer (spec 19.6).
//!
//! A host calls [`maintain_request`] on a project once a day, again while [`has_more`] of the reply
//! is true, and at most [`RUNS_MAX`] times. It knows the action by no other name.

use shared_context_core::ScopeKind;

use crate::{Caller, Reply};

/// The milliseconds of a day.
pub const DAY_MS: u64 = 86_400_000;
/// The most runs of a project in a day. A project can hold fewer memories than these runs can remove.
pub const RUNS_MAX: u32 = 128;

/// Returns the caller and the request of a run.
pub fn maintain_request() -> (Caller, &'static [u8]) {
    (Caller::trusted("admin"), br#"{"action":"maintain"}"#)
}

/// Returns true if the reply to a run leaves work for another run.
pub fn has_more(reply: &Reply) -> bool {
    // Nothing else in the reply can be these bytes: it has ids and names of rules.
    const HAS_MORE: &[u8] = br#""has_more":true"#;

    reply.body.windows(HAS_MORE.len()).any(|it| it == HAS_MORE)
}

/// Returns true if maintenance of a project failed because there is nothing to maintain: it was
/// deleted or archived.
pub fn is_over(code: &str) -> bool {
    matches!(code, "PROJECT_NOT_FOUND" | "PROJECT_ARCHIVED")
}

/// Returns the next time of maintenance after `now_ms`, for a host that has a timer for each project.
/// It is at the same time of each day, which differs from project to project.
pub fn next_maintenance_ms(project: &str, now_ms: u64) -> u64 {
    let bucket = ScopeKind::Project.bucket_name(project);
    // FNV-1a.
    let fold = |sum: u64, it: u8| (sum ^ u64::from(it)).wrapping_mul(0x0100_0000_01B3);
    let offset = bucket.bytes().fold(0xCBF2_9CE4_8422_2325, fold) % DAY_MS;
    let days = now_ms.saturating_add(DAY_MS - offset) / DAY_MS;
    days.saturating_mul(DAY_MS).saturating_add(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect;

    #[test]
    fn each_day_has_one_time_of_maintenance() {
        let first = next_maintenance_ms("shop", 0);
        assert!((1..=DAY_MS).contains(&first));
        assert_eq!(next_maintenance_ms("shop", first - 1), first);
        assert_eq!(next_maintenance_ms("shop", first), first + DAY_MS);
        assert_eq!(next_maintenance_ms("shop", first + DAY_MS - 1), first + DAY_MS);
        assert_ne!(next_maintenance_ms("shop-2", 0), first);
    }

    #[test]
    fn a_reply_of_maintenance_says_if_there_is_more() {
        let reply = |body: &str| Reply {
            revision: 1,
            body: body.as_bytes().to_owned(),
            effect: Effect::Done,
            next_expiry_ms: None,
        };
        assert!(has_more(&reply(r#"{"actions":[],"has_more":true,"dry_run":false}"#)));
        assert!(!has_more(&reply(r#"{"actions":[],"has_more":false,"dry_run":false}"#)));
        assert!(!has_more(&reply("{}")));
    }
}
