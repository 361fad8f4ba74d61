//! Statistics of packets by type of task (spec 18.8).

use super::{
    feedback::Use,
    kinds::{AdviceCode, Depth, Form, Outcome},
    packet::Packet,
};
use crate::{
    order::{entry, sorted},
    text::{Score, words::Reader},
};

/// The most types of tasks that statistics distinguish.
pub const TASK_TYPES_MAX: usize = 100;
/// The type of a task that names none, and of those beyond [`TASK_TYPES_MAX`].
pub const OTHER: &str = "other";

/// The most different gaps of one type of task that are counted.
const MENTIONS_MAX: usize = 200;
/// A depth is compared from this many ended tasks on (004).
const ENDED_MIN: u32 = 5;
/// The most that a success rate may be below the best: five points.
const POINTS: u16 = 500;
/// The most gaps of a report.
const TOP_MAX: usize = 10;
/// Advice needs feedback of this many packets.
const ADVICE_MIN: u32 = 3;
/// Advice is given for what this share of the packets reported.
const ADVICE_SHARE: Score = Score(2_000);
/// The most advices.
const ADVICES_MAX: usize = 6;

/// Sums over all feedback, by type of task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The sums of each type of task, by its name.
    pub types: Vec<(String, TypeSums)>,
}

/// Sums of one type of task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeSums {
    /// The sums of each depth, in the order of [`Depth::ALL`].
    pub depths: [DepthSums; 3],
    /// The counts of reported gaps, by text.
    pub gaps: Vec<(String, Mentions)>,
    /// The counts of parts that were reported as unused, by text.
    pub unused: Vec<(String, Mentions)>,
}

/// Sums of one depth.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DepthSums {
    /// The number of packets that were used.
    pub count: u32,
    /// The number of tasks that were done.
    pub done: u32,
    /// The number of tasks that failed.
    pub failed: u32,
    /// The number of tasks that were abandoned.
    pub abandoned: u32,
    /// Each size in tokens, and how many packets have it.
    pub sizes: Vec<(u32, u32)>,
}

/// The counts of one reported text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mentions {
    /// The number of reports.
    pub count: u32,
    /// The number of reports with an outcome.
    pub ended: u32,
    /// The number of reports for a task that failed or was abandoned.
    pub failed: u32,
}

/// The statistics of one type of task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeReport {
    /// The type of task; `None` for all types together.
    pub task_type: Option<String>,
    /// The number of packets that were used.
    pub count: u32,
    /// The mean tokens, rounded down.
    pub mean_tokens: u32,
    /// The median tokens, rounded down between two.
    pub median_tokens: u32,
    /// The number of tasks that ended.
    pub ended: u32,
    /// The share of ended tasks that are done; `None` if none ended.
    pub success_rate: Option<Score>,
    /// The context that was lacked most, most often first.
    pub gaps: Vec<GapReport>,
    /// The context that was unused most, most often first.
    pub unused: Vec<GapReport>,
    /// The least context that suffices.
    pub minimum: Minimum,
}

/// A gap, or something unused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GapReport {
    /// Its text.
    pub text: String,
    /// The number of reports.
    pub count: u32,
    /// The share of packets for which it was reported.
    pub share: Score,
    /// The share of ended tasks with this report that were not done; `None` if none ended.
    pub failure_rate: Option<Score>,
}

/// The least context that suffices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Minimum {
    /// No depth has five ended tasks.
    TooFew,
    /// This depth suffices.
    Found {
        /// The depth.
        depth: Depth,
        /// Its median tokens.
        median_tokens: u32,
        /// Its success rate.
        success_rate: Score,
    },
}

/// An advice from earlier feedback on packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The kind of advice.
    pub code: AdviceCode,
    /// The advice, in a sentence.
    pub message: String,
}

impl Statistics {
    /// Counts one use of a packet.
    pub fn add(&mut self, it: &Use) {
        let is_known = self.sums(&it.task_type).is_some();
        let has_room = self.types.len() < TASK_TYPES_MAX.saturating_sub(1);
        let name = if is_known || has_room { it.task_type.as_str() } else { OTHER };
        entry(&mut self.types, name.to_owned(), |sums| sums.add(it));
    }

    fn sums(&self, task_type: &str) -> Option<&TypeSums> {
        self.types.iter().find(|it| it.0 == task_type).map(|it| &it.1)
    }

    /// Returns the statistics of all types together, and of each type.
    pub fn report(&self) -> Vec<TypeReport> {
        let mut all = TypeSums::default();
        self.types.iter().for_each(|it| all.merge(&it.1));
        let whole = (!self.types.is_empty()).then(|| all.report(None));
        let each = self.types.iter().map(|(name, sums)| sums.report(Some(name)));
        whole.into_iter().chain(each).collect()
    }

    /// Returns what earlier feedback says about a packet: what packets of its type often lacked, and
    /// what was seldom used of them.
    pub fn advise(&self, packet: &Packet) -> Vec<Advice> {
        let name = packet.task_type.as_deref().unwrap_or(OTHER);
        let Some(sums) = self.sums(name) else { return Vec::new() };
        let report = sums.report(Some(name));
        if report.count < ADVICE_MIN {
            return Vec::new();
        }
        let often = |it: &&GapReport| it.share >= ADVICE_SHARE;
        let text = packet.render(Form::Markdown);
        let percent = |it: &GapReport| it.share.0 / 100;
        let gaps = report.gaps.iter().filter(often).filter(|it| !has_all(&it.text, &text));
        let gaps = gaps.map(|it| Advice {
            code: AdviceCode::KnownGap,
            message: format!(
                "{} % of {name} packets lacked {:?}; add it as a fact or a file",
                percent(it),
                it.text
            ),
        });
        let unused = report.unused.iter().filter(often).map(|it| Advice {
            code: AdviceCode::UsuallyUnused,
            message: format!(
                "{} % of {name} packets had {:?} unused; a smaller depth or budget may do",
                percent(it),
                it.text
            ),
        });
        gaps.chain(unused).take(ADVICES_MAX).collect()
    }
}

/// Returns true if a text has every word of a gap.
fn has_all(gap: &str, text: &str) -> bool {
    let mut reader = Reader::default();
    let words = reader.distinct(text);
    reader.distinct(gap).iter().all(|it| words.binary_search(it).is_ok())
}

impl TypeSums {
    fn add(&mut self, it: &Use) {
        let of_depth = Depth::ALL.into_iter().zip(&mut self.depths).find(|of| of.0 == it.depth);
        if let Some((_, sums)) = of_depth {
            sums.add(it.tokens.0, it.feedback.outcome);
        }
        let mut gaps: Vec<String> =
            it.feedback.gaps.iter().chain(&it.questions).map(|it| normal(it)).collect();
        gaps.extend(it.layers_read.iter().map(|it| format!("layer {}", it.as_str())));
        mention(&mut self.gaps, gaps, it.feedback.outcome);
        let unused = it.feedback.unused.iter().map(|it| normal(it)).collect();
        mention(&mut self.unused, unused, it.feedback.outcome);
    }

    fn merge(&mut self, other: &Self) {
        for (own, others) in self.depths.iter_mut().zip(&other.depths) {
            own.merge(others);
        }
        for (own, others) in [(&mut self.gaps, &other.gaps), (&mut self.unused, &other.unused)] {
            for (text, more) in others {
                entry(own, text.clone(), |it| it.add(more));
            }
        }
    }

    fn report(&self, task_type: Option<&str>) -> TypeReport {
        let mut all = DepthSums::default();
        self.depths.iter().for_each(|it| all.merge(it));
        let ended = all.ended();
        TypeReport {
            task_type: task_type.map(str::to_owned),
            count: all.count,
            mean_tokens: all.mean(),
            median_tokens: all.median(),
            ended,
            success_rate: (ended > 0).then(|| Score::ratio(all.done.into(), ended.into())),
            gaps: top(&self.gaps, all.count),
            unused: top(&self.unused, all.count),
            minimum: self.minimum(),
        }
    }

    /// Returns the least context that suffices: of the depths with at least five ended tasks whose
    /// success rate is within five points of the best, the one with the smallest median.
    fn minimum(&self) -> Minimum {
        let rated: Vec<(Depth, &DepthSums, Score)> = Depth::ALL
            .into_iter()
            .zip(&self.depths)
            .filter(|(_, it)| it.ended() >= ENDED_MIN)
            .map(|(depth, it)| (depth, it, Score::ratio(it.done.into(), it.ended().into())))
            .collect();
        let best = rated.iter().map(|it| it.2).max().unwrap_or_default();
        let is_close = |it: &&(Depth, &DepthSums, Score)| it.2.0.saturating_add(POINTS) >= best.0;
        let least = rated.iter().filter(is_close).min_by_key(|it| (it.1.median(), it.0));
        least.map_or(Minimum::TooFew, |(depth, sums, rate)| Minimum::Found {
            depth: *depth,
            median_tokens: sums.median(),
            success_rate: *rate,
        })
    }
}

impl DepthSums {
    fn add(&mut self, tokens: u32, outcome: Option<Outcome>) {
        let count = match outcome {
            Some(Outcome::Done) => Some(&mut self.done),
            Some(Outcome::Failed) => Some(&mut self.failed),
            Some(Outcome::Abandoned) => Some(&mut self.abandoned),
            None => None,
        };
        count.into_iter().chain([&mut self.count]).for_each(|it| *it = it.saturating_add(1));
        entry(&mut self.sizes, tokens, |it| *it = it.saturating_add(1));
    }

    fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.done = self.done.saturating_add(other.done);
        self.failed = self.failed.saturating_add(other.failed);
        self.abandoned = self.abandoned.saturating_add(other.abandoned);
        for (tokens, count) in &other.sizes {
            entry(&mut self.sizes, *tokens, |it| *it = it.saturating_add(*count));
        }
    }

    /// Returns how many tasks ended.
    pub fn ended(&self) -> u32 {
        self.done.saturating_add(self.failed).saturating_add(self.abandoned)
    }

    /// Returns the mean size, rounded down; 0 without a packet.
    pub fn mean(&self) -> u32 {
        let sizes = self.sizes.iter().map(|(tokens, count)| u64::from(*tokens) * u64::from(*count));
        let mean = sizes.sum::<u64>().checked_div(self.count.into());
        mean.and_then(|it| u32::try_from(it).ok()).unwrap_or_default()
    }

    /// Returns the median size, rounded down between two; 0 without a packet.
    pub fn median(&self) -> u32 {
        let nth = |nth: u32| {
            let mut before: u32 = 0;
            let found = self.sizes.iter().find(|(_, count)| {
                before = before.saturating_add(*count);
                before > nth
            });
            found.map_or(0, |it| it.0)
        };
        let upper = nth(self.count / 2);
        if self.count % 2 == 1 {
            return upper;
        }
        let lower = nth((self.count / 2).saturating_sub(1));
        lower.saturating_add(upper.saturating_sub(lower) / 2)
    }
}

impl Mentions {
    /// Adds other mentions.
    pub(super) fn add(&mut self, more: &Self) {
        self.count = self.count.saturating_add(more.count);
        self.ended = self.ended.saturating_add(more.ended);
        self.failed = self.failed.saturating_add(more.failed);
    }
}

/// Counts what was reported, each text once. Beyond [`MENTIONS_MAX`] the rarest makes room.
fn mention(of: &mut Vec<(String, Mentions)>, texts: Vec<String>, outcome: Option<Outcome>) {
    let is_failed = matches!(outcome, Some(Outcome::Failed | Outcome::Abandoned));
    let one = Mentions { count: 1, ended: outcome.is_some().into(), failed: is_failed.into() };
    let mut texts = sorted(texts, Ord::cmp);
    texts.dedup();
    for text in texts.into_iter().filter(|it| !it.is_empty()) {
        if of.len() >= MENTIONS_MAX && !of.iter().any(|it| it.0 == text) {
            let rarest = of.iter().enumerate().min_by_key(|it| it.1.1.count).map(|it| it.0);
            if let Some(place) = rarest {
                of.remove(place);
            }
        }
        entry(of, text, |it| it.add(&one));
    }
}

/// Returns what was reported most, most often first.
fn top(of: &[(String, Mentions)], packets: u32) -> Vec<GapReport> {
    // The sort is stable: of the same count, the texts stay in their order.
    let most_first = sorted(of.iter().collect(), |a, b| b.1.count.cmp(&a.1.count));
    let report = |(text, it): &(String, Mentions)| GapReport {
        text: text.clone(),
        count: it.count,
        share: Score::ratio(it.count.into(), packets.into()),
        failure_rate: (it.ended > 0).then(|| Score::ratio(it.failed.into(), it.ended.into())),
    };
    most_first.into_iter().take(TOP_MAX).map(report).collect()
}

/// Returns a report in the form in which it is counted: `Needed: Error  handling.` and `error
/// handling` are the same.
pub(super) fn normal(text: &str) -> String {
    let lower = text.to_lowercase();
    let plain = ["needed:", "received:"].iter().find_map(|it| lower.trim().strip_prefix(it));
    let words: Vec<&str> = plain.unwrap_or(&lower).split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '!']).to_owned()
}
