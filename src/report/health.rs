//! The health map: tables × systems, in each cell the worst finding and how many there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Report;
use super::document::{Document, DocumentTable};
use crate::base::escape::clean;
use crate::base::words::plural;
use crate::database::catalog::Place;
use crate::findings::{Finding, Severity};

/// The tables that a run judged, each with its version directories: by table, then by system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgedPlaces(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

/// Tables × systems. Its texts are escaped.
#[derive(Debug, Serialize)]
pub struct HealthMap {
    schema: &'static str,
    /// Column by column.
    pub systems: Vec<String>,
    /// Row by row, those with most errors first.
    pub tables: Vec<HealthRow>,
}

/// A table in each system.
#[derive(Debug, Serialize)]
pub struct HealthRow {
    /// Table, without `_perf`; empty of what is beside the tables: sidecars, systems.
    pub table: String,
    /// Its name as findings have it.
    pub stem: String,
    /// One a system; none where that has no such table.
    pub cells: Vec<Option<HealthCell>>,
}

/// A table of a system, in all of its versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HealthCell {
    /// The worst severity; `ok` without findings.
    pub worst: &'static str,
    /// Findings that count.
    pub errors: usize,
    /// The same.
    pub warnings: usize,
    /// The same.
    pub infos: usize,
    /// Backends with versions that were judged.
    pub versions: Vec<String>,
    /// What the cell shows: `2E 1W`.
    pub short: String,
    /// The same in words.
    pub words: String,
}

impl JudgedPlaces {
    /// Adds a table.
    pub fn add(&mut self, place: &Place, table: &str) {
        let systems = self.0.entry(table.to_owned()).or_default();
        let versions = systems.entry(place.system.clone()).or_default();
        versions.insert(format!("{} {}", place.backend, place.version));
    }
}

impl HealthMap {
    /// The map of a report; none where there is but one table, or none.
    pub fn of(report: &Report) -> Option<Self> {
        let mut cells: BTreeMap<&str, BTreeMap<&str, HealthCell>> = BTreeMap::new();
        for (table, systems) in &report.judged.0 {
            for (system, versions) in systems {
                let cell = cells.entry(table).or_default().entry(system).or_default();
                cell.versions = versions.iter().map(|v| clean(v)).collect();
            }
        }
        for finding in report.findings.iter().filter(|f| f.counts()) {
            let Some(system) = system_of(finding) else { continue };
            let table = finding.table.as_deref().unwrap_or_default();
            cells.entry(table).or_default().entry(system).or_default().count(finding.severity);
        }
        let systems: BTreeSet<&str> = cells.values().flat_map(BTreeMap::keys).copied().collect();
        if cells.len() < 2 && systems.len() < 2 {
            return None;
        }
        let mut tables: Vec<HealthRow> = cells
            .iter()
            .map(|(table, row)| HealthRow {
                table: clean(table.strip_suffix("_perf").unwrap_or(table)),
                stem: clean(table),
                cells: systems.iter().map(|system| Some(row.get(system)?.told())).collect(),
            })
            .collect();
        tables.sort_by_key(HealthRow::urgency);
        let systems = systems.into_iter().map(clean).collect();
        Some(Self { schema: "perfdb-gate/health/v1", systems, tables })
    }

    /// Adds the map to a document, and what its cells mean.
    pub(crate) fn add_to(&self, document: &mut Document) {
        let rows = self.tables.iter().map(|row| {
            let cells = row.cells.iter().map(|cell| cell.as_ref().map_or("", |c| c.short.as_str()));
            std::iter::once(row.name()).chain(cells).map(str::to_owned).collect()
        });
        let heads: Vec<&str> =
            std::iter::once("").chain(self.systems.iter().map(String::as_str)).collect();
        document.table("", DocumentTable::new(&heads, [], rows));
        document.paragraph(
            "E errors, W warnings, I infos; ok without any; nothing where a system has no such table",
        );
    }
}

/// The system that a finding concerns: that of its place, or whose YAML it is.
fn system_of(finding: &Finding) -> Option<&str> {
    if let Some(place) = &finding.place {
        return Some(&place.system);
    }
    let (folder, file) = finding.path.rsplit_once('/')?;
    let stem = file.strip_suffix(".yaml")?;
    (folder == "systems" || folder.ends_with("/systems")).then_some(stem)
}

impl HealthRow {
    /// What it is called.
    pub fn name(&self) -> &str {
        if self.table.is_empty() { "(sidecars, systems)" } else { &self.table }
    }

    /// What is read first is least: most errors, most warnings, then by name.
    fn urgency(&self) -> (Reverse<usize>, Reverse<usize>, String) {
        let sum = |of: fn(&HealthCell) -> usize| self.cells.iter().flatten().map(of).sum();
        (Reverse(sum(|c| c.errors)), Reverse(sum(|c| c.warnings)), self.table.clone())
    }
}

impl HealthCell {
    fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => self.infos += 1,
        }
    }

    /// The cell with its texts.
    fn told(&self) -> Self {
        let counts = [
            (self.errors, 'E', Severity::Error),
            (self.warnings, 'W', Severity::Warning),
            (self.infos, 'I', Severity::Info),
        ];
        let some: Vec<_> = counts.into_iter().filter(|(n, ..)| *n > 0).collect();
        let short: Vec<String> = some.iter().map(|(n, letter, _)| format!("{n}{letter}")).collect();
        let words: Vec<String> =
            some.iter().map(|(n, _, severity)| plural(*n, severity.name())).collect();
        let ok = some.is_empty();
        Self {
            worst: some.first().map_or("ok", |(.., severity)| severity.name()),
            short: if ok { "ok".to_owned() } else { short.join(" ") },
            words: if ok { "no finding".to_owned() } else { words.join(", ") },
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_the_worst_and_counts() {
        let mut cell = HealthCell::default();
        assert_eq!((cell.told().worst, cell.told().short.as_str()), ("ok", "ok"));
        cell.count(Severity::Info);
        cell.count(Severity::Warning);
        cell.count(Severity::Warning);
        let told = cell.told();
        assert_eq!((told.worst, told.short.as_str()), ("warning", "2W 1I"));
        assert_eq!(told.words, "2 warnings, 1 info");
    }

    #[test]
    fn a_systems_yaml_is_a_finding_on_the_system() {
        let on = |path: &str| {
            let finding = Finding::on_path("r", Severity::Error, path, "m");
            system_of(&finding).map(str::to_owned)
        };
        assert_eq!(on("src/x/systems/h200_sxm.yaml").as_deref(), Some("h200_sxm"));
        assert_eq!(on("systems/data/x.yaml"), None);
        assert_eq!(on("waivers.yaml"), None);
    }
}
