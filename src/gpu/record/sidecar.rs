//! The entry of a recorded table in `collection_meta.yaml`, the sidecar of its directory.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::entries::{Origin, Session, Written};
use crate::base::digest::sha256;
use crate::base::error::{Error, Reason, Result};
use crate::database::sidecar::Meta;

/// Returns the new text of a sidecar, in which the table's entry is added or replaced. Entries of other tables in
/// `before` are kept.
///
/// # Errors
///
/// If the existing sidecar is malformed, or states another framework or version.
pub(crate) fn text(
    (path, before): (&Path, Option<String>),
    origin: &Origin<'_>,
    sessions: &[Session],
    written: &Written,
    bytes: &[u8],
) -> Result<String> {
    let bad = |why: Reason| {
        Error::new(format!("{}: {why}", path.display()), "record into an empty directory")
    };
    let mut tables = match before {
        None => Map::new(),
        Some(text) => {
            let meta = Meta::parse(&text).map_err(bad)?;
            let runtime = (meta.runtime.framework.as_str(), meta.runtime.version.as_str());
            if runtime != (origin.framework, origin.version) {
                return Err(bad(format!("the sidecar is of {} {}", runtime.0, runtime.1).into()));
            }
            let mut all: Map<String, Value> = crate::base::yaml::parse(&text).map_err(bad)?;
            match all.remove("tables") {
                Some(Value::Object(tables)) => tables,
                _ => Map::new(),
            }
        }
    };
    tables.insert(origin.table.to_owned(), entry(origin, sessions, written, bytes));
    let versions = sessions.last().map(|s| &s.about.versions);
    let version = |name: &str| versions.and_then(|v| v.get(name)).cloned();
    let meta = json!({
        "schema_version": 1,
        "provenance": "collected",
        "runtime": {
            "framework": origin.framework,
            "version": origin.version,
            "cuda": version("CUDA"),
            "driver": version("driver"),
        },
        "tables": tables,
    });
    serde_yaml::to_string(&meta).map_err(|e| bad(e.to_string().into()))
}

fn entry(origin: &Origin<'_>, sessions: &[Session], written: &Written, bytes: &[u8]) -> Value {
    let (median, p95) = written.spread;
    let rounded = |v: f64| (v * 1e4).round() / 1e4;
    let of =
        |s: &Session| json!({"date": s.date, "device": s.about.name, "versions": s.about.versions});
    let mut said: Vec<Value> = sessions.iter().map(of).collect();
    said.dedup();
    json!({
        "status": if origin.complete { "complete" } else { "partial" },
        "rows": written.rows,
        "sha256": sha256(bytes),
        "collected_at": sessions.last().map(|s| &s.date),
        "case_plan_hash": format!("sha256:{}", origin.cases),
        "collector": concat!("perfdb-gate ", env!("CARGO_PKG_VERSION")),
        "plan": origin.plan,
        "sessions": said,
        "slowest_over_fastest_sample": {"median": rounded(median), "p95": rounded(p95)},
    })
}
