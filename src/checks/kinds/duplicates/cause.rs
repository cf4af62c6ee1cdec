//! The reasons why keys repeat, and how far the copies of a key differ.

use std::collections::BTreeSet;

use crate::base::expr::Vals;
use crate::base::words::{names, plural};
use crate::checks::{Judged, RowContext};
use crate::database::served::rows::{KeyRows, repeats};
use crate::database::table::Keys;
use crate::findings::{EXAMPLES, Example, Hit, Hits, Severity};
use crate::specs::KeyPart;

/// The reason why keys of a table repeat, derived from the columns in which the copies differ.
#[derive(strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "kebab-case")]
pub(super) enum RepeatCause {
    /// The copies are equal in all columns except measurements: the rows of a run were written twice.
    Rerun,
    /// The copies belong to sweeps that overlap by design.
    ByDesign,
    /// The copies belong to models of the same geometry, each of which has its own sweep. The list has the models'
    /// names.
    ModelAliases(Vec<String>),
    /// The copies differ in the kernel, which the key does not contain.
    Kernels,
    /// The copies differ in the named column, which the table's spec does not have. So it is not known whether the
    /// column belongs to the key.
    UnknownColumn(String),
    /// The copies differ in columns of the spec other than the kernel and the model.
    Other,
}

impl RepeatCause {
    pub(super) fn of(rows: &RowContext<'_>, groups: &[KeyCopies], differs: &[String]) -> Self {
        let has = |name: &str| differs.iter().any(|d| d == name);
        let unknown = differs.iter().find(|name| rows.spec.kind(name).is_none());
        if groups.iter().all(|g| g.by_design) {
            Self::ByDesign
        } else if differs.is_empty() {
            Self::Rerun
        } else if let Some(unknown) = unknown {
            Self::UnknownColumn(unknown.clone())
        } else if has("kernel_source") {
            Self::Kernels
        } else if has("model") {
            Self::ModelAliases(models(rows, groups))
        } else {
            Self::Other
        }
    }

    /// Returns the end of the finding's message, which states the cause; empty for a rerun. `differs` are the columns
    /// in which copies differ. `not_known` is the text that says that a column is unknown: `not known to perfdb-gate`.
    pub(super) fn say(&self, differs: &[String], not_known: &str) -> String {
        let columns = differs.join(", ");
        match self {
            Self::Rerun => String::new(),
            Self::ByDesign => {
                format!("; the copies differ in {columns}, and sweeps overlap there by design")
            }
            Self::ModelAliases(models) => {
                format!(
                    "; the copies differ in {columns}, which is not part of the key: {}",
                    names(models.iter().map(String::as_str))
                )
            }
            Self::UnknownColumn(column) => {
                format!(
                    "; the copies differ in {columns}, and {column}, which may be a part of the key, is {not_known}"
                )
            }
            Self::Kernels | Self::Other => format!("; the copies differ in {columns}"),
        }
    }
}

/// The models whose rows share keys, sorted.
fn models(rows: &RowContext<'_>, groups: &[KeyCopies]) -> Vec<String> {
    let Some(column) = rows.column("model") else { return Vec::new() };
    let named = groups.iter().take(LOOKED_AT).flat_map(|g| &g.rows).filter_map(|r| column.text(*r));
    named.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The maximum number of repeated keys whose copies are compared column by column.
pub(super) const LOOKED_AT: usize = 1000;

/// A repeated key with all rows that have it, in file order.
pub(super) struct KeyCopies {
    pub rows: KeyRows,
    /// The latency of the slowest copy divided by that of the fastest. If there are several latency columns, the
    /// largest ratio.
    pub spread: f64,
    pub conflict: bool,
    /// True if the latencies of the copies differ by a larger factor than in 99 % of reruns.
    pub beyond_noise: bool,
    /// True if the copies belong to different sweeps that contain the same keys by design.
    pub by_design: bool,
}

impl KeyCopies {
    /// Returns true if the copies contradict each other and differ by more than reruns do.
    pub(crate) fn matters(&self) -> bool {
        self.conflict && self.beyond_noise
    }
}

/// The difference between the latencies of rows that have the same key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CopySpread {
    /// The latency of the slowest copy divided by that of the fastest. If there are several latency columns, the
    /// largest ratio.
    pub ratio: f64,
    /// True if the latencies of the copies differ by a larger factor than in 99 % of reruns.
    pub beyond_noise: bool,
}

impl CopySpread {
    /// Compares the latencies of `rows` in each latency column, in ms. `tail` returns, for a given latency, the largest
    /// ratio that rerun noise explains. A zero or negative latency beside a positive one is always beyond noise.
    pub(crate) fn of(
        rows: &[usize],
        latencies: &[&Vals<'_, f64>],
        tail: impl Fn(f64) -> f64,
    ) -> Self {
        let mut spread = Self { ratio: 1.0, beyond_noise: false };
        for values in latencies {
            let (least, most) = range(rows, values);
            if least > 0.0 && most.is_finite() {
                spread.ratio = spread.ratio.max(most / least);
                spread.beyond_noise |= most / least > tail(most);
            } else {
                spread.beyond_noise |= least < most;
            }
        }
        spread
    }
}

/// Returns the fastest and the slowest latency of some rows; (∞, 0) without latencies. NaN is ignored.
pub(super) fn range(rows: &[usize], values: &Vals<'_, f64>) -> (f64, f64) {
    let times = || rows.iter().map(|row| values.get(*row));
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}

/// Reports rows that repeat an earlier row in every column. Whole rows are compared since the key is not known.
pub(super) fn whole_rows<'v>(rows: &'v RowContext<'v>) -> Judged<'v> {
    let parts: Vec<KeyPart> =
        rows.whole().columns().filter_map(|(name, _)| KeyPart::column(name)).collect();
    // The rows may differ in a column whose name no formula can contain, and which is therefore not compared.
    if parts.len() < rows.whole().columns().count() || parts.is_empty() {
        return Ok(Hits::new());
    }
    let keys = Keys::new(&parts, rows.scope())?;
    let copies = repeats(&keys.run_hashes(), |_| true, |a, b| keys.equal(a, b));
    let all: Vec<usize> = copies.into_iter().map(|(row, _)| row).collect();
    let severity = rows.rule.severity.at_most(Severity::Warning);
    let hit = Hit::rows(rows.file, all, severity, move |part| {
        let own = part.rows;
        let verb = if own.len() == 1 { "repeats" } else { "repeat" };
        let message =
            format!("{} {verb} an earlier row exactly, in every column", plural(own.len(), "row"));
        let keys = Keys::new(&parts, rows.scope()).ok()?;
        let shown = &own[..own.len().min(EXAMPLES)];
        let examples = shown.iter().map(|row| Example {
            row: *row as u64,
            line: rows.lines().line(*row),
            key: keys.show(*row),
            values: Vec::new(),
        });
        let finding = rows.finding_as(severity, message).rows(own.len());
        Some(finding.examples(examples.collect()))
    });
    Ok(hit.into_iter().collect())
}
