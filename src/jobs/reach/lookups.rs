//! Determines which rows answer the lookups of default models.

use std::collections::BTreeMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::database::served::Channel;
use crate::jobs::impact::PlannedVersion;
use crate::jobs::impact::predict::VersionSides;
use crate::planner::{
    BackendPlan, How, ModelList, Models, Op, POINTS, PlannerSession, Refusal, StepPart,
    TableLookup, TableName,
};

/// The source of a lookup's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookupSource {
    /// The row of exactly this key, in the version's own file.
    Exact,
    /// An interpolation between rows of the version's own file.
    Between,
    /// Rows of similar shapes in the version's own file.
    Transfer,
    /// An extrapolation beyond the rows of the version's own file.
    Beyond,
    /// Rows that come, at least in part, from another version or backend.
    Donor,
    /// The lookup has no answer.
    Missing,
}

impl LookupSource {
    /// All sources, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Exact, Self::Between, Self::Transfer, Self::Beyond, Self::Donor, Self::Missing];

    fn of(lookup: &TableLookup) -> Self {
        if lookup.rows.iter().any(|row| row.origin.channel != Channel::Own) {
            return Self::Donor;
        }
        match lookup.how {
            How::Exact => Self::Exact,
            How::Between => Self::Between,
            How::Transfer => Self::Transfer,
            How::Beyond => Self::Beyond,
        }
    }

    /// Returns the name for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Between => "between rows",
            Self::Transfer => "from near shapes",
            Self::Beyond => "beyond the grid",
            Self::Donor => "from donors",
            Self::Missing => "missing",
        }
    }
}

/// Counts of lookups by source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LookupCounts {
    /// Number of lookups answered by the row of exactly their key.
    pub exact: usize,
    /// Number of lookups interpolated between rows.
    pub between: usize,
    /// Number of lookups answered by rows of similar shapes.
    pub transfer: usize,
    /// Number of lookups extrapolated beyond the rows.
    pub beyond: usize,
    /// Number of lookups answered by rows of another version or backend.
    pub donor: usize,
    /// Number of lookups without an answer.
    pub missing: usize,
}

impl LookupCounts {
    /// Adds other counts.
    pub fn plus(mut self, other: Self) -> Self {
        for source in LookupSource::ALL {
            *self.of_source(source) += other.count(source);
        }
        self
    }

    /// Returns the number of lookups with a source.
    pub fn count(mut self, source: LookupSource) -> usize {
        *self.of_source(source)
    }

    /// Returns the number of all lookups.
    pub fn all(self) -> usize {
        LookupSource::ALL.into_iter().map(|source| self.count(source)).sum()
    }

    /// Returns the counter of a source.
    fn of_source(&mut self, source: LookupSource) -> &mut usize {
        match source {
            LookupSource::Exact => &mut self.exact,
            LookupSource::Between => &mut self.between,
            LookupSource::Transfer => &mut self.transfer,
            LookupSource::Beyond => &mut self.beyond,
            LookupSource::Donor => &mut self.donor,
            LookupSource::Missing => &mut self.missing,
        }
    }
}

/// A table, and the key that is looked up or the reason why there is no answer.
type LookupKey = (String, String);

/// The lookups of a model on a version. A lookup counts once, even if several steps and layouts use
/// it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ModelView")]
pub struct ModelLookups {
    /// The system, backend and version.
    #[serde(flatten)]
    pub version: PlannedVersion,
    /// The model's name.
    pub model: String,
    /// Lookup counts by table.
    pub tables: BTreeMap<String, SourceSides>,
    /// Lookups whose source changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<SourceMove>,
    /// Lookups without an answer, as table and reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<(String, String)>,
}

/// Lookup counts before and after a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceSides {
    /// Counts before the change; absent if there is one state or no lookups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<LookupCounts>,
    /// Counts after the change; null if there are no lookups.
    pub after: Option<LookupCounts>,
}

/// A lookup whose source changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceMove {
    /// The table.
    pub table: String,
    /// The key that is looked up, or the reason why there is no answer.
    pub key: String,
    /// Source before the change; null if the lookup is new.
    pub before: Option<LookupSource>,
    /// Source after the change; null if the lookup is gone.
    pub after: Option<LookupSource>,
}

impl ModelLookups {
    /// Returns the lookup counts over all tables before and after the change; `None` for a state
    /// without lookups.
    pub fn counts(&self) -> [Option<LookupCounts>; 2] {
        let before = self.tables.values().filter_map(|sides| sides.before);
        let after = self.tables.values().filter_map(|sides| sides.after);
        [before.reduce(LookupCounts::plus), after.reduce(LookupCounts::plus)]
    }
}

/// Returns the lookups of every model on the given versions.
pub(super) fn of_models(sides: &[VersionSides<'_, '_>], models: &Models) -> Vec<ModelLookups> {
    let mut work: Vec<(&VersionSides<'_, '_>, &ModelList, &BackendPlan)> = Vec::new();
    for side in sides {
        let lists = models.lists.iter();
        work.extend(lists.filter_map(|list| Some((side, list, list.plan(&side.version.backend)?))));
    }
    work.par_iter().map(|(side, list, plan)| of_model(side, list, plan)).collect()
}

fn of_model(side: &VersionSides<'_, '_>, list: &ModelList, plan: &BackendPlan) -> ModelLookups {
    let after = asked(&side.after, list, plan);
    let before = side
        .before
        .as_ref()
        .map(|before| if side.is_same() { after.clone() } else { asked(before, list, plan) });
    let mut tables: BTreeMap<String, SourceSides> = BTreeMap::new();
    for ((table, _), source) in before.iter().flatten() {
        let counts = &mut tables.entry(table.clone()).or_default().before;
        *counts.get_or_insert_default().of_source(*source) += 1;
    }
    for ((table, _), source) in &after {
        let counts = &mut tables.entry(table.clone()).or_default().after;
        *counts.get_or_insert_default().of_source(*source) += 1;
    }
    let mut moved = Vec::new();
    if let Some(before) = &before {
        let gone = before.keys().filter(|key| !after.contains_key(*key));
        for key in after.keys().chain(gone) {
            let sources = [before.get(key), after.get(key)].map(Option::<&_>::copied);
            if sources[0] != sources[1] {
                let [before, after] = sources;
                moved.push(SourceMove { table: key.0.clone(), key: key.1.clone(), before, after });
            }
        }
    }
    let missing = after.iter().filter(|(_, source)| **source == LookupSource::Missing);
    ModelLookups {
        version: side.version.clone(),
        model: list.model.clone(),
        missing: missing.map(|(key, _)| key.clone()).collect(),
        tables,
        moved,
    }
}

/// Returns the table in which an operation finds no answer: the table that the reason names, or
/// else the operation's first.
fn table(op: &Op, why: &str) -> String {
    let mut tables: Vec<TableName> = Vec::new();
    op.visit(&mut |op| tables.extend(op.tables()));
    let named = tables.iter().find(|table| why.contains(table.stem())).or(tables.first());
    named.map_or(op.name(), |table| table.stem()).to_owned()
}

/// Returns the lookups of a model in a state, over all its layouts and steps.
fn asked(
    state: &Result<PlannerSession<'_, '_>, Refusal>,
    list: &ModelList,
    plan: &BackendPlan,
) -> BTreeMap<LookupKey, LookupSource> {
    let mut found: BTreeMap<LookupKey, LookupSource> = BTreeMap::new();
    let session = match state {
        Ok(session) => session,
        Err(why) => {
            found.insert((list.model.clone(), why.to_string()), LookupSource::Missing);
            return found;
        }
    };
    for layout in &plan.layouts {
        let resolved = list.resolve(plan, layout, session);
        for point in POINTS {
            let parts = resolved.ops.parts(session, point);
            for (op, StepPart { ms, lookups, .. }) in
                resolved.ops.ops(point.phase).iter().zip(parts)
            {
                if let Err(why) = ms {
                    let why = why.to_string();
                    found.insert((table(op, &why), why), LookupSource::Missing);
                    continue;
                }
                for lookup in lookups {
                    let source = LookupSource::of(&lookup);
                    found.insert((lookup.table.to_owned(), lookup.key), source);
                }
            }
        }
    }
    found
}
