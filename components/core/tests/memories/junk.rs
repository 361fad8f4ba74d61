//! A noisy agent, over 32 days: it stores again the memories it was shown, in slightly different
//! words. Such an agent filled a memory of another system with 97.8 % junk. These tests measure the
//! junk with and without attention to warnings, and with maintenance.

use shared_context_core::memories::{
    Added, Kind, Mark, MemoryId, MemoryWarningCode, NewMemory, Part, SearchMemories,
};

use crate::{
    AGENT, DAY, ORCHESTRATOR, TestHost, add_all, ask, check_totals, find, important, info,
    learning, maintain, mark, project, rehydrate, rehydration, search, set, state,
};

const DAYS: u64 = 32;
const SESSIONS_A_DAY: u64 = 3;

/// The measures against the agent's copies.
#[derive(Debug, Clone, Copy)]
struct Care {
    /// The orchestrator marks what a warning was about.
    heeds_warnings: bool,
    /// Maintenance runs daily.
    maintains: bool,
}

/// The counts after all days.
#[derive(Debug, PartialEq, Eq)]
struct Figures {
    /// The memories that were sent.
    sent: usize,
    /// Of these, those that were not added because the same words were there.
    already_stored: usize,
    /// Those that were added with the warning `RECALLED` or `SIMILAR_MEMORY`.
    warned: usize,
    /// Those that were added as copies, without a warning.
    unwarned: usize,
    /// The facts that the agent learned.
    facts: usize,
    /// The memories that are stored.
    stored: usize,
    /// Of these, copies of a fact that is stored already.
    duplicates: usize,
    /// The copies among the lessons that the last session was shown, and all of these.
    shown: (usize, usize),
}

/// Returns a text of 20 words that only the fact `number` has, with the wording of one time.
fn fact(number: u64, told: &str) -> NewMemory {
    // A generator of Knuth, so that each run is the same.
    let mut seed = number + 1;
    let mut word = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("w{}", seed >> 40)
    };
    let words: Vec<String> = (0..20).map(|_| word()).collect();
    let title = format!("Lesson {} {}", words[0], words[1]);
    important(4, learning(&title, &format!("{} {told}", words.join(" "))))
}

fn played(care: Care) -> Figures {
    let host = project();
    // The fact of each memory, by its id.
    let mut known: Vec<(MemoryId, u64)> = Vec::new();
    let mut figures = Figures {
        sent: 0,
        already_stored: 0,
        warned: 0,
        unwarned: 0,
        facts: 0,
        stored: 0,
        duplicates: 0,
        shown: (0, 0),
    };
    let of =
        |known: &[(MemoryId, u64)], id: MemoryId| known.iter().find(|it| it.0 == id).map(|it| it.1);
    for day in 0..DAYS {
        for nth in 0..SESSIONS_A_DAY {
            let session = format!("s{day}-{nth}");
            let who = format!("{AGENT} in {session}");
            let shown = rehydrate(&host, &who, rehydration(20_000, None));
            let lessons = shown.parts.iter().filter(|it| it.part == Part::Learnings);
            let lessons: Vec<u64> =
                lessons.flat_map(|it| &it.ids).filter_map(|it| of(&known, *it)).collect();
            figures.shown = (lessons.len() - set(lessons.clone()).len(), lessons.len());
            // A new fact, what it was shown, half of it word for word, and its progress.
            let new = day * SESSIONS_A_DAY + nth;
            let mut sent = vec![(new, fact(new, "as first seen"))];
            for (place, number) in lessons.into_iter().enumerate() {
                let again = format!("as seen in {session} at {place}");
                let told = if place % 2 == 0 { again.as_str() } else { "as first seen" };
                sent.push((number, fact(number, told)));
            }
            let progress = important(2, state(&format!("Progress of {session}"), day));
            let memories: Vec<NewMemory> = sent.iter().map(|it| it.1.clone()).collect();
            let added = add_all(&host, &who, memories);
            add_all(&host, &who, vec![progress]);
            figures.sent += sent.len();
            figures.facts += 1;
            note(&host, care, &mut figures, &mut known, new, &sent, &added);
        }
        host.now.set(host.now.get() + DAY);
        if care.maintains {
            while maintain(&host, false).has_more {}
        }
    }
    for is_archived in [false, true] {
        let kind = Some(Kind::Learning);
        let mut all = SearchMemories { kind, is_archived, ..search() };
        loop {
            let page = find(&host, all.clone());
            figures.stored += page.found.len();
            let Some(next) = page.next else { break };
            all.cursor = Some(next);
        }
    }
    let left = known.iter().filter(|it| host.project_rows(&row(it.0)).len() == 1);
    figures.duplicates = figures.stored - set(left.map(|it| it.1)).len();
    assert!(figures.stored <= usize::try_from(info(&host).memories).unwrap());
    check_totals(&host);
    figures
}

fn row(id: MemoryId) -> String {
    format!("m/{:016x}", id.number())
}

/// Counts the outcome of an addition, and takes the measures of `care`.
fn note(
    host: &TestHost,
    care: Care,
    figures: &mut Figures,
    known: &mut Vec<(MemoryId, u64)>,
    new: u64,
    sent: &[(u64, NewMemory)],
    added: &[Added],
) {
    let mut bad = Vec::new();
    for ((number, _), it) in sent.iter().zip(added) {
        let is_warned = it.warnings.iter().any(|it| {
            matches!(it.code, MemoryWarningCode::Recalled | MemoryWarningCode::SimilarMemory)
        });
        if !it.is_new {
            figures.already_stored += 1;
            continue;
        }
        known.push((it.id, *number));
        if is_warned {
            figures.warned += 1;
            bad.push(it.id);
        } else if *number != new {
            figures.unwarned += 1;
        }
    }
    if care.heeds_warnings && !bad.is_empty() {
        ask(host, ORCHESTRATOR, mark(&bad, Mark::Deleted));
    }
}

#[test]
fn heeded_warnings_and_maintenance_keep_junk_out() {
    let [ignored, maintained, heeded, both] =
        [(false, false), (false, true), (true, false), (true, true)].map(
            |(heeds_warnings, maintains)| {
                let figures = played(Care { heeds_warnings, maintains });
                let percent = figures.duplicates * 100 / figures.stored;
                println!(
                    "32 days, warnings {}, {} maintenance: {figures:?}, {percent} % duplicates",
                    if heeds_warnings { "heeded" } else { "ignored" },
                    if maintains { "daily" } else { "no" },
                );
                figures
            },
        );
    // Every copy in other words is found, and no new fact is taken for one.
    for it in [&ignored, &maintained, &heeded, &both] {
        assert_eq!((it.facts, it.unwarned), (96, 0), "{it:?}");
        assert!(it.sent > 300, "{it:?}");
    }
    // Without care most of what is stored is junk, and maintenance alone does not help: no lesson is
    // old enough.
    assert!(ignored.duplicates * 2 > ignored.stored, "{ignored:?}");
    assert_eq!(maintained.stored, ignored.stored);
    assert_eq!(heeded.shown.0, 0, "a session is shown no lesson twice");
    assert_eq!((both.stored, both.duplicates), (96, 0), "{both:?}");
}
