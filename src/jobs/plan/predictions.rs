//! Plans rows that default models read. A row that the version lacks is read from an earlier
//! version, a donor or another backend.

use std::collections::{BTreeMap, BTreeSet};

use super::options::PlanOptions;
use super::wish::Wish;
use crate::base::error::{Error, Result};
use crate::base::words::plural;
use crate::database::catalog::{Place, TableFile};
use crate::database::served::{Channel, ServedFormats};
use crate::jobs::site::Site;
use crate::planner::{Models, POINTS, PlannerSession, Snapshot, Store};

/// The use of a row by the steps of models.
#[derive(Default)]
struct RowReading {
    /// Number of lookups that read the row.
    steps: usize,
    models: BTreeSet<String>,
    own: bool,
}

/// Returns the rows that default models read on the selected versions: rows that a version lacks,
/// and with `own` also rows of its own tables. Steps without a prediction are noted.
pub fn wishes(
    site: &Site,
    options: &PlanOptions,
    own: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<Wish>> {
    let models = Models::read(&site.specs().library, |_| true)?;
    let store = Store::default();
    let snapshot = Snapshot::new(site.state(), ServedFormats::All, &store)?;
    let files: BTreeMap<&str, &TableFile> =
        site.catalog.tables.iter().map(|t| (t.entry.path.as_str(), t)).collect();
    let (mut wishes, mut steps, mut refused) = (Vec::new(), 0, BTreeMap::new());
    for name in site.catalog.systems.keys() {
        let Some(system) = snapshot.system(name) else { continue };
        for (backend, versions) in system.versions() {
            let place = |version: &str| Place {
                system: name.clone(),
                family: None,
                backend: backend.to_owned(),
                version: version.to_owned(),
            };
            let mut places: Vec<Place> = versions.into_iter().map(place).collect();
            if options.selection.versions.is_empty() {
                places.drain(..places.len().saturating_sub(1));
            }
            for place in places.iter().filter(|place| site.selected.place(place)) {
                let Ok(session) = system.session(backend, &place.version) else { continue };
                let read = readings(&session, &models, backend, &mut steps, &mut refused);
                for ((path, row), reading) in read {
                    let Some(file) = files.get(path.as_str()) else { continue };
                    let names = options.selection.names(&file.table);
                    if names && (own || !reading.own) {
                        wishes.push(wish(place, file, row, &reading));
                    }
                }
            }
        }
    }
    if steps == 0 {
        return Err(Error::new(
            "the planner cannot predict a default model on the selected versions",
            "select other versions with --system, --backend and --version",
        ));
    }
    let total: usize = refused.values().sum();
    if total > 0 {
        let worst = refused.iter().max_by_key(|(_, n)| **n).map_or("", |(why, _)| why.as_str());
        let parts = plural(total, "operation");
        notes.push(format!(
            "{parts} of steps cannot be predicted; the most frequent reason: {worst}"
        ));
    }
    Ok(wishes)
}

type RowReadings = BTreeMap<(String, usize), RowReading>;

/// Returns the rows that the steps of all models read on a version.
fn readings(
    session: &PlannerSession<'_, '_>,
    models: &Models,
    backend: &str,
    steps: &mut usize,
    refused: &mut BTreeMap<String, usize>,
) -> RowReadings {
    let mut readings = RowReadings::new();
    for list in &models.lists {
        let Some(plan) = list.plan(backend) else { continue };
        for layout in &plan.layouts {
            let resolved = list.resolve(plan, layout, session);
            for point in POINTS {
                *steps += 1;
                for part in resolved.ops.parts(session, point) {
                    if let Err(why) = &part.ms {
                        *refused.entry(why.to_string()).or_default() += 1;
                    }
                    for row in part.lookups.iter().flat_map(|l| &l.rows) {
                        let at = (row.origin.path.clone(), row.row as usize);
                        let reading = readings.entry(at).or_default();
                        reading.steps += 1;
                        reading.own = row.origin.channel == Channel::Own;
                        reading.models.insert(list.model.clone());
                    }
                }
            }
        }
    }
    readings
}

fn wish(place: &Place, file: &TableFile, row: usize, reading: &RowReading) -> Wish {
    let models = plural(reading.models.len(), "default model");
    // Communication tables are in the directory of their library.
    let is_own = reading.own;
    let target = if is_own { file.place.clone() } else { place.clone() };
    let family = target.family.or_else(|| file.place.family.clone());
    let what = if is_own {
        format!("read by {models} (in {} lookups)", reading.steps)
    } else {
        let from = [&file.place.backend, &file.place.version].map(String::as_str).join(" ");
        format!("missing, so it is read from {from} (by {models}, in {} lookups)", reading.steps)
    };
    Wish {
        place: Place { family, ..target },
        file: file.clone(),
        row,
        key: BTreeMap::new(),
        reason: what,
    }
}
