//! A collector's failure ledger: the cases that it could not measure, with the reasons.
//!
//! A collector writes two kinds of JSON files to its log directory:
//!
//! ```text
//! errors_<module>.json                [failure, …]
//! collection_summary_<backend>.json   {"summary": {"backend", "version", …}, "errors": [failure, …]}
//! ```
//!
//! A failure contains its module (`sglang.moe`: backend and operation), the case in `task_params` (as Python
//! prints it: `Case(m=1, dtype='fp8')`, or a tuple without names), its group (`model|dtypes`) and a
//! classification. A failure explains a missing key only if it is classified and identifies the failed case:
//!
//! - Named parameters that are parts of the table's key must all have the key's values, and the key must
//!   contain every other `…type` parameter.
//!
//! - Parameters without names must contain all plain numbers of the key, each in a separate parameter. They
//!   must also contain the key's text of a part if they contain any text of that part.
//!
//! - A failure without parameters covers the dtypes of its group if the group names no model, since models
//!   are not part of a key. If the whole operation was skipped, the failure covers the operation.
//!
//! A failure is classified if the collector recorded it for the case itself: `unexpected` marks a case that
//! failed with an exception of its own; `breaker_skipped` and `unverified_skipped` mark cases that it left
//! out. Not classified are failures without a classification (a worker that died, a module that did not load)
//! and `unresolved_from_checkpoint`, which counts failures without naming them. Running out of memory once
//! does not count either: like the collector, the ledger requires that the same case fails again.

mod failure;
mod params;
mod record;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use self::failure::CollectorFailure;
use self::record::{CaseIdentity, Record};
use crate::base::error::{Error, Result};
use crate::base::read::read_text;
use crate::database::coverage::CoveredPoints;
use crate::specs::TableSpec;

/// The measurements that failed in a run of a collector.
#[derive(Debug, Default)]
pub struct Ledger {
    failures: Vec<CollectorFailure>,
    /// The versions that were collected, by backend.
    versions: BTreeMap<String, BTreeSet<String>>,
}

/// An error in a file of a ledger.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {source}")]
pub struct LedgerError {
    /// The file's name.
    pub file: String,
    /// The JSON error with its position.
    pub source: serde_json::Error,
}

#[derive(Debug, Deserialize)]
struct SummaryFile {
    summary: SummaryHead,
    #[serde(default)]
    errors: Vec<Record>,
}

#[derive(Debug, Deserialize)]
struct SummaryHead {
    backend: String,
    #[serde(default)]
    version: Option<String>,
}

impl Ledger {
    /// Reads the ledger in a log directory of a collector.
    ///
    /// # Errors
    ///
    /// If the directory contains no ledger, or if one of the ledger's files cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        const HINT: &str = "--ledger takes a collector's log directory, with its errors_<module>.json \
                            and collection_summary_<backend>.json";
        let bad = |path: &Path, why: String| Error::new(format!("{}: {why}", path.display()), HINT);
        let listed = std::fs::read_dir(folder).map_err(|e| bad(folder, e.to_string()))?;
        let mut files = BTreeMap::new();
        for entry in listed {
            let path = entry.map_err(|e| bad(folder, e.to_string()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_summary(&name).is_some() {
                let text = read_text(&path).map_err(|e| bad(&path, e.to_string()))?;
                files.insert(name, text);
            }
        }
        if files.is_empty() {
            return Err(bad(folder, "the directory does not contain a failure ledger".into()));
        }
        Self::parse(&files).map_err(|e| bad(&folder.join(e.file), e.source.to_string()))
    }

    /// Parses the files of a ledger. `files` maps file names to texts.
    ///
    /// # Errors
    ///
    /// If a file does not have the format that a collector writes.
    pub fn parse(files: &BTreeMap<String, String>) -> Result<Self, LedgerError> {
        let mut ledger = Self::default();
        let mut records = Vec::new();
        for (name, text) in files {
            let bad = |source| LedgerError { file: name.clone(), source };
            match is_summary(name) {
                Some(true) => {
                    let summary: SummaryFile = serde_json::from_str(text).map_err(bad)?;
                    let SummaryHead { backend, version } = summary.summary;
                    ledger.versions.entry(backend).or_default().extend(version);
                    records.extend(summary.errors);
                }
                Some(false) => {
                    let listed: Vec<Record> = serde_json::from_str(text).map_err(bad)?;
                    records.extend(listed);
                }
                None => {}
            }
        }
        ledger.add(records);
        Ok(ledger)
    }

    fn add(&mut self, records: Vec<Record>) {
        // A summary repeats the failures in the modules' files, so duplicates are dropped.
        let mut seen = HashSet::new();
        let kept: Vec<&Record> = records.iter().filter(|r| seen.insert(r.identity())).collect();
        let mut out_of_memory: HashMap<CaseIdentity<'_>, usize> = HashMap::new();
        for record in kept.iter().filter(|r| r.out_of_memory()) {
            *out_of_memory.entry(record.case()).or_default() += 1;
        }
        // Another process may have caused a single failure to allocate memory.
        let is_believed = |record: &Record| {
            !record.out_of_memory() || out_of_memory.get(&record.case()).is_some_and(|n| *n > 1)
        };
        let classified = kept.iter().filter(|r| r.is_classified() && is_believed(r));
        self.failures.extend(classified.filter_map(|record| CollectorFailure::new(record)));
    }

    /// Returns true if a failure of the backend `failed` applies to a version of `backend`. The two backends must be
    /// the same. If the ledger lists the collected versions of the backend, `version` must be among them.
    fn holds_for(&self, failed: &str, backend: &str, version: &str) -> bool {
        let versions = self.versions.get(failed).filter(|v| !v.is_empty());
        failed == backend && versions.is_none_or(|v| v.contains(version))
    }

    /// Returns the failures that apply to a table, a backend and a version. `tables` are the names of all tables: a
    /// failure belongs only to the table whose name fits the failed operation best.
    pub fn of(
        &self,
        spec: &TableSpec,
        backend: &str,
        version: &str,
        tables: &[&str],
    ) -> Failures<'_> {
        let of_table = |f: &&CollectorFailure| {
            self.holds_for(&f.backend, backend, version)
                && f.table(tables) == Some(spec.name.as_str())
        };
        Failures(self.failures.iter().filter(of_table).collect())
    }
}

/// Returns the kind of a ledger's file: `Some(true)` for the summary of a backend, `Some(false)` for the errors of a
/// module, and `None` for any other file.
fn is_summary(name: &str) -> Option<bool> {
    let stem = name.strip_suffix(".json")?;
    let summary = stem.starts_with("collection_summary_");
    (summary || stem.starts_with("errors_")).then_some(summary)
}

/// The failures of one table that can explain missing keys.
#[derive(Debug)]
pub struct Failures<'a>(Vec<&'a CollectorFailure>);

impl<'a> Failures<'a> {
    /// Returns the error that explains why a key is missing; `None` if no failure explains it. `at` is the index of the
    /// key in `points`.
    pub fn explain(&self, spec: &TableSpec, points: &CoveredPoints, at: usize) -> Option<&'a str> {
        let failure: &'a CollectorFailure = self.0.iter().find(|f| f.explains(spec, points, at))?;
        Some(failure.error.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::params::FailedCases;
    use super::*;

    fn record(json: Json) -> Record {
        serde_json::from_value(json).unwrap()
    }

    fn failures(records: Vec<Json>) -> Vec<CollectorFailure> {
        let mut ledger = Ledger::default();
        ledger.add(records.into_iter().map(record).collect());
        ledger.failures
    }

    #[test]
    fn only_classified_failures_are_read() {
        let of = |class: Json, error: &str| {
            serde_json::json!({
                "module": "vllm.gemm", "task_id": "a", "task_params": "(1, 2, 3)",
                "error_type": error, "classification": class, "timestamp": error
            })
        };
        assert_eq!(failures(vec![of("unexpected".into(), "RuntimeError")]).len(), 1);
        assert_eq!(failures(vec![of("breaker_skipped".into(), "")]).len(), 1);
        for class in [Json::Null, "".into(), "unresolved_from_checkpoint".into()] {
            assert!(failures(vec![of(class, "RuntimeError")]).is_empty());
        }
        let memory = || of("unexpected".into(), "OutOfMemoryError");
        assert!(failures(vec![memory()]).is_empty(), "memory ran out once");
        assert!(failures(vec![memory(), memory()]).is_empty(), "told twice, of one run");
        let mut again = memory();
        again["timestamp"] = "later".into();
        assert_eq!(failures(vec![memory(), again]).len(), 2);
    }

    #[test]
    fn a_failure_belongs_to_the_table_whose_words_its_module_contains() {
        let tables = ["gemm_perf", "moe_perf", "wideep_moe_perf", "context_attention_perf"];
        let table = |module: &str| {
            let json = serde_json::json!({
                "module": module, "task_params": "(1,)", "classification": "unexpected"
            });
            failures(vec![json]).first().and_then(|f| f.table(&tables))
        };
        assert_eq!(table("vllm.gemm"), Some("gemm_perf"));
        assert_eq!(table("trtllm.attention_context"), Some("context_attention_perf"));
        assert_eq!(table("trtllm.wideep_moe"), Some("wideep_moe_perf"));
        assert_eq!(table("trtllm.conv1d"), None);
        assert_eq!(table("gemm"), None, "no backend");
    }

    #[test]
    fn a_failure_without_a_case_covers_its_group_or_operation_or_is_ignored() {
        let case = |group: Json, class: &str| {
            let json = serde_json::json!({
                "module": "vllm.moe", "task_params": null, "group": group, "classification": class
            });
            failures(vec![json]).pop().map(|f| f.case)
        };
        assert_eq!(case("|fp8".into(), "breaker_skipped"), Some(FailedCases::Group));
        assert_eq!(case("some/model|fp8".into(), "breaker_skipped"), None);
        assert_eq!(case(Json::Null, "unverified_skipped"), Some(FailedCases::Operation));
        assert_eq!(case(Json::Null, "unexpected"), None);
    }
}
