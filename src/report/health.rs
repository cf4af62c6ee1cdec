//! The health map: a grid of tables by systems. A cell has the worst severity and the number of findings.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;
use serde::Serialize;

use super::document::{Document, DocumentTable};
use crate::base::escape::clean;
use crate::base::words::plural;
use crate::database::catalog::Place;
use crate::findings::{Finding, Severity};

/// The judged versions of each table on each system. Maps a table's name to a map from the system to its versions, such
/// as `vllm 0.24.0`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgedPlaces(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

/// A grid with a row per table and a column per system. Each cell counts findings. The texts are escaped.
#[derive(Debug, Serialize)]
pub(crate) struct HealthMap {
    schema: &'static str,
    /// The names of the systems, one per column.
    pub systems: Vec<String>,
    /// The rows, one per table. Tables with most errors come first.
    pub tables: Vec<HealthRow>,
    /// The sums over all tables, one cell per system.
    pub totals: Vec<HealthCell>,
}

/// The cells of one table.
#[derive(Debug, Serialize)]
pub(crate) struct HealthRow {
    /// The table's name without `_perf`. Empty in the row that counts findings on sidecars and system files.
    pub table: String,
    /// The table's full name, such as `gemm_perf`; empty if `table` is empty.
    pub stem: String,
    /// One cell per system; `None` if the system has neither this table nor a finding on this table.
    pub cells: Vec<Option<HealthCell>>,
    /// The sum of the row's cells over all systems.
    pub total: HealthCell,
}

/// The findings on all versions of a table on one system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct HealthCell {
    /// The severity of the most severe finding, as text; `ok` if there are no findings.
    pub worst: &'static str,
    /// The number of errors that are not waived and that neither the base nor the baseline has.
    pub errors: usize,
    /// The number of warnings that are not waived and that neither the base nor the baseline has.
    pub warnings: usize,
    /// The number of infos that are not waived and that neither the base nor the baseline has.
    pub infos: usize,
    /// The judged versions, each after its backend, such as `vllm 0.24.0`. The versions are sorted by backend, and the
    /// newest version of a backend comes first.
    pub versions: Vec<String>,
    /// The numbers of findings in short form, such as `2E 1W`.
    pub short: String,
    /// The numbers of findings in full words, such as `2 errors, 1 warning`.
    pub words: String,
}

impl JudgedPlaces {
    /// Adds a judged table.
    pub(crate) fn add(&mut self, place: &Place, table: &str) {
        let systems = self.0.entry(table.to_owned()).or_default();
        let versions = systems.entry(place.system.clone()).or_default();
        versions.insert(format!("{} {}", place.backend, place.version));
    }
}

impl HealthMap {
    /// Builds the health map from the judged tables and the findings of a run.
    pub(crate) fn new(judged: &JudgedPlaces, findings: &[Finding]) -> Self {
        let mut cells: BTreeMap<&str, BTreeMap<&str, HealthCell>> = BTreeMap::new();
        for (table, systems) in &judged.0 {
            for (system, versions) in systems {
                let cell = cells.entry(table).or_default().entry(system).or_default();
                cell.versions = newest_first(versions);
            }
        }
        for finding in findings.iter().filter(|f| f.counts()) {
            let Some(system) = system_of(finding) else { continue };
            let table = finding.table.as_deref().unwrap_or_default();
            cells.entry(table).or_default().entry(system).or_default().count(finding.severity);
        }
        let systems: BTreeSet<&str> = cells.values().flat_map(BTreeMap::keys).copied().collect();
        let mut tables: Vec<HealthRow> = cells
            .iter()
            .map(|(table, row)| HealthRow {
                table: clean(table.strip_suffix("_perf").unwrap_or(table)),
                stem: clean(table),
                cells: systems.iter().map(|system| Some(row.get(system)?.with_texts())).collect(),
                total: HealthCell::sum(row.values()),
            })
            .collect();
        tables.sort_by_key(HealthRow::urgency);
        let total =
            |system: &&str| HealthCell::sum(cells.values().filter_map(|row| row.get(*system)));
        let totals = systems.iter().map(total).collect();
        let systems = systems.into_iter().map(clean).collect();
        Self { schema: "perfdb-gate/health/v1", systems, tables, totals }
    }

    /// Returns true if the map has more than one cell.
    pub(crate) fn is_grid(&self) -> bool {
        self.tables.len() > 1 || self.systems.len() > 1
    }

    /// Adds the map and its legend to a document.
    pub(crate) fn add_to(&self, document: &mut Document) {
        let rows = self.tables.iter().map(|row| {
            let cells = row.cells.iter().map(|cell| cell.as_ref().map_or("", |c| c.short.as_str()));
            let cells = std::iter::once(row.name()).chain(cells).chain([row.total.short.as_str()]);
            cells.map(str::to_owned).collect()
        });
        let totals = self.totals.iter().map(|cell| cell.short.clone());
        let totals = std::iter::once("total".to_owned()).chain(totals).chain([String::new()]);
        let systems = self.systems.iter().map(String::as_str);
        let heads: Vec<&str> = std::iter::once("").chain(systems).chain(["total"]).collect();
        document.table("", DocumentTable::new(&heads, [], rows.chain([totals.collect()])));
        document.paragraph(
            "E errors, W warnings, I infos; ok without any; nothing where a system has no such table",
        );
    }
}

/// Sorts texts such as `vllm 0.24.0` by backend, then by version with the newest first. Returns the texts escaped.
fn newest_first(versions: &BTreeSet<String>) -> Vec<String> {
    let mut versions: Vec<&String> = versions.iter().collect();
    versions.sort_by_key(|text| {
        let (backend, version) = text.split_once(' ').unwrap_or((text, ""));
        (backend, Reverse(Version::from_str(version).ok()), *text)
    });
    versions.into_iter().map(|text| clean(text)).collect()
}

/// Returns the system of a finding's table, or the system that the finding's YAML file describes.
fn system_of(finding: &Finding) -> Option<&str> {
    if let Some(place) = &finding.place {
        return Some(&place.system);
    }
    let (folder, file) = finding.path.rsplit_once('/')?;
    let stem = file.strip_suffix(".yaml")?;
    (folder == "systems" || folder.ends_with("/systems")).then_some(stem)
}

impl HealthRow {
    /// Returns the name of the row, as reports show it.
    pub(crate) fn name(&self) -> &str {
        if self.table.is_empty() { "(sidecars, systems)" } else { &self.table }
    }

    /// Returns the sort key of the row. Rows with most errors come first, then rows with most warnings, then by name.
    fn urgency(&self) -> (Reverse<usize>, Reverse<usize>, String) {
        (Reverse(self.total.errors), Reverse(self.total.warnings), self.table.clone())
    }
}

impl HealthCell {
    /// Adds up the numbers of findings of several cells.
    fn sum<'a>(cells: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for cell in cells {
            sum.errors += cell.errors;
            sum.warnings += cell.warnings;
            sum.infos += cell.infos;
        }
        sum.with_texts()
    }

    fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => self.infos += 1,
        }
    }

    /// Returns a copy of the cell in which `worst`, `short` and `words` are computed from the numbers of findings.
    fn with_texts(&self) -> Self {
        let counts = [
            (self.errors, 'E', Severity::Error),
            (self.warnings, 'W', Severity::Warning),
            (self.infos, 'I', Severity::Info),
        ];
        let some: Vec<_> = counts.into_iter().filter(|(n, ..)| *n > 0).collect();
        let short: Vec<String> = some.iter().map(|(n, letter, _)| format!("{n}{letter}")).collect();
        let words: Vec<String> =
            some.iter().map(|(n, _, severity)| plural(*n, severity.into_str())).collect();
        let ok = some.is_empty();
        Self {
            worst: some.first().map_or("ok", |(.., severity)| severity.into_str()),
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
    fn a_cell_of_the_map_shows_the_worst_severity_and_counts() {
        let mut cell = HealthCell::default();
        assert_eq!((cell.with_texts().worst, cell.with_texts().short.as_str()), ("ok", "ok"));
        cell.count(Severity::Info);
        cell.count(Severity::Warning);
        cell.count(Severity::Warning);
        let told = cell.with_texts();
        assert_eq!((told.worst, told.short.as_str()), ("warning", "2W 1I"));
        assert_eq!(told.words, "2 warnings, 1 info");
    }

    #[test]
    fn a_finding_on_a_system_s_yaml_is_counted_for_the_system() {
        let on = |path: &str| {
            let finding = Finding::on_path("r", Severity::Error, path, "m");
            system_of(&finding).map(str::to_owned)
        };
        assert_eq!(on("src/x/systems/h200_sxm.yaml").as_deref(), Some("h200_sxm"));
        assert_eq!(on("systems/data/x.yaml"), None);
        assert_eq!(on("waivers.yaml"), None);
    }
}
