//! Renders a comparison as a document for people.

use super::SliceSummary;
use super::report::CompareReport;
use super::table::{FarKey, TableComparison};
use super::tendency::{Tendency, share_few};
use crate::base::words::{Figure, count, plural};
use crate::jobs::rows::key_text;
use crate::report::document::{Document, DocumentTable, ListItem};

/// The maximum number of slices shown per table.
const SLICES: usize = 12;

/// The maximum number of keys with a large difference shown per table.
const FAR: usize = 5;

/// Builds the document of a comparison; `detailed` adds the slices and keys that differ most.
pub(super) fn document(report: &CompareReport, detailed: bool) -> Document {
    let mut document = Document::new("");
    document.paragraph(headline(report));
    document.paragraph(format!("A is {}, B is {}", report.a, report.b));
    let heads = [
        "table",
        "verdict",
        "median",
        "interval",
        "margin",
        "common keys",
        "outside rerun noise",
        "2× slower / faster",
    ];
    let rows = report.tables.iter().map(cells);
    document.table("", DocumentTable::new(&heads, [2, 3, 4, 5, 6, 7], rows));
    for table in report.tables.iter().filter(|_| detailed) {
        document.list(&place(table), details(table));
    }
    let unread = report.unread.iter().map(|unread| format!("{}: {}", unread.path, unread.why));
    document.list("Not compared", unread);
    document
}

/// Sums up the comparison in one line: table counts by outcome, and the verdict.
fn headline(report: &CompareReport) -> String {
    let mut parts = vec![format!("{} compared", plural(report.tables.len(), "table"))];
    let more = [
        (report.identical, "identical"),
        (report.only_a.len(), "only in A"),
        (report.only_b.len(), "only in B"),
        (report.unread.len(), "not compared"),
    ];
    let more = more.iter().filter(|(n, _)| *n > 0);
    parts.extend(more.map(|(n, what)| format!("{} {what}", count(*n))));
    format!("{}: B is {}", parts.join(", "), word(report.verdict))
}

/// Returns the cells of a table's row in the overview.
fn cells(table: &TableComparison) -> Vec<String> {
    let whole = &table.whole;
    let interval =
        whole.interval.map(|[low, high]| format!("{} to {}", percent(low), percent(high)));
    vec![
        place(table),
        table.verdict.name().to_owned(),
        whole.ratio.map_or_else(|| "-".to_owned(), percent),
        interval.unwrap_or_default(),
        format!("±{:.1} %", Figure((whole.allowed - 1.0) * 100.0)),
        count(table.common),
        format!("{:.1} %", whole.beyond * 100.0),
        format!("{} / {}", count(table.slower_2x), count(table.faster_2x)),
    ]
}

fn word(verdict: Tendency) -> &'static str {
    match verdict {
        Tendency::Same => "the same",
        Tendency::Unclear => {
            "unclear: too few keys in common, or the interval of the median crosses the margin"
        }
        Tendency::Faster | Tendency::Slower | Tendency::Mixed => verdict.name(),
    }
}

fn place(table: &TableComparison) -> String {
    let place = [&table.table, &table.backend, &table.version, &table.system];
    let place: Vec<&str> = place.iter().map(|p| p.as_str()).filter(|p| !p.is_empty()).collect();
    place.join(" ")
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", Figure((ratio - 1.0) * 100.0))
}

/// Lists the details of a table: its keys, slices, latencies and row order.
fn details(table: &TableComparison) -> Vec<ListItem> {
    let share = share_few(table.common, table.only_a, table.only_b);
    let mut items: Vec<ListItem> = Vec::new();
    if table.verdict == Tendency::Unclear {
        let why = if share {
            "unclear, because fewer than a tenth of the smaller table's keys are in both"
        } else if table.whole.verdict == Tendency::Unclear && table.whole.interval.is_some() {
            "unclear, because the median may be beyond the margin: compare more keys"
        } else {
            "unclear, because no key has a latency in both"
        };
        items.push(why.to_owned().into());
    }
    items.push(
        format!(
            "{} in both, {} only in A, {} only in B; {:.1} % are outside rerun noise (1 % is usual), {} are \
             more than 2× slower, {} more than 2× faster",
            plural(table.common, "key"),
            count(table.only_a),
            count(table.only_b),
            table.whole.beyond * 100.0,
            count(table.slower_2x),
            count(table.faster_2x),
        )
        .into(),
    );
    if table.slices.len() > 1 {
        let text = format!("by slice ({}):", count(table.slices.len()));
        items.push(ListItem { text, below: slices(&table.slices) });
    }
    if !table.deciles.is_empty() {
        let ratios = table.deciles.iter().map(|d| percent(d.ratio.unwrap_or(1.0)));
        let ratios = ratios.collect::<Vec<_>>().join(", ");
        items.push(format!("by latency, short to long: {ratios}").into());
    }
    if let Some(drift) = table.drift {
        let ratios: Vec<String> = table.order.iter().map(|r| percent(*r)).collect();
        let what = if table.drifts {
            "there is a drift of"
        } else {
            "no drift; the last tenth over the first:"
        };
        let (ratios, drift) = (ratios.join(", "), percent(drift));
        items.push(format!("in the order of the rows of B: {ratios}; {what} {drift}").into());
    }
    if !table.far.is_empty() {
        let below = table.far.iter().take(FAR).map(far).collect();
        items.push(ListItem { text: "largest differences:".to_owned(), below });
    }
    items
}

fn slices(all: &[SliceSummary]) -> Vec<String> {
    let mut order: Vec<&SliceSummary> = all.iter().collect();
    let apart = |s: &SliceSummary| s.ratios.ratio.map_or(0.0, |r| r.ln().abs());
    let quiet = |s: &SliceSummary| matches!(s.ratios.verdict, Tendency::Same | Tendency::Unclear);
    order.sort_by(|a, b| quiet(a).cmp(&quiet(b)).then(apart(b).total_cmp(&apart(a))));
    let mut lines: Vec<String> = order.into_iter().take(SLICES).map(slice).collect();
    if all.len() > SLICES {
        lines.push(format!("and {} more", count(all.len() - SLICES)));
    }
    lines
}

fn slice(summary: &SliceSummary) -> String {
    let ratios = &summary.ratios;
    let names: Vec<&str> = summary.slice.values().map(String::as_str).collect();
    let ratio = ratios.ratio.map_or_else(|| "-".to_owned(), percent);
    format!(
        "{:<8} {ratio:>8}  {:>5.1} % outside noise  {:>7} keys  {}",
        ratios.verdict.name(),
        ratios.beyond * 100.0,
        count(ratios.keys),
        names.join(" ")
    )
}

fn far(key: &FarKey) -> String {
    format!(
        "{:.4} → {:.4} ms, {:.2}×: {}",
        Figure(key.a_ms),
        Figure(key.b_ms),
        Figure(key.ratio),
        key_text(key.key.clone())
    )
}
