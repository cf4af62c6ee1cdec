//! A comparison, for people.

use std::collections::BTreeMap;

use super::table::{FarKey, TableComparison};
use super::tendency::{RatioSummary, Tendency};
use super::{CompareReport, SliceSummary};
use crate::base::error::Result;
use crate::base::escape::clean;
use crate::base::words::{Figure, count, plural};
use crate::report::template::fill;

const TEMPLATE: &str = include_str!("../../../charts/compare.md.j2");

/// Slices that are shown, those that say most first.
const SLICES: usize = 12;

/// Far keys that are shown.
const FAR: usize = 5;

pub fn render(report: &CompareReport, brief: bool) -> String {
    let mut out = format!("A  {}\nB  {}\n", report.a, report.b);
    for table in &report.tables {
        out += &format!("\n{}\n", headline(table));
        if !brief {
            details(table).iter().for_each(|line| out += &format!("  {line}\n"));
        }
    }
    for unread in &report.unread {
        out += &format!("\n{}: not compared: {}\n", unread.path, unread.why);
    }
    out.push('\n');
    let mut parts = vec![format!("{} compared", plural(report.tables.len(), "table"))];
    let more = [
        (report.identical, "identical"),
        (report.only_a.len(), "only in A"),
        (report.only_b.len(), "only in B"),
        (report.unread.len(), "not compared"),
    ];
    parts.extend(
        more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n))),
    );
    out += &format!("{}: B is {}\n", parts.join(", "), word(report.verdict));
    out.lines().map(|line| clean(line) + "\n").collect()
}

/// What the template sees: every cell as a text.
#[derive(serde::Serialize)]
struct CompareView<'a> {
    a: &'a str,
    b: &'a str,
    verdict: &'static str,
    tables: Vec<[String; 7]>,
    identical: String,
    unread: Vec<[&'a str; 2]>,
}

/// A comparison for a pull request.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
pub fn markdown(report: &CompareReport) -> Result<String> {
    let view = CompareView {
        a: &report.a,
        b: &report.b,
        verdict: word(report.verdict),
        tables: report.tables.iter().map(cells).collect(),
        identical: plural(report.identical, "table"),
        unread: report.unread.iter().map(|u| [u.path.as_str(), u.why.as_str()]).collect(),
    };
    fill("compare.md.j2", TEMPLATE, &view).map(|text| text + "\n")
}

/// A table's cells in the Markdown table.
fn cells(table: &TableComparison) -> [String; 7] {
    let whole = &table.whole;
    let between =
        whole.interval.map(|[low, high]| format!("{} to {}", percent(low), percent(high)));
    [
        place(table),
        table.verdict.name().to_owned(),
        whole.ratio.map_or_else(|| "-".to_owned(), percent),
        between.unwrap_or_default(),
        count(table.common),
        format!("{:.1} %", whole.beyond * 100.0),
        format!("{} / {}", count(table.slower_2x), count(table.faster_2x)),
    ]
}

fn word(verdict: Tendency) -> &'static str {
    match verdict {
        Tendency::Same => "the same",
        Tendency::Unclear => "not comparable: too few common keys",
        other => other.name(),
    }
}

fn headline(table: &TableComparison) -> String {
    format!("{}: {}{}", place(table), table.verdict.name(), middle(&table.whole))
}

fn place(table: &TableComparison) -> String {
    let place = [&table.table, &table.backend, &table.version, &table.system];
    let place: Vec<&str> = place.iter().map(|p| p.as_str()).filter(|p| !p.is_empty()).collect();
    place.join(" ")
}

/// A middle ratio with its interval: ` (+3.1 %, 90 %: +2.9 to +3.3 %)`.
fn middle(summary: &RatioSummary) -> String {
    match (summary.ratio, summary.interval) {
        (Some(ratio), Some([low, high])) => format!(
            "; B is {} over A in the median (interval {} to {}); independent collections differ by at most ±{:.1} %",
            percent(ratio),
            percent(low),
            percent(high),
            Figure((summary.allowed - 1.0) * 100.0),
        ),
        _ => String::new(),
    }
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", Figure((ratio - 1.0) * 100.0))
}

fn details(table: &TableComparison) -> Vec<String> {
    let mut lines = vec![format!(
        "{} in both, {} only in A, {} only in B; {:.1} % are outside rerun noise (1 % is usual), {} are more than 2× slower, {} more than 2× faster",
        plural(table.common, "key"),
        count(table.only_a),
        count(table.only_b),
        table.whole.beyond * 100.0,
        count(table.slower_2x),
        count(table.faster_2x),
    )];
    if table.slices.len() > 1 {
        lines.push(format!("by slice ({}):", count(table.slices.len())));
        lines.extend(slices(&table.slices));
    }
    if !table.deciles.is_empty() {
        let ratios = table.deciles.iter().map(|d| percent(d.ratio.unwrap_or(1.0)));
        lines.push(format!("by latency, short to long: {}", ratios.collect::<Vec<_>>().join(", ")));
    }
    if let Some(drift) = table.drift {
        let ratios: Vec<String> = table.order.iter().map(|r| percent(*r)).collect();
        let what = if table.drifts {
            "there is a drift of"
        } else {
            "no drift; the last tenth over the first:"
        };
        lines.push(format!(
            "in the order of the rows of B: {}; {what} {}",
            ratios.join(", "),
            percent(drift)
        ));
    }
    if !table.far.is_empty() {
        lines.push("largest differences:".to_owned());
        lines.extend(table.far.iter().take(FAR).map(far));
    }
    lines
}

fn slices(all: &[SliceSummary]) -> Vec<String> {
    let mut order: Vec<&SliceSummary> = all.iter().collect();
    let apart = |s: &SliceSummary| s.ratios.ratio.map_or(0.0, |r| r.ln().abs());
    order.sort_by(|a, b| {
        let quiet =
            |s: &SliceSummary| matches!(s.ratios.verdict, Tendency::Same | Tendency::Unclear);
        quiet(a).cmp(&quiet(b)).then(apart(b).total_cmp(&apart(a)))
    });
    let mut lines: Vec<String> = order.into_iter().take(SLICES).map(slice).collect();
    if all.len() > SLICES {
        lines.push(format!("  and {} more", count(all.len() - SLICES)));
    }
    lines
}

fn slice(summary: &SliceSummary) -> String {
    let ratios = &summary.ratios;
    let names: Vec<&str> = summary.slice.values().map(String::as_str).collect();
    let ratio = ratios.ratio.map_or_else(|| "-".to_owned(), percent);
    format!(
        "  {:<8} {ratio:>8}  {:>5.1} % outside noise  {:>7} keys  {}",
        ratios.verdict.name(),
        ratios.beyond * 100.0,
        count(ratios.keys),
        names.join(" ")
    )
}

fn far(key: &FarKey) -> String {
    format!(
        "  {:.4} → {:.4} ms, {:.2}×: {}",
        Figure(key.a_ms),
        Figure(key.b_ms),
        Figure(key.ratio),
        parts(&key.key)
    )
}

fn parts(key: &BTreeMap<String, serde_json::Value>) -> String {
    let part = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        Some(text) => format!("{name} {text}"),
        None => format!("{name} {value}"),
    };
    key.iter().map(part).collect::<Vec<_>>().join(", ")
}
