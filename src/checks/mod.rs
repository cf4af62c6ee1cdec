//! The kinds of check. A rule names one, with its parameters; each has a file here.

pub mod compare;
mod context;
pub mod kinds;
pub mod rule;
pub mod settings;

use schemars::JsonSchema;
use serde::Deserialize;

use self::compare::{copies, holes, levels, outliers, parity, support, workflows};
pub use self::context::{
    Brings, CrossContext, DirContext, RowContext, SystemContext, TableContext,
};
use self::kinds::traces::TraceCheck;
use self::kinds::{
    bounds, decoding, duplicates, header, identity, placement, power, reuse, sidecars, synthetic,
    systems, values,
};
use crate::base::expr::ExprError;
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::source::{Entry, EntryKind};
use crate::findings::Finding;
use crate::specs::TableSpec;

/// A kind of check with its parameters, as a rule file gives them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The table's bytes cannot be decoded.
    Unreadable,
    /// A git-LFS pointer stands for the table.
    LfsPointer,
    /// Rows of a text table are damaged.
    TornRow,
    /// The table has no rows.
    Empty,
    /// Columns are missing, unknown or of the wrong type.
    Header,
    /// The table lies where no loader looks for it.
    Placement,
    /// Rows name a GPU that is not the system's.
    Device,
    /// Rows name a framework that is not the directory's.
    Framework(identity::FrameworkNames),
    /// Rows name a version that is not the directory's.
    Version(identity::VersionNames),
    /// Measurements that are no numbers.
    NotFinite,
    /// Measurements of zero or less.
    NotPositive,
    /// Keys that no sweep has.
    KeyRange(values::KeyRange),
    /// Power that the limit forbids.
    PowerRange(power::Meter),
    /// A power limit that is not the system's.
    PowerLimit(power::LimitTolerance),
    /// The loader's key, more than once.
    DuplicateKey(duplicates::Conflict),
    /// Measurements shorter than physics allows.
    SpeedOfLight(bounds::Margins),
    /// The same measurements in two places.
    Copied(copies::Copies),
    /// Slices that stand apart from their siblings.
    Siblings(levels::Band),
    /// Slices in another unit than their siblings.
    UnitShift(levels::Units),
    /// Points slower than both neighbours along every axis.
    Spike(outliers::Standout),
    /// Points faster than both neighbours along every axis.
    Drop(outliers::Standout),
    /// Rows that no machine measured.
    Synthetic(synthetic::Signs),
    /// Default models that cannot be planned.
    Workflows,
    /// A support matrix that the data contradicts.
    SupportMatrix(support::Needs),
    /// Far fewer rows than elsewhere.
    Parity(parity::Shares),
    /// Slices and blocks of the grid that nearby tables have.
    Coverage(holes::Size),
    /// Tables of which no sidecar tells where they come from.
    SidecarMissing,
    /// A sidecar that cannot be read.
    SidecarInvalid,
    /// A sidecar that its directory or its tables contradict.
    SidecarContradiction(sidecars::Frameworks),
    /// Declared reuse that nothing can be taken from.
    ReuseInvalid,
    /// Declared reuse where reuse is not allowed.
    ReuseForbidden,
    /// Marker files that sidecars replaced.
    LegacyMarker,
    /// Waivers past their date.
    WaiverExpired,
    /// Waivers that match nothing.
    WaiverUnused,
    /// A system YAML that its loader refuses.
    SystemInvalid(systems::Schema),
    /// A system YAML whose figures do not fit.
    SystemSuspicious(systems::Plausible),
    /// Something about traces: cards, configs, metric files.
    Trace(TraceCheck),
}

impl Check {
    /// Judges a table by itself.
    pub fn table(&self, rule: &Rule, at: &TableContext<'_>) -> Result<Vec<Finding>, ExprError> {
        let table = match at.table {
            Ok(table) => table,
            Err(fault) => return Ok(decoding::check(self, rule, at, fault).into_iter().collect()),
        };
        let rows = RowContext { at, table, rule };
        Ok(match self {
            Self::TornRow => decoding::torn(&rows).into_iter().collect(),
            Self::Unreadable => decoding::digest(&rows).into_iter().collect(),
            Self::Empty => decoding::none_loaded(&rows)?.into_iter().collect(),
            Self::Header => header::check(&rows).into_iter().collect(),
            Self::Device => identity::device(&rows),
            Self::Framework(names) => names.check(&rows),
            Self::Version(names) => names.check(&rows),
            Self::NotFinite => values::not_finite(&rows)?,
            Self::NotPositive => values::not_positive(&rows)?,
            Self::KeyRange(range) => range.check(&rows)?,
            Self::PowerRange(meter) => meter.check(&rows)?,
            Self::PowerLimit(tolerance) => tolerance.check(&rows)?,
            Self::DuplicateKey(conflict) => conflict.check(&rows)?,
            Self::SpeedOfLight(margins) => margins.check(&rows)?,
            Self::Synthetic(signs) => signs.check(&rows),
            Self::SidecarContradiction(_) => sidecars::row_count(&rows).into_iter().collect(),
            _ => Vec::new(),
        })
    }

    /// Judges a table's place.
    pub fn placement(&self, rule: &Rule, file: &TableFile, spec: &TableSpec) -> Option<Finding> {
        matches!(self, Self::Placement).then(|| placement::check(rule, file, spec)).flatten()
    }

    /// Judges a version directory and its sidecars.
    pub fn dir(&self, rule: &Rule, at: &DirContext<'_>) -> Vec<Finding> {
        match self {
            Self::SidecarMissing => sidecars::missing(rule, at),
            Self::SidecarInvalid => sidecars::invalid(rule, at),
            Self::SidecarContradiction(frameworks) => frameworks.check(rule, at),
            Self::ReuseInvalid => reuse::invalid(rule, at),
            Self::ReuseForbidden => reuse::forbidden(rule, at),
            Self::LegacyMarker => sidecars::legacy(rule, at),
            _ => Vec::new(),
        }
    }

    /// Judges a system's YAML.
    pub fn system(&self, rule: &Rule, at: &SystemContext<'_>) -> Vec<Finding> {
        match self {
            Self::SystemInvalid(schema) => schema.check(rule, at),
            Self::SystemSuspicious(plausible) => plausible.check(rule, at),
            _ => Vec::new(),
        }
    }

    /// Judges all tables against each other.
    pub fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Vec<Finding>, ExprError> {
        Ok(match self {
            Self::Parity(shares) => shares.check(rule, at),
            Self::Coverage(size) => size.check(rule, at)?,
            Self::Copied(copies) => copies.check(rule, at),
            Self::Siblings(band) => band.check(rule, at),
            Self::UnitShift(units) => units.check(rule, at),
            Self::Spike(standout) => standout.check(rule, at, true),
            Self::Drop(standout) => standout.check(rule, at, false),
            Self::Workflows => workflows::check(rule, at),
            Self::SupportMatrix(needs) => needs.check(rule, at)?,
            _ => Vec::new(),
        })
    }

    /// Judges what lies below a system's data and is no table in its place.
    pub fn stray(&self, rule: &Rule, entry: &Entry) -> Option<Finding> {
        match (self, &entry.kind) {
            (Self::Unreadable, EntryKind::Link(to)) => Some(decoding::link(rule, entry, to)),
            (Self::Unreadable, _) | (_, EntryKind::Link(_)) => None,
            (Self::Placement, _) => Some(placement::stray(rule, &entry.path)),
            _ => None,
        }
    }

    /// Judges the waivers of a file, by what came of applying them.
    pub fn waivers(
        &self,
        rule: &Rule,
        path: &str,
        expired: &[String],
        unused: &[String],
    ) -> Option<Finding> {
        let told = match self {
            Self::WaiverExpired => expired,
            Self::WaiverUnused => unused,
            _ => &[],
        };
        let finding = || Finding::on_path(&rule.id, rule.severity, path, told.join("; "));
        (!told.is_empty()).then(finding)
    }

    /// Whether it looks at version directories.
    pub fn judges_dirs(&self) -> bool {
        matches!(
            self,
            Self::SidecarMissing
                | Self::SidecarInvalid
                | Self::SidecarContradiction(_)
                | Self::ReuseInvalid
                | Self::ReuseForbidden
                | Self::LegacyMarker
        )
    }

    /// Whether it looks at system YAML.
    pub fn judges_systems(&self) -> bool {
        matches!(self, Self::SystemInvalid(_) | Self::SystemSuspicious(_))
    }

    /// Whether it looks at waivers.
    pub fn judges_waivers(&self) -> bool {
        matches!(self, Self::WaiverExpired | Self::WaiverUnused)
    }

    /// Whether it looks at traces, and at nothing of a database.
    pub fn judges_traces(&self) -> bool {
        matches!(self, Self::Trace(_))
    }

    /// Whether it compares what rows say of their origin with their table's place.
    pub fn tells_origin(&self) -> bool {
        matches!(self, Self::Device | Self::Framework(_) | Self::Version(_))
    }

    /// The least factor by which a point stands out that the check looks at.
    pub fn apart(&self) -> Option<f64> {
        match self {
            Self::Spike(standout) | Self::Drop(standout) => Some(standout.recurs),
            _ => None,
        }
    }

    /// Whether it asks which rows of the default models' tables hold.
    pub fn plans(&self) -> bool {
        matches!(self, Self::Workflows)
    }

    /// Whether it reads support matrices.
    pub fn reads_support(&self) -> bool {
        matches!(self, Self::SupportMatrix(_))
    }

    /// Whether it names keys that other tables have.
    pub fn names_keys(&self) -> bool {
        matches!(self, Self::Coverage(_))
    }
}
