//! What a round is opened with: weights, strategies, how large the state may be.

use std::fmt;

use super::{PathPattern, path::Path};
use crate::{
    Error,
    participant::Participant,
    pattern::{ParticipantPattern, Participants},
};

/// The most rules of weight, and the most of strategy.
pub const RULES_MAX: usize = 64;
/// The smallest and the largest limit of a state, in bytes.
pub const BYTES_MAX: std::ops::RangeInclusive<u32> = 1_000..=262_144;
/// The limit of a state when nobody said another one (spec 11.8).
pub const BYTES_MAX_DEFAULT: u32 = 50_000;

/// How much a participant's deltas count in a round: 0 to 1 in steps of a
/// billionth, so that sums are exact whatever their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u32);

impl Weight {
    /// The whole.
    const ONE: u32 = 1_000_000_000;
    /// That of a participant nobody gave a weight.
    pub const DEFAULT: Self = Self(Self::ONE);

    /// Checks `number` and takes it as a weight.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is not in 0..=1.
    pub fn parse(number: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&number) {
            return Err(Error::malformed("a weight is a number from 0 to 1, for example 0.35"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to a billion, as was just checked"
        )]
        let billionths = (number * f64::from(Self::ONE)).round() as u32;
        Ok(Self(billionths))
    }

    /// As a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE)
    }

    /// In billionths.
    pub fn billionths(self) -> u32 {
        self.0
    }

    /// Creates that of so many billionths, at most a whole.
    pub(crate) fn stored(billionths: u32) -> Self {
        Self(billionths.min(Self::ONE))
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

/// How much some participants weigh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightRule {
    /// Whose deltas.
    pub participants: ParticipantPattern,
    /// How much they count.
    pub weight: Weight,
}

/// How a disagreement is settled (spec 11.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// Objects are merged member by member, items appended; of other values that of
    /// the highest weight wins.
    WeightedMerge,
    /// The value that most participants propose wins; then that of the higher total
    /// weight, then the lexically smaller one.
    MajorityVote,
    /// What the participant of the highest weight proposes wins, whole.
    HighestWeight,
    /// As `WeightedMerge`, and no item is appended twice.
    Union,
    /// What an expert proposes wins, those named first before the others; where no
    /// expert spoke, the highest weight.
    ExpertOverride(Participants),
}

impl Strategy {
    /// Every name.
    pub const NAMES: [&str; 5] =
        ["weighted-merge", "majority-vote", "highest-weight", "union", "expert-override"];

    /// Returns the strategy of this name; `experts` are for `expert-override` only, which
    /// needs them.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(name: &str, experts: Option<Participants>) -> Result<Self, Error> {
        match (name, experts) {
            ("expert-override", Some(experts)) => Ok(Self::ExpertOverride(experts)),
            ("expert-override", None) => Err(Error::malformed(
                "expert-override needs experts, for example [\"subagent:legal\"]",
            )),
            (_, Some(_)) => Err(Error::malformed("experts are for expert-override only")),
            ("weighted-merge", None) => Ok(Self::WeightedMerge),
            ("majority-vote", None) => Ok(Self::MajorityVote),
            ("highest-weight", None) => Ok(Self::HighestWeight),
            ("union", None) => Ok(Self::Union),
            _ => {
                let known = Self::NAMES.join(", ");
                Err(Error::malformed(format!("a strategy is one of {known}")))
            }
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WeightedMerge => "weighted-merge",
            Self::MajorityVote => "majority-vote",
            Self::HighestWeight => "highest-weight",
            Self::Union => "union",
            Self::ExpertOverride(_) => "expert-override",
        }
    }

    /// Returns the experts it names.
    pub fn experts(&self) -> Option<&Participants> {
        match self {
            Self::ExpertOverride(experts) => Some(experts),
            _ => None,
        }
    }

    /// Returns whether it looks into values, and takes from several of them.
    pub(super) fn merges(&self) -> bool {
        matches!(self, Self::WeightedMerge | Self::Union)
    }
}

/// How disagreements about some paths are settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyRule {
    /// Which paths, and what is below them.
    pub paths: PathPattern,
    /// How.
    pub strategy: Strategy,
}

/// What goes when the state would be over its limit (spec 11.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clip {
    /// What was contributed with the lowest weight.
    #[default]
    LowestWeightFirst,
    /// What was not touched for the longest time.
    OldestFirst,
    /// What takes the most bytes.
    LargestFirst,
    /// Nothing: the round is not closed.
    Reject,
}

impl Clip {
    /// Every one.
    pub const ALL: [Self; 4] =
        [Self::LowestWeightFirst, Self::OldestFirst, Self::LargestFirst, Self::Reject];

    /// Returns the one of this name.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|it| it.as_str() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::malformed(format!("clip is one of {known}"))
        })
    }

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LowestWeightFirst => "lowest-weight-first",
            Self::OldestFirst => "oldest-first",
            Self::LargestFirst => "largest-first",
            Self::Reject => "reject",
        }
    }
}

/// What a round is opened with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// How much participants weigh: for each the first rule that means it,
    /// [`Weight::DEFAULT`] where none does.
    pub weights: Vec<WeightRule>,
    /// How disagreements are settled: for each path the first rule that means it,
    /// [`Strategy::WeightedMerge`] where none does.
    pub strategies: Vec<StrategyRule>,
    /// What goes when the state would be over its limit.
    pub clip: Clip,
    /// The limit of the state, in bytes; that of the round before when `None`.
    pub bytes_max: Option<u32>,
}

impl Plan {
    /// Refuses what no round can be opened with.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn check(&self) -> Result<(), Error> {
        let rules = [("weights", self.weights.len()), ("strategies", self.strategies.len())];
        if let Some((name, count)) = rules.iter().find(|(_, count)| *count > RULES_MAX) {
            return Err(Error::malformed(format!("{name} has {count} rules, at most {RULES_MAX}")));
        }
        match self.bytes_max {
            Some(bytes) if !BYTES_MAX.contains(&bytes) => Err(Error::malformed(format!(
                "bytes_max must be {} to {}",
                BYTES_MAX.start(),
                BYTES_MAX.end()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns how much `participant` weighs.
    pub fn weight(&self, participant: &Participant) -> Weight {
        let rule = self.weights.iter().find(|it| it.participants.matches(participant));
        rule.map_or(Weight::DEFAULT, |it| it.weight)
    }

    /// Returns how disagreements about `path` are settled; adds to `comparisons` how many it took
    /// to find out.
    pub(super) fn strategy(&self, path: &Path, comparisons: &mut usize) -> &Strategy {
        const DEFAULT: &Strategy = &Strategy::WeightedMerge;
        let rule = self.strategies.iter().find(|it| it.paths.matches(path, comparisons));
        rule.map_or(DEFAULT, |it| &it.strategy)
    }
}
