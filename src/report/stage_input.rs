//! What the stages need in addition to a report: `rules/stages.yaml`, and the reach of the changed rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::specs::{Library, SpecFile};

/// Numbers of what was checked, by name.
pub(crate) type Checked = Vec<(&'static str, u64)>;

/// A stage's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StageId {
    /// Files, schemas, identities and sidecars.
    ArtifactIntegrity,
    /// Measured values.
    NumericalSanity,
    /// Rows that queries reach.
    ProductionReachability,
    /// Predicted step times.
    BehaviourAndParity,
}

/// A stage of `rules/stages.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StageSpec {
    pub id: StageId,
    /// The name for people.
    pub title: String,
    /// The question that the stage answers.
    pub asks: String,
    /// True if rules that no stage lists belong to this one.
    #[serde(default)]
    others: bool,
    /// The ids of the stage's rules.
    pub rules: Vec<String>,
}

/// The content of `rules/stages.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StageSpecs {
    stages: Vec<StageSpec>,
}

/// What the stages need in addition to a report.
#[derive(Debug, Default)]
pub(crate) struct StageInput {
    pub specs: StageSpecs,
    /// The reach of the changed rows.
    pub reach: ChangedReach,
}

/// The tables that a change concerns, and whether queries read them.
#[derive(Debug, Default)]
pub(crate) struct ChangedReach {
    /// The numbers of tables, of their rows, and of the keys that are served of them.
    pub checked: Checked,
    /// The number of changed tables of the head that have rows.
    pub tables: usize,
    /// Changed tables with rows that no version reads that a query can name, with the reason.
    pub unserved: Vec<String>,
    /// Why tables were not examined.
    pub gaps: Vec<String>,
}

impl StageSpecs {
    /// Reads `rules/stages.yaml`; the file of an overlay replaces it.
    ///
    /// # Errors
    ///
    /// If the file is malformed.
    pub(crate) fn read(library: &Library) -> Result<Self> {
        let file = library.file("rules/stages.yaml").last();
        let file = file.ok_or_else(|| Error::new("rules/stages.yaml is missing", ""))?;
        let specs: Self = SpecFile::parse(file)?;
        // A rule without a stage would not count.
        if specs.stages.iter().filter(|stage| stage.others).count() != 1 {
            return Err(file.malformed("exactly one stage must have `others: true`"));
        }
        Ok(specs)
    }

    /// Returns the stages, in the order of reports.
    pub(super) fn all(&self) -> &[StageSpec] {
        &self.stages
    }

    /// Returns the stage of a rule.
    pub(super) fn stage_of(&self, rule: &str) -> Option<StageId> {
        let lists = |stage: &&StageSpec| stage.rules.iter().any(|id| id == rule);
        let takes_others = |stage: &&StageSpec| stage.others;
        let stage = self.stages.iter().find(lists);
        stage.or_else(|| self.stages.iter().find(takes_others)).map(|stage| stage.id)
    }
}
