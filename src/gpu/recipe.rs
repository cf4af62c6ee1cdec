//! Recipes: how rows of a table were measured, and how what is measured again is judged
//! (`rules/recipes.yaml`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Result;
use crate::base::expr::Expr;
use crate::specs::Library;

/// The file's content.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipes {
    /// How a sample is judged.
    pub judge: Margins,
    /// In order; the first that fits a row is its own.
    pub recipes: Vec<Recipe>,
}

/// What a sample may show before it is more than a rerun.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margins {
    /// Median log ratio, either way, that 95 % of honest collections differ by at most; controls that
    /// move by more have drifted.
    pub bias: f64,
    /// How unlikely a sample's median must be among honest collections to fail.
    pub level: f64,
    /// How far single points differ on another card with another library.
    pub elsewhere: Spread,
    /// A share by which a table is off that a sample must exclude to pass.
    pub excludes: f64,
    /// Confidence of intervals, on both sides: with 0.9, what is excluded is so with 95 %.
    pub confidence: f64,
    /// Share of points that an honest collection may have beyond the 99th percentile of reruns.
    pub tail_share: f64,
    /// How unlikely a count beyond must be under that share to fail.
    pub tail_level: f64,
    /// Points below which nothing is concluded.
    pub least_points: usize,
}

/// Percentiles of slower over faster.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Half of them are within it.
    pub p50: f64,
    /// 95 % are.
    pub p95: f64,
    /// 99 % are.
    pub p99: f64,
}

/// How rows of a table and backend were measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// File stem of the table.
    pub table: String,
    /// Backend directory.
    pub backend: String,
    /// Rows it is for.
    pub rows: Expr,
    /// What ran.
    pub operation: Operation,
    /// Element type of inputs and weights.
    pub dtype: Dtype,
    /// The operation's sizes by name, as formulas; `count` is in elements.
    pub sizes: BTreeMap<String, Expr>,
    /// Calls with weights of their own in one timed unit, 1 where absent; latency is a call's share.
    #[serde(default)]
    pub copies: Option<Expr>,
    /// Whether the calls read one x or each its own.
    #[serde(default)]
    pub inputs: Inputs,
    /// What the weights hold.
    #[serde(default)]
    pub weight_fill: Fill,
    /// What the inputs hold.
    #[serde(default)]
    pub input_fill: Fill,
    /// Whether the unit was captured in a CUDA graph.
    #[serde(default)]
    pub cuda_graph: bool,
    /// Whether the card came to rest before every sample; collectors go on at once.
    #[serde(default)]
    pub rested: bool,
    /// Units run before the timed ones.
    pub warmups: u32,
    /// Units timed together; their mean is the sample.
    pub runs: Expr,
    /// Why what the tool itself measures is not what was recorded: another kernel, another launch.
    #[serde(default)]
    pub proxy: Option<String>,
    /// The rows that this is so for; all where absent.
    #[serde(default)]
    pub proxy_rows: Option<Expr>,
    /// Where upstream says so.
    #[allow(dead_code, reason = "people read it in the YAML")]
    pub source: String,
}

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `y[m,n] = x[m,k] W[n,k]ᵀ`.
    Gemm,
    /// A product per head, strided.
    Bmm,
    /// Sums over GPUs, all of it on each.
    AllReduce,
    /// Parts of all GPUs, joined on each.
    AllGather,
    /// Sums over GPUs, a part on each.
    ReduceScatter,
    /// A part from each GPU to each other.
    Alltoall,
}

impl Operation {
    /// Whether it is between GPUs.
    pub fn is_collective(self) -> bool {
        !matches!(self, Self::Gemm | Self::Bmm)
    }
}

/// Element types that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dtype {
    /// bfloat16.
    Bfloat16,
    /// float8 e4m3; the output is bfloat16.
    Fp8,
    /// float16.
    Half,
    /// Whole numbers of a byte.
    Int8,
}

impl Dtype {
    /// Bytes of an element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bfloat16 | Self::Half => 2,
            Self::Fp8 | Self::Int8 => 1,
        }
    }
}

/// Whether calls share their input.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inputs {
    /// One for all calls of a unit.
    #[default]
    Shared,
    /// One a call, its output too.
    Own,
}

/// What a tensor holds; power, and with it time, depends on it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Zeros; uninitialised memory measures like them.
    #[default]
    Zeros,
    /// One value everywhere.
    Constant,
    /// Standard normal.
    Normal,
}

impl Recipe {
    /// Sizes that every operation of the kind needs.
    fn needed(&self) -> &'static [&'static str] {
        match self.operation {
            Operation::Gemm => &["m", "n", "k"],
            Operation::Bmm => &[
                "batch",
                "m",
                "n",
                "k",
                "weight_transposed",
                "weight_row",
                "weight_batch",
                "out_row",
                "out_batch",
            ],
            _ => &["count", "gpus"],
        }
    }

    fn fault(&self) -> Option<String> {
        let name = format!("the recipe of {} for {}", self.table, self.backend);
        let needed = self.needed();
        if let Some(size) = needed.iter().find(|s| !self.sizes.contains_key(**s)) {
            return Some(format!("{name} has no size `{size}`, which its operation needs"));
        }
        if let Some(size) = self.sizes.keys().find(|s| !needed.contains(&s.as_str())) {
            return Some(format!("{name} has a size `{size}`, which its operation does not use"));
        }
        if self.proxy_rows.is_some() && self.proxy.is_none() {
            return Some(format!("{name} has proxy_rows but no `proxy` that gives the reason"));
        }
        let products = [Dtype::Bfloat16, Dtype::Fp8].contains(&self.dtype);
        (products == self.operation.is_collective())
            .then(|| format!("{name} has a dtype that its operation does not support"))
    }
}

impl Recipes {
    /// Reads how rows were measured; the last file replaces those before.
    ///
    /// # Errors
    ///
    /// When a file is malformed; it names file and line.
    pub fn read(library: &Library) -> Result<Self> {
        let mut recipes = Self::default();
        for file in library.file("rules/recipes.yaml") {
            recipes = file.parse()?;
            if let Some(why) = recipes.fault() {
                return Err(file.malformed(&why));
            }
        }
        Ok(recipes)
    }

    /// What is wrong with the content, beyond its form.
    pub fn fault(&self) -> Option<String> {
        let j = &self.judge;
        let share = |v: f64| v > 0.0 && v < 1.0;
        if !share(j.bias)
            || !share(j.level)
            || !share(j.excludes)
            || !share(j.confidence)
            || !share(j.tail_share)
            || !share(j.tail_level)
        {
            return Some(
                "judge: bias, level, excludes, confidence, tail_share and tail_level must be between 0 and 1"
                    .into(),
            );
        }
        let Spread { p50, p95, p99 } = j.elsewhere;
        if !(1.0 <= p50 && p50 < p95 && p95 < p99 && p99 < 10.0) || j.least_points < 2 {
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
  level: 0.03
  excludes: 0.05
  confidence: 0.9
  elsewhere: {p50: 1.02, p95: 1.1, p99: 1.2}
  tail_share: 0.1
  tail_level: 0.01
  least_points: 6
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
    fn what_makes_no_sense_is_refused() {
        let fault = |from: &str, to: &str| {
            assert!(RECIPES.contains(from), "{from}");
            crate::base::yaml::parse::<Recipes>(&RECIPES.replace(from, to)).unwrap().fault()
        };
        assert_eq!(fault("m > 0", "m > 1"), None);
        for (from, to, why) in [
            ("least_points: 6", "least_points: 0", "least_points must be at least 2"),
            ("p95: 1.1", "p95: 1.01", "must rise"),
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
