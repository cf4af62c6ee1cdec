//! Sidecars: `collection_meta.yaml` (where tables come from) and `reuse.yaml` (donors).

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Deserialize;

use crate::base::reason::Reason;
use crate::database::catalog::{Catalog, VersionDir};
use crate::database::source::{Entry, Source};

/// The parsed sidecars of all version directories, by the directory's path.
#[derive(Debug, Clone, Default)]
pub struct Sidecars {
    /// `collection_meta.yaml`, or why it cannot be read.
    pub meta: BTreeMap<String, Result<Meta, Reason>>,
    /// `reuse.yaml`, or why it cannot be read.
    pub reuse: BTreeMap<String, Result<Reuse, Reason>>,
}

impl Sidecars {
    /// Reads the sidecars of all version directories.
    pub fn read(source: &dyn Source, catalog: &Catalog) -> Self {
        let text = |entry: &Entry| source.text(entry).map_err(Reason::from);
        let parse = |dir: &&VersionDir| {
            let meta = dir.meta.as_ref().map(|e| text(e).and_then(|t| Meta::parse(&t)));
            let reuse = dir.reuse.as_ref().map(|e| text(e).and_then(|t| Reuse::parse(&t)));
            (meta, reuse)
        };
        let dirs: Vec<&VersionDir> = catalog.dirs.values().collect();
        let parsed: Vec<_> = dirs.par_iter().map(parse).collect();
        let mut sidecars = Self::default();
        for (path, (meta, reuse)) in catalog.dirs.keys().zip(parsed) {
            sidecars.meta.extend(meta.map(|meta| (path.clone(), meta)));
            sidecars.reuse.extend(reuse.map(|reuse| (path.clone(), reuse)));
        }
        sidecars
    }
}

/// `collection_meta.yaml` of a version directory. Fields that are not known are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Meta {
    /// 1, or 2 where tables list the events that their rows are from.
    pub schema_version: i64,
    /// How the tables came to be: legacy, collected or local.
    #[serde(default)]
    pub provenance: Option<String>,
    /// The framework that ran.
    pub runtime: Runtime,
    /// Tables by file stem.
    pub tables: BTreeMap<String, TableMeta>,
    /// Numbers in the comments on each table: rows that were appended, for example.
    #[serde(skip)]
    commented: BTreeMap<String, BTreeSet<u64>>,
}

/// The framework of a collection run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Runtime {
    /// Its name; wide expert parallelism has names of its own.
    pub framework: String,
    /// Its version.
    pub version: String,
}

/// What is said of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TableMeta {
    /// `complete` or `partial`.
    pub status: String,
    /// Row count when it was written.
    #[serde(default)]
    pub rows: Option<u64>,
    /// SHA-256 of the file when it was written.
    #[serde(default, alias = "data_sha256")]
    pub sha256: Option<String>,
    /// The events that its rows are from, the first one first; in schema 2.
    #[serde(default)]
    pub collections: Vec<CollectionEvent>,
    /// Digest of the cases that were run.
    #[serde(default)]
    pub case_plan_hash: Option<String>,
    /// When it was collected.
    #[serde(default)]
    pub collected_at: Option<String>,
    /// The collector's commit.
    #[serde(default)]
    pub collector_ref: Option<String>,
    /// Digest of the collector.
    #[serde(default)]
    pub collector_hash: Option<String>,
    /// What else is said: how the measurement deviates from the others.
    #[serde(flatten)]
    pub declared: BTreeMap<String, serde_json::Value>,
}

/// A collection run that rows of a table are from. Its other fields are its own runtime's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CollectionEvent {
    /// `complete` or `partial`.
    pub status: String,
    /// Rows that it measured; a later event may have replaced some.
    #[serde(default)]
    pub rows: Option<u64>,
    /// Digest of the cases that were run.
    #[serde(default)]
    pub case_plan_hash: Option<String>,
    /// When it ran.
    #[serde(default)]
    pub collected_at: Option<String>,
    /// The collector's commit.
    #[serde(default)]
    pub collector_ref: Option<String>,
}

/// Fields that say where rows are from, and nothing of how the measurement deviates from others.
const PROVENANCE: [&str; 12] = [
    "attempts",
    "backends",
    "classified_failures",
    "collector",
    "failures",
    "image",
    "image_digest",
    "input_tokens",
    "runtime",
    "source_campaign_rows",
    "source_campaign_status",
    "source_commit",
];

impl TableMeta {
    /// What it says of how it was measured beyond the usual, for people: `norm_dispatch: "eager"`.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        const LONGEST: usize = 120;
        let said = self.declared.iter().filter(|(name, _)| !PROVENANCE.contains(&name.as_str()));
        said.map(|(name, value)| {
            let text = format!("{name}: {value}");
            match text.char_indices().nth(LONGEST) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text,
            }
        })
    }

    /// When it was collected last.
    pub fn collected_at(&self) -> Option<&str> {
        let last = self.collections.iter().rev().find_map(|event| event.collected_at.as_deref());
        self.collected_at.as_deref().or(last)
    }

    /// The collector's commit of the last run.
    pub fn collector_ref(&self) -> Option<&str> {
        let last = self.collections.iter().rev().find_map(|event| event.collector_ref.as_deref());
        self.collector_ref.as_deref().or(last)
    }

    /// Rows of all its events together; none where not all say theirs.
    pub fn event_rows(&self) -> Option<u64> {
        let rows = self.collections.iter().map(|event| event.rows);
        rows.sum::<Option<u64>>().filter(|_| !self.collections.is_empty())
    }
}

/// SHA-256 of nothing: a plan without cases.
const EMPTY_DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

impl Meta {
    /// Parses and checks what the types cannot.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let mut meta: Self = crate::base::yaml::parse(text)?;
        meta.commented = commented(text, &meta.tables);
        if ![1, 2].contains(&meta.schema_version) {
            return Err(
                format!("schema_version is {}, but must be 1 or 2", meta.schema_version).into()
            );
        }
        if let Some(p) = &meta.provenance
            && !["legacy", "collected", "local"].contains(&p.as_str())
        {
            return Err(
                format!("provenance is '{p}', but must be legacy, collected or local").into()
            );
        }
        if meta.runtime.framework.is_empty() || meta.runtime.version.is_empty() {
            return Err("runtime lacks a framework or a version".into());
        }
        for (table, entry) in &meta.tables {
            if !["complete", "partial"].contains(&entry.status.as_str()) {
                return Err(format!(
                    "tables.{table}.status is '{}', but must be complete or partial",
                    entry.status
                )
                .into());
            }
            for (i, event) in entry.collections.iter().enumerate() {
                if !["complete", "partial"].contains(&event.status.as_str()) {
                    return Err(format!(
                        "tables.{table}.collections[{i}].status is '{}', but must be complete or partial",
                        event.status
                    )
                    .into());
                }
            }
            let plans = entry.collections.iter().map(|event| &event.case_plan_hash);
            let mut plans = plans.chain([&entry.case_plan_hash]).flatten();
            if plans.any(|h| h.contains(EMPTY_DIGEST)) {
                return Err(format!(
                    "tables.{table}.case_plan_hash is the digest of an empty plan"
                )
                .into());
            }
        }
        Ok(meta)
    }

    /// Whether what is said of a table explains that it has `found` rows and not those stated: its events
    /// add up to them, or a comment on it names them or what was added.
    pub fn explains(&self, table: &str, found: u64) -> bool {
        let Some(entry) = self.tables.get(table) else { return false };
        let events = entry.collections.iter().filter_map(|event| event.rows);
        let by_events = entry.event_rows() == Some(found) || events.clone().any(|n| n == found);
        let added = |n: &u64| *n == found || entry.rows.is_some_and(|rows| rows + n == found);
        by_events || self.commented.get(table).is_some_and(|numbers| numbers.iter().any(added))
    }
}

/// Numbers in the comments of a sidecar by the table that they are on: those within its entry, before
/// its name, or at the end of the file.
fn commented(text: &str, tables: &BTreeMap<String, TableMeta>) -> BTreeMap<String, BTreeSet<u64>> {
    let mut found: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let mut pending: BTreeSet<u64> = BTreeSet::new();
    let (mut current, mut depth) = (None, 0);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let (content, comment) = line.trim().split_once('#').unwrap_or((line.trim(), ""));
        let name = content.trim().strip_suffix(':').map(|name| name.trim_matches(['"', '\'']));
        if let Some(name) = name.filter(|name| indent > 0 && tables.contains_key(*name)) {
            (current, depth) = (Some(name), indent);
            found.entry(name.to_owned()).or_default().append(&mut pending);
        }
        let mut numbers = numbers(comment);
        match current.filter(|_| indent > depth || !content.is_empty()) {
            Some(table) => found.entry(table.to_owned()).or_default().append(&mut numbers),
            None => pending.append(&mut numbers),
        }
    }
    for table in tables.keys() {
        found.entry(table.clone()).or_default().extend(&pending);
    }
    found
}

/// Whole numbers in a text; commas and underscores may group their digits.
fn numbers(text: &str) -> BTreeSet<u64> {
    let part = |c: char| !c.is_ascii_digit() && c != ',' && c != '_';
    let digits = |word: &str| word.replace([',', '_'], "").parse().ok();
    text.split(part).filter_map(digits).collect()
}

/// `reuse.yaml` of a version directory.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reuse {
    /// Always 1.
    pub schema_version: i64,
    /// Donors, in the order in which the loader asks them.
    pub reuse: Vec<Donor>,
}

/// A table whose missing rows come from another version.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Donor {
    /// File stem.
    pub table: String,
    /// The version that has it, of the same system, family and backend.
    pub from_version: String,
    /// Why that is right.
    pub reason: String,
    /// Who said so.
    pub approved_by: String,
}

impl Reuse {
    /// What it declares, as table and version, in its order.
    pub fn donors(&self) -> Vec<(String, String)> {
        self.reuse.iter().map(|d| (d.table.clone(), d.from_version.clone())).collect()
    }

    /// Parses and checks that nothing is left empty.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let reuse: Self = crate::base::yaml::parse(text)?;
        if reuse.schema_version != 1 {
            return Err(format!("schema_version is {}, not 1", reuse.schema_version).into());
        }
        for (i, donor) in reuse.reuse.iter().enumerate() {
            let fields = [
                ("table", &donor.table),
                ("from_version", &donor.from_version),
                ("reason", &donor.reason),
                ("approved_by", &donor.approved_by),
            ];
            if let Some((name, _)) = fields.iter().find(|(_, value)| value.trim().is_empty()) {
                return Err(format!("reuse[{i}].{name} is empty").into());
            }
        }
        Ok(reuse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_looks_like_a_number_is_text() {
        let text = "schema_version: 1\nruntime: {framework: vllm, version: 0.24}\ntables: {}\n";
        assert_eq!(Meta::parse(text).unwrap().runtime.version, "0.24");
    }

    #[test]
    fn what_is_missing_or_empty_is_named() {
        let no_status =
            "schema_version: 1\nruntime: {framework: a, version: b}\ntables:\n  t: {}\n";
        assert!(Meta::parse(no_status).unwrap_err().to_string().contains("status"));
        let empty = "schema_version: 1\nreuse:\n- {table: t, from_version: '1', reason: '', approved_by: me}\n";
        assert_eq!(Reuse::parse(empty).unwrap_err().to_string(), "reuse[0].reason is empty");
    }
}
