//! The additional input for the stages of a change: `rules/stages.yaml`, and whether queries reach the changed rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::specs::{Library, SpecFile};

/// The number of checked items of each kind, such as 12 for `tables`.
pub(crate) type Checked = Vec<(&'static str, u64)>;

/// A stage's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StageId {
    /// The stage that checks files, schemas, identities and sidecars.
    ArtifactIntegrity,
    /// The stage that checks measured values.
    NumericalSanity,
    /// The stage that checks whether queries reach the changed rows.
    ProductionReachability,
    /// The stage that checks predicted step times.
    BehaviourAndParity,
}

/// A stage, as declared in `rules/stages.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StageSpec {
    pub id: StageId,
    /// The stage's title in reports.
    pub title: String,
    /// The question that the stage answers, as shown in reports.
    pub asks: String,
    /// True if the rules that no stage lists belong to this stage.
    #[serde(default)]
    others: bool,
    /// The ids of the rules that the stage lists.
    pub rules: Vec<String>,
}

/// The content of `rules/stages.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StageSpecs {
    stages: Vec<StageSpec>,
}

/// The data that only the report format `stages` needs: the stages, and whether queries reach the changed rows.
#[derive(Debug, Default)]
pub(crate) struct StageInput {
    pub specs: StageSpecs,
    /// Whether queries reach the rows of the changed tables.
    pub reach: ChangedReach,
}

/// The number of changed tables, and the changed tables whose rows no query reaches.
#[derive(Debug, Default)]
pub(crate) struct ChangedReach {
    /// The number of checked tables, the number of their rows, and the number of their served keys.
    pub checked: Checked,
    /// The number of changed tables that have rows in the head.
    pub tables: usize,
    /// The changed tables without a row that a query reaches, each with the reason.
    pub unserved: Vec<String>,
    /// The reasons why some changed tables were not examined.
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

    /// Returns the stages, in the order in which reports show them.
    pub(super) fn all(&self) -> &[StageSpec] {
        &self.stages
    }

    /// Returns the stage to which a rule belongs.
    pub(super) fn stage_of(&self, rule: &str) -> Option<StageId> {
        let lists = |stage: &&StageSpec| stage.rules.iter().any(|id| id == rule);
        let takes_others = |stage: &&StageSpec| stage.others;
        let stage = self.stages.iter().find(lists);
        stage.or_else(|| self.stages.iter().find(takes_others)).map(|stage| stage.id)
    }
}
