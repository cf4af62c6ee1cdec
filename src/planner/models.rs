//! Operation lists of models, as data: `rules/models/*.yaml`, one file per model and quantisation.
//!
//! A list names the operations of a step with all their sizes, as the planner builds them, for every
//! layout of GPUs. Nothing is computed here: divisions of heads or vocabulary among GPUs are the
//! planner's, and were captured from it. docs/models.md describes the fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;

use super::operations::Op;
use super::tables::TableName;
use crate::base::error::{Error, Result};
use crate::base::reason::Reason;
use crate::base::yaml;
use crate::specs::{Library, SpecFile};

/// The models that were asked for.
#[derive(Debug, Default)]
pub struct Models {
    /// In the order of their files.
    pub lists: Vec<ModelList>,
}

/// A model in one quantisation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelList {
    /// The name of its file, which distinguishes its quantisations.
    #[serde(skip)]
    pub id: String,
    /// The name at the hub.
    pub model: String,
    /// The planner's commit from which the lists come.
    pub captured_from: String,
    /// Quantisation by part.
    pub quant: ModelQuant,
    /// Lists by backend.
    pub plans: Vec<BackendPlan>,
}

/// Quantisation of a model by part, without that of attention, which depends on the backend.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelQuant {
    pub(super) gemm: String,
    pub(super) moe: String,
    pub(super) kvcache: String,
    pub(super) comm: String,
}

/// The lists of some backends.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackendPlan {
    /// The backends that share them.
    pub backends: Vec<String>,
    /// Precision of prefill attention.
    pub fmha: String,
    /// Tables that may lower it: where none has fp8 rows for the cache's type and one has bfloat16
    /// rows, prefill attention is bfloat16.
    #[serde(default)]
    pub fmha_by_data: Vec<String>,
    /// Lists by layout.
    pub layouts: Vec<PlannedLayout>,
}

/// The lists of a layout.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedLayout {
    /// The layout.
    pub parallel: Layout,
    /// The operations of prefill.
    pub prefill: Vec<Op>,
    /// The operations of decode.
    pub decode: Vec<Op>,
}

/// How a model is spread over GPUs.
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
    /// GPUs that share a layer.
    pub tp: u64,
    /// GPUs that run attention on batches of their own.
    pub dp: u64,
    /// GPUs that share an expert.
    pub moe_tp: u64,
    /// GPUs that share the experts.
    pub moe_ep: u64,
}

impl Models {
    /// Parses the models whose name `wanted` accepts. An overlay's file replaces the one of its name.
    ///
    /// # Errors
    ///
    /// At the first file that is not written right; the error names file and line.
    pub fn read(library: &Library, wanted: impl Fn(&str) -> bool) -> Result<Self> {
        let is_wanted = |file: &&SpecFile| named(&file.text).is_none_or(&wanted);
        let files = documents(library).into_values().filter(is_wanted);
        // One after the other: parallel work under the lock of `SharedModels` could wait for itself.
        Ok(Self { lists: files.map(ModelList::read).collect::<Result<_>>()? })
    }

    /// The names of the models of all files, parsed or not.
    pub(crate) fn names(library: &Library) -> Vec<&str> {
        documents(library).into_values().filter_map(|file| named(&file.text)).collect()
    }
}

/// All models of a library, parsed when somebody asks for them first: that takes longer than judging a small pull request.
pub(crate) struct SharedModels<'l> {
    library: &'l Library,
    read: Mutex<Option<Arc<Models>>>,
}

impl<'l> SharedModels<'l> {
    /// The models of a library.
    pub(crate) fn new(library: &'l Library) -> Self {
        Self { library, read: Mutex::default() }
    }

    /// The models.
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

/// The files of models by stem, the last of each.
fn documents(library: &Library) -> BTreeMap<&str, &SpecFile> {
    library.folder("rules/models").map(|file| (file.stem(), file)).collect()
}

/// The model that a file is of, by its line `model: …`, without parsing it.
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

    /// The plan for a backend.
    pub fn plan(&self, backend: &str) -> Option<&BackendPlan> {
        self.plans.iter().find(|plan| plan.backends.iter().any(|b| b == backend))
    }

    /// The tables that its plan for a backend may read.
    pub fn tables(&self, backend: &str, found: &mut BTreeSet<TableName>) {
        let Some(plan) = self.plan(backend) else { return };
        found.extend(
            plan.fmha_by_data.iter().filter_map(|stem| TableName::of_prefill_attention(stem)),
        );
        plan.visit(&mut |op| found.extend(op.tables()));
    }

    /// Checks what the types cannot.
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
    /// Bytes of the weights that its operations name, on one GPU. Embeddings and the projections of
    /// modules that nothing stands in for are not among them.
    pub(crate) fn weight_bytes(&self) -> f64 {
        let phases = [&self.prefill, &self.decode];
        phases.map(|ops| ops.iter().map(Op::weight_bytes).sum()).into_iter().fold(0.0, f64::max)
    }
}

impl BackendPlan {
    /// Calls `each` on the operations of all layouts, and on those inside them.
    pub(super) fn visit(&self, each: &mut dyn FnMut(&Op)) {
        let phases = self.layouts.iter().flat_map(|layout| [&layout.prefill, &layout.decode]);
        phases.flatten().for_each(|op| op.visit(each));
    }
}
