//! The registry of checks: every kind of check by the name that rule files give it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CheckInputs, Judge};
use crate::checks::compare::{
    copies, holes, no_longer_served, noisy, outliers, parity, siblings, support, unit_shift,
};
use crate::checks::kinds::traces::TraceCheck;
use crate::checks::kinds::{
    bounds, condition, decoding, deleted, duplicates, excused, facts, header, identities, identity,
    moved, placement, power, predictions, reuse, sidecars, slices, synthetic, systems, values,
    waivers,
};

/// A kind of check with its parameters, as a rule file gives them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Tables whose bytes cannot be decoded.
    Unreadable,
    /// Git-LFS pointers that replace tables.
    LfsPointer,
    /// Damaged rows of a text table.
    TornRow,
    /// Tables without rows.
    Empty,
    /// Columns that are missing, unknown or of the wrong type.
    Header,
    /// Tables in folders where no loader looks for them.
    Placement,
    /// Rows that name another GPU than that of the system.
    Device,
    /// Rows that name another framework than that of their directory.
    Framework(identity::FrameworkNames),
    /// Rows that name another version than that of their directory.
    Version(identity::VersionNames),
    /// Measurements that are NaN or infinite.
    NotFinite,
    /// Measurements of zero or less.
    NotPositive,
    /// Values of a row that contradict each other.
    Derived,
    /// Key values that no sweep contains, such as negative sizes, and unknown dtypes.
    KeyRange(values::KeyRange),
    /// Power readings of zero or less, and readings above the power limit.
    PowerRange(power::PowerMeter),
    /// Power readings that no meter produces, such as a single value in a whole slice.
    PowerImplausible(power::PowerSigns),
    /// Power columns in which some rows have no reading.
    PowerCoverage,
    /// Loader keys that several rows of a table share.
    DuplicateKey(duplicates::Conflict),
    /// Measurements shorter than physics allows.
    SpeedOfLight(bounds::BoundMargins),
    /// Latencies many times longer than the machine's peak rates explain.
    FarAboveBound(bounds::FarAbove),
    /// Slices that were probably measured by another method than the rest of their table.
    SliceImplausible(Box<slices::SliceSigns>),
    /// Tables that repeat the measurements of another table.
    Copied(copies::Copies),
    /// Slices that are slow compared with the same slices of peers.
    Siblings(siblings::SiblingBand),
    /// Slices in another unit than the same slices of peers.
    UnitShift(unit_shift::UnitFactors),
    /// Points slower than both neighbours along every axis.
    Spike(#[schemars(with = "outliers::OutlierLimits")] outliers::Outliers<true>),
    /// Points faster than both neighbours along every axis.
    Drop(#[schemars(with = "outliers::OutlierLimits")] outliers::Outliers<false>),
    /// Slices that are noisier than the same slices of other tables.
    NoisySlice(noisy::NoiseLimits),
    /// Rows that no machine measured.
    Synthetic(synthetic::SyntheticLimits),
    /// Models that the planner refuses on a system, although it plans them on a similar system.
    Workflows,
    /// A support matrix that the data contradicts.
    SupportMatrix(support::SupportNeeds),
    /// Tables that serve far fewer keys than the same tables of the nearest systems or of other versions.
    Parity(parity::Shares),
    /// Slices and axis values that the table lacks, although the nearest systems or other versions have them.
    Coverage(holes::HoleSize),
    /// Tables without a sidecar that states their origin.
    SidecarMissing,
    /// A sidecar that cannot be read.
    SidecarInvalid(sidecars::KnownSidecar),
    /// Sidecars that contradict their directory or their tables.
    SidecarContradiction(sidecars::Frameworks),
    /// A `reuse.yaml` that cannot be read, or that takes a table from a version without this table.
    ReuseInvalid,
    /// Entries of a `reuse.yaml` for tables that may not be reused.
    ReuseForbidden,
    /// Marker files such as `INCOMPLETE.txt`, which sidecars have replaced.
    LegacyMarker,
    /// A file in which a database states facts about itself, such as `reuse.yaml`, that cannot be read.
    FactsInvalid,
    /// Waivers whose expiry date has passed.
    WaiverExpired,
    /// Waivers that match no finding.
    WaiverUnused,
    /// A system YAML that its loader refuses.
    SystemInvalid(systems::SystemFields),
    /// System YAMLs with implausible values.
    SystemSuspicious(systems::FigureChecks),
    /// Systems that lose their YAML or all of their tables in a pull request.
    Deleted,
    /// Keys and measurements that the loader no longer serves after a pull request.
    NoLongerServed(no_longer_served::NoLongerServed),
    /// Slices whose latencies a pull request changes without a new measurement.
    LatencyMoved(moved::MoveLimits),
    /// Errors that disappear because a pull request changes facts that the database states, such as a peak rate.
    Excused(excused::Excuses),
    /// Step times that the planner can predict before a pull request, but no longer after it.
    PredictionLost,
    /// Predicted step times that a pull request changes.
    PredictionMoved(predictions::MovedPredictions),
    /// Tables and versions that the planner cannot load.
    PlannerRefuses,
    /// Defects of end-to-end traces: of their workload cards, experiment configs or metric files.
    Trace(TraceCheck),
    /// Rows that fulfil the rule's condition.
    Where(condition::RowCondition),
}

impl Check {
    /// Returns the implementation of the check, with its parameters.
    pub(crate) fn judge(&self) -> &dyn Judge {
        match self {
            Self::Unreadable => &decoding::UnreadableTableCheck,
            Self::LfsPointer => &decoding::LfsPointer,
            Self::TornRow => &decoding::TornRowCheck,
            Self::Empty => &decoding::EmptyTableCheck,
            Self::Header => &header::HeaderCheck,
            Self::Placement => &placement::PlacementCheck,
            Self::Device => &identity::DeviceNames,
            Self::Framework(names) => names,
            Self::Version(names) => names,
            Self::NotFinite => &values::NotFinite,
            Self::NotPositive => &values::NotPositive,
            Self::Derived => &identities::IdentityCheck,
            Self::KeyRange(range) => range,
            Self::PowerRange(meter) => meter,
            Self::PowerImplausible(signs) => signs,
            Self::PowerCoverage => &power::PartialPower,
            Self::DuplicateKey(conflict) => conflict,
            Self::SpeedOfLight(margins) => margins,
            Self::FarAboveBound(limits) => limits,
            Self::SliceImplausible(signs) => signs.as_ref(),
            Self::Copied(copies) => copies,
            Self::Siblings(band) => band,
            Self::UnitShift(factors) => factors,
            Self::Spike(spikes) => spikes,
            Self::Drop(drops) => drops,
            Self::NoisySlice(limits) => limits,
            Self::Synthetic(signs) => signs,
            Self::Workflows => &predictions::IncompleteWorkflows,
            Self::SupportMatrix(needs) => needs,
            Self::Parity(shares) => shares,
            Self::Coverage(size) => size,
            Self::SidecarMissing => &sidecars::SidecarMissing,
            Self::SidecarInvalid(known) => known,
            Self::SidecarContradiction(frameworks) => frameworks,
            Self::ReuseInvalid => &reuse::ReuseInvalid,
            Self::ReuseForbidden => &reuse::ReuseForbidden,
            Self::LegacyMarker => &sidecars::LegacyMarker,
            Self::FactsInvalid => &facts::FactsInvalid,
            Self::WaiverExpired => &waivers::WaiverExpired,
            Self::WaiverUnused => &waivers::WaiverUnused,
            Self::SystemInvalid(fields) => fields,
            Self::SystemSuspicious(plausible) => plausible,
            Self::Deleted => &deleted::DeletedCheck,
            Self::NoLongerServed(limits) => limits,
            Self::LatencyMoved(limits) => limits,
            Self::Excused(excuses) => excuses,
            Self::PredictionLost => &predictions::LostPredictions,
            Self::PredictionMoved(moved) => moved,
            Self::PlannerRefuses => &predictions::PlannerRefuses,
            Self::Trace(trace) => trace,
            Self::Where(rows) => rows,
        }
    }

    /// Returns true if the check reports rows with an impossible key or latency. The removal of such rows is not a
    /// loss, since no query reads them.
    pub(crate) fn finds_impossible_rows(&self) -> bool {
        matches!(self, Self::KeyRange(_) | Self::NotFinite | Self::NotPositive)
    }

    /// Returns the inputs that the check needs.
    pub fn needs(&self) -> CheckInputs {
        self.judge().needs()
    }
}
