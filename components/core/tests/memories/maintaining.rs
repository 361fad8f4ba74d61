//! Runs of maintenance.

use proptest::{prelude::*, sample::select};
use shared_context_core::{
    Code, MemoriesCommand,
    digest::sha256,
    memories::{ACTIONS_MAX, LifecycleAction, Mark, SearchMemories, UpdateMemory},
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, START, add, add_all, ask, change, check_totals, find, important,
    info, learning, maintain, mark, project, random, read, refused, search, set, state, update,
};

#[test]
fn only_an_orchestrator_maintains() {
    let host = project();
    for is_dry_run in [true, false] {
        let it = MemoriesCommand::Maintain { is_dry_run };
        assert_eq!(refused(&host, AGENT, it), Code::Forbidden);
    }
    let rows = host.project_rows("");
    assert_eq!(maintain(&host, false).actions, []);
    assert_eq!(host.project_rows(""), rows, "without anything to do, nothing is committed");
}

#[test]
fn a_removed_memory_leaves_no_trace() {
    let host = project();
    let kept = add(&host, ORCHESTRATOR, learning("Kept", "It stays"));
    let empty = host.project_rows("");
    let it = add(&host, AGENT, learning("Gone", "The canteen closes at two"));
    let title = Some("Gone soon".to_owned());
    ask(&host, AGENT, change(UpdateMemory { title, ..update(it.id) }));
    read(&host, ORCHESTRATOR, it.id);
    let (m, v) = (format!("m/{:016x}", 2), format!("v/{:016x}", 2));
    assert_eq!((host.project_rows(&m).len(), host.project_rows(&v).len()), (1, 1));
    ask(&host, ORCHESTRATOR, mark(&[it.id], Mark::Deleted));
    let done = maintain(&host, false);
    assert_eq!(done.actions.len(), 1);
    assert_eq!((done.actions[0].action, done.actions[0].id), (LifecycleAction::Deleted, it.id));
    assert_eq!((host.project_rows(&m), host.project_rows(&v)), (vec![], vec![]));
    let without = |rows: Vec<(String, Vec<u8>)>, prefix: &str| {
        rows.into_iter().filter(|it| it.0.starts_with(prefix)).collect::<Vec<_>>()
    };
    // The signature is gone, and of the sketch zeros are left.
    assert_eq!(host.project_rows("i/"), without(empty.clone(), "i/"));
    let (page, before) = (host.project_rows("n/"), without(empty, "n/"));
    assert!(page[0].1[before[0].1.len()..].iter().all(|it| *it == 0));
    assert_eq!(page[0].1[..before[0].1.len()], before[0].1[..]);
    assert_eq!(info(&host).memories, 1);
    check_totals(&host);
    let again = MemoriesCommand::Read(vec![crate::id(it.id)]);
    assert_eq!(refused(&host, ORCHESTRATOR, again), Code::MemoryNotFound);
    // Its number is not given again, and its reads are not those of another.
    let next = add(&host, ORCHESTRATOR, learning("Gone", "The canteen closes at two"));
    assert_eq!((next.is_new, next.id.number()), (true, 3));
    assert_eq!(read(&host, ORCHESTRATOR, kept.id).uses.count, 1);
    let last = ask(&host, ORCHESTRATOR, mark(&[kept.id, next.id], Mark::Deleted));
    drop(last);
    maintain(&host, false);
    assert_eq!(host.project_rows("i/"), []);
    assert_eq!(info(&host).bytes, 0);
}

#[test]
fn a_run_does_at_most_500_actions_removals_first() {
    let host = project();
    let mut ids = Vec::new();
    for batch in 0..6 {
        let new = (0..100).map(|it| important(1, state(&format!("S{batch} {it}"), 1))).collect();
        ids.extend(add_all(&host, ORCHESTRATOR, new).iter().map(|it| it.id));
    }
    ask(&host, ORCHESTRATOR, mark(&ids[500..550], Mark::Deleted));
    host.now.set(START + 8 * DAY);
    let dry = maintain(&host, true);
    assert_eq!((dry.actions.len(), dry.has_more), (ACTIONS_MAX, true));
    let done = maintain(&host, false);
    assert_eq!(done.actions, dry.actions);
    assert!(done.has_more && !done.is_dry_run);
    let removed = done.actions.iter().filter(|it| it.action == LifecycleAction::Deleted).count();
    assert_eq!(removed, 50);
    assert!(done.actions[..50].iter().all(|it| it.rule.name == "marked"));
    let rest = maintain(&host, false);
    assert_eq!((rest.actions.len(), rest.has_more), (99, false));
    assert_eq!(maintain(&host, false).actions, []);
    assert_eq!(find(&host, search()).total, 1, "the newest state stays");
    check_totals(&host);
}

/// Signatures and reads are kept for 64 memories in a row, sketches for 1,024.
#[test]
fn memories_of_all_rows_are_found() {
    let host = project();
    let new = |number: u64| learning(&format!("Lesson {number}"), &format!("It was {number}"));
    let mut ids = Vec::new();
    for batch in 0..11 {
        let numbers = batch * 100 + 1..=batch * 100 + 100;
        let added = add_all(&host, ORCHESTRATOR, numbers.map(new).collect());
        ids.extend(added.iter().map(|it| it.id));
    }
    let id = |number: usize| ids[number - 1];
    ask(&host, ORCHESTRATOR, mark(&[id(1_024), id(65), id(1_100)], Mark::Deleted));
    maintain(&host, false);
    for number in [1, 64, 66, 1_023, 1_025, 1_099] {
        let again = add(&host, ORCHESTRATOR, new(u64::try_from(number).unwrap()));
        assert_eq!((again.id, again.is_new), (id(number), false));
        assert_eq!(read(&host, ORCHESTRATOR, id(number)).uses.count, 1);
        let found = find(&host, crate::words(&number.to_string())).found;
        assert_eq!((found.len(), found[0].memory.id, found[0].uses.count), (1, id(number), 1));
    }
    for number in [65, 1_024, 1_100] {
        let number = u64::try_from(number).unwrap();
        assert_eq!(find(&host, crate::words(&number.to_string())).total, 0);
        let again = add(&host, ORCHESTRATOR, new(number));
        assert!(again.is_new && again.id.number() > 1_100);
    }
    assert_eq!(find(&host, search()).total, 1_100);
    check_totals(&host);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_dry_run_tells_what_a_run_does_and_what_is_young_is_kept(
        all in random::some(16),
        days in select(&[0_u64, 7, 8, 30, 31, 90, 91, 180, 181, 365, 366, 1_000][..]),
        ms in 0..3_u64,
        marked in proptest::collection::btree_set(0..16_usize, 0..3),
    ) {
        let (host, all) = random::stored(all);
        let marked: Vec<_> = marked.into_iter().filter_map(|it| all.get(it)).map(|it| it.id).collect();
        if !marked.is_empty() {
            ask(&host, ORCHESTRATOR, mark(&marked, Mark::Deleted));
        }
        let before = [true, false].map(|is_archived| find(&host, SearchMemories { is_archived, ..search() }));
        let age = (days * DAY + ms).saturating_sub(1);
        host.now.set(START + age);
        let dry = maintain(&host, true);
        let rows = sha256(format!("{:?}", host.project_rows("")));
        let again = maintain(&host, true);
        prop_assert_eq!(&again.actions, &dry.actions);
        prop_assert_eq!(sha256(format!("{:?}", host.project_rows(""))), rows);
        let done = maintain(&host, false);
        prop_assert_eq!(&done.actions, &dry.actions);
        prop_assert_eq!(done.has_more, dry.has_more);
        for it in &done.actions {
            let memory = all.iter().find(|one| one.id == it.id).unwrap();
            let kept = match memory.it.importance {
                8.. => None,
                5..=7 => Some(30 * DAY),
                _ => Some(7 * DAY),
            };
            let is_old = kept.is_some_and(|it| age > it);
            prop_assert!(is_old || it.rule.name == "marked", "{:?} {:?}", it, memory);
            prop_assert_eq!(it.rule.name == "marked", marked.contains(&it.id));
        }
        // Afterwards, what was archived is archived, and what was removed is gone.
        let of = |action| done.actions.iter().filter(move |it| it.action == action);
        let [archived, active] = before.map(|it| set(it.found.iter().map(|it| it.memory.number())));
        let after = |is_archived| {
            let it = find(&host, SearchMemories { is_archived, ..search() });
            set(it.found.iter().map(|it| it.memory.number()))
        };
        let moved = set(of(LifecycleAction::Archived).map(|it| it.id.number()));
        let gone = set(of(LifecycleAction::Deleted).map(|it| it.id.number()));
        let wanted = &(&archived | &moved) - &gone;
        prop_assert_eq!(after(true), wanted);
        prop_assert_eq!(after(false), &(&active - &moved) - &gone);
        check_totals(&host);
        // A second run does nothing more than the rules that follow from the first.
        let next = maintain(&host, true);
        prop_assert!(next.actions.iter().all(|it| it.action == LifecycleAction::Deleted || !moved.contains(&it.id.number())));
    }
}
