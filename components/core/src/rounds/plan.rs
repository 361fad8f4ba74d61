//! The plan of a round: weights, strategies and the limit of the state.

use std::fmt;

use super::{PathPattern, path::Path};
use crate::{
    Error,
    participant::Participant,
    pattern::{ParticipantPattern, Participants},
};

/// The most weight rules, and the most strategy rules.
pub const RULES_MAX: usize = 64;
/// The range of a state's limit, in bytes.
pub const BYTES_MAX: std::ops::RangeInclusive<u32> = 1_000..=262_144;
/// The default limit of a state (spec 11.8).
pub const BYTES_MAX_DEFAULT: u32 = 50_000;

/// The weight of a participant's deltas: 0 to 1 in steps of a billionth, so that sums are
/// exact in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u32);

impl Weight {
    /// The weight 1, in billionths.
    const ONE: u32 = 1_000_000_000;
    /// The weight of a participant without a rule.
    pub const DEFAULT: Self = Self(Self::ONE);

    /// Creates a weight from a number.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it is not in 0..=1.
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

    /// Returns the weight as a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE)
    }

    /// Returns the weight in billionths.
    pub fn billionths(self) -> u32 {
        self.0
    }

    /// Creates a weight from stored billionths, at most 1.
    pub(crate) fn stored(billionths: u32) -> Self {
        Self(billionths.min(Self::ONE))
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

/// A rule that sets the weight of some participants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightRule {
    /// The participants.
    pub participants: ParticipantPattern,
    /// Their weight.
    pub weight: Weight,
}

/// The strategy that resolves a disagreement (spec 11.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// Objects are merged member by member, and items are appended. For other values the
    /// highest weight wins.
    WeightedMerge,
    /// The value that most participants propose wins. Ties go to the higher total weight,
    /// then to the lexically smaller value.
    MajorityVote,
    /// The value of the participant with the highest weight wins as a whole.
    HighestWeight,
    /// Like `WeightedMerge`, but no item is appended twice.
    Union,
    /// The value of an expert wins, in the order of the list. Without an expert, the
    /// highest weight wins.
    ExpertOverride(Participants),
}

impl Strategy {
    /// The names of all strategies.
    pub const NAMES: [&str; 5] =
        ["weighted-merge", "majority-vote", "highest-weight", "union", "expert-override"];

    /// Parses a strategy. `experts` are required for `expert-override` and invalid for
    /// others.
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

    /// Returns the strategy's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WeightedMerge => "weighted-merge",
            Self::MajorityVote => "majority-vote",
            Self::HighestWeight => "highest-weight",
            Self::Union => "union",
            Self::ExpertOverride(_) => "expert-override",
        }
    }

    /// Returns the experts of `ExpertOverride`.
    pub fn experts(&self) -> Option<&Participants> {
        match self {
            Self::ExpertOverride(experts) => Some(experts),
            _ => None,
        }
    }

    /// Returns true if it can combine several values.
    pub(super) fn merges(&self) -> bool {
        matches!(self, Self::WeightedMerge | Self::Union)
    }
}

/// A rule that sets the strategy for some paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyRule {
    /// The paths; they include all paths below.
    pub paths: PathPattern,
    /// The strategy.
    pub strategy: Strategy,
}

/// The policy for removing parts of a state over its limit (spec 11.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clip {
    /// Removes parts with the lowest weight first.
    #[default]
    LowestWeightFirst,
    /// Removes parts unchanged for the longest time first.
    OldestFirst,
    /// Removes the largest parts first.
    LargestFirst,
    /// Removes nothing: the round is not closed.
    Reject,
}

impl Clip {
    /// Every policy.
    pub const ALL: [Self; 4] =
        [Self::LowestWeightFirst, Self::OldestFirst, Self::LargestFirst, Self::Reject];

    /// Parses the name of a policy.
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

    /// Returns the policy's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LowestWeightFirst => "lowest-weight-first",
            Self::OldestFirst => "oldest-first",
            Self::LargestFirst => "largest-first",
            Self::Reject => "reject",
        }
    }
}

/// The plan of a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The weights of participants: the first matching rule applies, otherwise
    /// [`Weight::DEFAULT`].
    pub weights: Vec<WeightRule>,
    /// The strategies for paths: the first matching rule applies, otherwise
    /// [`Strategy::WeightedMerge`].
    pub strategies: Vec<StrategyRule>,
    /// The policy for a state over its limit.
    pub clip: Clip,
    /// The limit of the state, in bytes; the previous round's when `None`.
    pub bytes_max: Option<u32>,
}

impl Plan {
    /// Rejects a plan over its limits.
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

    /// Returns the weight of `participant`.
    pub fn weight(&self, participant: &Participant) -> Weight {
        let rule = self.weights.iter().find(|it| it.participants.matches(participant));
        rule.map_or(Weight::DEFAULT, |it| it.weight)
    }

    /// Returns the strategy for `path` and adds the number of comparisons to
    /// `comparisons`.
    pub(super) fn strategy(&self, path: &Path, comparisons: &mut usize) -> &Strategy {
        const DEFAULT: &Strategy = &Strategy::WeightedMerge;
        let rule = self.strategies.iter().find(|it| it.paths.matches(path, comparisons));
        rule.map_or(DEFAULT, |it| &it.strategy)
    }
}
