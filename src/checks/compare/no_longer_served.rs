//! Reports keys and measurements that were served before a pull request and are no longer served.
//!
//! Lost keys are found by [`Diff::find_unserved`](crate::database::diff::Diff::find_unserved). A lost shape and a
//! lost end of a sweep are warnings. Lost points inside a sweep are an info, since the planner interpolates there.
//! They are more if most points of a slice are lost, or if the interpolation differs from the lost latencies. A
//! Parquet table that becomes text is no longer served at all ([`turned_to_text`](super::turned_to_text)).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::turned_to_text::turned_to_text;
use crate::base::expr::ExprError;
use crate::base::words::{count, plural, plural_verb};
use crate::checks::{ChangeContext, CheckInputs, Found, Input, Judge, RuleHead};
use crate::database::catalog::Place;
use crate::database::diff::{
    Relabelled, ServedDiff, SliceName, TableDiff, Unserved, UnservedSlice,
};
use crate::database::served::TableIndex;
use crate::findings::{Finding, Severity, SliceEvidence};

/// The maximum number of slices, or of values of an axis, that a message names.
const NAMED: usize = 3;

/// The maximum number of slices that the evidence lists.
const LISTED: usize = 20;

/// Limits for the loss of points inside sweeps. Smaller losses are only an info, since the planner interpolates between
/// the remaining points.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LostKeys")]
pub struct NoLongerServed {
    /// A slice that loses fewer points inside its sweeps than this number causes only an info. Interpolation counts as
    /// wrong for a slice only if at least this many interpolated latencies differ from the lost ones.
    keys: u64,
}

impl Judge for NoLongerServed {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes])
    }

    fn change(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Result<Found, ExprError> {
        let losses = Loss::all(at);
        let mut found: Found =
            losses.values().filter_map(|loss| loss.finding(self, rule, at)).collect();
        found.extend(turned_to_text(rule, at));
        Ok(found)
    }
}

/// The keys and measurements of one table that are no longer served, over all versions of the table.
#[derive(Default)]
struct Loss<'a> {
    /// The changed tables that lose keys or measurements.
    changes: Vec<(&'a TableDiff, &'a ServedDiff)>,
    /// Up to two groups of lost keys: keys that queries for the current version no longer find, and keys that queries
    /// for any version no longer find.
    unserved: Vec<&'a Unserved>,
}

impl<'a> Loss<'a> {
    /// Returns the losses of all tables, by system, backend and table name. A system without any remaining table is
    /// left out, since the rule `data-deleted` reports it.
    fn all(at: &ChangeContext<'a>) -> BTreeMap<(&'a str, &'a str, &'a str), Self> {
        let tables = &at.head.catalog.tables;
        let systems: BTreeSet<&str> = tables.iter().map(|t| t.place.system.as_str()).collect();
        let mut losses: BTreeMap<_, Self> = BTreeMap::new();
        for diff in at.diff.tables.iter().filter(|d| systems.contains(d.place.system.as_str())) {
            let loses = |served: &&ServedDiff| served.lost > 0 || !served.unmeasured.is_empty();
            let Some(served) = diff.served.as_ref().filter(loses) else { continue };
            let key = (&*diff.place.system, &*diff.place.backend, &*diff.table);
            losses.entry(key).or_default().changes.push((diff, served));
        }
        for unserved in &at.diff.unserved {
            let key = (&*unserved.place.system, &*unserved.place.backend, &*unserved.table);
            if let Some(loss) = losses.get_mut(&key) {
                loss.unserved.push(unserved);
            }
        }
        losses
    }

    fn finding(
        &self,
        limits: &NoLongerServed,
        rule: RuleHead<'_>,
        at: &ChangeContext<'_>,
    ) -> Option<Finding> {
        let (first, _) = self.changes.first()?;
        let (unmeasured, relabelled) = (self.unmeasured(), self.relabelled());
        if self.unserved.is_empty() && unmeasured.is_empty() && relabelled.is_empty() {
            return None;
        }
        let mut said: Vec<String> = self.unserved.iter().map(|lost| words(lost)).collect();
        let missed: Vec<String> =
            self.unserved.iter().filter_map(|lost| limits.missed(lost)).collect();
        said.extend(missed.iter().cloned());
        said.extend(relabelled);
        said.extend(unmeasured.iter().map(|(column, keys)| {
            format!(
                "{} no longer {} a measured {column}",
                plural(*keys as usize, "remaining key"),
                if *keys == 1 { "has" } else { "have" },
            )
        }));
        let whole_slices: usize = self.unserved.iter().map(|lost| lost.whole_slices).sum();
        let is_more = !unmeasured.is_empty() || !missed.is_empty();
        let severity = self.severity(rule, at, is_more);
        let finding = Finding::on_path(rule.id, severity, &first.path, said.join("; "));
        let keys: u64 = self.sum(Unserved::keys);
        let mut finding = finding.at(&first.place).rows(keys as usize).about_change();
        finding.table = Some(first.table.clone());
        let slices = self.unserved.iter().flat_map(|unserved| &unserved.slices);
        finding.parts = slices.clone().map(|(slice, _)| slice_text(slice)).collect();
        let listed = slices.take(LISTED).map(|(slice, lost)| SliceEvidence {
            slice: slice.iter().cloned().collect(),
            figure: ("keys".into(), lost.keys.into()),
        });
        let mut finding = finding
            .slices(listed)
            .evidence("whole_slices", whole_slices)
            .evidence("unmeasured", serde_json::json!(unmeasured));
        if let Some(first) = self.unserved.first() {
            finding = finding
                .evidence("shapes", self.sum(Unserved::shapes))
                .evidence("shorter_sweeps", self.sum(Unserved::shorter_sweeps))
                .evidence("inner_values", serde_json::json!(first.inner_values))
                .evidence("end_values", serde_json::json!(first.end_values));
        }
        Some(finding)
    }

    /// Describes the slices that have another name in the head: `relabelled: mla_dtype=bfloat16 comes back as
    /// mla_dtype=fp8 (880 keys, × 0.99)`.
    fn relabelled(&self) -> Vec<String> {
        let slices = self.changes.iter().flat_map(|(_, served)| &served.rows.relabelled);
        let named = slices.map(|Relabelled { from, to, keys, ratio }| {
            let keys = plural(*keys as usize, "key");
            let (from, to) = (slice_text(from), slice_text(to));
            format!("relabelled: {from} comes back as {to} ({keys}, × {ratio:.2})")
        });
        named.collect()
    }

    /// Returns for each measured column the number of keys that are still served but lost their measurement in the
    /// column.
    fn unmeasured(&self) -> BTreeMap<&str, u64> {
        let mut unmeasured = BTreeMap::new();
        for (column, keys) in self.changes.iter().flat_map(|(_, served)| &served.unmeasured) {
            *unmeasured.entry(column.as_str()).or_default() += keys;
        }
        unmeasured
    }

    /// Adds up a number, such as the number of lost keys, over all groups of lost keys (`unserved`). `number` returns
    /// the number for one group.
    fn sum(&self, number: fn(&Unserved) -> u64) -> u64 {
        self.unserved.iter().map(|unserved| number(unserved)).sum()
    }

    /// Returns the severity of the finding: error, the rule's own severity, or info. If `is_more` is true, it is not
    /// info. The caller sets `is_more` if keys lose measurements or interpolation cannot replace the lost points.
    fn severity(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>, is_more: bool) -> Severity {
        let is_whole = self.unserved.iter().any(|unserved| unserved.whole_slices > 0);
        let is_lost = self.sum(Unserved::shapes) + self.sum(Unserved::shorter_sweeps) > 0;
        if is_whole && self.is_needed(at) {
            Severity::Error
        } else if is_more || is_lost {
            rule.severity
        } else {
            Severity::Info
        }
    }

    /// Returns true if models read the table, and if the version that was current before the pull request loses keys.
    fn is_needed(&self, at: &ChangeContext<'_>) -> bool {
        let Some((first, _)) = self.changes.first() else { return false };
        if !at.base.specs.tables.get(&first.table).is_some_and(|spec| spec.is_read_by_models) {
            return false;
        }
        let reuse = BTreeMap::new();
        let shelf = TableIndex::new(at.base.catalog, &reuse, at.base.specs);
        let Place { system, backend, .. } = &first.place;
        let editions = shelf.editions_of(&first.table, backend, system);
        let current = editions.and_then(|e| shelf.current(system, e)).map(|e| e.version);
        self.changes
            .iter()
            .any(|(diff, served)| served.lost > 0 && Some(diff.place.version.as_str()) == current)
    }
}

impl NoLongerServed {
    /// Describes the slices whose lost points interpolation cannot replace. These slices lose most of the points inside
    /// their sweeps, or interpolation gives other latencies than the lost ones. `None` if there are no such slices.
    fn missed(&self, unserved: &Unserved) -> Option<String> {
        let slices = || unserved.slices.iter().filter(|(_, lost)| lost.inner >= self.keys);
        let hollow: Vec<_> = slices().filter(|(_, lost)| lost.inner > lost.remaining).collect();
        let wrong = |lost: &UnservedSlice| {
            lost.wrongly_interpolated >= self.keys
                && 2 * lost.wrongly_interpolated > lost.interpolated
        };
        let wrong: Vec<_> = slices().filter(|(_, lost)| wrong(lost)).collect();
        let mut said = Vec::new();
        if let Some((slice, lost)) = hollow.first() {
            let lost = format!(
                "{} of {}",
                count(lost.inner as usize),
                count((lost.inner + lost.remaining) as usize)
            );
            let slices = plural_verb(hollow.len(), "slice", ["loses", "lose"]);
            said.push(format!(
                "{slices} most points within the sweeps, for example {lost}{}",
                named(slice)
            ));
        }
        if let Some((slice, lost)) = wrong.first() {
            said.push(format!(
                "interpolated from what remains, {} of {} points{} differ from the lost latencies by more than 99 of 100 \
                 honest reruns do",
                count(lost.wrongly_interpolated as usize),
                count(lost.interpolated as usize),
                named(slice),
            ));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// The name of a slice with a leading "of": ` of gemm_dtype=fp8`; empty if the table has a single slice.
fn named(slice: &SliceName) -> String {
    if slice.is_empty() { String::new() } else { format!(" of {}", slice_text(slice)) }
}

/// Describes the keys that no query reaches any more.
fn words(unserved: &Unserved) -> String {
    let Place { system, backend, .. } = &unserved.place;
    let versions = unserved.slices.values().flat_map(|slice| &slice.versions);
    let versions: BTreeSet<&str> = versions.map(String::as_str).collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    let origin = format!("{backend} {} on {system}", versions.join(", "));
    let keys = unserved.keys() as usize;
    let by = match &unserved.current {
        Some(current) => format!("the current version {current}"),
        None => "any version".to_owned(),
    };
    let mut parts = Vec::new();
    let shapes = unserved.shapes() as usize;
    if shapes > 0 {
        let of_shapes = unserved.slices.values().map(|slice| slice.of_lost_shapes).sum::<u64>();
        let mut text = format!(
            "{} ({}) of {origin} {} no longer served by {by}{}",
            plural(shapes, "shape"),
            plural(of_shapes as usize, "key"),
            if shapes == 1 { "is" } else { "are" },
            named_slices(unserved),
        );
        if unserved.whole_slices > 0 {
            let slices = plural_verb(unserved.whole_slices, "slice", ["is", "are"]);
            text += &format!("; {slices} no longer served at all");
        }
        parts.push(text);
    }
    let shorter = unserved.shorter_sweeps() as usize;
    if shorter > 0 {
        let sweeps = if parts.is_empty() {
            format!("the sweeps of {} of {origin}", plural(shorter, "shape"))
        } else {
            format!("the sweeps of {}", plural(shorter, "more shape"))
        };
        parts.push(format!("{sweeps} end earlier: {} went", values(&unserved.end_values)));
    }
    if parts.is_empty() {
        let keys = plural_verb(keys, "key", ["was", "were"]);
        parts.push(format!(
            "{keys} removed from within the sweeps of {origin}, which the planner interpolates: {}",
            values(&unserved.inner_values),
        ));
    }
    parts.join("; ")
}

/// Names the slices that lose the most shapes (keys without their axis values) and each slice's number of lost shapes:
/// `: gemm_dtype=fp8 (12); gemm_dtype=int8 (3), …`.
fn named_slices(unserved: &Unserved) -> String {
    let slices = unserved.slices.iter();
    let mut slices: Vec<(&SliceName, &UnservedSlice)> =
        slices.filter(|(slice, lost)| !slice.is_empty() && lost.shapes > 0).collect();
    if slices.is_empty() {
        return String::new();
    }
    slices.sort_by(|a, b| b.1.shapes.cmp(&a.1.shapes).then(a.0.cmp(b.0)));
    let named = slices.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(slice, lost)| format!("{} ({})", slice_text(slice), count(lost.shapes as usize)))
        .collect();
    let more = if slices.len() > NAMED { ", …" } else { "" };
    format!(": {}{more}", named.join("; "))
}

/// Lists the first values of each axis: `m = 384, 768`.
fn values(by_axis: &BTreeMap<String, Vec<f64>>) -> String {
    let axes = by_axis.iter().map(|(axis, values)| {
        let named: Vec<String> = values.iter().take(NAMED).map(f64::to_string).collect();
        let more = if values.len() > NAMED { ", …" } else { "" };
        format!("{axis} = {}{more}", named.join(", "))
    });
    axes.collect::<Vec<_>>().join("; ")
}

fn slice_text(slice: &SliceName) -> String {
    let texts: Vec<String> = slice.iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts.join(" ")
}
