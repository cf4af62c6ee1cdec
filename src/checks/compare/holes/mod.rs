//! Coverage holes: keys that nearby systems and versions have and that a table would not serve.
//!
//! Say `h100_sxm` and `b200_sxm` have attention times for two dtypes and four lengths, and `h200_sxm` lacks
//! those of long fp8 inputs:
//!
//! ```text
//!                      isl   1024   4096   16384   65536
//! references   bf16             x      x       x       x
//!              fp8              x      x       x       x
//! h200_sxm     bf16             x      x       x       x
//!              fp8              x      x       .       .
//! ```
//!
//! The finding says: the loader finds no rows of `attn_dtype fp8, isl from 16384 up` (2 keys, present in 2 of 2
//! nearest systems). It takes four steps:
//!
//! 1. `comparison` lists the keys that half of the references have, and whether the table would serve each. References
//!    are the nearest systems and, if versions share nothing, the table's other versions. A table serves its own rows
//!    and those of donors and earlier versions. A kernel is left out if the table has another one in its place. All
//!    keys come from samples ([`Sketch`](super::sketch::Sketch)), and the samples of two tables contain the same keys.
//!    If a sample stands for more keys than it contains, counts are estimates and say so. Above, there are eight keys,
//!    two of them missing.
//! 2. `explain` takes out the missing keys that a limit or a classified failure explains.
//! 3. `missing` finds the slices, and the sizes of a slice, of which the table serves nothing: of the slice
//!    `attn_dtype fp8` the sizes 16384 and 65536 of `isl`. Keys that are missing here and there are not a hole.
//! 4. `hole` describes each: its values, its place in the grid, and the references that have it.
//!
//! `ladders` finds short ladders, for which a table is compared with itself alone.

mod comparison;
mod explain;
mod grid;
mod hole;
mod ladders;
mod missing;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::comparison::HoleComparison;
use self::hole::Hole;
use self::ladders::ShortLadders;
use crate::base::expr::ExprError;
use crate::checks::{CheckInputs, CrossContext, Input, Judge, Judged, RowContext, RuleHead};
use crate::database::catalog::TableFile;
use crate::findings::{EXAMPLES, Explained, Finding, Severity, wholes};

/// Limits for the size of a reported hole.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Size")]
pub struct HoleSize {
    /// The minimum number of missing sampled keys in a hole, as a share of all compared keys. A hole must also have at
    /// least `points` such keys.
    share: f64,
    /// The minimum number of missing sampled keys in a hole.
    points: usize,
    /// Names of key parts that do not depend on the machine. If no table of the same GPU generation has a slice, it may
    /// be missing on purpose. Such a slice is reported as a hole only if all key parts that define it are listed here.
    workload: Vec<String>,
    /// If no whole slice or size is missing, single missing keys are reported as an info if they are at least this
    /// share of all compared keys.
    apart: f64,
    /// Limits for groups of rows with fewer sizes than the other groups of their table.
    ladders: ShortLadders,
}

impl Judge for HoleSize {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers, Input::Keys])
    }

    /// Reports the rows of groups that have fewer sizes along an axis than the table's other groups.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(self.ladders.hit(rows).into_iter().collect())
    }

    /// Makes one finding for each table that lacks keys of its references.
    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        let judged: Vec<&TableFile> = at.judged_grids().collect();
        let holes: Result<Vec<Option<Finding>>, ExprError> =
            judged.par_iter().map(|file| self.missing_keys(rule, at, file)).collect();
        Ok(wholes(holes?.into_iter().flatten()))
    }
}

impl HoleSize {
    fn missing_keys(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Result<Option<Finding>, ExprError> {
        let Some(comparison) = HoleComparison::new(at, file) else { return Ok(None) };
        let least = self.points.max((self.share * comparison.keys.len() as f64).ceil() as usize);
        if comparison.missing() < least {
            return Ok(None);
        }
        let mut grid = comparison.grid();
        let explained = explain::explain(&comparison, &mut grid, least)?;
        let missing = grid.missing_together(least);
        let hole = |keys| Hole::new(&comparison, &grid, keys, &self.workload);
        let holes: Vec<Hole> = missing.iter().filter_map(hole).take(EXAMPLES).collect();
        if !holes.is_empty() || !explained.is_empty() {
            return Ok(Some(self.finding(rule, &comparison, &holes, &explained)));
        }
        Ok(self.scattered_keys(rule, &comparison))
    }

    /// Returns a finding of severity info if a table lacks many keys that do not make up whole slices or whole values
    /// of an axis; `None` if it lacks few such keys.
    fn scattered_keys(
        &self,
        rule: RuleHead<'_>,
        comparison: &HoleComparison<'_>,
    ) -> Option<Finding> {
        let (missing, all) = (comparison.missing(), comparison.keys.len());
        let is_known = comparison.is_distant || comparison.caveat.is_some();
        if is_known || missing == all || (missing as f64) < self.apart * all as f64 {
            return None;
        }
        let (missing, all) = (comparison.estimate(missing), comparison.estimate(all));
        let message = format!(
            "compared with {} keys of {}: {} keys are missing here and there, no slice or size as a whole",
            comparison.about(all),
            comparison.names(),
            comparison.about(missing),
        );
        let finding = Finding::on_table(rule.id, Severity::Info, comparison.file, message);
        Some(
            finding.rows(missing).evidence("reference_keys", all).evidence("missing_keys", missing),
        )
    }

    fn finding(
        &self,
        rule: RuleHead<'_>,
        comparison: &HoleComparison<'_>,
        holes: &[Hole],
        explained: &[Explained],
    ) -> Finding {
        let caveat = comparison.caveat.as_ref();
        let (chosen, lacked): (Vec<&Hole>, Vec<&Hole>) =
            holes.iter().partition(|hole| comparison.is_distant && hole.is_choice);
        let mut said: Vec<String> = Vec::new();
        if !lacked.is_empty() {
            let caveat = caveat.map(|caveat| format!("; {caveat}")).unwrap_or_default();
            said.push(format!(
                "the loader finds no rows of {}{caveat}",
                words(comparison, &lacked)
            ));
        }
        if !chosen.is_empty() {
            said.push(format!("only other GPU generations have {}", words(comparison, &chosen)));
        }
        for Explained { explanation, keys } in explained {
            let keys = comparison.about(*keys);
            said.push(format!("{keys} keys are missing because of {explanation}"));
        }
        let is_explained = lacked.is_empty() || caveat.is_some();
        let severity = if is_explained { Severity::Info } else { rule.severity };
        let reference = comparison.estimate(comparison.keys.len());
        let missing = holes.iter().map(|hole| hole.keys).sum::<usize>()
            + explained.iter().map(|explained| explained.keys).sum::<usize>();
        let message = format!(
            "compared with {} keys of {}: {}",
            comparison.about(reference),
            comparison.names(),
            said.join("; ")
        );
        let examples = holes.iter().flat_map(|hole| hole.examples.iter().cloned()).take(EXAMPLES);
        let finding = Finding::on_table(rule.id, severity, comparison.file, message)
            .rows(missing)
            .parts(holes.iter().map(|hole| hole.condition.as_str()))
            .evidence("reference_keys", reference)
            .evidence("missing_keys", missing)
            .evidence("estimated", comparison.share < 1.0)
            .evidence("holes", json!(holes))
            .examples(examples.collect())
            .explained(explained.iter().cloned());
        match caveat {
            Some(caveat) => finding.evidence("explained_by", caveat.as_str()),
            None => finding,
        }
    }
}

/// Holes as text: `num_heads 8 (1,024 keys, present in 2 of 2 nearest systems)`.
fn words(comparison: &HoleComparison<'_>, holes: &[&Hole]) -> String {
    let words = |hole: &&Hole| {
        format!("{} ({} keys, present in {})", hole.condition, comparison.about(hole.keys), hole.of)
    };
    holes.iter().map(words).collect::<Vec<_>>().join("; ")
}
