//! The report a person reads: by file, the sentence first, then rows, then what to do.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use super::{Report, headline, measured, triage};
use crate::base::escape::clean;
use crate::base::words::{count, plural};
use crate::database::diff::{Diff, FAR, TableDiff};
use crate::findings::{EXAMPLES, Example, Finding, Severity};

/// Rows shown under a finding; JSON has the rest.
const ROWS: usize = 2;
/// Lines of the triage.
const CAUSES: usize = 20;

/// Files beside tables that are listed one by one.
const FILES: usize = 20;

pub(super) fn render(report: &Report, colour: bool) -> String {
    let paint = Paint { on: colour };
    let mut out = String::new();
    if let Some(remeasured) = &report.remeasured {
        measured::write(&mut out, remeasured, &paint);
        let _ =
            writeln!(out, "{}", paint.dim(&format!("in {:.1} s", report.elapsed.as_secs_f64())));
        return out;
    }
    if let Some(diff) = &report.diff {
        write_diff(&mut out, diff, &paint);
    }
    match &report.drawn {
        Some(how) => out += &format!("{how}\n\n"),
        None => write_triage(&mut out, report, &paint),
    }
    // Who judges a draw wants to see the rows.
    let rows = if report.drawn.is_some() { EXAMPLES } else { ROWS };
    if report.diff.is_some() && report.findings.iter().any(Finding::counts) {
        out += "\n";
    }
    let mut last = "";
    for finding in report.findings.iter().filter(|f| f.counts()) {
        if finding.path != last {
            let gap = if last.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{gap}{}", paint.bold(&clean(&finding.path)));
            last = &finding.path;
        }
        write_finding(&mut out, finding, rows, &paint);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    if let Some(old) = super::old_debt(report) {
        let _ = writeln!(out, "old debt: {old}; --format json lists them\n");
    }
    write_advice(&mut out, report, &paint);
    write_summary(&mut out, report, &paint);
    out
}

/// Tables that changed, a line each, with the rows whose latency changed most; then other files.
fn write_diff(out: &mut String, diff: &Diff, paint: &Paint) {
    // A move of the whole tree is one thing to know, not a page of lines.
    let (moved, told): (Vec<&TableDiff>, Vec<_>) = diff.tables.iter().partition(|t| t.only_moved());
    for table in told {
        write_table(out, table, paint);
    }
    if let Some(first) = moved.first() {
        let (old, new) = (first.old_path.as_deref().unwrap_or_default(), &first.path);
        let tables = plural(moved.len(), "table");
        let _ =
            writeln!(out, "{tables} moved, no row changed: {} → {}{}", clean(old), clean(new), {
                if moved.len() > 1 { ", …" } else { "" }
            });
    }
    for file in diff.files.iter().take(FILES) {
        let _ = writeln!(out, "{:9} {}", file.status.name(), clean(&file.path));
    }
    if diff.files.len() > FILES {
        let rest = plural(diff.files.len() - FILES, "more file");
        let _ = writeln!(out, "and {rest} in --format json");
    }
}

fn write_table(out: &mut String, table: &TableDiff, paint: &Paint) {
    let status = paint.bold(&format!("{:9}", table.status.name()));
    let was = table.old_path.as_ref().map(|old| format!(" (was {})", clean(old)));
    let _ = writeln!(out, "{status} {}{}", clean(&table.path), was.unwrap_or_default());
    let mut line = match &table.rows {
        None => "rows not compared".to_owned(),
        Some(rows) if rows.is_empty() => "no row changed".to_owned(),
        Some(rows) => format!(
            "+{} -{} ~{} rows",
            count(rows.added.len()),
            count(rows.removed.len()),
            count(rows.changed.len())
        ),
    };
    if let (Some(base), Some(head)) = (table.base_rows, table.head_rows) {
        line += &format!(", {} → {}", count(base as usize), count(head as usize));
    }
    if let Some(fault) = &table.fault {
        line += &format!("; {}", clean(fault));
    }
    let _ = writeln!(out, "    {line}");
    let Some(ratios) = &table.ratios else { return };
    let _ = writeln!(
        out,
        "    latency × {:.3} (median; 5 % below {:.3}, 5 % above {:.3}); {:.0} % of {} off by over {:.0} %",
        ratios.median,
        ratios.low,
        ratios.high,
        ratios.far * 100.0,
        plural(ratios.rows, "row"),
        FAR * 100.0
    );
    for example in ratios.worst.iter().take(ROWS) {
        let _ = writeln!(out, "      {}", paint.dim(&clean(&line_of(example))));
    }
}

/// The causes, a line each: what to look at first where there is much.
fn write_triage(out: &mut String, report: &Report, paint: &Paint) {
    let causes = triage::at_a_glance(report);
    if causes.is_empty() {
        return;
    }
    let shown = if causes.len() > CAUSES { CAUSES - 1 } else { causes.len() };
    for cause in &causes[..shown] {
        let place = [cause.backend, &some(&cause.versions)].join(" ");
        let rows = match cause.rows {
            0 => String::new(),
            n => format!(", {}", plural(n as usize, "row")),
        };
        let worst = cause.worst.path.split('/').skip_while(|part| *part != "data").skip(1);
        let most = match (cause.files, worst.collect::<Vec<_>>().join("/")) {
            (1, _) => String::new(),
            (_, path) if path.is_empty() => format!("; most in {}", cause.worst.path),
            (_, path) => format!("; most in {path}"),
        };
        let line = format!(
            "{}: {}{}{rows}{most}",
            place.trim(),
            plural(cause.files, "file"),
            // What lies beside the database is on no system.
            if cause.systems.is_empty() {
                String::new()
            } else {
                format!(" on {}", some(&cause.systems))
            },
        );
        let severity = paint.severity(cause.severity);
        let _ = writeln!(out, "{severity} {} {}", paint.bold(&clean(cause.rule)), clean(&line));
    }
    let rest = &causes[shown..];
    if !rest.is_empty() {
        let errors = rest.iter().filter(|c| c.severity == Severity::Error).count();
        let _ = writeln!(
            out,
            "and {} more below, {} of them errors",
            plural(rest.len(), "cause"),
            errors
        );
    }
    out.push('\n');
}

/// The first few of many names.
fn some(all: &BTreeSet<&str>) -> String {
    const SHOWN: usize = 3;
    let named: Vec<&str> = all.iter().copied().take(SHOWN).collect();
    match all.len().saturating_sub(SHOWN) {
        0 => named.join(", "),
        rest => format!("{} and {rest} more", named.join(", ")),
    }
}

fn write_finding(out: &mut String, finding: &Finding, rows: usize, paint: &Paint) {
    let severity = paint.severity(finding.severity);
    let _ = writeln!(
        out,
        "  {severity} {}: {}",
        paint.bold(&clean(&finding.rule)),
        clean(&finding.message)
    );
    for example in finding.examples.iter().take(rows) {
        let _ = writeln!(out, "      {}", paint.dim(&clean(&line_of(example))));
    }
    let rest = finding.examples.len().saturating_sub(rows);
    if rest > 0 {
        let _ = writeln!(out, "      {}", paint.dim(&format!("and {rest} more in --format json")));
    }
}

pub(super) fn line_of(example: &Example) -> String {
    let (key, values) = (pairs(&example.key), pairs(&example.values));
    let arrow = if key.is_empty() || values.is_empty() { "" } else { " → " };
    format!("row {}: {key}{arrow}{values}", example.row)
}

pub(super) fn pairs(items: &[(String, Value)]) -> String {
    let pairs: Vec<String> = items.iter().map(|(k, v)| format!("{k}={}", short(v))).collect();
    pairs.join(" ")
}

pub(super) fn short(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Number(n) if n.is_f64() => {
            let n = n.as_f64().unwrap_or(f64::NAN);
            format!("{}", (n * 1e6).round() / 1e6)
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(short).collect();
            format!("[{}]", items.join(" "))
        }
        other => other.to_string(),
    }
}

/// What to do, once a rule that found something.
fn write_advice(out: &mut String, report: &Report, paint: &Paint) {
    let found: BTreeSet<&str> = report
        .findings
        .iter()
        .filter(|f| f.counts() && f.severity != Severity::Info)
        .map(|f| f.rule.as_str())
        .collect();
    for rule in report.rules.iter().filter(|r| found.contains(r.id.as_str())) {
        let advice: Vec<&str> = rule.instead.split_whitespace().collect();
        let _ = writeln!(out, "{} {}", paint.bold(&format!("{}:", rule.id)), advice.join(" "));
    }
    if !found.is_empty() {
        let _ = writeln!(out, "{}\n", paint.dim("perfdb-gate explain RULE tells the whole story"));
    }
}

fn write_summary(out: &mut String, report: &Report, paint: &Paint) {
    if !report.overlays.is_empty() {
        let _ = writeln!(out, "rules changed by {}", clean(&report.overlays.join(", ")));
    }
    let seconds = report.elapsed.as_secs_f64();
    let compared = if report.diff.is_some() { "; compared" } else { "" };
    let line = format!("{}{compared} in {seconds:.2} s", headline(report));
    let _ = writeln!(out, "{}", paint.bold(&line));
}

pub(super) struct Paint {
    on: bool,
}

impl Paint {
    pub(super) fn wrap(&self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn bold(&self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(super) fn dim(&self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn severity(&self, severity: Severity) -> String {
        let code = match severity {
            Severity::Error => "31;1",
            Severity::Warning => "33;1",
            Severity::Info => "36",
        };
        self.wrap(code, &format!("{:7}", severity.name()))
    }
}
