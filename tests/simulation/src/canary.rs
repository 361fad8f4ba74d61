//! Canaries: systems that are broken on purpose. The simulation must detect each of them within
//! [`SEEDS_MAX`] seeds.
//!
//! Most are a layer between the core and its host that breaks the host's contract. Others imitate a
//! bug in the core or the codec by changing a request or a reply. The core itself stays unchanged.

use crate::generate;

/// Number of seeds within which every canary must be detected. A torn read takes the most of them.
pub const SEEDS_MAX: u64 = 30;

/// A defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canary {
    /// A commit ignores the expected revision.
    IgnoresExpected,
    /// A commit drops its first change.
    DropsAChange,
    /// A commit deletes no rows.
    LosesDeletes,
    /// Deleting all rows with a prefix leaves the last of them.
    LeavesARow,
    /// One commit in eight is acknowledged but never happens.
    AcknowledgesEarly,
    /// A failed commit is reported as successful.
    HidesAFailure,
    /// A bucket is read as of the previous commit.
    ReadsStale,
    /// Reads within one request see different revisions.
    TearsReads,
    /// A scan of more than four rows omits the last one.
    ShortScan,
    /// Idempotency records are not stored.
    ForgetsRequests,
    /// The core's clock is three seconds behind.
    ClockBehind,
    /// The core's clock never goes below the last change.
    ClockNeverBack,
    /// Entries never expire.
    ForgetsExpiry,
    /// An overwrite returns the previous version number.
    KeepsVersion,
    /// A failed condition counts as met if the value is already there.
    SettlesConditions,
    /// The orchestrator's list omits entries that it cannot read.
    HidesFromTheOrchestrator,
    /// The history of an entry omits versions by other writers.
    ForgetsOthersVersions,
    /// The audit trail omits the first record of a participant that has a later one in it.
    ForgetsTheFirst,
    /// An audit record contains the value.
    LogsValues,
    /// Every change is logged twice.
    LogsTwice,
    /// An error message contains the value.
    TellsValues,
    /// A read returns the reply that another session gave to the same request.
    MixesSessions,
    /// A credential's key limits are ignored.
    IgnoresLimits,
    /// A void credential is accepted.
    IgnoresRevocation,
    /// The deltas of a proposal are applied in reverse order.
    ReversesProposals,
    /// A redaction of rounds leaves provenances unredacted.
    LeavesProvenances,
    /// A round with a deeply nested value cannot be closed.
    TiresOfDepth,
    /// The evidence of an envelope is exported to everyone as to the admin.
    ExportsToAll,
    /// A redaction leaves the texts of kept envelopes unredacted.
    LeavesEnvelopes,
    /// Closing a round binds a term to a list instead of a concept.
    BindsLists,
    /// A memory is acknowledged and not stored.
    LosesMemories,
    /// A changed memory is found by its former text.
    LeavesSignatures,
    /// A redaction leaves the earlier versions of a memory.
    LeavesVersions,
    /// Idempotency records of a project are not stored.
    ForgetsProjectRequests,
    /// The owner of a section is not stored.
    LosesLeases,
    /// The former owner of a lost section is not notified.
    HidesLostLeases,
    /// The former owner of a lost section is notified again.
    RepeatsLostLeases,
    /// A handoff can be accepted again.
    SettlesTwice,
    /// An accepted handoff leaves the sections with their owners.
    KeepsOwners,
    /// A package is not the one of its digest.
    AltersPackages,
    /// A redaction leaves the packages of handoffs.
    LeavesPackages,
}

impl Canary {
    /// Every canary.
    pub const ALL: [Self; 41] = [
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
        Self::ExportsToAll,
        Self::LeavesEnvelopes,
        Self::TiresOfDepth,
        Self::BindsLists,
        Self::LosesMemories,
        Self::LeavesSignatures,
        Self::LeavesVersions,
        Self::ForgetsProjectRequests,
        Self::LosesLeases,
        Self::HidesLostLeases,
        Self::RepeatsLostLeases,
        Self::SettlesTwice,
        Self::KeepsOwners,
        Self::AltersPackages,
        Self::LeavesPackages,
    ];

    /// Returns the canary's name.
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
            Self::ExportsToAll => "exports_to_all",
            Self::LeavesEnvelopes => "leaves_envelopes",
            Self::TiresOfDepth => "tires_of_depth",
            Self::BindsLists => "binds_lists",
            Self::LosesMemories => "loses_memories",
            Self::LeavesSignatures => "leaves_signatures",
            Self::LeavesVersions => "leaves_versions",
            Self::ForgetsProjectRequests => "forgets_project_requests",
            Self::LosesLeases => "loses_leases",
            Self::HidesLostLeases => "hides_lost_leases",
            Self::RepeatsLostLeases => "repeats_lost_leases",
            Self::SettlesTwice => "settles_twice",
            Self::KeepsOwners => "keeps_owners",
            Self::AltersPackages => "alters_packages",
            Self::LeavesPackages => "leaves_packages",
        }
    }

    /// Returns the seeds from `first` on, at most [`SEEDS_MAX`], without those whose worlds lack what
    /// the canary breaks.
    pub fn seeds(self, first: u64) -> impl Iterator<Item = u64> {
        let (of_project, of_team) = match self {
            Self::LosesMemories
            | Self::LeavesSignatures
            | Self::LeavesVersions
            | Self::ForgetsProjectRequests => (true, false),
            Self::LosesLeases
            | Self::HidesLostLeases
            | Self::RepeatsLostLeases
            | Self::SettlesTwice
            | Self::KeepsOwners
            | Self::AltersPackages
            | Self::LeavesPackages => (true, true),
            _ => (false, false),
        };
        (first..first + SEEDS_MAX)
            .filter(move |seed| !of_project || generate::has_project(*seed, of_team))
    }

    /// Returns the canary called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}
