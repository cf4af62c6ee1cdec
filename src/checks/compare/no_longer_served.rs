//! What was served before a pull request and is served no more.
//!
//! A key that a table loses may still be served: the loader fills a table's gaps from earlier versions
//! and donors, and another version that has the key can be queried for it. So the keys that all changed
//! tables of a system's backend lose together are held against all versions that the head has of the
//! table. What no version has is lost, by slice; so is a measurement of a key that stays, power most of
//! all. Parquet that becomes text serves nothing any more ([`turned_to_text`](super::turned_to_text)).

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::losing::{LosingTable, LostSlice, UnservedKeys};
use super::turned_to_text::turned_to_text;
use crate::base::expr::ExprError;
use crate::base::words::{count, plural, plural_verb};
use crate::checks::context::ChangeContext;
use crate::checks::inputs::CheckInputs;
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;
use crate::database::diff::SliceName;
use crate::database::served::Shelf;
use crate::findings::{Finding, Severity, SliceEvidence};
use crate::planner::TableName;

/// Slices that a message names.
const NAMED: usize = 3;

/// Slices that the evidence lists.
const LISTED: usize = 20;

/// Keys and measurements that are served no more.
pub struct NoLongerServed;

impl Judge for NoLongerServed {
    fn needs(&self) -> CheckInputs {
        CheckInputs { changes: true, ..CheckInputs::default() }
    }

    fn change(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Result<Found, ExprError> {
        let tables = LosingTable::all(at.head, at.diff);
        let found = tables.par_iter().map(|table| table.judge(rule, at));
        let found: Vec<Option<Finding>> = found.collect::<Result<_, _>>()?;
        let mut found: Found = found.into_iter().flatten().collect();
        found.extend(turned_to_text(rule, at));
        Ok(found)
    }
}

impl LosingTable<'_> {
    fn judge(
        &self,
        rule: RuleHead<'_>,
        at: &ChangeContext<'_>,
    ) -> Result<Option<Finding>, ExprError> {
        let Some((first, _)) = self.changes.first() else { return Ok(None) };
        let Some(spec) = at.specs.tables.get(self.table) else { return Ok(None) };
        let UnservedKeys { slices, whole_slices: whole } = self.unserved(at.head, spec)?;
        let lost: u64 = slices.values().map(|slice| slice.keys).sum();
        let mut unmeasured: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, served) in &self.changes {
            for (column, keys) in &served.unmeasured {
                *unmeasured.entry(column).or_default() += keys;
            }
        }
        if lost == 0 && unmeasured.is_empty() {
            return Ok(None);
        }
        let severity =
            if whole > 0 && self.is_needed(at) { Severity::Error } else { rule.severity };
        let message = self.message(&slices, whole, &unmeasured);
        let finding = Finding::on_path(rule.id, severity, &first.path, message);
        let mut finding = finding.at(&first.place).rows(lost as usize).of_change();
        finding.table = Some(self.table.to_owned());
        finding.parts = slices.keys().map(|slice| slice_text(slice)).collect();
        let listed = slices.iter().take(LISTED).map(|(slice, lost)| SliceEvidence {
            slice: slice.iter().cloned().collect(),
            figure: ("keys".into(), lost.keys.into()),
        });
        Ok(Some(
            finding
                .slices(listed)
                .evidence("whole_slices", whole)
                .evidence("unmeasured", serde_json::json!(unmeasured)),
        ))
    }

    /// Whether operations of models look the table up, in the version of the base that counts.
    fn is_needed(&self, at: &ChangeContext<'_>) -> bool {
        if TableName::of(self.table).is_none() {
            return false;
        }
        let reuse = BTreeMap::new();
        let shelf = Shelf::new(at.base.catalog, &reuse, at.base.specs);
        let editions = shelf.editions_of(self.table, self.backend, self.system);
        let current = editions.and_then(|e| shelf.current(self.system, e)).map(|e| e.version);
        self.changes
            .iter()
            .any(|(diff, served)| served.lost > 0 && Some(diff.place.version.as_str()) == current)
    }

    fn message(
        &self,
        slices: &BTreeMap<&SliceName, LostSlice<'_>>,
        whole: usize,
        unmeasured: &BTreeMap<&str, u64>,
    ) -> String {
        let mut said = Vec::new();
        let keys: u64 = slices.values().map(|slice| slice.keys).sum();
        if keys > 0 {
            let versions: BTreeSet<&str> =
                slices.values().flat_map(|slice| slice.versions.iter().copied()).collect();
            let versions: Vec<&str> = versions.into_iter().collect();
            let verb = if keys == 1 { "was" } else { "were" };
            let mut text = format!(
                "{} that {} {} served on {} {verb} removed, and no other version has {}",
                plural(keys as usize, "key"),
                self.backend,
                versions.join(", "),
                self.system,
                if keys == 1 { "it" } else { "them" },
            );
            let mut by_keys: Vec<(&&SliceName, &LostSlice<'_>)> = slices.iter().collect();
            by_keys.sort_by(|a, b| b.1.keys.cmp(&a.1.keys).then(a.0.cmp(b.0)));
            let named = by_keys.iter().filter(|(slice, _)| !slice.is_empty()).take(NAMED);
            let named: Vec<String> = named
                .map(|(slice, lost)| {
                    format!("{} ({})", slice_text(slice), count(lost.keys as usize))
                })
                .collect();
            if !named.is_empty() {
                let more = if slices.len() > NAMED { ", …" } else { "" };
                text += &format!(": {}{more}", named.join("; "));
            }
            if whole > 0 {
                text += &format!(
                    "; {} no longer served at all",
                    plural_verb(whole, "slice", ["is", "are"])
                );
            }
            said.push(text);
        }
        for (column, keys) in unmeasured {
            said.push(format!(
                "{} no longer {} a measured {column}",
                plural(*keys as usize, "remaining key"),
                if *keys == 1 { "has" } else { "have" },
            ));
        }
        said.join("; ")
    }
}

fn slice_text(slice: &SliceName) -> String {
    let texts: Vec<String> = slice.iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts.join(" ")
}
