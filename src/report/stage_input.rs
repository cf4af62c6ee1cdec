//! The additional input for the stages of a change: `rules/stages.yaml`, and whether queries reach the changed rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::specs::{Library, SpecFile};

/// The numbers of checked items, such as tables, by name.
pub(crate) type Checked = Vec<(&'static str, u64)>;

/// A stage's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StageId {
    /// Checks files, schemas, identities and sidecars.
    ArtifactIntegrity,
    /// Checks measured values.
    NumericalSanity,
    /// Checks whether queries reach the changed rows.
    ProductionReachability,
    /// Checks predicted step times.
    BehaviourAndParity,
}

/// A stage of `rules/stages.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StageSpec {
    pub id: StageId,
    /// The title in reports.
    pub title: String,
    /// The question that the stage answers.
    pub asks: String,
    /// True if this stage has the rules that no stage lists.
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

/// The additional input for the stages of a change.
#[derive(Debug, Default)]
pub(crate) struct StageInput {
    pub specs: StageSpecs,
    /// The changed tables that queries reach.
    pub reach: ChangedReach,
}

/// The changed tables, and whether queries reach their rows.
#[derive(Debug, Default)]
pub(crate) struct ChangedReach {
    /// The numbers of checked tables, of their rows and of their served keys.
    pub checked: Checked,
    /// The number of changed tables of the head that have rows.
    pub tables: usize,
    /// The changed tables with rows that no query reaches, with the reasons.
    pub unserved: Vec<String>,
    /// The reasons why tables were not examined.
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
        // Without such a stage, the findings of an unlisted rule would not be in any stage.
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
