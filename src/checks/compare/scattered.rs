//! Rows that are missing here and there: a sweep lacks sizes that the other sweeps beside it have.
//!
//! Sizes that a machine cannot run end a sweep early. The rule coverage-hole reports blocks that nobody collected. Rows
//! that a writer lost leave holes in the middle of sweeps, along every axis.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::words::{count, names, plural};
use crate::checks::context::RowContext;
use crate::checks::series::AxisSeries;
use crate::database::table::Keys;
use crate::findings::{Finding, Severity};

/// Series of an axis that are looked at, and those of them that are looked at first.
const LOOKED_AT: usize = 256;
const FIRST: usize = 32;

/// How many sizes are missing from the middle of sweeps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scattered {
    /// Their share of the sizes between the ends of sweeps, along the axis that lacks least.
    share: f64,
    /// Pairs of neighbours along an axis, at least, for it to be judged.
    pairs: usize,
    /// Sizes that are missing along an axis, at least.
    missing: usize,
    /// Share of a slice's series that have a size which the others lack.
    held: f64,
    /// Sizes of an axis, at least.
    sizes: usize,
}

/// Sizes between the ends of sweeps.
#[derive(Clone, Copy)]
struct Gaps {
    /// The number of missing sizes.
    missing: usize,
    /// Pairs of neighbours that are there.
    pairs: usize,
}

impl Gaps {
    fn share(self) -> f64 {
        self.missing as f64 / (self.missing + self.pairs) as f64
    }
}

impl Scattered {
    /// The finding on a table that lacks sizes here and there along every axis.
    pub fn finding(&self, rows: &RowContext<'_>) -> Option<Finding> {
        let keys = rows.keys()?;
        let mut shares: Vec<(&str, f64)> = Vec::new();
        for axis in rows.series() {
            // Nearly every table ends here: half the share among the first is no accident of the draw.
            let first = self.gaps(axis, keys, FIRST).map(Gaps::share);
            if first.is_some_and(|share| share < 0.5 * self.share) {
                return None;
            }
            let Some(gaps) = self.gaps(axis, keys, LOOKED_AT) else { continue };
            // Of few rows a few that are damaged are many, and other rules name them.
            if gaps.missing < self.missing {
                return None;
            }
            shares.push((&axis.axis, gaps.share()));
        }
        let least = shares.iter().map(|(_, share)| *share).min_by(f64::total_cmp)?;
        if least < self.share {
            return None;
        }
        let held = rows.count;
        let missing = (held as f64 * least / (1.0 - least)).round() as usize;
        let mut message = format!(
            "about {} of {} are missing at scattered points, {:.0} % of the middle of sweeps along {} {}",
            count(missing),
            plural(held + missing, "row"),
            100.0 * least,
            if shares.len() == 1 { "column" } else { "columns" },
            names(shares.iter().map(|(axis, _)| *axis)),
        );
        let mut severity = rows.rule.severity;
        let status = rows.meta().and_then(|m| m.tables.get(&rows.file.table));
        if status.is_some_and(|t| t.status == "partial") {
            message += "; the sidecar says status: partial";
            severity = severity.at_most(Severity::Info);
        }
        let by_axis: BTreeMap<&str, f64> = shares.into_iter().collect();
        let finding = rows.finding_as(severity, message).rows(missing);
        Some(finding.parts(["scattered"]).evidence("missing_share", serde_json::json!(by_axis)))
    }

    /// The sizes between the ends of `most` series of an axis that these lack and others of their slice
    /// have; `None` if there are too few to decide.
    fn gaps(&self, axis: &AxisSeries, keys: &Keys<'_>, most: usize) -> Option<Gaps> {
        let slice = |rows: &[u32]| keys.text_code(rows[0] as usize);
        let mut slices: BTreeMap<u64, Vec<&[f64]>> = BTreeMap::new();
        for (rows, sizes) in axis.spread(most) {
            slices.entry(slice(rows)).or_default().push(sizes);
        }
        let (mut pairs, mut missing, mut sizes) = (0, 0, 0);
        for series in slices.values() {
            let grid = self.grid(series);
            sizes = sizes.max(grid.len());
            for own in series {
                let (first, last) = (own[0], own[own.len() - 1]);
                let within = grid.iter().filter(|size| first < **size && **size < last);
                let lacks = |size: &&f64| own.binary_search_by(|o| o.total_cmp(size)).is_err();
                missing += within.filter(lacks).count();
                pairs += own.len() - 1;
            }
        }
        (pairs >= self.pairs && sizes >= self.sizes).then_some(Gaps { missing, pairs })
    }

    /// The sizes of a slice, in order, without those that are a few series' own.
    fn grid(&self, series: &[&[f64]]) -> Vec<f64> {
        let mut all: Vec<f64> = series.iter().flat_map(|sizes| sizes.iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        let least = self.held * series.len() as f64;
        let sizes = all.chunk_by(|a, b| a == b).filter(|same| same.len() as f64 >= least);
        sizes.map(|same| same[0]).collect()
    }
}
