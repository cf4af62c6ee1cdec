//! A selftest's tables, for people, programs and Markdown.

use std::fmt::Write;

use serde_json::json;

use super::fault::FaultClass;
use super::score::{FaultScore, RuleScore, Scores};
use crate::base::escape::clean;
use crate::jobs::DocumentFormat;

/// False alarms and missed faults that people are shown; JSON has all.
const SHOWN: usize = 20;

/// Renders the scores.
pub fn render(scores: &Scores, format: DocumentFormat) -> String {
    match format {
        DocumentFormat::Json => {
            serde_json::to_string_pretty(&json(scores)).unwrap_or_default() + "\n"
        }
        DocumentFormat::Human { brief: true } => headline(scores) + "\n",
        DocumentFormat::Human { brief: false } => text(scores, &aligned),
        DocumentFormat::Markdown => text(scores, &markdown),
    }
}

/// A part of a whole, to three digits; none of nothing.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e3).round() / 1e3)
}

fn shown(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |s| format!("{s:.3}"))
}

fn rates(rule: &RuleScore) -> [Option<f64>; 3] {
    [
        share(rule.found as u64, rule.planted as u64),
        share(rule.rows_told, rule.rows),
        share(rule.alarms as u64, rule.others as u64),
    ]
}

/// Lays a table out: a header and rows of cells.
type Lay = dyn Fn(&[&str], &[Vec<String>]) -> String;

fn text(scores: &Scores, lay: &Lay) -> String {
    let mut out = headline(scores) + "\n\n";
    let rules: Vec<Vec<String>> = scores.rules.iter().map(|(id, r)| rule_cells(id, r)).collect();
    let header =
        ["rule", "severity", "faults", "found", "recall", "rows", "false alarms", "errors", "rate"];
    out += &lay(&header, &rules);
    let faults: Vec<Vec<String>> = scores.faults.iter().map(fault_cells).collect();
    out += "\n";
    out += &lay(&["fault", "size", "class", "planted", "found", "recall", "warned", "by"], &faults);
    let structural: Vec<String> = scores
        .missed
        .iter()
        .filter(|m| m.class == FaultClass::Structural)
        .map(|m| format!("{} {} in {}", m.fault, m.size, m.path))
        .collect();
    list(&mut out, "Structural faults missed", &structural);
    let alarms: Vec<String> = scores
        .alarms
        .iter()
        .map(|a| {
            let near = a.fault.as_deref().unwrap_or("no fault near");
            format!("{} {} {} ({near}): {}", a.severity.name(), a.rule, a.path, a.message)
        })
        .collect();
    list(&mut out, "False alarms", &alarms);
    out
}

fn rule_cells(id: &str, rule: &RuleScore) -> Vec<String> {
    let [recall, rows, alarms] = rates(rule);
    vec![
        id.to_owned(),
        rule.severity.map_or("", |s| s.name()).to_owned(),
        rule.planted.to_string(),
        rule.found.to_string(),
        shown(recall),
        shown(rows),
        rule.alarms.to_string(),
        rule.alarm_errors.to_string(),
        shown(alarms),
    ]
}

fn fault_cells(fault: &FaultScore) -> Vec<String> {
    let recall = match fault.class {
        FaultClass::Control => "-".to_owned(),
        _ => shown(share(fault.found as u64, fault.planted as u64)),
    };
    vec![
        fault.id.clone(),
        fault.size.clone(),
        fault.class.name().to_owned(),
        fault.planted.to_string(),
        fault.found.to_string(),
        recall,
        fault.warned.to_string(),
        fault.finds.join(", "),
    ]
}

/// How many faults of a class were found.
fn found_of(scores: &Scores, class: FaultClass) -> String {
    let faults = || scores.faults.iter().filter(|f| f.class == class);
    let found: usize = faults().map(|f| f.found).sum();
    let planted: usize = faults().map(|f| f.planted).sum();
    format!("{found} of {planted} {} faults found", class.name())
}

fn headline(scores: &Scores) -> String {
    let errors: usize = scores.rules.values().map(|r| r.alarm_errors).sum();
    format!(
        "{}, {}; {} false alarms, {errors} of them errors; {} tables, seed {}",
        found_of(scores, FaultClass::Structural),
        found_of(scores, FaultClass::Statistical),
        scores.alarms.len(),
        scores.tables,
        scores.seed
    )
}

fn list(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}:\n");
    for line in lines.iter().take(SHOWN) {
        // Paths and messages hold names of the data: as code they are inert in Markdown, too.
        let _ = writeln!(out, "    {}", clean(line));
    }
    if lines.len() > SHOWN {
        let _ = writeln!(out, "    … {} more in the JSON", lines.len() - SHOWN);
    }
}

fn aligned(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |i: usize| {
        let cells = rows.iter().map(|r| r[i].chars().count());
        cells.chain([header[i].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells: Vec<String> =
            cells.iter().zip(&widths).map(|(c, w)| format!("{c:w$}", w = *w)).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    let header: Vec<String> = header.iter().map(|h| (*h).to_owned()).collect();
    std::iter::once(line(&header)).chain(rows.iter().map(|r| line(r))).collect()
}

fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(header.to_vec());
    out += &line(vec!["---"; header.len()]);
    for row in rows {
        out += &line(row.iter().map(String::as_str).collect());
    }
    out
}

fn json(scores: &Scores) -> serde_json::Value {
    let rules: Vec<_> = scores
        .rules
        .iter()
        .map(|(id, r)| {
            let [recall, rows, rate] = rates(r);
            json!({
                "rule": id, "severity": r.severity.map(crate::findings::Severity::name), "planted": r.planted,
                "found": r.found, "recall": recall, "rows_recall": rows,
                "false_alarms": r.alarms, "false_errors": r.alarm_errors,
                "plants_that_do_not_imply_it": r.others, "false_alarm_rate": rate,
            })
        })
        .collect();
    let faults: Vec<_> = scores
        .faults
        .iter()
        .map(|f| {
            json!({
                "fault": f.id, "size": f.size, "class": f.class.name(), "finds": f.finds,
                "planted": f.planted, "found": f.found, "warned": f.warned,
                "recall": share(f.found as u64, f.planted as u64),
                "rows_recall": share(f.rows_told, f.rows),
            })
        })
        .collect();
    let missed: Vec<_> = scores
        .missed
        .iter()
        .map(|m| json!({"fault": m.fault, "size": m.size, "class": m.class.name(), "path": clean(&m.path)}))
        .collect();
    let alarms: Vec<_> = scores
        .alarms
        .iter()
        .map(|a| {
            json!({
                "rule": a.rule, "severity": a.severity.name(), "path": clean(&a.path),
                "fault": a.fault, "message": clean(&a.message),
            })
        })
        .collect();
    json!({
        "schema": "perfdb-gate/selftest/v1",
        "tool": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
        "seed": scores.seed, "tables": scores.tables, "rows": scores.rows,
        "planted": scores.planted(), "rules": rules, "faults": faults, "missed": missed,
        "false_alarms": alarms,
    })
}
