//! Gathers the status of single tables.

use std::collections::BTreeMap;

use super::entry::{Nearest, SidecarProvenance, Skipped, TableStatus};
use crate::checks::Check;
use crate::database::catalog::{Place, TableFile};
use crate::database::served::{Edition, Nearness, Shelf};
use crate::database::sidecar::TableMeta;
use crate::findings::{Explanation, Finding, Severity};
use crate::jobs::validate::JudgedData;

/// Gathers the tables of a system from the data of a `validate` run.
pub(super) struct Gatherer<'a> {
    data: &'a JudgedData<'a>,
    shelf: Shelf<'a>,
    system: &'a str,
    /// Names of all known tables, which identify a ledger's operations.
    known: Vec<&'a str>,
}

impl<'a> Gatherer<'a> {
    pub fn new(data: &'a JudgedData<'a>, system: &'a str) -> Self {
        let shelf = data.shelf();
        let known = data.state.specs.tables.keys().map(String::as_str).collect();
        Self { data, shelf, system, known }
    }

    /// Returns the tables of a backend at a version, or with `is_current` the current version of each
    /// table; and the tables that only similar systems have, as missing at `version`.
    pub fn tables(&self, backend: &str, version: &str, is_current: bool) -> Vec<TableStatus> {
        let mut statuses = Vec::new();
        for table in self.shelf.tables(backend) {
            let editions = self.shelf.editions_of(table, backend, self.system);
            let edition = match editions {
                Some(editions) if is_current => self.shelf.current(self.system, editions),
                Some(editions) => editions.get(version),
                None => None,
            };
            match edition {
                Some(edition) => statuses.extend(edition.files.iter().map(|f| self.present(f))),
                None => statuses.extend(self.missing(table, backend, version, is_current)),
            }
        }
        statuses
    }

    /// Returns the status of a table that exists.
    fn present(&self, file: &TableFile) -> TableStatus {
        let mut status = self.status(&file.table, &file.place);
        status.path = Some(file.entry.path.clone());
        status.rows = self.data.table_rows.get(&file.entry.path).copied();
        if status.rows.is_none() {
            status.notes.insert(0, "cannot be read".into());
        }
        let editions = self.shelf.editions(file);
        let last = editions.and_then(|e| e.last_before(&file.place.version));
        status.last_version = last.map(|e| e.version.to_owned());
        if let Some(dir) = self.data.state.catalog.dir_of(file)
            && let Some(Ok(meta)) = self.data.state.facts.sidecars.meta.get(&dir.path)
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
        let found = self.data.findings.iter().filter(|f| f.counts());
        for finding in found.filter(|f| self.concerns(f, &status)).collect::<Vec<_>>() {
            match finding.severity {
                Severity::Error => status.errors += 1,
                Severity::Warning => status.warnings += 1,
                Severity::Info => status.infos += 1,
            }
            let rule = self.data.rules.iter().find(|rule| rule.id == finding.rule);
            if rule.is_some_and(|rule| matches!(rule.check, Check::DuplicateKey(_))) {
                status.duplicates += finding.rows;
            }
        }
        status
    }

    /// Returns the status of a missing table; `None` unless a system of the same generation has the
    /// table, with `is_current` in any version, otherwise in this one.
    fn missing(
        &self,
        table: &str,
        backend: &str,
        version: &str,
        is_current: bool,
    ) -> Option<TableStatus> {
        let place = Place {
            system: self.system.to_owned(),
            family: None,
            backend: backend.to_owned(),
            version: version.to_owned(),
        };
        let (nearness, near) = self.shelf.near_of(table, &place);
        let like = |edition: &Edition<'_>| is_current || edition.version == version;
        let has = near.iter().any(|(_, editions, _)| editions.iter().any(like));
        if nearness != Nearness::Generation || !has {
            return None;
        }
        let mut status = self.status(table, &place);
        let filling = self.data.state.specs.filling(table);
        let served = self.shelf.sources(&place, table, filling);
        let from = served.donors.first().or(served.earlier.first());
        status.notes.push(match from {
            Some(file) => format!("not collected; served from {}", file.place.version),
            None => "not collected".into(),
        });
        Some(status)
    }

    /// Returns the parts of a status that present and missing tables share.
    fn status(&self, table: &str, place: &Place) -> TableStatus {
        let spec = self.data.state.specs.tables.get(table);
        let operation = spec.map(|s| s.family.clone()).or_else(|| place.family.clone());
        TableStatus {
            backend: place.backend.clone(),
            version: place.version.clone(),
            operation: operation.unwrap_or_else(|| "-".into()),
            table: table.to_owned(),
            nearest: self.nearest(table, place),
            provenance: SidecarProvenance {
                reuse: self.shelf.declared(place, table).into_iter().map(str::to_owned).collect(),
                ..SidecarProvenance::default()
            },
            ..TableStatus::default()
        }
    }

    /// Returns the table on the most similar system, preferably in the same version.
    fn nearest(&self, table: &str, place: &Place) -> Option<Nearest> {
        let near = self.shelf.near_of(table, place).1;
        let same =
            near.iter().find_map(|(s, editions, _)| Some((*s, editions.get(&place.version)?)));
        let (system, edition) = same.or(near.first().map(|(s, _, edition)| (*s, *edition)))?;
        let rows = |file: &&TableFile| match self.data.table_rows.get(&file.entry.path) {
            Some(rows) => Some(*rows),
            None => self.data.state.table(file).ok().map(|table| table.rows),
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
        let failures = self.data.ledger.map_or_else(BTreeMap::new, |ledger| {
            ledger.recorded(table, backend, version, &self.known)
        });
        let mut all: Vec<Skipped> = failures
            .into_iter()
            .map(|((class, error), cases)| skipped(cases as u64, class, error))
            .collect();
        let findings = self.data.findings.iter().filter(|f| self.concerns(f, status));
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
