//! Renders the scores of a selftest for people, programs and Markdown, and draws recall over size.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fault::{FaultClass, Variant};
use super::score::{FaultScore, RuleScore, Scores};
use perfdb_gate::base::error::Result;
use perfdb_gate::base::escape::clean;
use perfdb_gate::findings::Severity;
use perfdb_gate::jobs::for_selftest::{Document, DocumentTable, plural};
use perfdb_gate::report::chart::{ChartFigure, ChartPoint, LineKind, Panel, Scale, svg};

/// The maximum number of false alarms and missed faults shown to people; JSON contains all.
const SHOWN: usize = 20;

/// The format of the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// For a workflow step's summary.
    Markdown,
    /// For programs (schema perfdb-gate/selftest/v1).
    Json,
}

/// Renders the scores of a selftest.
pub fn render(scores: &Scores, format: Format) -> String {
    match format {
        Format::Human => document(scores).text(),
        Format::Markdown => document(scores).markdown(),
        Format::Json => serde_json::to_string_pretty(&json(scores)).unwrap_or_default() + "\n",
    }
}

/// Returns a share rounded to three digits; `None` if `whole` is 0.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1e3).round() / 1e3)
}

fn shown(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |s| format!("{s:.3}"))
}

fn rates(rule: &RuleScore) -> [Option<f64>; 3] {
    [
        share(rule.found as u64, rule.planted as u64),
        share(rule.reported_rows, rule.rows),
        share(rule.alarms as u64, rule.others as u64),
    ]
}

fn document(scores: &Scores) -> Document {
    let mut document = Document::new("");
    document.paragraph(headline(scores));
    let heads =
        ["rule", "severity", "faults", "found", "recall", "rows", "false alarms", "errors", "rate"];
    let rules = scores.rules.iter();
    let rules = rules.map(|(id, severity)| rule_cells(id, *severity, &scores.rule(id)));
    document.table("Rules", DocumentTable::new(&heads, [2, 3, 4, 5, 6, 7, 8], rules));
    let heads = ["fault", "size", "class", "planted", "found", "recall", "warned", "by"];
    let faults = scores.faults.iter().map(fault_cells);
    document.table("Faults", DocumentTable::new(&heads, [3, 4, 5, 6], faults));
    let structural = scores.missed.iter();
    let structural = structural.filter(|m| m.variant.fault.class == FaultClass::Structural);
    let structural = structural.map(|m| format!("{} in {}", m.variant.name(), m.path));
    document.list("Structural faults missed", first(structural.collect()));
    let alarms = scores.alarms.iter().map(|a| {
        let near = a.fault.as_ref().map_or_else(|| "no fault near".to_owned(), Variant::name);
        let f = &a.finding;
        format!("{} {} {} ({near}): {}", f.severity.into_str(), f.rule, f.path, f.message)
    });
    document.list("False alarms", first(alarms.collect()));
    document
}

/// Keeps the first lines and adds the number of the others.
fn first(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    lines.extend((more > 0).then(|| format!("… {more} more in the JSON")));
    lines
}

fn rule_cells(id: &str, severity: Severity, rule: &RuleScore) -> Vec<String> {
    let [recall, rows, alarms] = rates(rule);
    vec![
        id.to_owned(),
        severity.into_str().to_owned(),
        rule.planted.to_string(),
        rule.found.to_string(),
        shown(recall),
        shown(rows),
        rule.alarms.to_string(),
        rule.alarm_errors.to_string(),
        shown(alarms),
    ]
}

fn fault_cells(score: &FaultScore) -> Vec<String> {
    let fault = &score.variant.fault;
    let recall = share(score.found as u64, score.planted as u64);
    vec![
        fault.id.clone(),
        score.variant.size(),
        fault.class.name().to_owned(),
        score.planted.to_string(),
        score.found.to_string(),
        shown(recall.filter(|_| fault.class != FaultClass::Control)),
        score.warned.to_string(),
        fault.finds.join(", "),
    ]
}

/// Renders the number of found faults of a class.
fn found_of(scores: &Scores, class: FaultClass) -> String {
    let faults = || scores.faults.iter().filter(|f| f.variant.fault.class == class);
    let found: usize = faults().map(|f| f.found).sum();
    let planted: usize = faults().map(|f| f.planted).sum();
    format!("{found} of {planted} {} faults found", class.name())
}

fn headline(scores: &Scores) -> String {
    let alarms = scores.alarms.iter();
    let errors = alarms.filter(|a| a.finding.severity == Severity::Error).count();
    format!(
        "{}, {}; {} false alarms, {errors} of them errors; {} tables, seed {}",
        found_of(scores, FaultClass::Structural),
        found_of(scores, FaultClass::Statistical),
        scores.alarms.len(),
        scores.tables,
        scores.seed
    )
}

fn json(scores: &Scores) -> Value {
    let rules = scores.rules.iter().map(|(id, severity)| {
        let rule = scores.rule(id);
        let [recall, rows, rate] = rates(&rule);
        json!({
            "rule": id, "severity": severity.into_str(), "planted": rule.planted,
            "found": rule.found, "recall": recall, "rows_recall": rows,
            "false_alarms": rule.alarms, "false_errors": rule.alarm_errors,
            "plants_that_do_not_imply_it": rule.others, "false_alarm_rate": rate,
        })
    });
    let faults = scores.faults.iter().map(|score| {
        let fault = &score.variant.fault;
        json!({
            "fault": fault.id, "size": score.variant.size(), "class": fault.class.name(),
            "finds": fault.finds, "planted": score.planted, "found": score.found,
            "warned": score.warned, "recall": share(score.found as u64, score.planted as u64),
            "rows_recall": share(score.reported_rows, score.rows),
        })
    });
    let missed = scores.missed.iter().map(|missed| {
        let fault = &missed.variant.fault;
        json!({
            "fault": fault.id, "size": missed.variant.size(), "class": fault.class.name(),
            "path": clean(&missed.path),
        })
    });
    let alarms = scores.alarms.iter().map(|alarm| {
        let f = &alarm.finding;
        json!({
            "rule": f.rule, "severity": f.severity.into_str(), "path": clean(&f.path),
            "fault": alarm.fault.as_ref().map(Variant::name), "message": clean(&f.message),
        })
    });
    json!({
        "schema": "perfdb-gate/selftest/v1",
        "tool": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
        "seed": scores.seed, "tables": scores.tables, "rows": scores.rows,
        "planted": scores.planted(), "rules": rules.collect::<Vec<_>>(),
        "faults": faults.collect::<Vec<_>>(), "missed": missed.collect::<Vec<_>>(),
        "false_alarms": alarms.collect::<Vec<_>>(),
    })
}

/// Draws the recall of faults that come in several sizes, as SVG.
///
/// # Errors
///
/// Returns the errors of [`svg`].
pub fn recall_curves(scores: &Scores) -> Result<String> {
    let mut curves: BTreeMap<&str, Vec<ChartPoint>> = BTreeMap::new();
    for fault in scores.faults.iter().filter(|fault| fault.planted > 0) {
        let (Some(name), Some(by)) = (&fault.variant.fault.curve, fault.variant.by) else {
            continue;
        };
        // A latency multiplied by 0.7 is off by a factor of 1.43.
        let point = ChartPoint::plain(by.max(1.0 / by), fault.found as f64 / fault.planted as f64);
        curves.entry(name).or_default().push(point);
    }
    let series = curves.keys().map(|name| (*name).into()).collect();
    let mut panel = Panel { scale: Scale::Linear, ..Panel::named("share found") };
    for (number, mut points) in curves.into_values().enumerate() {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        panel.add(number, LineKind::Head, points);
    }
    svg(&ChartFigure {
        title: "Recall over the size of a fault".into(),
        subtitle: format!(
            "{} planted in {}, seed {}; {}",
            plural(scores.planted(), "fault"),
            plural(scores.tables, "table"),
            scores.seed,
            plural(scores.alarms.len(), "false alarm")
        ),
        x: "how many times off".into(),
        series,
        panels: vec![panel],
        ..ChartFigure::default()
    })
}
