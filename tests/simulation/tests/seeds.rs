//! A fixed range of seeds has no failure, produces the same bytes each time, and covers every kind
//! of event.

#![expect(clippy::print_stdout, reason = "digests are compared from run to run")]

use shared_context_codec::actions;
use shared_context_core::Code;
use shared_context_simulation::{
    counts::Counts,
    run,
    script::{EventKind, Script, Step, Storage},
};

/// Number of seeds.
const SEEDS: u64 = 100;
const STEPS: usize = 300;

/// One test asserts everything, so that the seeds are played only once.
#[test]
fn seeds_have_no_failure_and_cover_every_event() {
    let mut counts = Counts::default();
    for seed in 1..=SEEDS {
        let outcome = run::seed(seed, STEPS, None);
        assert_eq!(outcome.flaw, None, "repeat it: cargo xtask sim --seed {seed} --steps {STEPS}");
        if seed % 10 == 0 {
            println!("seed {seed}: {}", outcome.digest);
            let again = run::script(&outcome.script);
            assert_eq!(again.digest, outcome.digest, "seed {seed} produces the same bytes twice");
            assert_eq!(again.counts, outcome.counts);
        }
        counts += outcome.counts;
    }
    // Tests of the core and of the codec play these two: their texts have no plain model here.
    let others = ["session_summary", "import_project"];
    for action in actions().filter(|it| !others.contains(&it.name)) {
        assert!(counts.requests.contains_key(action.name), "no request for {}", action.name);
    }
    // No session uses a tokenizer that may be missing, and no script is long enough to fill a
    // round. `tests/kept.rs` reaches the limits of envelopes.
    let never =
        [Code::EnvelopeLimit, Code::PacketLimit, Code::TokenizerUnavailable, Code::RoundFull];
    for code in Code::ALL.iter().filter(|it| !never.contains(it)) {
        let answers = &counts.answers;
        assert!(answers.contains_key(code.as_str()), "no rejection with {code:?}: {answers:?}");
    }
    for what in
        ["removed from a/e/", "withheld in evidence", "withheld in a retry", "redacted in evidence"]
    {
        let envelopes = &counts.envelopes;
        assert!(envelopes.contains_key(what), "no envelope with a text {what}: {envelopes:?}");
    }
    let whole = Step::Compare(true);
    let kinds = [
        EventKind::Fail,
        EventKind::LoseAnswer,
        EventKind::Conflict,
        EventKind::Move,
        EventKind::Kill,
        EventKind::KillAfter,
        EventKind::SlowMs(1),
        EventKind::ClockMs(1),
        EventKind::ClockMs(-1),
        EventKind::Disconnect,
        EventKind::Away(1),
    ];
    for kind in kinds {
        let is_there = counts.faults.keys().any(|it| it.ends_with(kind.name()));
        assert!(is_there, "no fault: {}", kind.name());
    }
    assert!(counts.overlaps > 0 && EventKind::Meanwhile(whole).name().contains("meanwhile"));
    let happened = [counts.conflicts, counts.moved, counts.kills, counts.unknown, counts.unlogged];
    assert!(happened.iter().all(|it| *it > 0) && counts.replays > 0, "{counts:?}");
    assert!(counts.commits * 8 > counts.requests(), "too few commits: {counts:?}");
    assert!(counts.depth_max >= 3);
}

/// A printed script replays exactly, after parsing.
#[test]
fn a_printed_script_replays_exactly() {
    let outcome = run::seed(3, 150, None);
    let text = serde_json::to_string(&outcome.script).unwrap_or_default();
    let read = serde_json::from_str::<Script>(&text).map_err(|err| err.to_string());
    assert_eq!(read.as_ref(), Ok(&outcome.script));
    assert_eq!(run::script(&outcome.script).digest, outcome.digest);
}

#[test]
fn different_seeds_make_different_worlds() {
    let (one, two) = (run::seed(1, 50, None), run::seed(2, 50, None));
    assert_ne!(one.digest, two.digest);
    let storages: Vec<Storage> = (1..20).map(|it| run::seed(it, 1, None).script.storage).collect();
    assert!(storages.contains(&Storage::Moving) && storages.contains(&Storage::Snapshots));
}
