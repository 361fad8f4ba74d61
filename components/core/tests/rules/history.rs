//! Tests of the retention of earlier versions.

use shared_context_core::{Config, WriteOptions, config::Retention};

use crate::{
    ORCHESTRATOR, a_write, ask, delete, past, read, session, set_readers, support::TestHost, ttl,
    values, write, write_with,
};

fn keeping(history_versions_max: u32, history_bytes_max: u32) -> TestHost {
    let retention = Retention { history_versions_max, history_bytes_max, ..Retention::default() };
    session(Config { retention, ..Config::default() })
}

#[test]
fn the_oldest_versions_of_a_key_are_removed_first() {
    let host = keeping(3, 1 << 20);
    for value in ["1", "2", "3"] {
        write(&host, "a", value);
    }
    delete(&host, "a");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["1", "2", "3"]);
    write(&host, "a", "4");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["1", "2", "3"], "a new entry ends no version");
    write(&host, "a", "5");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["2", "3", "4"]);
    write(&host, "b", "1");
    write(&host, "b", "2");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["2", "3", "4"], "each key has its own limit");
}

#[test]
fn an_expired_version_counts_before_and_after_its_sweep() {
    let host = keeping(2, 1 << 20);
    for value in ["1", "2", "3"] {
        write_with(&host, "a", value, ttl(1));
    }
    host.now.set(1_001_000);
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["2", "3"]);
    write(&host, "b", "");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["2", "3"]);
}

#[test]
fn a_version_without_history_leaves_no_row() {
    let host = keeping(3, 1 << 20);
    let options =
        |keeps: bool| WriteOptions { keeps_history: Some(keeps), ..WriteOptions::default() };
    write(&host, "a", "1");
    write_with(&host, "a", "2", options(false));
    write(&host, "a", "3");
    write_with(&host, "a", "4", options(true));
    delete(&host, "a");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["1", "4"], "an unset option does not change");
    assert_eq!(values(&host), ["v/a/0000000000000002", "v/a/0000000000000005"]);
}

#[test]
fn history_can_be_disabled() {
    for host in [keeping(0, 1 << 20), keeping(10, 0)] {
        write_with(&host, "a", "1", ttl(1));
        write_with(&host, "a", "2", ttl(1));
        host.now.set(1_001_000);
        write(&host, "b", "");
        assert_eq!(past(&host, ORCHESTRATOR, "a"), Vec::<String>::new());
        assert_eq!((host.rows("h/").len(), values(&host).len()), (0, 1));
    }
}

#[test]
fn a_version_over_the_history_budget_is_not_retained() {
    let host = keeping(10, 1_000);
    write(&host, "a", "small");
    write(&host, "a", &"x".repeat(1_000));
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["small"]);
    write(&host, "a", "after");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), Vec::<String>::new());
    assert_eq!(values(&host).len(), 1);
}

/// Closing an entry also closes its past, and opening it opens the past again.
#[test]
fn the_access_lists_of_an_entry_apply_to_its_past() {
    let host = keeping(10, 1 << 20);
    write(&host, "a", "1");
    write(&host, "a", "2");
    set_readers(&host, "a", &[ORCHESTRATOR]);
    assert_eq!((read(&host, "subagent:b", "a"), past(&host, "subagent:b", "a").len()), (None, 0));
    set_readers(&host, "a", &["*"]);
    assert_eq!(past(&host, "subagent:b", "a"), ["1"]);
    set_readers(&host, "a", &[ORCHESTRATOR]);
    delete(&host, "a");
    assert_eq!(past(&host, "subagent:b", "a").len(), 0, "it ended closed");
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["1", "2"]);
    write(&host, "a", "another");
    write(&host, "a", "entry");
    assert_eq!(past(&host, "subagent:b", "a"), ["another"]);
}

/// A closed version stays closed; those before and after it stay open.
#[test]
fn a_closed_version_stays_closed_when_the_entry_is_opened() {
    let host = keeping(10, 1 << 20);
    let closed =
        || WriteOptions { access: crate::readers(&[ORCHESTRATOR]), ..WriteOptions::default() };
    let open = || WriteOptions { access: crate::readers(&["*"]), ..WriteOptions::default() };
    write(&host, "a", "open");
    write_with(&host, "a", "closed", closed());
    write_with(&host, "a", "open again", open());
    assert_eq!(past(&host, "subagent:b", "a"), ["open"]);
    assert_eq!(past(&host, ORCHESTRATOR, "a"), ["open", "closed"]);
}

/// A subagent once erased the versions it had overwritten within seconds: the oldest
/// versions were removed first, and its own writes elsewhere were newer. Now a
/// participant that fills the history loses its own versions.
#[test]
fn a_flood_of_versions_does_not_displace_others() {
    let host = keeping(10, 64_000);
    let by = |who: &str, key: &str, value: &str| {
        ask(&host, who, &a_write(key, value, WriteOptions::default()));
    };
    write(&host, "plan", "agreed");
    write(&host, "gone", "agreed too");
    by("subagent:a", "plan", "forged");
    ask(&host, "subagent:a", &crate::a_delete("gone"));
    for nth in 0..330_u32 {
        by("subagent:a", &format!("filler_{}", nth % 7), &"x".repeat(2_000));
        if nth % 3 == 0 {
            ask(&host, "subagent:a", &crate::a_delete(&format!("filler_{}", nth % 7)));
        }
    }
    assert_eq!(past(&host, ORCHESTRATOR, "plan"), ["agreed"]);
    assert_eq!(past(&host, ORCHESTRATOR, "gone"), ["agreed too"]);
    // Many versions of the same key do not displace it either.
    for nth in 0..30_u32 {
        by("subagent:a", "plan", &nth.to_string());
    }
    let retained = past(&host, ORCHESTRATOR, "plan");
    assert_eq!((retained.len(), retained[0].as_str(), retained[1].as_str()), (10, "agreed", "20"));
    // If the victim itself takes the most, its versions are removed too, those that
    // others overwrote last.
    for nth in 0..200_u32 {
        write(&host, "own", &format!("{nth}{}", "y".repeat(2_000)));
        write(&host, &format!("own_{}", nth % 7), &"y".repeat(2_000));
    }
    assert_eq!(past(&host, ORCHESTRATOR, "plan")[0], "agreed");
}
