//! Recipes: the way in which rows of a table were measured, and the limits for judging new measurements
//! (`rules/recipes.yaml`).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::error::Result;
use crate::base::expr::Expr;
use crate::gpu::work::{Dtype, Fill, GpuOperation, Inputs};
use crate::specs::Library;

/// The content of `rules/recipes.yaml`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipes {
    /// The limits by which a table is judged from its measured points.
    pub judge: Margins,
    /// The recipes in order; the first that matches a row is used.
    pub recipes: Vec<Recipe>,
}

/// The limits by which a table is judged from its measured points. Most samples of a correct table stay within them.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margins {
    /// The maximum change of the control points' times during a run, as an absolute log ratio. After a larger change,
    /// the device counts as drifted. Two measurements of a table differ by at most this in the median, in 95 % of all
    /// cases.
    pub bias: f64,
    /// In 95 % of all pairs of GPUs of the same model, one is faster than the other by at most this absolute log ratio.
    pub card: f64,
    /// No table is judged on a GPU that is generally faster or slower than the GPU of the recorded times by more than
    /// this share, such as 0.03 for 3 %.
    pub card_most: f64,
    /// The significance level of the test whether the median ratio of measured to recorded time is 1. About this share
    /// of correct tables fails the test.
    pub level: f64,
    /// Percentiles of the ratio between two times of one point, measured on two GPUs of the same model.
    pub elsewhere: RatioPercentiles,
    /// Percentiles that replace `elsewhere` for single tables, by file stem.
    #[serde(default)]
    pub elsewhere_in: BTreeMap<String, RatioPercentiles>,
    /// A table passes only if its sample rules out an error larger than this share, such as 0.05 for 5 %.
    pub excludes: f64,
    /// The confidence of two-sided intervals, such as 0.9 for 90 %.
    pub confidence: f64,
    /// The share of points of a correct table that may be outside the noise of repeated measurements.
    pub tail_share: f64,
    /// The significance level of the test whether too many points are outside the noise. At most about this share of
    /// correct tables fails the test.
    pub tail_level: f64,
    /// The minimum number of judged points that a verdict needs.
    pub least_points: usize,
    /// A table does not pass if more than this share of its rows is in slices of which no point could be measured.
    pub unmeasured: f64,
    /// Two limits for a value's spread over the points: its interquartile range divided by its absolute median. The
    /// difference of measured and recorded time counts as constant if its spread is at most `constant[0]`, and also at
    /// most `constant[1]` times the spread of the log ratio of these times.
    pub constant: [f64; 2],
}

impl Margins {
    /// Returns the limits that apply to a table, given its file stem.
    pub(crate) fn of(&self, table: &str) -> Self {
        let elsewhere = self.elsewhere_in.get(table).copied().unwrap_or(self.elsewhere);
        Self { elsewhere, ..self.clone() }
    }
}

/// Percentiles, over points, of the ratio of the slower to the faster of two measurements of the same point.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatioPercentiles {
    /// The ratio that 50 % of the points do not exceed.
    pub p50: f64,
    /// The ratio that 95 % of the points do not exceed.
    pub p95: f64,
    /// The ratio that 99 % of the points do not exceed.
    pub p99: f64,
}

/// A recipe: describes how the rows of a table were measured, so that they can be measured again.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// File stem of the table.
    pub table: String,
    /// Name of the backend directory.
    pub backend: String,
    /// Condition that selects the rows that the recipe describes.
    pub rows: Expr,
    /// The operation that was measured.
    pub operation: GpuOperation,
    /// Element type of inputs and weights.
    pub dtype: Dtype,
    /// Formulas of the operation's sizes, by name, such as `m`, `n` and `k`. The size `count` is a number of elements.
    pub sizes: BTreeMap<String, Expr>,
    /// Number of calls that are timed together as one unit, each with its own weights; 1 if absent. The latency is the
    /// unit's time divided by this number.
    #[serde(default)]
    pub copies: Option<Expr>,
    /// Whether the calls of a unit share one input or have one each.
    #[serde(default)]
    pub inputs: Inputs,
    /// The values in the weights.
    #[serde(default)]
    pub weight_fill: Fill,
    /// The values in the inputs.
    #[serde(default)]
    pub input_fill: Fill,
    /// True if the timed unit was captured in a CUDA graph.
    #[serde(default)]
    pub cuda_graph: bool,
    /// True if the GPU rested before every sample, so that its clocks were not reduced.
    #[serde(default)]
    pub rested: bool,
    /// Number of untimed warm-up runs of the unit. The unit consists of `copies` calls.
    pub warmups: u32,
    /// Number of timed runs of the unit for one sample. The unit consists of `copies` calls. The sample is the mean
    /// time of a run.
    pub runs: Expr,
    /// The reason why the built-in kernels measure something else than was recorded; `None` if they measure the same.
    #[serde(default)]
    pub proxy: Option<String>,
    /// Condition that selects the rows to which `proxy` applies; `None` means all rows.
    #[serde(default)]
    pub proxy_rows: Option<Expr>,
    /// A reference to the source code of the collector that measures in this way.
    #[allow(dead_code, reason = "people read it in the YAML")]
    pub source: String,
}

impl Recipe {
    fn fault(&self) -> Option<String> {
        let name = format!("the recipe of {} for {}", self.table, self.backend);
        let kernel = self.operation.kernel();
        let needed = kernel.sizes();
        if let Some(size) = needed.iter().find(|s| !self.sizes.contains_key(**s)) {
            return Some(format!("{name} has no size `{size}`, which its operation needs"));
        }
        if let Some(size) = self.sizes.keys().find(|s| !needed.contains(&s.as_str())) {
            return Some(format!("{name} has a size `{size}`, which its operation does not use"));
        }
        if self.proxy_rows.is_some() && self.proxy.is_none() {
            return Some(format!("{name} has proxy_rows but no `proxy` that gives the reason"));
        }
        (!kernel.dtypes().contains(&self.dtype))
            .then(|| format!("{name} has a dtype that its operation does not support"))
    }
}

impl Recipes {
    /// Reads the recipes. If there are several files, the last one is used.
    ///
    /// # Errors
    ///
    /// If a file is malformed; the error names file and line.
    pub(crate) fn read(library: &Library) -> Result<Self> {
        let mut recipes = Self::default();
        for file in library.file("rules/recipes.yaml") {
            recipes = file.parse()?;
            if let Some(why) = recipes.fault() {
                return Err(file.malformed(&why));
            }
        }
        Ok(recipes)
    }

    /// Returns the first error that the YAML parser does not detect, such as a share above 1; `None` if there is none.
    pub(crate) fn fault(&self) -> Option<String> {
        let j = &self.judge;
        let shares = [j.bias, j.card, j.card_most, j.level].into_iter().chain(j.constant);
        let mut shares = shares.chain([j.excludes, j.confidence, j.tail_share, j.tail_level]);
        if !shares.all(|share| share > 0.0 && share < 1.0) {
            return Some(
                "judge: bias, card, card_most, level, excludes, confidence, tail_share, tail_level and constant must be between 0 and 1"
                    .into(),
            );
        }
        let rises =
            |r: &RatioPercentiles| 1.0 <= r.p50 && r.p50 < r.p95 && r.p95 < r.p99 && r.p99 < 10.0;
        let mut elsewhere = j.elsewhere_in.values().chain([&j.elsewhere]);
        if !elsewhere.all(rises) || j.least_points < 2 {
            return Some(
                "judge: the percentiles of `elsewhere` must rise from 1, and least_points must be at least 2".into(),
            );
        }
        self.recipes.iter().find_map(Recipe::fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPES: &str = "judge:
  bias: 0.02
  card: 0.01
  card_most: 0.03
  level: 0.03
  excludes: 0.05
  confidence: 0.9
  elsewhere: {p50: 1.02, p95: 1.1, p99: 1.2}
  elsewhere_in: {t_perf: {p50: 1.01, p95: 1.05, p99: 1.1}}
  constant: [0.6, 0.8]
  tail_share: 0.1
  tail_level: 0.01
  least_points: 6
  unmeasured: 0.1
recipes:
- table: gemm_perf
  backend: synthetic
  rows: m > 0
  operation: gemm
  dtype: fp8
  sizes: {m: m, \"n\": \"n\", k: k}
  warmups: 1
  runs: \"1\"
  source: synthetic
";

    #[test]
    fn a_recipe_with_contradictory_limits_is_refused() {
        let fault = |from: &str, to: &str| {
            assert!(RECIPES.contains(from), "{from}");
            crate::base::yaml::parse::<Recipes>(&RECIPES.replace(from, to)).unwrap().fault()
        };
        assert_eq!(fault("m > 0", "m > 1"), None);
        for (from, to, why) in [
            ("least_points: 6", "least_points: 0", "least_points must be at least 2"),
            ("p95: 1.1,", "p95: 1.01,", "must rise"),
            ("p95: 1.05", "p95: 1.2", "must rise"),
            ("[0.6", "[6", "constant"),
            ("level: 0.03", "level: 3", "level"),
            ("warmups: 1", "warmups: 1\n  proxy_rows: m < 3", "no `proxy` that gives the reason"),
            (", k: k}", "}", "has no size `k`"),
            (", k: k}", ", k: k, batch: k}", "has a size `batch`"),
            ("dtype: fp8", "dtype: half", "has a dtype"),
        ] {
            let told = fault(from, to);
            assert!(told.as_ref().is_some_and(|t| t.contains(why)), "{to}: {told:?}");
        }
    }
}
