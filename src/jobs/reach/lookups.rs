//! Where the lookups of default models find their answers.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::database::served::Channel;
use crate::jobs::impact::PlannedVersion;
use crate::jobs::impact::predict::VersionSides;
use crate::planner::{
    BackendPlan, How, ModelList, Models, Op, POINTS, PlannerSession, Refusal, StepPart,
    TableLookup, TableName,
};

/// Where a lookup finds its answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
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
        let mut this = Self::default();
        for source in sources {
            *match source {
                LookupSource::Exact => &mut this.exact,
                LookupSource::Between => &mut this.between,
                LookupSource::Transfer => &mut this.transfer,
                LookupSource::Beyond => &mut this.beyond,
                LookupSource::Donor => &mut this.donor,
                LookupSource::Missing => &mut this.missing,
            } += 1;
        }
        this
    }

    /// Adds others.
    pub fn plus(self, other: Self) -> Self {
        Self {
            exact: self.exact + other.exact,
            between: self.between + other.between,
            transfer: self.transfer + other.transfer,
            beyond: self.beyond + other.beyond,
            donor: self.donor + other.donor,
            missing: self.missing + other.missing,
        }
    }

    /// How many have a source.
    pub fn count(self, source: LookupSource) -> usize {
        match source {
            LookupSource::Exact => self.exact,
            LookupSource::Between => self.between,
            LookupSource::Transfer => self.transfer,
            LookupSource::Beyond => self.beyond,
            LookupSource::Donor => self.donor,
            LookupSource::Missing => self.missing,
        }
    }

    /// How many there are.
    pub fn all(self) -> usize {
        LookupSource::ALL.into_iter().map(|source| self.count(source)).sum()
    }
}

/// A lookup: a table with the key that was asked for, or with the reason why nothing is found.
type LookupKey = (String, String);

/// The lookups of a model on a version, each once however many steps and layouts ask for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelLookups {
    /// The version.
    pub version: PlannedVersion,
    /// The model.
    pub model: String,
    /// By table: sources before, where there are two states, and after.
    pub tables: BTreeMap<String, [Option<LookupCounts>; 2]>,
    /// Lookups whose source is another than before.
    pub moved: Vec<SourceMove>,
    /// Why lookups after find nothing, with the table.
    pub missing: Vec<(String, String)>,
}

/// A lookup whose source is another than before; none where a state does not ask.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
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
        [0, 1].map(|side| {
            let counts = self.tables.values().filter_map(|sides| sides[side]);
            counts.reduce(LookupCounts::plus)
        })
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
    let mut tables: BTreeMap<String, [Option<LookupCounts>; 2]> = BTreeMap::new();
    for (i, sources) in [before.as_ref(), Some(&after)].into_iter().enumerate() {
        let Some(sources) = sources else { continue };
        let mut by_table: BTreeMap<&str, Vec<LookupSource>> = BTreeMap::new();
        for ((table, _), source) in sources {
            by_table.entry(table).or_default().push(*source);
        }
        for (table, sources) in by_table {
            let counts = LookupCounts::of(sources.into_iter());
            tables.entry(table.to_owned()).or_default()[i] = Some(counts);
        }
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
