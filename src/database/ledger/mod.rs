//! A collector's failure ledger: the cases that it could not measure, and why.
//!
//! A run of the collector leaves two kinds of JSON files in its log directory:
//!
//! ```text
//! errors_<module>.json                [failure, …]
//! collection_summary_<backend>.json   {"summary": {"backend", "version", …}, "errors": [failure, …]}
//! ```
//!
//! A failure names its module (`sglang.moe`: backend and operation), the case in `task_params` (as
//! Python prints it: `Case(m=1, dtype='fp8')`, or a tuple without names), its group (`model|dtypes`)
//! and a classification. It explains a missing key only when it is classified, and only as far as it
//! says which case failed:
//!
//! - Named parameters that are parts of the table's key must all have the key's values, and the key
//!   must hold any other `…type` among them.
//! - Of parameters without names, the key's plain numbers must all be among them, each as one of its
//!   own, and so must the key's texts where they name one of that part.
//! - A failure without parameters stands for its group's dtypes, where the group names no model; a
//!   model is not part of a key. Skipped for an operation as a whole, it stands for the operation.
//!
//! Classified is what the collector recorded for the case itself: `unexpected`, the mark of every
//! case that failed with an exception of its own; `breaker_skipped` and `unverified_skipped`, cases
//! that it left out. Not classified are a failure without a classification (a worker that died, a
//! module that did not load), `unresolved_from_checkpoint`, which counts failures and names none, and
//! running out of memory once: the collector's own rule is to believe that when the same case fails
//! again.

mod failure;
mod params;
mod record;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use self::failure::Failure;
use self::record::{CaseIdentity, Record, Recorded, table_of};
use crate::base::error::{Error, Result};
use crate::database::coverage::Points;
use crate::specs::TableSpec;

/// Failures of a collection, the classified ones.
#[derive(Debug, Default)]
pub struct Ledger {
    failures: Vec<Failure>,
    /// Every failure that was recorded, classified or not.
    recorded: Vec<Recorded>,
    /// Versions that were collected, by backend, where a summary names them.
    versions: BTreeMap<String, BTreeSet<String>>,
}

/// A file of a ledger that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {source}")]
pub struct LedgerError {
    /// Its name.
    pub file: String,
    /// Where it is not what a collector writes.
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
    /// Reads the ledger of a log directory.
    ///
    /// # Errors
    ///
    /// When there is none in it, or a file of it cannot be read: a ledger that is silently not there
    /// would explain nothing.
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
                let text = std::fs::read_to_string(&path).map_err(|e| bad(&path, e.to_string()))?;
                files.insert(name, text);
            }
        }
        if files.is_empty() {
            return Err(bad(folder, "the directory does not contain a failure ledger".into()));
        }
        Self::parse(&files).map_err(|e| bad(&folder.join(e.file), e.source.to_string()))
    }

    /// Parses the files of a ledger, by name.
    ///
    /// # Errors
    ///
    /// When a file is not what a collector writes.
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
        // A summary repeats what the modules' files hold: one failure of one run is one record.
        let mut seen = HashSet::new();
        let kept: Vec<&Record> = records.iter().filter(|r| seen.insert(r.identity())).collect();
        let mut out_of_memory: HashMap<CaseIdentity<'_>, usize> = HashMap::new();
        for record in kept.iter().filter(|r| r.out_of_memory()) {
            *out_of_memory.entry(record.case()).or_default() += 1;
        }
        self.recorded.extend(kept.iter().filter_map(|record| Recorded::new(record)));
        // Running out of memory once may be another process's doing.
        let is_believed = |record: &Record| {
            !record.out_of_memory() || out_of_memory.get(&record.case()).is_some_and(|n| *n > 1)
        };
        let classified = kept.iter().filter(|r| r.is_classified() && is_believed(r));
        self.failures.extend(classified.filter_map(|record| Failure::new(record)));
    }

    /// How many failures were recorded of a table, by their classification and error, either `-`
    /// where there is none: those too that explain no missing key.
    pub fn recorded(
        &self,
        table: &str,
        backend: &str,
        version: &str,
        tables: &[&str],
    ) -> BTreeMap<(&str, &str), usize> {
        let of_table = |r: &&Recorded| {
            self.holds_for(&r.backend, backend, version)
                && table_of(&r.operation, tables) == Some(table)
        };
        let mut counts = BTreeMap::new();
        for r in self.recorded.iter().filter(of_table) {
            *counts.entry((r.class.as_str(), r.error.as_str())).or_default() += 1;
        }
        counts
    }

    /// Whether a failure's backend is that of a version that was collected.
    fn holds_for(&self, failed: &str, backend: &str, version: &str) -> bool {
        let versions = self.versions.get(failed).filter(|v| !v.is_empty());
        failed == backend && versions.is_none_or(|v| v.contains(version))
    }

    /// The classified failures of a table, by backend, version and operation. The operation of
    /// several tables' words is that of the table with most of them.
    pub fn of(
        &self,
        spec: &TableSpec,
        backend: &str,
        version: &str,
        tables: &[&str],
    ) -> Failures<'_> {
        let of_table = |f: &&Failure| {
            self.holds_for(&f.backend, backend, version)
                && f.table(tables) == Some(spec.name.as_str())
        };
        Failures(self.failures.iter().filter(of_table).collect())
    }
}

/// Whether a file of a ledger is a backend's summary; none where it is of no ledger.
fn is_summary(name: &str) -> Option<bool> {
    let stem = name.strip_suffix(".json")?;
    let summary = stem.starts_with("collection_summary_");
    (summary || stem.starts_with("errors_")).then_some(summary)
}

/// The classified failures of one table.
#[derive(Debug)]
pub struct Failures<'a>(Vec<&'a Failure>);

impl<'a> Failures<'a> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The error of a failure that explains why a key is missing.
    pub fn explain(&self, spec: &TableSpec, points: &Points, point: usize) -> Option<&'a str> {
        let failure: &'a Failure = self.0.iter().find(|f| f.explains(spec, points, point))?;
        Some(failure.error.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::params::Case;
    use super::*;

    fn record(json: Json) -> Record {
        serde_json::from_value(json).unwrap()
    }

    fn failures(records: Vec<Json>) -> Vec<Failure> {
        let mut ledger = Ledger::default();
        ledger.add(records.into_iter().map(record).collect());
        ledger.failures
    }

    #[test]
    fn only_classified_failures_count() {
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
    fn a_failure_is_its_table_s_by_the_words_of_its_module() {
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
    fn a_failure_without_a_case_stands_for_its_group_or_for_nothing() {
        let case = |group: Json, class: &str| {
            let json = serde_json::json!({
                "module": "vllm.moe", "task_params": null, "group": group, "classification": class
            });
            failures(vec![json]).pop().map(|f| f.case)
        };
        assert_eq!(case("|fp8".into(), "breaker_skipped"), Some(Case::Group));
        assert_eq!(case("some/model|fp8".into(), "breaker_skipped"), None);
        assert_eq!(case(Json::Null, "unverified_skipped"), Some(Case::Operation));
        assert_eq!(case(Json::Null, "unexpected"), None);
    }
}
