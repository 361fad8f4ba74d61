//! Feedback and its statistics, against a plain reference.

use std::collections::BTreeMap;

use shared_context_core::{
    packets::{
        AdviceCode, Depth, Feedback, GAP_CHARS_MAX, GAPS_MAX, GeneratePacket, Minimum, Outcome,
        Part, Sources, Statistics, Use,
    },
    text::Score,
    tokens::Tokens,
};

use super::{generated, given, request};

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        let place = self.below(list.len());
        list.get(place).copied().unwrap()
    }
}

const TYPES: [&str; 4] = ["implementation", "review", "migration", "rare"];
const GAPS: [&str; 6] =
    ["testing approach", "error handling", "naming", "deployment", "api keys", "schema"];

fn uses(count: usize) -> Vec<Use> {
    let mut numbers = Numbers(7);
    let mut all = Vec::new();
    for _ in 0..count {
        let task_type = numbers.one_of(&TYPES);
        let gaps = (0..numbers.below(3)).map(|_| numbers.one_of(&GAPS).to_owned()).collect();
        let unused = (0..numbers.below(2)).map(|_| numbers.one_of(&GAPS).to_owned()).collect();
        let outcome = numbers.one_of(&[
            Some(Outcome::Done),
            Some(Outcome::Done),
            Some(Outcome::Failed),
            Some(Outcome::Abandoned),
            None,
        ]);
        all.push(Use {
            task_type: task_type.to_owned(),
            depth: numbers.one_of(&Depth::ALL),
            tokens: Tokens(u32::try_from(50 + numbers.below(900)).unwrap()),
            layers_read: Vec::new(),
            questions: Vec::new(),
            feedback: Feedback { gaps, unused, outcome, note: None },
        });
    }
    all
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a filter")]
fn is_done(it: &&&Use) -> bool {
    it.feedback.outcome == Some(Outcome::Done)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a filter")]
fn has_ended(it: &&&Use) -> bool {
    it.feedback.outcome.is_some()
}

fn ratio(part: usize, whole: usize) -> Score {
    Score(u16::try_from(part * 10_000 / whole).unwrap())
}

fn median(of: &[&Use]) -> u32 {
    let mut sizes: Vec<u32> = of.iter().map(|it| it.tokens.0).collect();
    sizes.sort_unstable();
    let middle = |nth: usize| sizes.get(nth).copied().unwrap();
    let half = sizes.len() / 2;
    if sizes.len() % 2 == 1 { middle(half) } else { u32::midpoint(middle(half - 1), middle(half)) }
}

/// Returns how often each text was reported, once a use, most often first.
fn mentions<'a>(
    of: &[&'a Use],
    texts: impl Fn(&'a Use) -> &'a Vec<String>,
) -> Vec<(String, Vec<&'a Use>)> {
    let mut found: BTreeMap<String, Vec<&Use>> = BTreeMap::new();
    for it in of {
        let mut own: Vec<&String> = texts(it).iter().collect();
        own.sort();
        own.dedup();
        for text in own {
            found.entry(text.clone()).or_default().push(it);
        }
    }
    let mut found: Vec<(String, Vec<&Use>)> = found.into_iter().collect();
    found.sort_by_key(|it| std::cmp::Reverse(it.1.len()));
    found
}

#[test]
fn statistics_are_those_of_a_plain_reference() {
    let uses = uses(10_000);
    let mut statistics = Statistics::default();
    for it in &uses {
        statistics.add(it);
    }
    let reports = statistics.report();
    assert_eq!(reports.len(), TYPES.len() + 1);
    for report in reports {
        let is_of = |it: &&Use| report.task_type.as_ref().is_none_or(|name| *name == it.task_type);
        let of: Vec<&Use> = uses.iter().filter(is_of).collect();
        let ended = of.iter().filter(has_ended).count();
        assert_eq!(usize::try_from(report.count).unwrap(), of.len());
        let sum: u32 = of.iter().map(|it| it.tokens.0).sum();
        assert_eq!(report.mean_tokens, sum / report.count);
        assert_eq!(report.median_tokens, median(&of));
        assert_eq!(report.success_rate, Some(ratio(of.iter().filter(is_done).count(), ended)));
        for (found, expected) in [
            (&report.gaps, mentions(&of, |it| &it.feedback.gaps)),
            (&report.unused, mentions(&of, |it| &it.feedback.unused)),
        ] {
            assert_eq!(found.len(), expected.len());
            for (found, (text, by)) in found.iter().zip(expected) {
                let ended = by.iter().filter(has_ended).count();
                let failed = ended - by.iter().filter(is_done).count();
                assert_eq!(found.text, text);
                assert_eq!(usize::try_from(found.count).unwrap(), by.len());
                assert_eq!(found.share, ratio(by.len(), of.len()));
                assert_eq!(found.failure_rate, Some(ratio(failed, ended)));
            }
        }
        let depths: Vec<(Depth, u32, Score)> = Depth::ALL
            .into_iter()
            .filter_map(|depth| {
                let of: Vec<&Use> = of.iter().copied().filter(|it| it.depth == depth).collect();
                let ended = of.iter().filter(has_ended).count();
                let rate = (ended >= 5).then(|| ratio(of.iter().filter(is_done).count(), ended))?;
                Some((depth, median(&of), rate))
            })
            .collect();
        let best = depths.iter().map(|it| it.2.0).max().unwrap();
        let close = depths.into_iter().filter(|it| it.2.0 + 500 >= best);
        let (depth, median_tokens, success_rate) = close.min_by_key(|it| it.1).unwrap();
        assert_eq!(report.minimum, Minimum::Found { depth, median_tokens, success_rate });
    }
}

#[test]
fn fewer_than_five_ended_tasks_are_too_few() {
    let mut statistics = Statistics::default();
    let one = |outcome| Use {
        task_type: "review".to_owned(),
        depth: Depth::Minimal,
        tokens: Tokens(90),
        layers_read: Vec::new(),
        questions: Vec::new(),
        feedback: Feedback { outcome, ..Feedback::default() },
    };
    for _ in 0..4 {
        statistics.add(&one(Some(Outcome::Done)));
        statistics.add(&one(None));
    }
    let minimum = |it: &Statistics| it.report().first().map(|it| it.minimum).unwrap();
    assert_eq!(minimum(&statistics), Minimum::TooFew);
    statistics.add(&one(Some(Outcome::Failed)));
    let found =
        Minimum::Found { depth: Depth::Minimal, median_tokens: 90, success_rate: Score(8_000) };
    assert_eq!(minimum(&statistics), found);
    assert!(Statistics::default().report().is_empty());
}

#[test]
fn what_workers_often_lack_is_advised() {
    let mut statistics = Statistics::default();
    for nth in 0..4 {
        let texts = |it: &str| if nth < 2 { vec![it.to_owned()] } else { Vec::new() };
        statistics.add(&Use {
            task_type: "review".to_owned(),
            depth: Depth::Standard,
            tokens: Tokens(300),
            layers_read: Vec::new(),
            questions: Vec::new(),
            feedback: Feedback {
                gaps: texts("Needed: Testing  approach."),
                unused: texts("failed_attempts"),
                outcome: Some(Outcome::Done),
                note: None,
            },
        });
    }
    let mut request: GeneratePacket = request("Review the login", Vec::new());
    request.task_type = Some("review".to_owned());
    let advice = |request: &GeneratePacket| {
        let packet = generated(request, &Sources::default()).packet;
        statistics.advise(&packet).into_iter().map(|it| (it.code, it.message)).collect::<Vec<_>>()
    };
    let found = advice(&request);
    let codes: Vec<AdviceCode> = found.iter().map(|it| it.0).collect();
    assert_eq!(codes, [AdviceCode::KnownGap, AdviceCode::UsuallyUnused]);
    assert!(found.iter().all(|it| it.1.starts_with("50 % of review packets")), "{found:?}");
    assert!(found.first().unwrap().1.contains("\"testing approach\""), "{found:?}");
    // A packet that has it needs no advice.
    request.facts = given(Part::Constraint, &["The testing approach is property tests"]);
    assert_eq!(advice(&request).len(), 1);
}

#[test]
fn feedback_has_its_limits() {
    let check = |gaps: Vec<String>| Feedback { gaps, ..Feedback::default() }.check();
    assert_eq!(check(vec!["x".repeat(GAP_CHARS_MAX); GAPS_MAX]), Ok(()));
    assert_eq!(check(vec!["ü".repeat(GAP_CHARS_MAX)]), Ok(()));
    for bad in [
        vec!["x".to_owned(); GAPS_MAX + 1],
        vec!["x".repeat(GAP_CHARS_MAX + 1)],
        vec![String::new()],
        vec![" \n".to_owned()],
    ] {
        let error = check(bad).unwrap_err().to_string();
        assert!(error.starts_with("gaps has"), "{error}");
    }
}
