//! Sidecars: `collection_meta.yaml` (where tables come from) and `reuse.yaml` (donors).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::reason::Reason;

/// `collection_meta.yaml` of a version directory. Fields that are not known are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Meta {
    /// Always 1.
    pub schema_version: i64,
    /// How the tables came to be: legacy, collected or local.
    #[serde(default)]
    pub provenance: Option<String>,
    /// The framework that ran.
    pub runtime: Runtime,
    /// Tables by file stem.
    pub tables: BTreeMap<String, TableMeta>,
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
    #[serde(default)]
    pub sha256: Option<String>,
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

impl TableMeta {
    /// What it says beyond the usual, for people: `norm_dispatch: "eager"`.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.declared.iter().map(|(name, value)| format!("{name}: {value}"))
    }
}

/// SHA-256 of nothing: a plan without cases.
const EMPTY_DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

impl Meta {
    /// Parses and checks what the types cannot.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let meta: Self = crate::base::yaml::parse(text)?;
        if meta.schema_version != 1 {
            return Err(format!("schema_version is {}, not 1", meta.schema_version).into());
        }
        if let Some(p) = &meta.provenance
            && !["legacy", "collected", "local"].contains(&p.as_str())
        {
            return Err(format!("provenance is '{p}': legacy, collected or local").into());
        }
        if meta.runtime.framework.is_empty() || meta.runtime.version.is_empty() {
            return Err("runtime names no framework or no version".into());
        }
        for (table, entry) in &meta.tables {
            if !["complete", "partial"].contains(&entry.status.as_str()) {
                return Err(format!(
                    "tables.{table}.status is '{}': complete or partial",
                    entry.status
                )
                .into());
            }
            if entry.case_plan_hash.as_ref().is_some_and(|h| h.contains(EMPTY_DIGEST)) {
                return Err(
                    format!("tables.{table}.case_plan_hash is the digest of nothing").into()
                );
            }
        }
        Ok(meta)
    }
}

/// `reuse.yaml` of a version directory.
#[derive(Debug, Clone, Deserialize)]
pub struct Reuse {
    /// Always 1.
    pub schema_version: i64,
    /// Donors, in the order in which the loader asks them.
    pub reuse: Vec<Donor>,
}

/// A table whose missing rows come from another version.
#[derive(Debug, Clone, Deserialize)]
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
