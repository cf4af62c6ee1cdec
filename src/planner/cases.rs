//! The cases that are predicted: models, their layouts over GPUs, and steps; `rules/cases.yaml`.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::base::yaml;
use crate::specs::Library;

/// The models and the steps for which the planner predicts times. Every step is predicted for every model.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cases {
    /// The models.
    pub cases: Vec<Case>,
    /// The steps that are predicted for each model.
    pub points: Vec<StepPoint>,
}

/// A model in one layout and quantisation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The model's name on Hugging Face, such as `Qwen/Qwen3-32B`. The planner's package must contain the model's
    /// configuration.
    pub model: String,
    /// The distribution of the model over GPUs.
    pub parallel: Layout,
    /// The requested quantisation of each part of the model. For a part without a request, the planner uses the
    /// quantisation of the model's checkpoint.
    #[serde(default)]
    pub quant: Quant,
}

/// The distribution of a model over GPUs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Number of GPUs that share a layer (tensor parallel).
    pub tp: u64,
    /// Number of GPU groups that run attention, each on its own batch (data parallel).
    pub dp: u64,
    /// Number of GPUs that share one expert (tensor parallel).
    pub moe_tp: u64,
    /// Number of GPU groups among which the experts are divided (expert parallel).
    pub moe_ep: u64,
}

/// The quantisation of each part of a model, as the planner names it, such as `fp8`. `None` if the quantisation of a
/// part is not stated.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Quant {
    /// Quantisation of dense matrix products.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gemm: Option<String>,
    /// Quantisation of the experts (mixture of experts).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moe: Option<String>,
    /// Quantisation of the key-value cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kvcache: Option<String>,
    /// Quantisation of attention in prefill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fmha: Option<String>,
    /// Quantisation of communication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
}

/// A phase of inference.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Deserialize,
    Serialize,
    JsonSchema,
    strum_macros::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Phase {
    /// All tokens of the requests are computed in one step.
    Prefill,
    /// One new token of each request is computed in one step.
    Decode,
}

/// A step of inference: the phase, the number of requests, and the number of tokens per request. In prefill, these are
/// the tokens to compute. In decode, these are the tokens in the cache.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
pub struct StepPoint(pub Phase, pub u64, pub u64);

impl StepPoint {
    /// Renders the step, such as `decode 64 × 1024`.
    pub(crate) fn words(self) -> String {
        let Self(phase, batch, tokens) = self;
        format!("{} {batch} × {tokens}", phase.into_str())
    }
}

impl Layout {
    /// Renders the layout, such as `tp 8 dp 2 ep 8`; degrees of 1 are left out except for tp.
    pub(crate) fn words(self) -> String {
        let degree =
            |name: &str, n: u64| if n > 1 { format!(" {name} {n}") } else { String::new() };
        format!("tp {}{}{}", self.tp, degree("dp", self.dp), degree("ep", self.moe_ep))
    }
}

impl Cases {
    /// Reads the models and steps to predict from `file`, or from `rules/cases.yaml` if no file is given.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is malformed. The error names the file and the line.
    pub(crate) fn read(library: &Library, file: Option<&Path>) -> Result<Self> {
        let (shown, text) = match file {
            Some(file) => {
                let unread = |e: std::io::Error| {
                    Error::new(format!("cannot read {}: {e}", file.display()), HINT)
                };
                (file.display().to_string(), std::fs::read_to_string(file).map_err(unread)?)
            }
            None => {
                let file = library.file("rules/cases.yaml").last();
                file.map(|file| (file.shown.clone(), file.text.to_string())).unwrap_or_default()
            }
        };
        let bad = |why: &dyn std::fmt::Display| Error::new(format!("{shown}: {why}"), HINT);
        let cases: Self = yaml::parse(&text).map_err(|why| bad(&why))?;
        let layouts = cases.cases.iter().map(|case| case.parallel);
        let zero = |l: &Layout| [l.tp, l.dp, l.moe_tp, l.moe_ep].contains(&0);
        if layouts.into_iter().any(|layout| zero(&layout)) {
            return Err(bad(&"a degree of parallelism is 0"));
        }
        if cases.points.iter().any(|StepPoint(_, batch, tokens)| *batch == 0 || *tokens == 0) {
            return Err(bad(&"a step has no requests or no tokens"));
        }
        Ok(cases)
    }

    /// Removes the models for whose name `wanted` returns false.
    pub(crate) fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.cases.retain(|case| wanted(&case.model));
    }
}

const HINT: &str = "docs/impact.md describes the file of cases";
