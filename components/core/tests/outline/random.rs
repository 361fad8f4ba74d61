//! Random calls at random times: a section never has two exclusive owners.

use proptest::{collection::vec, prelude::*, sample::select};
use shared_context_core::{ownership::Transfer, time::Timestamp};

use crate::*;

const WHO: [&str; 4] = [AGENT, OTHER, ORCHESTRATOR, "subagent:a in s2"];

#[derive(Debug, Clone)]
enum Step {
    Clock(i64),
    Acquire(&'static str, u64),
    Renew(&'static str, u64),
    Release(&'static str),
    Transfer(&'static str, &'static str),
    Put(&'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let who = || select(&WHO[..]);
    let ttl = || (1..5_u64).prop_map(|it| it * MINUTE);
    prop_oneof![
        2 => (-3..6_i64).prop_map(|it| Step::Clock(it * 40_000)),
        2 => (who(), ttl()).prop_map(|it| Step::Acquire(it.0, it.1)),
        1 => (who(), ttl()).prop_map(|it| Step::Renew(it.0, it.1)),
        1 => who().prop_map(Step::Release),
        1 => (who(), who()).prop_map(|it| Step::Transfer(it.0, it.1)),
        2 => who().prop_map(Step::Put),
    ]
}

proptest! {
    #[test]
    fn a_section_has_one_exclusive_owner(steps in vec(step(), 1..40)) {
        let host = project();
        put(&host, AGENT, "§3.1", "x");
        for step in steps {
            let of = marker("§3.1");
            let (who, command) = match step {
                Step::Clock(ms) => {
                    host.now.set(host.now.get().saturating_add_signed(ms));
                    continue;
                }
                Step::Acquire(who, ttl) => (who, acquire("§3.1", ttl)),
                Step::Renew(who, ttl_ms) => (who, OutlineCommand::Renew { marker: of, ttl_ms }),
                Step::Release(who) => (who, OutlineCommand::Release(of)),
                Step::Transfer(who, to) => {
                    let to = owner(to);
                    let it = Transfer { marker: of, to, ttl_ms: MINUTE, reason: None };
                    (who, OutlineCommand::Transfer(it))
                }
                Step::Put(who) => (who, put_of(new("§3.1", "t", who))),
            };
            let before = read(&host, ORCHESTRATOR, "§3.1").lease;
            let result = try_ask(&host, who, command.clone());
            let now = Timestamp(host.now.get());
            let after = read(&host, ORCHESTRATOR, "§3.1").lease;
            // Only the owner and an orchestrator can change the owner of a live lease.
            if let Some(before) = before.filter(|it| it.is_live(now)) {
                let is_same = after.as_ref().is_some_and(|it| it.owner == before.owner);
                prop_assert!(is_same || before.owner == owner(who) || who == ORCHESTRATOR);
                if result.is_ok() && matches!(command, OutlineCommand::Put(_)) {
                    prop_assert_eq!(&before.owner, &owner(who), "only the owner writes");
                }
            }
            prop_assert!(after.is_none_or(|it| it.is_live(now)), "an ended lease is not shown");
        }
    }
}
