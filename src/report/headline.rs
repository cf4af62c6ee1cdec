//! Sums up a run in one line.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::run::Report;
use crate::base::words::{count, plural};
use crate::findings::Finding;
use crate::gpu::judge::percent;
use crate::gpu::outcome::{Remeasured, Sample};

/// Returns the one-line summary of a run, without the elapsed time.
pub(super) fn headline(report: &Report) -> String {
    if let Some(remeasured) = &report.remeasured {
        return verdicts(remeasured);
    }
    let c = report.counts;
    let new = if report.diff.is_some() { "new " } else { "" };
    let found = |n: u64, what: &str| plural(n as usize, &format!("{new}{what}"));
    let mut parts =
        vec![found(c.errors, "error"), found(c.warnings, "warning"), found(c.infos, "info")];
    if c.waived > 0 {
        parts.push(format!("{} waived", count(c.waived as usize)));
    }
    if c.baselined > 0 {
        parts.push(format!("{} in the baseline", count(c.baselined as usize)));
    }
    let counted = report.findings.iter().filter(|f| f.counts());
    let files: BTreeSet<&str> = counted.map(|f| f.path.as_str()).collect();
    let within = match files.len() {
        0 => String::new(),
        n => format!(" in {}", plural(n, "file")),
    };
    let found = format!("{}{within}", parts.join(", "));
    let checked = report.tables + report.files > 0;
    match &report.diff {
        Some(diff) => {
            let state = if checked { "" } else { "nothing was compared: " };
            let repaired = match report.repaired.len() {
                0 => String::new(),
                n => format!("{} repaired; ", count(n)),
            };
            format!("{state}{found}; {repaired}{}", diff.headline())
        }
        None => {
            let state = if checked { "" } else { "nothing was checked: " };
            let judged = match report.tables {
                0 if report.files > 0 => plural(report.files as usize, "file"),
                n => plural(n as usize, "table"),
            };
            format!("{state}{found}; checked {judged}, {}", rows(report.rows))
        }
    }
}

/// Sums up a remeasurement in one line: the device, and the verdict on each table.
fn verdicts(remeasured: &Remeasured) -> String {
    let tables: Vec<String> = remeasured.samples.iter().map(verdict).collect();
    let left = match remeasured.unmeasured.len() {
        0 => String::new(),
        n => format!("; {} not measured", plural(n, "table")),
    };
    format!("measured again on {}: {}{left}", remeasured.about.name, tables.join(", "))
}

/// Returns the verdict on one table that was measured again, such as `PASS (+0.3 %, 60 points)`.
fn verdict(sample: &Sample) -> String {
    let v = &sample.verdict;
    let bias = if v.bias.is_finite() { percent(v.bias) } else { "nothing compared".into() };
    let left = match sample.draw.proxies {
        0 => String::new(),
        rows => format!("; {} rows left out", count(rows)),
    };
    format!("{} ({bias}, {}{left})", v.outcome.name(), plural(v.judged, "point"))
}

fn rows(n: u64) -> String {
    match n {
        1 => "1 row".to_owned(),
        0..10_000 => format!("{n} rows"),
        10_000..1_000_000 => format!("{:.0} k rows", n as f64 / 1e3),
        _ => format!("{:.1} M rows", n as f64 / 1e6),
    }
}

/// Returns the number of findings that the base or the baseline also has, in total and by rule, as text. `None` if
/// there are no such findings, or if the run did not compare a base with a head.
pub(super) fn existing(report: &Report) -> Option<String> {
    report.diff.as_ref()?;
    let (all, rules) = by_rule(report.findings.iter().filter(|f| f.is_old()));
    (all > 0).then(|| format!("{} ({rules})", count(all)))
}

/// Returns the number of findings, and a text with the number for each rule, such as `12 duplicate-key, 3
/// coverage-hole`.
pub(super) fn by_rule<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> (usize, String) {
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        *rules.entry(&finding.rule).or_default() += 1;
    }
    let mut rules: Vec<(&str, usize)> = rules.into_iter().collect();
    rules.sort_by_key(|(rule, n)| (Reverse(*n), *rule));
    let all = rules.iter().map(|(_, n)| n).sum();
    let rules: Vec<String> =
        rules.iter().map(|(rule, n)| format!("{} {rule}", count(*n))).collect();
    (all, rules.join(", "))
}
