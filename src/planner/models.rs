//! Operation lists of models, as data: `rules/models/*.yaml`, one file per model and quantisation.
//!
//! A list names the operations of a step with all their sizes, as the planner builds them, for every
//! layout of GPUs. Nothing is computed here: the planner divides heads and vocabulary among GPUs, and
//! the results were captured from it. docs/models.md describes the fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;

use super::operations::Op;
use super::tables::TableName;
use crate::base::error::{Error, Result};
use crate::base::reason::Reason;
use crate::base::yaml;
use crate::specs::{Library, SpecFile};

/// The models to predict.
#[derive(Debug, Default)]
pub struct Models {
    /// Operation lists, in the order of their files.
    pub lists: Vec<ModelList>,
}

/// The operation lists of a model in one quantisation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelList {
    /// The file's stem, which distinguishes the model's quantisations.
    #[serde(skip)]
    pub id: String,
    /// The model's name at the hub.
    pub model: String,
    /// The planner's commit that the lists were captured from.
    pub captured_from: String,
    /// Quantisation of each part of the model.
    pub quant: ModelQuant,
    /// Operation lists by backend.
    pub plans: Vec<BackendPlan>,
}

/// Quantisation of a model by part. That of attention is missing, because it depends on the backend.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelQuant {
    pub(super) gemm: String,
    pub(super) moe: String,
    pub(super) kvcache: String,
    pub(super) comm: String,
}

/// The operation lists that some backends share.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackendPlan {
    /// The backends that share the lists.
    pub backends: Vec<String>,
    /// Precision of prefill attention.
    pub fmha: String,
    /// Tables that may lower the precision of prefill attention. It becomes bfloat16 if no table has fp8
    /// rows for the cache's type and a table has bfloat16 rows.
    #[serde(default)]
    pub fmha_by_data: Vec<String>,
    /// Operation lists by layout.
    pub layouts: Vec<PlannedLayout>,
}

/// The operation lists of a layout.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLayout {
    /// The layout of the GPUs.
    pub parallel: Layout,
    /// The operations of prefill.
    pub prefill: Vec<Op>,
    /// The operations of decode.
    pub decode: Vec<Op>,
}

/// The distribution of a model over GPUs.
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
    serde::Serialize,
    schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Number of GPUs that share a layer (tensor parallel).
    pub tp: u64,
    /// Number of GPU groups that run attention on batches of their own (data parallel).
    pub dp: u64,
    /// Number of GPUs that share one expert (tensor parallel).
    pub moe_tp: u64,
    /// Number of GPUs that the experts are divided among (expert parallel).
    pub moe_ep: u64,
}

impl Models {
    /// Parses the models whose name `wanted` accepts. A file of an overlay replaces the file with the
    /// same name.
    ///
    /// # Errors
    ///
    /// At the first malformed file; the error names file and line.
    pub fn read(library: &Library, wanted: impl Fn(&str) -> bool) -> Result<Self> {
        let is_wanted = |file: &&SpecFile| named(&file.text).is_none_or(&wanted);
        let files = documents(library).into_values().filter(is_wanted);
        // Files are parsed one after the other: parallel work under the lock of `SharedModels` could
        // wait for itself.
        Ok(Self { lists: files.map(ModelList::read).collect::<Result<_>>()? })
    }

    /// The names of the models of all files, parsed or not.
    pub(crate) fn names(library: &Library) -> Vec<&str> {
        documents(library).into_values().filter_map(|file| named(&file.text)).collect()
    }
}

/// All models of a library, parsed at the first request because this takes longer than judging a small
/// pull request.
pub(crate) struct SharedModels<'l> {
    library: &'l Library,
    read: Mutex<Option<Arc<Models>>>,
}

impl<'l> SharedModels<'l> {
    /// Creates the models of a library without parsing them.
    pub(crate) fn new(library: &'l Library) -> Self {
        Self { library, read: Mutex::default() }
    }

    /// Returns the models; the first call parses them.
    ///
    /// # Errors
    ///
    /// The errors of [`Models::read`].
    pub(crate) fn get(&self) -> Result<Arc<Models>> {
        // A thread that panicked left either all models or none.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(models) = read.as_ref() {
            return Ok(models.clone());
        }
        let models = Arc::new(Models::read(self.library, |_| true)?);
        *read = Some(models.clone());
        Ok(models)
    }
}

/// The model files by stem; of files with the same stem, the last.
fn documents(library: &Library) -> BTreeMap<&str, &SpecFile> {
    library.folder("rules/models").map(|file| (file.stem(), file)).collect()
}

/// The model's name in a file, from its line `model: …`, without parsing the file.
fn named(text: &str) -> Option<&str> {
    let name = text.lines().find_map(|line| line.strip_prefix("model:"))?;
    Some(name.split(" #").next().unwrap_or(name).trim().trim_matches(['"', '\'']))
}

impl ModelList {
    fn read(file: &SpecFile) -> Result<Self> {
        let bad = |why: Reason| {
            Error::new(format!("{}: {why}", file.shown), "docs/models.md describes the fields")
        };
        let list: Self = yaml::parse(&file.text).map_err(bad)?;
        list.check().map_err(bad)?;
        Ok(Self { id: file.stem().to_owned(), ..list })
    }

    /// The operation lists for a backend.
    pub fn plan(&self, backend: &str) -> Option<&BackendPlan> {
        self.plans.iter().find(|plan| plan.backends.iter().any(|b| b == backend))
    }

    /// Adds the tables that the plan for a backend may read to `found`.
    pub fn tables(&self, backend: &str, found: &mut BTreeSet<TableName>) {
        let Some(plan) = self.plan(backend) else { return };
        found.extend(
            plan.fmha_by_data.iter().filter_map(|stem| TableName::of_prefill_attention(stem)),
        );
        plan.visit(&mut |op| found.extend(op.tables()));
    }

    /// Checks the content that the types do not check.
    fn check(&self) -> Result<(), Reason> {
        for table in self.plans.iter().flat_map(|p| &p.fmha_by_data) {
            if TableName::of_prefill_attention(table).is_none() {
                let why = format!("fmha_by_data names {table}, which no prefill attention reads");
                return Err(why.into());
            }
        }
        Ok(())
    }
}

impl PlannedLayout {
    /// Bytes of the weights on one GPU, as far as the operations state them. The sum excludes
    /// embeddings, and the projections of modules without a stand-in.
    pub(crate) fn weight_bytes(&self) -> f64 {
        let phases = [&self.prefill, &self.decode];
        phases.map(|ops| ops.iter().map(Op::weight_bytes).sum()).into_iter().fold(0.0, f64::max)
    }
}

impl BackendPlan {
    /// Calls `each` on the operations of all layouts and on the operations inside them.
    pub(super) fn visit(&self, each: &mut dyn FnMut(&Op)) {
        let phases = self.layouts.iter().flat_map(|layout| [&layout.prefill, &layout.decode]);
        phases.flatten().for_each(|op| op.visit(each));
    }
}
