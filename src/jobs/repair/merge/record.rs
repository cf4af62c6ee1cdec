//! Writes the record of a merge: one JSON object per line, the first with the digests of the old
//! and the new table.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::groups::StackRows;
use super::made::{MergedRow, MergedTable};
use super::options::MergeOptions;
use super::shards::RunFile;
use crate::base::digest::sha256;
use crate::base::error::{Error, Result};
use crate::base::read::{read, read_text};
use crate::database::sidecar::Meta;
use crate::jobs::repair::measurements::cells;

/// Renders the record of a merge; `before` is the digest of the table's old bytes.
pub(super) fn record(
    options: &MergeOptions,
    run: &[RunFile],
    before: &str,
    rows: &StackRows<'_>,
    merged: &MergedTable,
) -> String {
    let head = json!({"merge": {
        "table": options.table.display().to_string(), "before": before,
        "after": sha256(&merged.bytes),
        "with": run.iter().map(RunFile::shown).collect::<Vec<_>>(),
        "policy": options.policy.into_str(),
        "replaced": merged.replaced.len(), "added": merged.added.len(),
    }});
    let line = |effect: &'static str| {
        move |change: &MergedRow| {
            let table = &rows.stack.table;
            let key: serde_json::Map<_, _> =
                rows.loaded.keys.show(change.row).into_iter().collect();
            let own = change.own.iter().map(|row| json!({"row": row, "cells": cells(table, *row)}));
            let (file, from_row) = rows.stack.origin(change.row);
            json!({
                "effect": effect, "row": change.at, "key": key, "from": file, "from_row": from_row,
                "before_ms": change.before, "after_ms": change.after,
                "before": own.collect::<Vec<_>>(), "after": cells(table, change.row),
            })
        }
    };
    let replaced = merged.replaced.iter().map(line("replaced"));
    let lines = replaced.chain(merged.added.iter().map(line("added")));
    std::iter::once(head).chain(lines).map(|line| format!("{line}\n")).collect()
}

/// Returns a digest of the merged keys that does not depend on their order.
pub(super) fn digest_of_keys(rows: &StackRows<'_>, merged: &MergedTable) -> String {
    let keys = merged.taken().map(|change| json!(rows.loaded.keys.show(change.row)).to_string());
    let keys: BTreeSet<String> = keys.collect();
    sha256(keys.into_iter().collect::<Vec<_>>().join("\n").as_bytes())
}

/// Checks that writing `record` does not overwrite another record. A file with the same content may exist, because an
/// interrupted merge wrote it.
///
/// # Errors
///
/// Returns an error if the file has other content, which may be the only record of an earlier merge, or if it cannot be
/// read.
pub(super) fn check_free(path: &Path, record: &[u8]) -> Result<()> {
    match read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Ok(text) if text == record => Ok(()),
        Ok(_) => Err(Error::new(
            format!("{} exists already", path.display()),
            "it may be the record of an earlier merge: name another file with --ledger",
        )),
        Err(e) => {
            let message = format!("cannot read {}", path.display());
            Err(Error::caused(message, "name another ledger with --ledger", e))
        }
    }
}

/// Returns the collector's commit and digest from the sidecar beside a run's file. Returns `None` unless the sidecar
/// states both values.
pub(super) fn collector(file: &Path, table: &str) -> Option<(String, String)> {
    let text = read_text(&file.with_file_name("collection_meta.yaml")).ok()?;
    let meta = Meta::parse(&text).ok()?;
    let entry = meta.tables.get(table)?;
    Some((entry.collector_ref.clone()?, entry.collector_hash.clone()?))
}
