//! Gathers the status of single tables.

use std::collections::BTreeMap;

use super::entry::{Nearest, SidecarProvenance, Skipped, TableStatus};
use crate::checks::Check;
use crate::database::catalog::{Place, TableFile};
use crate::database::served::{Edition, Nearness, Shelf};
use crate::database::sidecar::TableMeta;
use crate::findings::{Explanation, Finding, Severity};
use crate::jobs::validate::Looked;

/// Gathers the tables of a system from the data of a `validate` run.
pub(super) struct Gatherer<'a> {
    looked: &'a Looked<'a>,
    shelf: Shelf<'a>,
    system: &'a str,
    /// Names of all known tables, which identify a ledger's operations.
    known: Vec<&'a str>,
}

impl<'a> Gatherer<'a> {
    pub fn new(looked: &'a Looked<'a>, system: &'a str) -> Self {
        let shelf = looked.shelf();
        let known = looked.state.specs.tables.keys().map(String::as_str).collect();
        Self { looked, shelf, system, known }
    }

    /// Returns the current version of each table of a backend, and the tables of the backend that
    /// only similar systems have.
    pub fn current(&self, backend: &str, newest: &str) -> Vec<TableStatus> {
        let mut statuses = Vec::new();
        for table in self.shelf.tables(backend) {
            let editions = self.shelf.editions_of(table, backend, self.system);
            match editions.and_then(|e| self.shelf.current(self.system, e)) {
                Some(edition) => statuses.extend(edition.files.iter().map(|f| self.there(f))),
                None => statuses.extend(self.missing(table, backend, newest, |_| true)),
            }
        }
        statuses
    }

    /// Returns the tables of a backend's version, and the tables that only similar systems have at
    /// this version.
    pub fn of_version(&self, backend: &str, version: &str) -> Vec<TableStatus> {
        let mut statuses = Vec::new();
        for table in self.shelf.tables(backend) {
            let editions = self.shelf.editions_of(table, backend, self.system);
            match editions.and_then(|e| e.get(version)) {
                Some(edition) => statuses.extend(edition.files.iter().map(|f| self.there(f))),
                None => {
                    statuses
                        .extend(self.missing(table, backend, version, |e| e.version == version));
                }
            }
        }
        statuses
    }

    fn there(&self, file: &TableFile) -> TableStatus {
        let mut status = self.status(&file.table, &file.place);
        status.path = Some(file.entry.path.clone());
        status.rows = self.looked.table_rows.get(&file.entry.path).copied();
        if status.rows.is_none() {
            status.notes.insert(0, "cannot be read".into());
        }
        let editions = self.shelf.editions(file);
        let last = editions.and_then(|e| e.last_before(&file.place.version));
        status.last_version = last.map(|e| e.version.to_owned());
        if let Some(dir) = self.looked.state.catalog.dir_of(file)
            && let Some(Ok(meta)) = self.looked.state.facts.sidecars.meta.get(&dir.path)
        {
            let entry = meta.tables.get(&file.table);
            status.provenance.kind = meta.provenance.clone();
            status.provenance.status = entry.map(|t| t.status.clone());
            status.provenance.collected_at =
                entry.and_then(|t| t.collected_at()).map(str::to_owned);
            status.provenance.collector_ref =
                entry.and_then(|t| t.collector_ref()).map(str::to_owned);
            status.notes.extend(entry.into_iter().flat_map(TableMeta::notes));
        }
        let found = self.looked.findings.iter().filter(|f| f.counts());
        for finding in found.filter(|f| self.concerns(f, &status)).collect::<Vec<_>>() {
            match finding.severity {
                Severity::Error => status.errors += 1,
                Severity::Warning => status.warnings += 1,
                Severity::Info => status.infos += 1,
            }
            let rule = self.looked.rules.iter().find(|rule| rule.id == finding.rule);
            if rule.is_some_and(|rule| matches!(rule.check, Check::DuplicateKey(_))) {
                status.duplicates += finding.rows;
            }
        }
        status
    }

    /// Returns a missing table as a single entry, or nothing unless a system of the same generation
    /// has an edition for which `like` is true.
    fn missing(
        &self,
        table: &str,
        backend: &str,
        version: &str,
        like: impl Fn(&Edition<'a>) -> bool,
    ) -> Vec<TableStatus> {
        let place = Place {
            system: self.system.to_owned(),
            family: None,
            backend: backend.to_owned(),
            version: version.to_owned(),
        };
        let (nearness, near) = self.shelf.near_of(table, &place);
        let has = near.iter().any(|(_, editions, _)| editions.iter().any(&like));
        if nearness != Nearness::Generation || !has {
            return Vec::new();
        }
        let mut status = self.status(table, &place);
        let filling = self.looked.state.specs.filling(table);
        let served = self.shelf.sources(&place, table, filling);
        let from = served.donors.first().or(served.earlier.first());
        status.notes.push(match from {
            Some(file) => format!("not collected; served from {}", file.place.version),
            None => "not collected".into(),
        });
        vec![status]
    }

    /// Returns the parts of a status that present and missing tables share.
    fn status(&self, table: &str, place: &Place) -> TableStatus {
        let spec = self.looked.state.specs.tables.get(table);
        let operation = spec.map(|s| s.family.clone()).or_else(|| place.family.clone());
        TableStatus {
            backend: place.backend.clone(),
            version: place.version.clone(),
            operation: operation.unwrap_or_else(|| "-".into()),
            table: table.to_owned(),
            path: None,
            rows: None,
            nearest: self.nearest(table, place),
            duplicates: 0,
            errors: 0,
            warnings: 0,
            infos: 0,
            last_version: None,
            provenance: SidecarProvenance {
                reuse: self.shelf.declared(place, table).into_iter().map(str::to_owned).collect(),
                ..SidecarProvenance::default()
            },
            notes: Vec::new(),
        }
    }

    /// Returns the table on the most similar system, preferably in the same version.
    fn nearest(&self, table: &str, place: &Place) -> Option<Nearest> {
        let near = self.shelf.near_of(table, place).1;
        let same =
            near.iter().find_map(|(s, editions, _)| Some((*s, editions.get(&place.version)?)));
        let (system, edition) = same.or(near.first().map(|(s, _, edition)| (*s, *edition)))?;
        let rows = |file: &&TableFile| match self.looked.table_rows.get(&file.entry.path) {
            Some(rows) => Some(*rows),
            None => self.looked.state.table(file).ok().map(|table| table.rows),
        };
        Some(Nearest {
            system: system.to_owned(),
            version: edition.version.to_owned(),
            rows: edition.files.iter().map(rows).sum(),
        })
    }

    /// Returns true if a finding is about a present table.
    pub fn concerns(&self, finding: &Finding, status: &TableStatus) -> bool {
        let Some(path) = &status.path else { return false };
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let named = finding.table.as_ref() == Some(&status.table);
        // A finding on a sidecar names the table that it is about.
        finding.path == *path || named && finding.path.strip_prefix(dir).is_some_and(is_inside)
    }

    /// Returns the cases of a table that were not measured: failures in the ledger, and limits that
    /// explain missing keys.
    pub fn skipped(&self, status: &TableStatus) -> Vec<Skipped> {
        let skipped = |cases: u64, class: &str, reason: &str| Skipped {
            backend: status.backend.clone(),
            version: status.version.clone(),
            table: status.table.clone(),
            cases,
            class: class.to_owned(),
            reason: reason.to_owned(),
        };
        let (table, backend, version) = (&status.table, &status.backend, &status.version);
        let failures = self.looked.ledger.map_or_else(BTreeMap::new, |ledger| {
            ledger.recorded(table, backend, version, &self.known)
        });
        let mut all: Vec<Skipped> = failures
            .into_iter()
            .map(|((class, error), cases)| skipped(cases as u64, class, error))
            .collect();
        let findings = self.looked.findings.iter().filter(|f| self.concerns(f, status));
        for explained in findings.flat_map(|f| &f.evidence.explained) {
            // Failures are already counted from the ledger.
            if let Explanation::Limit { id, reason } = &explained.by {
                let reason = format!("{id}: {reason}");
                all.push(skipped(explained.keys as u64, "limit", reason.trim()));
            }
        }
        all
    }
}

/// Returns true if the rest of a path is the directory itself or a file directly in it.
fn is_inside(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/') && !rest[1..].contains('/')
}
