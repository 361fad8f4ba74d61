//! Canaries: systems that are broken on purpose. Each must be found out within
//! [`SEEDS_MAX`] seeds, or the simulation does not see what it is for.
//!
//! Most are a layer between the core and its host that does not keep the contract,
//! some stand for mistakes of the core or the codec and change what goes in or
//! comes out. The core itself is left alone.

/// Within how many seeds every canary must be found out.
pub const SEEDS_MAX: u64 = 20;

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canary {
    /// A commit does not look at the revision it expects.
    IgnoresExpected,
    /// A commit leaves its first change out.
    DropsAChange,
    /// A commit removes no rows.
    LosesDeletes,
    /// Removing all rows that begin alike leaves the last of them.
    LeavesARow,
    /// A commit of one change in eight is acknowledged and never happens.
    AcknowledgesEarly,
    /// A commit that failed is told to have happened.
    HidesAFailure,
    /// A bucket is read as it was one commit before.
    ReadsStale,
    /// Reads of one request see different revisions.
    TearsReads,
    /// A scan leaves the last of more than four rows out.
    ShortScan,
    /// Which requests were answered is forgotten.
    ForgetsRequests,
    /// The time that the core is told is three seconds ago.
    ClockBehind,
    /// The time that the core is told is never before the last change.
    ClockNeverBack,
    /// An entry that is to expire does not.
    ForgetsExpiry,
    /// An overwrite tells the version that was there before.
    KeepsVersion,
    /// A condition that fails counts as met when the value is there already.
    SettlesConditions,
    /// The orchestrator's list leaves out what it may not read.
    HidesFromTheOrchestrator,
    /// The history of an entry leaves out what others wrote before.
    ForgetsOthersVersions,
    /// The audit trail leaves out the first record of who has a later one in it.
    ForgetsTheFirst,
    /// An audit record tells the value.
    LogsValues,
    /// Every change is logged twice.
    LogsTwice,
    /// A refusal repeats the value.
    TellsValues,
    /// The answer is one that another session gave to the same request.
    MixesSessions,
    /// A credential's limits are not looked at.
    IgnoresLimits,
    /// Whether a credential is void is not looked at.
    IgnoresRevocation,
    /// The deltas of a proposal are taken the last first.
    ReversesProposals,
    /// A redaction of rounds leaves their provenances.
    LeavesProvenances,
    /// A round that has a value which nests deep cannot be closed.
    TiresOfDepth,
    /// A round that is closed leaves a list where a term is bound to a concept.
    BindsLists,
}

impl Canary {
    /// Every canary.
    pub const ALL: [Self; 28] = [
        Self::IgnoresExpected,
        Self::DropsAChange,
        Self::LosesDeletes,
        Self::LeavesARow,
        Self::AcknowledgesEarly,
        Self::HidesAFailure,
        Self::ReadsStale,
        Self::TearsReads,
        Self::ShortScan,
        Self::ForgetsRequests,
        Self::ClockBehind,
        Self::ClockNeverBack,
        Self::ForgetsExpiry,
        Self::KeepsVersion,
        Self::SettlesConditions,
        Self::HidesFromTheOrchestrator,
        Self::ForgetsOthersVersions,
        Self::ForgetsTheFirst,
        Self::LogsValues,
        Self::LogsTwice,
        Self::TellsValues,
        Self::MixesSessions,
        Self::IgnoresLimits,
        Self::IgnoresRevocation,
        Self::ReversesProposals,
        Self::LeavesProvenances,
        Self::TiresOfDepth,
        Self::BindsLists,
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IgnoresExpected => "ignores_expected",
            Self::DropsAChange => "drops_a_change",
            Self::LosesDeletes => "loses_deletes",
            Self::LeavesARow => "leaves_a_row",
            Self::AcknowledgesEarly => "acknowledges_early",
            Self::HidesAFailure => "hides_a_failure",
            Self::ReadsStale => "reads_stale",
            Self::TearsReads => "tears_reads",
            Self::ShortScan => "short_scan",
            Self::ForgetsRequests => "forgets_requests",
            Self::ClockBehind => "clock_behind",
            Self::ClockNeverBack => "clock_never_back",
            Self::ForgetsExpiry => "forgets_expiry",
            Self::KeepsVersion => "keeps_version",
            Self::SettlesConditions => "settles_conditions",
            Self::HidesFromTheOrchestrator => "hides_from_the_orchestrator",
            Self::ForgetsOthersVersions => "forgets_others_versions",
            Self::ForgetsTheFirst => "forgets_the_first",
            Self::LogsValues => "logs_values",
            Self::LogsTwice => "logs_twice",
            Self::TellsValues => "tells_values",
            Self::MixesSessions => "mixes_sessions",
            Self::IgnoresLimits => "ignores_limits",
            Self::IgnoresRevocation => "ignores_revocation",
            Self::ReversesProposals => "reverses_proposals",
            Self::LeavesProvenances => "leaves_provenances",
            Self::TiresOfDepth => "tires_of_depth",
            Self::BindsLists => "binds_lists",
        }
    }

    /// Returns the canary called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}
