//! Plans the keys that the rule `coverage-hole` reports as missing: similar systems have them, and
//! the table does not serve them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::options::PlanOptions;
use super::wish::PlannedRow;
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::Check;
use crate::checks::settings::RuleSelection;
use crate::database::catalog::{Place, TableFile};
use crate::database::table::{Keys, TableScope};
use crate::findings::Severity;
use crate::jobs::rows::{misfit, read_table};
use crate::jobs::site::Site;
use crate::jobs::validate::{self, JudgedData, ValidateOptions};

/// A block of missing keys, read from a finding. `values` maps key parts to lists of values. A key is in the block if
/// each of these key parts has one of its listed values.
#[derive(Debug, Deserialize)]
struct HoleValues {
    values: BTreeMap<String, Vec<Value>>,
}

/// A table with blocks of missing keys.
struct HoledTable {
    place: Place,
    holes: Vec<HoleValues>,
    /// All files from which the loader reads the table.
    own: Vec<TableFile>,
    /// Files of the same table on similar systems.
    references: Vec<TableFile>,
}

/// Finds keys that a table lacks and the same table of a similar system has. Returns the similar system's rows with
/// these keys, as rows to measure.
pub(crate) fn wishes(
    site: &Site,
    options: &PlanOptions,
    progress: &dyn Progress,
) -> Result<Vec<PlannedRow>> {
    let rules = site.settings.rules.all().filter(|r| matches!(r.check, Check::Coverage(_)));
    let judged = ValidateOptions {
        root: options.root.clone(),
        reference: options.reference.clone(),
        selection: options.selection.clone(),
        rules: RuleSelection {
            only: rules.map(|rule| rule.id.clone()).collect(),
            folder: options.rules.clone(),
            ..RuleSelection::default()
        },
        ledger: options.ledger.clone(),
        ..ValidateOptions::default()
    };
    let (_, tables) = validate::judged(&judged, progress, |data| Ok(holed(data)))?;
    let mut wishes = Vec::new();
    for table in &tables {
        wishes.extend(of_table(site, table)?);
    }
    Ok(wishes)
}

/// Returns the tables with findings on missing keys, each with its blocks of missing keys.
fn holed(data: &JudgedData<'_>) -> Vec<HoledTable> {
    let state = data.state;
    let shelf = data.table_index();
    let mut tables = Vec::new();
    let found = data.findings.iter().filter(|f| f.counts() && f.severity != Severity::Info);
    for finding in found {
        let file = state.catalog.table(&finding.path);
        let holes = finding.evidence.get("holes");
        let holes = holes.and_then(|h| serde_json::from_value::<Vec<HoleValues>>(h).ok());
        let (Some(file), Some(holes)) = (file, holes.filter(|h| !h.is_empty())) else { continue };
        let Some(spec) = state.specs.tables.get(&file.table) else { continue };
        let own = shelf.sources(&file.place, &file.table, spec.filling);
        let near = shelf.peers_of(file).1;
        let there = near.iter().flat_map(|(_, _, edition)| {
            shelf.served(spec, edition).fresh().cloned().collect::<Vec<_>>()
        });
        tables.push(HoledTable {
            place: file.place.clone(),
            holes,
            references: there.collect(),
            own: own.files().cloned().collect(),
        });
    }
    tables
}

fn of_table(site: &Site, holed: &HoledTable) -> Result<Vec<PlannedRow>> {
    let mut served: BTreeSet<u64> = BTreeSet::new();
    for own in &holed.own {
        each_key(site, own, |_, hash, _| {
            served.insert(hash);
        })?;
    }
    let mut wishes = Vec::new();
    for reference in &holed.references {
        each_key(site, reference, |row, hash, key| {
            if served.contains(&hash) || !holed.holes.iter().any(|hole| hole.has(&key())) {
                return;
            }
            served.insert(hash);
            let from = [&reference.place.system, &reference.place.version].map(String::as_str);
            wishes.push(PlannedRow {
                place: holed.place.clone(),
                file: reference.clone(),
                row,
                key: BTreeMap::new(),
                reason: format!("coverage-hole ({} has it)", from.join(" ")),
            });
        })?;
    }
    Ok(wishes)
}

/// A function that returns a key: the name and value of each key part.
type KeyShown<'k> = &'k dyn Fn() -> Vec<(String, Value)>;

/// Calls `each` for every loaded row of a table with the row, a hash of its key, and the key.
fn each_key(
    site: &Site,
    file: &TableFile,
    mut each: impl FnMut(usize, u64, KeyShown<'_>),
) -> Result<()> {
    let specs = site.specs();
    // An unreadable table serves no keys and has a finding of its own.
    let Ok(table) = read_table(site.source.as_ref(), file, specs) else { return Ok(()) };
    let spec = file.spec(specs, Some(&table));
    let system = specs.systems.get(&file.place.system);
    let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
    let bad = |e| misfit(file, e);
    let keys = Keys::new(&spec.key, &scope).map_err(bad)?;
    let loaded = spec.filter.as_ref().map(|f| f.mask(&scope)).transpose().map_err(bad)?;
    for (row, hash) in keys.hashes().iter().enumerate() {
        if loaded.as_ref().is_none_or(|l| l.get(row)) {
            each(row, *hash, &|| keys.show(row));
        }
    }
    Ok(())
}

impl HoleValues {
    /// Returns true if a key belongs to the block. The key must have a listed value in each key part that the block
    /// lists.
    fn has(&self, key: &[(String, Value)]) -> bool {
        self.values.iter().all(|(part, values)| {
            key.iter()
                .find(|(name, _)| name == part)
                .is_some_and(|(_, value)| values.contains(value))
        })
    }
}
