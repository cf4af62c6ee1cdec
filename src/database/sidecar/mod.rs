//! Sidecars: `collection_meta.yaml` (the origin of tables) and `reuse.yaml` (donors).

mod reuse;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

pub use self::reuse::Reuse;
use crate::base::error::Reason;
use crate::database::catalog::{Catalog, VersionDir};
use crate::database::source::{Entry, Source};
use crate::specs::LoaderFiles;

/// The parsed sidecars of all version directories, by the directory's path.
#[derive(Debug, Clone, Default)]
pub struct Sidecars {
    /// The parsed `collection_meta.yaml` of each directory, or the reason why it cannot be read.
    pub meta: BTreeMap<String, Result<Meta, Reason>>,
    /// The parsed `reuse.yaml` of each directory, or the reason why it cannot be read.
    pub reuse: BTreeMap<String, Result<Reuse, Reason>>,
}

impl Sidecars {
    /// Reads the sidecars of all version directories.
    pub fn read(source: &dyn Source, catalog: &Catalog, loader: &LoaderFiles) -> Self {
        let text = |entry: &Entry| source.text(entry).map_err(Reason::from);
        let parse = |dir: &&VersionDir| {
            let meta = |text: String| {
                let meta = Meta::parse(&text)?;
                let is_newer = meta.schema_version == 2;
                let fields = if is_newer { &loader.sidecar_2 } else { &loader.sidecar };
                fields.checked(&text, Ok(meta))
            };
            let reuse = |text: String| loader.reuse.checked(&text, Reuse::parse(&text));
            let meta = dir.meta.as_ref().map(|e| text(e).and_then(meta));
            let reuse = dir.reuse.as_ref().map(|e| text(e).and_then(reuse));
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

/// The contents of a version directory's `collection_meta.yaml`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct Meta {
    /// The schema version: 1, or 2 if tables list their collection events.
    #[schemars(extend("enum" = [1, 2]))]
    pub schema_version: i64,
    /// How the tables originated: `legacy`, `collected` or `local`.
    #[serde(default)]
    pub provenance: Option<String>,
    /// The framework that was measured.
    pub runtime: Runtime,
    /// The tables by name.
    pub tables: BTreeMap<String, TableMeta>,
    /// For each table, the numbers in comments of the sidecar. A comment may state the number of appended rows.
    #[serde(skip)]
    commented: BTreeMap<String, BTreeSet<u64>>,
    /// All fields of the file as written.
    #[serde(skip)]
    pub fields: serde_json::Value,
}

/// The framework of a collection run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Runtime {
    /// The framework's name, which may have further parts: `wideep_sglang`, `vllm_xpu`.
    pub framework: String,
    /// The framework's version.
    pub version: String,
    /// The digest of the image that ran the framework, such as `sha256:c4ca651192e5…`.
    #[serde(default)]
    pub image_digest: Option<String>,
    /// The framework's git commit.
    #[serde(default)]
    pub source_commit: Option<String>,
}

impl Runtime {
    /// Returns true if a version directory is named after this build: `dev-`, then at least the first seven hexadecimal
    /// digits of the image digest or of the commit. A suffix may follow after a hyphen.
    pub(crate) fn is_build(&self, dir: &str) -> bool {
        const FEWEST_DIGITS: usize = 7;
        let Some(rest) = dir.strip_prefix("dev-") else { return false };
        let start = rest.split('-').next().unwrap_or_default();
        let is_digest =
            start.len() >= FEWEST_DIGITS && start.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digest = self.image_digest.as_deref().map(|d| d.strip_prefix("sha256:").unwrap_or(d));
        let mut builds = [digest, self.source_commit.as_deref()].into_iter().flatten();
        is_digest && builds.any(|build| build.starts_with(start))
    }
}

/// The entry of a table in `collection_meta.yaml`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct TableMeta {
    /// The status of the table's collection: `complete` or `partial`.
    #[schemars(extend("enum" = ["complete", "partial"]))]
    pub status: String,
    /// The number of rows when the entry was written.
    #[serde(default)]
    pub rows: Option<u64>,
    /// The SHA-256 of the table file when the entry was written.
    #[serde(default, alias = "data_sha256")]
    pub sha256: Option<String>,
    /// The collection events that measured the rows, oldest first; empty in schema 1.
    #[serde(default)]
    pub collections: Vec<CollectionEvent>,
    /// The digest of the list of cases (sets of parameters) that the collector ran.
    #[serde(default)]
    pub case_plan_hash: Option<String>,
    /// The time at which the table was collected.
    #[serde(default)]
    pub collected_at: Option<String>,
    /// The collector's git commit.
    #[serde(default)]
    pub collector_ref: Option<String>,
    /// The digest of the collector.
    #[serde(default)]
    pub collector_hash: Option<String>,
    /// All other fields, such as deviations from the usual way of measuring.
    #[serde(flatten)]
    pub declared: BTreeMap<String, serde_json::Value>,
}

/// A collection run that measured rows of a table. Fields of the file that describe the framework are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct CollectionEvent {
    /// The status of the collection run: `complete` or `partial`.
    #[schemars(extend("enum" = ["complete", "partial"]))]
    pub status: String,
    /// The number of rows that the collection run measured. A later run may have replaced some of these rows.
    #[serde(default)]
    pub rows: Option<u64>,
    /// The digest of the list of cases (sets of parameters) that the collector ran.
    #[serde(default)]
    pub case_plan_hash: Option<String>,
    /// The time of the collection run.
    #[serde(default)]
    pub collected_at: Option<String>,
    /// The collector's git commit.
    #[serde(default)]
    pub collector_ref: Option<String>,
}

/// The fields of `TableMeta::declared` that describe the origin of a table's rows. Any other field in the map counts as
/// a deviation from the usual way of measuring.
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
    /// Returns the declared deviations from the usual way of measuring, as texts such as `norm_dispatch: "eager"`.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
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

    /// Returns the digests of the lists of cases that the collector ran, over all collections of the table.
    pub(crate) fn plans(&self) -> BTreeSet<&str> {
        let events = self.collections.iter().map(|event| &event.case_plan_hash);
        events.chain([&self.case_plan_hash]).flatten().map(String::as_str).collect()
    }

    /// Returns the git commit of the collector in the last collection; `None` if the sidecar does not state the commit.
    pub(crate) fn collector_ref(&self) -> Option<&str> {
        let last = self.collections.iter().rev().find_map(|event| event.collector_ref.as_deref());
        self.collector_ref.as_deref().or(last)
    }

    /// Returns the table's collections. An entry of schema 1 is one collection.
    fn all_collections(&self) -> impl Iterator<Item = CollectionEvent> {
        let own = CollectionEvent {
            status: self.status.clone(),
            rows: self.rows,
            case_plan_hash: self.case_plan_hash.clone(),
            collected_at: self.collected_at.clone(),
            collector_ref: self.collector_ref.clone().or_else(|| self.collector_hash.clone()),
        };
        let own = Some(own).filter(|_| self.collections.is_empty());
        own.into_iter().chain(self.collections.iter().cloned())
    }

    /// Returns true if the entry lists a collection run that the older entry `before` lacks. The run must name the
    /// collector's commit and must not be older than the runs in `before`. Its row count must be at least `measured`
    /// (the number of changed keys) and at most `rows` (the table's row count).
    pub(crate) fn adds_collection(&self, before: Option<&Self>, measured: u64, rows: u64) -> bool {
        let before: Vec<_> = before.into_iter().flat_map(Self::all_collections).collect();
        let last = before.iter().filter_map(|event| event.collected_at.as_deref()).max();
        let is_new = |event: &CollectionEvent| {
            let is_same = |old: &CollectionEvent| {
                (&old.collected_at, &old.collector_ref)
                    == (&event.collected_at, &event.collector_ref)
            };
            let is_later = event.collected_at.is_some() && event.collected_at.as_deref() >= last;
            let fits = event.rows.is_some_and(|n| (measured..=rows).contains(&n));
            event.collector_ref.is_some() && is_later && fits && !before.iter().any(is_same)
        };
        self.all_collections().any(|event| is_new(&event))
    }

    /// Returns the sum of the row counts of all events; `None` if there are no events or an event lacks its count.
    pub(crate) fn event_rows(&self) -> Option<u64> {
        let rows = self.collections.iter().map(|event| event.rows);
        rows.sum::<Option<u64>>().filter(|_| !self.collections.is_empty())
    }
}

/// The template of a sidecar for a table without a collector, with placeholders.
const BY_HAND: &str = include_str!("by_hand.yaml");

/// Returns the shortest valid sidecar, for a table whose collector does not write one.
pub(crate) fn by_hand(backend: &str, version: &str, table: &str) -> String {
    let lines = BY_HAND.replace("{backend}", backend).replace("{version}", version);
    lines.replace("{table}", table)
}

/// The SHA-256 of an empty input. A sidecar has this digest if the list of cases was empty.
const EMPTY_DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

impl Meta {
    /// Parses `collection_meta.yaml` and checks its values.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let mut meta: Self = crate::base::yaml::parse(text)?;
        meta.commented = commented(text, &meta.tables);
        if meta.runtime.framework.is_empty() || meta.runtime.version.is_empty() {
            return Err("runtime lacks a framework or a version".into());
        }
        let fields = crate::base::yaml::parse(text);
        // Schema 1 has no rules for its other fields. If one of them is not JSON, all are unknown.
        meta.fields = if meta.schema_version == 2 { fields? } else { fields.unwrap_or_default() };
        for (table, entry) in &meta.tables {
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

    /// Returns a field of a table's entry by its dotted path. If the entry lacks the field, returns the field of the
    /// whole file, or null if that is missing as well.
    pub(crate) fn field(&self, table: &str, path: &str) -> &serde_json::Value {
        let path = format!("/{}", path.replace('.', "/"));
        let entry = self.fields.get("tables").and_then(|tables| tables.get(table));
        let found = entry.and_then(|entry| entry.pointer(&path));
        found.or_else(|| self.fields.pointer(&path)).unwrap_or(&serde_json::Value::Null)
    }

    /// Returns true if the sidecar explains why a table has `found` rows although its entry states another number.
    /// Either one collection run or all runs together measured `found` rows, or a comment contains the number `found`
    /// or the number of added rows.
    pub(crate) fn explains(&self, table: &str, found: u64) -> bool {
        let Some(entry) = self.tables.get(table) else { return false };
        let events = entry.collections.iter().filter_map(|event| event.rows);
        let by_events = entry.event_rows() == Some(found) || events.clone().any(|n| n == found);
        let added = |n: &u64| *n == found || entry.rows.is_some_and(|rows| rows + n == found);
        by_events || self.commented.get(table).is_some_and(|numbers| numbers.iter().any(added))
    }
}

/// Returns the numbers in the comments of a sidecar, by table. A comment belongs to a table if it is inside the table's
/// entry or before the table's name. Comments at the end of the file belong to all tables.
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

/// Returns the whole numbers in a text; commas and underscores may group digits.
fn numbers(text: &str) -> BTreeSet<u64> {
    let part = |c: char| !c.is_ascii_digit() && c != ',' && c != '_';
    text.split(part).filter_map(|word| word.replace([',', '_'], "").parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sidecar_version_that_looks_like_a_number_is_text() {
        let text = "schema_version: 1\nruntime: {framework: vllm, version: 0.24}\ntables: {}\n";
        assert_eq!(Meta::parse(text).unwrap().runtime.version, "0.24");
    }

    #[test]
    fn a_field_that_is_not_json_is_refused_in_schema_2_only() {
        let text =
            "schema_version: 1\nruntime: {framework: a, version: b}\ntables: {}\nx: {[1]: 2}\n";
        assert!(Meta::parse(text).unwrap().fields.is_null());
        assert!(Meta::parse(&text.replacen('1', "2", 1)).is_err());
    }

    #[test]
    fn a_missing_status_of_a_sidecar_is_named() {
        let no_status =
            "schema_version: 1\nruntime: {framework: a, version: b}\ntables:\n  t: {}\n";
        assert!(Meta::parse(no_status).unwrap_err().to_string().contains("status"));
    }
}
