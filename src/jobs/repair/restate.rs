//! Updates the row count and digest that a sidecar states for a changed table file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_yaml::{Location, Spanned};

use super::SidecarError;
use crate::base::digest::sha256;
use crate::base::yaml;

/// The new content of a table's file.
pub(crate) struct TableContent<'a> {
    /// The table's file stem.
    pub table: &'a str,
    /// Number of rows.
    pub rows: u64,
    /// The file's bytes.
    pub bytes: &'a [u8],
}

#[derive(Deserialize)]
struct StatedSidecar {
    tables: BTreeMap<String, StatedTable>,
}

#[derive(Deserialize)]
struct StatedTable {
    #[serde(default)]
    rows: Option<Spanned<u64>>,
    #[serde(default)]
    sha256: Option<Spanned<String>>,
}

/// Replaces the row count and digest of a table in a sidecar's text. Comments and all other values stay. Returns `None`
/// if nothing must be replaced.
///
/// # Errors
///
/// Returns an error if the values cannot be replaced without changing another value.
pub(crate) fn with_row_count_and_digest(
    text: &str,
    now: &TableContent<'_>,
) -> Result<Option<String>, SidecarError> {
    let stated: StatedSidecar = yaml::parse(text)?;
    let Some(entry) = stated.tables.get(now.table) else { return Ok(None) };
    let mut wanted: Value = yaml::parse(text)?;
    let mut edits: Vec<(Location, String, String)> = Vec::new();
    if let Some(rows) = entry.rows.as_ref().filter(|r| r.value != now.rows) {
        wanted["tables"][now.table]["rows"] = now.rows.into();
        edits.push((rows.referenced, rows.value.to_string(), now.rows.to_string()));
    }
    if let Some(digest) = &entry.sha256 {
        let old = digest.value.trim_start_matches("sha256:").to_owned();
        let new = sha256(now.bytes);
        if !old.eq_ignore_ascii_case(&new) {
            wanted["tables"][now.table]["sha256"] = digest.value.replace(&old, &new).into();
            edits.push((digest.referenced, old, new));
        }
    }
    if edits.is_empty() {
        return Ok(None);
    }
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    // Edits start from the end, so that the positions of earlier values on a line stay valid.
    edits.sort_by_key(|(at, ..)| std::cmp::Reverse((at.line(), at.column())));
    for (at, old, new) in &edits {
        let line = lines.get_mut((at.line() as usize).saturating_sub(1));
        let place = |line: &String| {
            let column = (at.column() as usize).saturating_sub(1);
            let from = line.char_indices().nth(column)?.0;
            Some(from + line[from..].find(old.as_str())?)
        };
        let found = line.and_then(|line| Some((place(line)?, line)));
        let (from, line) = found.ok_or(SidecarError::Elsewhere)?;
        line.replace_range(from..from + old.len(), new);
    }
    let new = lines.concat();
    if yaml::parse::<Value>(&new)? != wanted {
        return Err(SidecarError::NotAlone);
    }
    Ok(Some(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "# 17 runs\nschema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n";

    fn restate(body: &str) -> Result<Option<String>, SidecarError> {
        let now = TableContent { table: "gemm_perf", rows: 15, bytes: b"" };
        with_row_count_and_digest(&format!("{HEAD}{body}"), &now)
    }

    #[test]
    fn values_stated_in_a_sidecar_are_replaced_in_place() {
        let entry = "  moe_perf: {rows: 17, status: complete}\n  gemm_perf:\n    status: complete\n    rows: 17 # 17 of 17\n    collected_at: '2017-08-17'\n";
        let wanted = entry.replace("    rows: 17 # 17 of 17", "    rows: 15 # 17 of 17");
        assert_eq!(restate(entry).unwrap().unwrap(), format!("{HEAD}{wanted}"));
        let digest = "  gemm_perf:\n    status: complete\n    sha256: sha256:00ff\n";
        let wanted = digest.replace("00ff", &sha256(b""));
        assert_eq!(restate(digest).unwrap().unwrap(), format!("{HEAD}{wanted}"));
    }

    #[test]
    fn a_sidecar_without_wrong_values_is_unchanged() {
        assert_eq!(restate("  gemm_perf: {status: complete}\n").unwrap(), None);
        assert_eq!(restate("  gemm_perf: {status: complete, rows: 15}\n").unwrap(), None);
        assert_eq!(restate("  moe_perf: {status: complete, rows: 9}\n").unwrap(), None);
    }

    #[test]
    fn a_sidecar_value_behind_a_yaml_alias_is_refused() {
        let alias = "  moe_perf: {status: complete, rows: &n 17}\n  gemm_perf: {status: complete, rows: *n}\n";
        assert!(restate(alias).is_err());
        // Two tables on one line have separate values.
        let line =
            "  {moe_perf: {status: complete, rows: 17}, gemm_perf: {rows: 17, status: complete}}\n";
        let wanted = line.replace("{rows: 17, status", "{rows: 15, status");
        assert_eq!(restate(line).unwrap().unwrap(), format!("{HEAD}{wanted}"));
    }
}
