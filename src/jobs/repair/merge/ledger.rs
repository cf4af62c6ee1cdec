//! The record of a merge: one JSON object per line, the first with the digests of what it made of what.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Options;
use super::made::{Merged, MergedRow};
use super::shards::RunFile;
use crate::base::digest::sha256;
use crate::base::error::{Error, Result};
use crate::database::sidecar::Meta;

/// The first line of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordHead {
    /// The table's path.
    table: String,
    /// SHA-256 of the table before the merge; of one that was not there, of nothing.
    before: String,
    /// SHA-256 of the table that the merge makes.
    after: String,
    /// The run's files.
    with: Vec<String>,
    /// The policy.
    policy: String,
    /// Keys replaced.
    replaced: usize,
    /// Keys added.
    added: usize,
    /// The sidecar as the merge makes it; none where there is nothing to say.
    #[serde(default)]
    sidecar: Option<RecordedSidecar>,
}

/// A sidecar as a merge makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedSidecar {
    path: PathBuf,
    text: String,
}

/// The record of a merge.
#[derive(Debug)]
pub struct MergeRecord {
    head: RecordHead,
    lines: String,
    keys: BTreeSet<String>,
}

impl MergeRecord {
    /// The record of a merge into a table whose bytes are `before`.
    pub fn new(options: &Options, before: &[u8], merged: &Merged, run: &[RunFile]) -> Self {
        let mut lines = String::new();
        let mut keys = BTreeSet::new();
        let sets = [("replaced", &merged.replaced), ("added", &merged.added)];
        for (effect, changes) in sets {
            for change in changes {
                lines += &line(effect, change);
                keys.insert(json!(change.key).to_string());
            }
        }
        let head = RecordHead {
            table: options.table.display().to_string(),
            before: sha256(before),
            after: sha256(&merged.bytes),
            with: run.iter().map(RunFile::shown).collect(),
            policy: options.policy.name().to_owned(),
            replaced: merged.replaced.len(),
            added: merged.added.len(),
            sidecar: None,
        };
        Self { head, lines, keys }
    }

    /// The same record with the sidecar that goes with it.
    pub fn with_sidecar(mut self, sidecar: Option<(&PathBuf, &String)>) -> Self {
        let keep = |(path, text): (&PathBuf, &String)| RecordedSidecar {
            path: path.clone(),
            text: text.clone(),
        };
        self.head.sidecar = sidecar.map(keep);
        self
    }

    /// A digest of the keys that are merged, whatever their order.
    pub fn digest_of_keys(&self) -> String {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        sha256(keys.join("\n").as_bytes())
    }

    /// The record's text.
    pub fn text(&self) -> String {
        let head = serde_json::to_string(&json!({"merge": self.head})).unwrap_or_default();
        format!("{head}\n{}", self.lines)
    }

    /// Whether the table's file is not what the merge was made of.
    pub fn table_changed(&self, table: &Path) -> bool {
        sha256(&std::fs::read(table).unwrap_or_default()) != self.head.before
    }
}

fn line(effect: &str, change: &MergedRow) -> String {
    let cells = |cells: &[(String, Value)]| -> serde_json::Map<String, Value> {
        cells.iter().cloned().collect()
    };
    let own = change.own.iter().map(|(row, own)| json!({"row": row, "cells": cells(own)}));
    let own: Vec<Value> = own.collect();
    let line = json!({
        "effect": effect, "row": change.at, "key": cells(&change.key), "from": change.file,
        "from_row": change.row, "before_ms": change.before, "after_ms": change.after,
        "before": own, "after": cells(&change.cells),
    });
    format!("{line}\n")
}

/// What there is of an earlier merge where the record goes.
#[derive(Debug)]
pub enum EarlierMerge {
    /// Nothing.
    Clear,
    /// A record, of this merge perhaps: it was stopped before the table had its name.
    Begun {
        /// Digests of the table before and after, where it is the record of a merge into it.
        digests: Option<(String, String)>,
    },
    /// The record of a merge that is done except for the sidecar.
    WithoutSidecar { path: PathBuf, text: String },
}

impl EarlierMerge {
    /// Reads the record that stands where one goes; `bytes` are the table's.
    ///
    /// # Errors
    ///
    /// When there is a file that cannot be read.
    pub fn read(ledger: &Path, table: &Path, bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct LedgerLine {
            merge: RecordHead,
        }
        let text = match std::fs::read_to_string(ledger) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::Clear),
            Err(e) => {
                let message = format!("cannot read {}", ledger.display());
                return Err(Error::caused(message, "name another ledger with --ledger", e));
            }
        };
        let first = text.lines().next().and_then(|l| serde_json::from_str::<LedgerLine>(l).ok());
        let head = first.map(|f| f.merge).filter(|h| h.table == table.display().to_string());
        let Some(head) = head else { return Ok(Self::Begun { digests: None }) };
        if head.after == sha256(bytes)
            && let Some(RecordedSidecar { path, text: wanted }) = head.sidecar
            && std::fs::read_to_string(&path).is_ok_and(|now| now != wanted)
        {
            return Ok(Self::WithoutSidecar { path, text: wanted });
        }
        Ok(Self::Begun { digests: Some((head.before, head.after)) })
    }

    /// Whether the record may be written: where there is none, or it is this very merge's.
    ///
    /// # Errors
    ///
    /// When it is another's, which may be the only record of it.
    pub fn permits(&self, ledger: &MergeRecord, path: &Path) -> Result<()> {
        let own = Some((&ledger.head.before, &ledger.head.after));
        match self {
            Self::Begun { digests } if digests.as_ref().map(|(b, a)| (b, a)) != own => {
                Err(Error::new(
                    format!("{} exists already", path.display()),
                    "it may be the record of an earlier merge: name another file with --ledger",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The collector's commit and digest that the sidecar beside a run's file states of the table.
pub fn collector(file: &Path, table: &str) -> Option<(String, String)> {
    let text = std::fs::read_to_string(file.with_file_name("collection_meta.yaml")).ok()?;
    let meta = Meta::parse(&text).ok()?;
    let entry = meta.tables.get(table)?;
    Some((entry.collector_ref.clone()?, entry.collector_hash.clone()?))
}
