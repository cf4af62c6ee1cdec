//! Where the lookups of default models find their answers.

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

/// Where a lookup finds its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookupSource {
    /// In the row of that very key, of the version's own file.
    Exact,
    /// Between rows of its own file.
    Between,
    /// From near shapes of its own file.
    Transfer,
    /// Beyond the rows of its own file.
    Beyond,
    /// In rows of another version or backend, all or some of them.
    Donor,
    /// Nowhere.
    Missing,
}

impl LookupSource {
    /// All of them.
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

    /// The word for people.
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

/// Lookups by source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LookupCounts {
    /// In the row of that very key.
    pub exact: usize,
    /// Between rows.
    pub between: usize,
    /// From near shapes.
    pub transfer: usize,
    /// Beyond the rows.
    pub beyond: usize,
    /// In rows of another version or backend.
    pub donor: usize,
    /// Nowhere.
    pub missing: usize,
}

impl LookupCounts {
    /// Counts sources.
    pub fn of(sources: impl Iterator<Item = LookupSource>) -> Self {
        let mut counts = Self::default();
        sources.for_each(|source| *counts.of_source(source) += 1);
        counts
    }

    /// Adds others.
    pub fn plus(mut self, other: Self) -> Self {
        for source in LookupSource::ALL {
            *self.of_source(source) += other.count(source);
        }
        self
    }

    /// How many have a source.
    pub fn count(mut self, source: LookupSource) -> usize {
        *self.of_source(source)
    }

    /// How many there are.
    pub fn all(self) -> usize {
        LookupSource::ALL.into_iter().map(|source| self.count(source)).sum()
    }

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

/// A lookup: a table with the key that was asked for, or with the reason why nothing is found.
type LookupKey = (String, String);

/// The lookups of a model on a version, each once however many steps and layouts ask for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ModelView")]
pub struct ModelLookups {
    /// System, backend and version.
    #[serde(flatten)]
    pub version: PlannedVersion,
    /// The model.
    pub model: String,
    /// Sources by table.
    pub tables: BTreeMap<String, SourceSides>,
    /// Lookups whose source is another than before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<SourceMove>,
    /// Lookups that find nothing, as table and reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<(String, String)>,
}

/// Lookups by source in both states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceSides {
    /// Before; none where there is one state, or nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<LookupCounts>,
    /// After; null where nothing is asked.
    pub after: Option<LookupCounts>,
}

/// A lookup whose source is another than before; none where a state does not ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceMove {
    /// The table.
    pub table: String,
    /// What is looked up, or why it finds nothing.
    pub key: String,
    /// Its source before.
    pub before: Option<LookupSource>,
    /// Its source.
    pub after: Option<LookupSource>,
}

impl ModelLookups {
    /// Sources before, where there are two states, and after, over all tables.
    pub fn counts(&self) -> [Option<LookupCounts>; 2] {
        let before = self.tables.values().filter_map(|sides| sides.before);
        let after = self.tables.values().filter_map(|sides| sides.after);
        [before.reduce(LookupCounts::plus), after.reduce(LookupCounts::plus)]
    }
}

/// The lookups of every model on some versions.
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
    for (table, counts) in before.iter().flat_map(by_table) {
        tables.entry(table).or_default().before = Some(counts);
    }
    for (table, counts) in by_table(&after) {
        tables.entry(table).or_default().after = Some(counts);
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

/// The sources of lookups by table.
fn by_table(lookups: &BTreeMap<LookupKey, LookupSource>) -> BTreeMap<String, LookupCounts> {
    let mut tables: BTreeMap<String, Vec<LookupSource>> = BTreeMap::new();
    for ((table, _), source) in lookups {
        tables.entry(table.clone()).or_default().push(*source);
    }
    let counts = |(table, sources): (String, Vec<LookupSource>)| {
        (table, LookupCounts::of(sources.into_iter()))
    };
    tables.into_iter().map(counts).collect()
}

/// The table that an operation finds nothing in: the one that the reason names, else its first.
fn table(op: &Op, why: &str) -> String {
    let mut tables: Vec<TableName> = Vec::new();
    op.visit(&mut |op| tables.extend(op.tables()));
    let named = tables.iter().find(|table| why.contains(table.stem())).or(tables.first());
    named.map_or(op.name(), |table| table.stem()).to_owned()
}

/// What a model looks up in a state, over its layouts and steps.
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
