//! A fixed range of seeds: no flaw, the same bytes each time, and everything that can
//! happen does.

#![expect(clippy::print_stdout, reason = "digests are compared from run to run")]

use shared_context_codec::actions;
use shared_context_core::{Code, ScopeKind};
use shared_context_simulation::{
    counts::Counts,
    run,
    script::{Deed, Script, Step, Storage},
};

/// How many seeds, and how many steps each.
const SEEDS: u64 = 100;
const STEPS: usize = 300;

/// All that happened is asserted here and not in tests of its own: it is played once.
#[test]
fn seeds_have_no_flaw_and_leave_nothing_out() {
    let mut counts = Counts::default();
    for seed in 1..=SEEDS {
        let outcome = run::seed(seed, STEPS, None);
        assert_eq!(outcome.flaw, None, "repeat it: cargo xtask sim --seed {seed} --steps {STEPS}");
        if seed % 10 == 0 {
            println!("seed {seed}: {}", outcome.digest);
            let again = run::script(&outcome.script);
            assert_eq!(again.digest, outcome.digest, "seed {seed} is the same bytes twice");
            assert_eq!(again.counts, outcome.counts);
        }
        counts += outcome.counts;
    }
    // The simulated world has sessions and no projects.
    for action in actions().filter(|it| it.scope == ScopeKind::Session) {
        assert!(counts.requests.contains_key(action.name), "nobody asks for {}", action.name);
    }
    // No session here counts with a tokenizer that might not be there, and no script is
    // so long that a round is full.
    let never =
        [Code::TokenizerUnavailable, Code::RoundFull, Code::ProjectNotFound, Code::ProjectExists];
    for code in Code::ALL.iter().filter(|it| !never.contains(it)) {
        let answers = &counts.answers;
        assert!(answers.contains_key(code.as_str()), "nothing is refused as {code:?}: {answers:?}");
    }
    let whole = Step::Compare(true);
    let deeds = [
        Deed::Fail,
        Deed::LoseAnswer,
        Deed::Conflict,
        Deed::Move,
        Deed::Kill,
        Deed::KillAfter,
        Deed::SlowMs(1),
        Deed::ClockMs(1),
        Deed::ClockMs(-1),
        Deed::Disconnect,
        Deed::Away(1),
    ];
    for deed in deeds {
        let is_there = counts.faults.keys().any(|it| it.ends_with(deed.name()));
        assert!(is_there, "no fault: {}", deed.name());
    }
    assert!(counts.overlaps > 0 && Deed::Meanwhile(whole).name().contains("meanwhile"));
    let others = [counts.conflicts, counts.moved, counts.kills, counts.unknown, counts.unlogged];
    assert!(others.iter().all(|it| *it > 0) && counts.replays > 0, "{counts:?}");
    assert!(counts.commits * 8 > counts.requests(), "too little is changed: {counts:?}");
    assert!(counts.depth_max >= 3);
}

/// What is printed of a seed that failed can be played: it is read as it was written.
#[test]
fn a_script_is_played_as_it_was_written() {
    let outcome = run::seed(3, 150, None);
    let text = serde_json::to_string(&outcome.script).unwrap_or_default();
    let read = serde_json::from_str::<Script>(&text).map_err(|err| err.to_string());
    assert_eq!(read.as_ref(), Ok(&outcome.script));
    assert_eq!(run::script(&outcome.script).digest, outcome.digest);
}

#[test]
fn another_seed_is_another_world() {
    let (one, two) = (run::seed(1, 50, None), run::seed(2, 50, None));
    assert_ne!(one.digest, two.digest);
    let storages: Vec<Storage> = (1..20).map(|it| run::seed(it, 1, None).script.storage).collect();
    assert!(storages.contains(&Storage::Moving) && storages.contains(&Storage::Snapshots));
}
