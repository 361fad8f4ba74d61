//! Histories that are known to be right, and known to be wrong: the check of `linearizable.rs` must
//! accept the former and reject the latter.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use shared_context_system::history::{
    Figures, History, Instant, Offence, Operation,
    model::{Answer, Change, Condition, Entry, Key, Request},
};

/// Returns a history that is written down: each line a client, when it asked, when it was answered
/// (0: never), what, and the answer.
fn check(lines: Vec<(usize, u64, u64, Request, Answer)>) -> Result<Figures, Offence> {
    let at = |place| Instant { place, time: Duration::from_millis(place) };
    let operation = |(client, asked, told, request, answer)| Operation {
        client,
        request,
        asked: at(asked),
        told: (told > 0).then(|| (at(told), answer)),
    };
    let operations = lines.into_iter().map(operation).collect();
    History { name: "a history".to_owned(), operations }.check()
}

#[track_caller]
fn is_right(lines: Vec<(usize, u64, u64, Request, Answer)>) -> Figures {
    check(lines).unwrap_or_else(|it| panic!("{it}"))
}

/// The answer to the operation `nth` must be the first that nothing explains.
#[track_caller]
fn is_wrong(nth: usize, lines: Vec<(usize, u64, u64, Request, Answer)>) -> String {
    let offence = check(lines).unwrap_err();
    assert_eq!(offence.operation, nth, "{offence}");
    offence.to_string()
}

fn write(key: Key, wish: u64) -> Change {
    write_if(key, wish, Condition::None)
}

fn write_if(key: Key, wish: u64, condition: Condition) -> Change {
    let writes = vec![(key, condition)];
    Change { wish, value: wish, writes, deletes: vec![], is_batch: false, is_named: false }
}

/// `change`, writing `value` as others do.
fn of(value: u64, change: Change) -> Change {
    Change { value, ..change }
}

fn named(change: Change) -> Change {
    Change { is_named: true, ..change }
}

fn delete(key: Key, wish: u64) -> Change {
    Change { writes: vec![], deletes: vec![(key, Condition::None)], ..write(key, wish) }
}

fn both(wish: u64) -> Change {
    Change {
        writes: vec![(0, Condition::None), (1, Condition::None)],
        is_batch: true,
        ..write(0, wish)
    }
}

fn ask(change: Change) -> Request {
    Request::Change(change)
}

fn done(revision: u64, version: u64) -> Answer {
    Answer::Changed { revision, written: vec![version], deleted: vec![] }
}

fn gone(revision: u64, version: u64) -> Answer {
    Answer::Changed { revision, written: vec![], deleted: vec![version] }
}

fn shows(value: u64, version: u64, revision: u64) -> Answer {
    Answer::Entry(Entry { value, version, revision })
}

fn pair(revision: u64, of: [Option<(u64, u64, u64)>; 2]) -> Answer {
    let entry = |(value, version, revision)| Entry { value, version, revision };
    Answer::Entries { revision, entries: of.map(|it| it.map(entry)).to_vec() }
}

/// Of no consequence: there was no answer.
const NONE: Answer = Answer::Missing(0);

#[test]
fn one_after_the_other_and_at_once_are_right() {
    let figures = is_right(vec![
        (0, 1, 2, ask(write(0, 1)), done(2, 1)),
        (1, 3, 8, ask(write(0, 2)), done(4, 3)),
        (2, 4, 7, ask(write_if(0, 3, Condition::Version(1))), done(3, 2)),
        // Asked last and answered first: it was between the two.
        (3, 5, 6, Request::Read(0), shows(3, 2, 3)),
        (
            0,
            9,
            10,
            ask(write_if(0, 4, Condition::Revision(3))),
            Answer::Conflict { key: 0, version: 3, revision: 4 },
        ),
        (0, 11, 12, ask(delete(0, 5)), gone(5, 3)),
        (0, 13, 14, Request::Read(0), Answer::Missing(0)),
        (1, 15, 16, Request::List, Answer::Keys { revision: 5, versions: vec![] }),
    ]);
    assert_eq!((figures.operations, figures.unknown), (8, 0));
}

#[test]
fn what_was_not_answered_may_have_happened_late_or_never() {
    for (version, revision, value) in [(1, 2, 1), (2, 3, 7)] {
        is_right(vec![
            (0, 1, 0, ask(write(0, 7)), NONE),
            (1, 2, 3, ask(write(0, 1)), done(2, 1)),
            // Long after its client gave up, the write is either stored or not.
            (1, 4, 5, Request::Read(0), shows(1, 1, 2)),
            (1, 6, 7, Request::Read(0), shows(value, version, revision)),
            (2, 8, 9, Request::List, Answer::Keys { revision, versions: vec![(0, version)] }),
        ]);
    }
}

#[test]
fn many_unknown_outcomes_are_no_burden() {
    let mut lines: Vec<_> =
        (0..60).map(|nth| (0, nth + 1, 0, ask(write(0, 1_000 + nth)), NONE)).collect();
    for nth in 0..200 {
        let at = 100 + 2 * nth;
        lines.push((1, at, at + 1, ask(write(1, nth)), done(nth + 2, nth + 1)));
    }
    // Wrong at the very end, where everything else was tried before.
    let last = lines.len();
    lines.push((1, 900, 901, Request::Read(1), shows(198, 199, 200)));
    // Who comes when all have left, as in every history that is played.
    let keys = Answer::Keys { revision: 201, versions: vec![(1, 200)] };
    lines.push((2, 902, 903, Request::List, keys));
    is_wrong(last, lines);
}

#[test]
fn a_request_sent_again_under_its_name_happens_once() {
    let again = |second| {
        vec![
            (0, 1, 0, ask(named(write(0, 1))), NONE),
            (1, 2, 3, ask(write(0, 2)), done(3, 2)),
            (0, 4, 5, ask(named(write(0, 1))), second),
            (0, 6, 7, Request::Read(0), shows(2, 2, 3)),
        ]
    };
    is_right(again(done(2, 1)));
    let told = is_wrong(2, again(done(4, 3)));
    assert!(told.contains("request_id 1") && told.contains("client 0"), "{told}");
}

/// A retry was once answered as if its condition held, where the entry already was what
/// it would have written. Two clients of one participant cannot be distinguished by that.
#[test]
fn a_failed_condition_is_a_conflict_whoever_asks() {
    let retry = |answer| {
        let write = || ask(write_if(0, 1, Condition::Version(0)));
        vec![(0, 1, 0, write(), NONE), (0, 2, 3, write(), done(2, 1)), (0, 4, 5, write(), answer)]
    };
    is_right(retry(Answer::Conflict { key: 0, version: 1, revision: 2 }));
    is_wrong(2, retry(done(2, 1)));
}

#[test]
fn an_increment_that_does_not_count_is_wrong() {
    let increment = |wish, to, revision| of(to, write_if(0, wish, Condition::Revision(revision)));
    let both = |second| {
        vec![
            (0, 1, 2, ask(of(7, write(0, 1))), done(2, 1)),
            (1, 3, 4, Request::Read(0), shows(7, 1, 2)),
            (2, 5, 6, Request::Read(0), shows(7, 1, 2)),
            (1, 7, 9, ask(increment(2, 8, 2)), done(3, 2)),
            (2, 8, 10, ask(increment(3, 8, 2)), second),
            (0, 11, 12, Request::Read(0), shows(8, 2, 3)),
        ]
    };
    is_right(both(Answer::Conflict { key: 0, version: 2, revision: 3 }));
    // Both answers say that they counted from 7 to 8.
    is_wrong(4, both(done(3, 2)));
}

#[test]
fn a_lock_with_two_holders_is_wrong() {
    let take = |wish| ask(of(0, write_if(0, wish, Condition::Version(0))));
    let release = |wish, revision| {
        let deletes = vec![(0, Condition::Revision(revision))];
        ask(Change { writes: vec![], deletes, ..write(0, wish) })
    };
    let taken = |second| vec![(0, 1, 3, take(1), done(2, 1)), (1, 2, 4, take(2), second)];
    let held = Answer::Conflict { key: 0, version: 1, revision: 2 };
    is_right(taken(held.clone()));
    is_wrong(1, taken(done(2, 1)));
    is_right(vec![
        (0, 1, 2, take(1), done(2, 1)),
        (1, 3, 4, take(2), held),
        (0, 5, 8, release(3, 2), gone(3, 1)),
        // Free before its holder was answered.
        (1, 6, 7, take(4), done(4, 1)),
        (0, 9, 10, take(5), Answer::Conflict { key: 0, version: 1, revision: 4 }),
    ]);
}

#[test]
fn a_stale_batch_that_passes_its_fence_is_wrong() {
    let guarded = |wish, revision| {
        let writes = vec![(0, Condition::Revision(revision)), (1, Condition::None)];
        ask(Change { writes, is_batch: true, ..of(0, write(0, wish)) })
    };
    let written = |revision, written: [u64; 2]| Answer::Changed {
        revision,
        written: written.to_vec(),
        deleted: vec![],
    };
    let stale = |answer| {
        vec![
            (0, 1, 2, ask(of(0, write(0, 1))), done(2, 1)),
            // Another takes the fence with the same value, and writes.
            (1, 3, 4, ask(of(0, write(0, 2))), done(3, 2)),
            (1, 5, 6, guarded(3, 3), written(4, [3, 1])),
            (0, 7, 8, guarded(4, 2), answer),
        ]
    };
    is_right(stale(Answer::Conflict { key: 0, version: 3, revision: 4 }));
    is_wrong(3, stale(written(5, [3, 2])));
}

#[test]
fn an_inserted_line_that_is_not_there_is_wrong() {
    let lines = |count| {
        vec![
            (0, 1, 2, ask(of(0, write(0, 1))), done(2, 1)),
            (1, 3, 5, Request::Insert(0), Answer::Inserted),
            (2, 4, 6, Request::Insert(0), Answer::Inserted),
            (0, 7, 8, Request::Insert(0), Answer::Overtaken),
            (0, 9, 10, Request::Read(0), shows(count, count + 1, count + 2)),
        ]
    };
    is_right(lines(2));
    // Both inserted the same line into the same text, and one of them is lost.
    is_wrong(4, lines(1));
    // The last line may be stored although its answer is unknown; it is not stored twice.
    for (count, is_possible) in [(2, true), (3, true), (4, false)] {
        let mut lines = lines(count);
        lines[3] = (0, 7, 0, Request::Insert(0), NONE);
        assert_eq!(check(lines).is_ok(), is_possible, "{count} lines");
    }
}

#[test]
fn a_stale_read_is_wrong() {
    let told = is_wrong(
        3,
        vec![
            (0, 1, 2, ask(write(0, 1)), done(2, 1)),
            (0, 3, 4, ask(write(0, 2)), done(3, 2)),
            (0, 5, 6, Request::Read(0), shows(2, 2, 3)),
            (1, 7, 8, Request::Read(0), shows(1, 1, 2)),
        ],
    );
    // A person sees what was written, and what was read.
    assert!(told.contains("0 := w2") && told.contains("w1 version 1 of revision 2"), "{told}");
}

#[test]
fn a_read_before_what_it_shows_is_asked_for_is_wrong() {
    is_wrong(
        0,
        vec![(1, 1, 2, Request::Read(0), shows(1, 1, 2)), (0, 3, 4, ask(write(0, 1)), done(2, 1))],
    );
}

#[test]
fn a_lost_update_is_wrong() {
    // Both depend on version 1, and both answers say that they made version 2.
    is_wrong(
        2,
        vec![
            (0, 1, 2, ask(write(0, 1)), done(2, 1)),
            (0, 3, 5, ask(write_if(0, 2, Condition::Version(1))), done(3, 2)),
            (1, 4, 6, ask(write_if(0, 3, Condition::Version(1))), done(4, 2)),
        ],
    );
    // One is acknowledged and not there.
    is_wrong(
        1,
        vec![
            (0, 1, 2, ask(write(0, 1)), done(2, 1)),
            (0, 3, 4, Request::Read(0), Answer::Missing(0)),
        ],
    );
}

#[test]
fn half_a_batch_is_wrong() {
    let batch = Answer::Changed { revision: 2, written: vec![1, 1], deleted: vec![] };
    let seen = |first| {
        vec![
            (0, 1, 4, ask(both(1)), batch.clone()),
            (1, 2, 3, Request::ReadBatch(vec![0, 1]), first),
        ]
    };
    is_right(seen(pair(1, [None, None])));
    is_right(seen(pair(2, [Some((1, 1, 2)), Some((1, 1, 2))])));
    is_wrong(1, seen(pair(2, [Some((1, 1, 2)), None])));
    // A pair of unknown outcome is not half stored either.
    is_wrong(
        2,
        vec![
            (0, 1, 0, ask(both(1)), NONE),
            (1, 2, 3, Request::Read(0), shows(1, 1, 2)),
            (1, 4, 5, Request::Read(1), Answer::Missing(1)),
        ],
    );
}

#[test]
fn what_was_deleted_and_comes_back_is_wrong() {
    is_wrong(
        2,
        vec![
            (0, 1, 2, ask(write(0, 1)), done(2, 1)),
            (0, 3, 4, ask(delete(0, 2)), gone(3, 1)),
            (1, 5, 6, Request::Read(0), shows(1, 1, 2)),
        ],
    );
}

#[test]
fn a_revision_that_nobody_made_is_wrong() {
    is_wrong(
        1,
        vec![
            (0, 1, 2, ask(write(0, 1)), done(2, 1)),
            (0, 3, 4, ask(write(1, 2)), done(4, 1)),
            (0, 5, 6, Request::List, Answer::Keys { revision: 4, versions: vec![(0, 1), (1, 1)] }),
        ],
    );
}

#[test]
fn a_refusal_that_is_none_is_wrong() {
    is_wrong(
        1,
        vec![
            (0, 1, 2, ask(write(0, 1)), done(2, 1)),
            (
                0,
                3,
                4,
                ask(write_if(0, 2, Condition::Version(1))),
                Answer::Conflict { key: 0, version: 1, revision: 2 },
            ),
        ],
    );
}
