//! What people read of an impact, before it becomes text or Markdown.

use std::collections::BTreeMap;

use super::{Fate, Impact, ImpactCase, OpMove, PlannedVersion, PointImpact, PowerCoverage};
use crate::base::words::{Figure, count, plural};
use crate::planner::{StepPoint, TableLookup};
use crate::report::predictions::{PredictedMove, percent};

/// Worst movers that are shown.
const WORST: usize = 10;
/// Operations of a mover that are shown.
const OPS: usize = 3;
/// Rows of an operation that are shown.
const ROWS: usize = 4;
/// Reasons of lost answers that are shown.
const LOST: usize = 10;

/// A step that moved, with its reasons.
pub(super) struct Mover {
    /// `b200_sxm sglang 0.5.14, Qwen/Qwen3-32B-FP8 tp 1, decode 64 × 1024`
    pub title: String,
    /// `15.680 → 11.197 ms, −28.6 %`
    pub change: String,
    /// A line for each operation.
    pub reasons: Vec<String>,
}

/// A case in a line.
pub(super) struct CaseLine {
    pub model: String,
    pub layout: String,
    pub quant: String,
    /// Moved steps of all.
    pub moved: String,
    /// The range of changes, or the reason why there is no answer.
    pub note: String,
}

/// Everything that is shown.
pub(super) struct ImpactSummary {
    pub headline: String,
    /// Versions with a line each, and the cases of those where something happens.
    pub versions: Vec<(String, Vec<CaseLine>)>,
    pub movers: Vec<Mover>,
    /// Steps that became errors, with the reason.
    pub lost: Vec<String>,
}

impl ImpactSummary {
    pub(super) fn of(impact: &Impact) -> Self {
        let mut versions: BTreeMap<&PlannedVersion, Vec<&ImpactCase>> = BTreeMap::new();
        for case in &impact.cases {
            versions.entry(&case.version).or_default().push(case);
        }
        Self {
            headline: headline(impact),
            versions: versions
                .iter()
                .map(|(version, cases)| version_lines(version, cases))
                .collect(),
            movers: movers(impact),
            lost: lost(impact),
        }
    }
}

/// A version's line, and those of its cases in which something happens.
fn version_lines(version: &PlannedVersion, cases: &[&ImpactCase]) -> (String, Vec<CaseLine>) {
    let points = || cases.iter().flat_map(|case| &case.points);
    let moved = points().filter(|p| p.fate() == Fate::Moved).count();
    let mut title = format!(
        "{}: {} of {} step times move",
        name(version),
        count(moved),
        count(points().count())
    );
    let all: Vec<&PointImpact> = points().collect();
    match PowerCoverage::both(all.iter().copied()) {
        [Some(before), Some(after)] if before != after => {
            title += &format!("; {} before, {} after", before.words(), after.words());
        }
        [_, Some(after)] => title += &format!("; {}", after.words()),
        _ => {}
    }
    (title, cases.iter().filter(|case| case_is_news(case)).map(|case| line(case)).collect())
}

fn case_is_news(case: &ImpactCase) -> bool {
    case.points.iter().any(is_news) || case.power_changes() || case.quant_before.is_some()
}

fn is_news(point: &PointImpact) -> bool {
    matches!(point.fate(), Fate::Moved | Fate::Lost | Fate::Gained)
}

/// The line that sums it up.
pub(super) fn headline(impact: &Impact) -> String {
    let values = impact.points().count();
    let missing = impact.count(Fate::Missing);
    let unanswered = match missing {
        0 => String::new(),
        n => format!("; {} have no answer", count(n)),
    };
    let versions = plural(impact.versions.len(), "version");
    if !impact.compared {
        return format!("{} predicted on {versions}{unanswered}", plural(values, "step time"));
    }
    let changes: Vec<f64> = impact
        .points()
        .filter(|(_, p)| p.fate() == Fate::Moved)
        .filter_map(|(_, p)| p.change())
        .collect();
    let range = range(&changes).map(|r| format!(" ({r})")).unwrap_or_default();
    format!(
        "{} of {} move{range} on {versions}; {} became errors, {} were errors before{unanswered}",
        count(changes.len()),
        plural(values, "predicted step time"),
        count(impact.count(Fate::Lost)),
        count(impact.count(Fate::Gained)),
    )
}

fn range(changes: &[f64]) -> Option<String> {
    let low = changes.iter().copied().min_by(f64::total_cmp)?;
    let high = changes.iter().copied().max_by(f64::total_cmp)?;
    let ends = [low, high].map(percent);
    Some(if ends[0] == ends[1] { ends[0].clone() } else { ends.join(" … ") })
}

fn name(version: &PlannedVersion) -> String {
    format!("{} {} {}", version.system, version.backend, version.version)
}

/// `tp 8, dp 1, experts tp 1 ep 8`, shorter where experts are as the rest.
pub(super) fn layout(case: &ImpactCase) -> String {
    let p = case.parallel;
    let mut text = format!("tp {}", p.tp);
    if p.dp > 1 {
        text += &format!(" dp {}", p.dp);
    }
    if p.moe_ep > 1 {
        text += &format!(" ep {}", p.moe_ep);
    }
    text
}

/// Quantisation in a few words, with what data changed of it.
pub(super) fn quant(case: &ImpactCase) -> String {
    let q = &case.quant;
    let attention = match &case.quant_before {
        Some(before) if before.fmha != q.fmha => {
            format!("attention {} → {}", before.fmha, q.fmha)
        }
        _ => format!("attention {}", q.fmha),
    };
    format!("{}, cache {}, {attention}", q.gemm, q.kvcache)
}

fn line(case: &ImpactCase) -> CaseLine {
    let of = |fate| case.points.iter().filter(move |p| p.fate() == fate);
    let changes: Vec<f64> = of(Fate::Moved).filter_map(PointImpact::change).collect();
    let mut notes: Vec<String> = range(&changes).into_iter().collect();
    let fates = [(Fate::Lost, "became errors"), (Fate::Gained, "were errors before")];
    for (fate, words) in fates {
        let n = of(fate).count();
        if n > 0 {
            notes.push(format!("{n} {words}"));
        }
    }
    if let ([Some(before), Some(after)], true) = (case.power(), case.power_changes()) {
        let share = |power: PowerCoverage| format!("{:.0} %", 100.0 * power.mean);
        notes.push(format!("measured power {} → {} of the time", share(before), share(after)));
    }
    CaseLine {
        model: case.model.clone(),
        layout: layout(case),
        quant: quant(case),
        moved: format!("{}/{}", changes.len(), case.points.len()),
        note: notes.join("; "),
    }
}

/// `decode 64 × 1024`
pub(super) fn step(point: StepPoint) -> String {
    format!("{} {} × {}", point.phase.word(), point.batch, point.isl)
}

fn title(case: &ImpactCase, point: StepPoint) -> String {
    format!("{}, {}, {}", name(&case.version), subject(case), step(point))
}

/// The model and its layout.
pub(super) fn subject(case: &ImpactCase) -> String {
    format!("{} {}", case.model, layout(case))
}

/// A case with its worst point, the change, and other versions that move alike.
type Worst<'a> = (&'a ImpactCase, &'a PointImpact, f64, Vec<String>);

/// Versions of a backend that take their rows from one donor move alike: they are one mover.
fn alike<'a>(worst: Vec<(&'a ImpactCase, &'a PointImpact, f64)>) -> Vec<Worst<'a>> {
    let mut found: Vec<Worst<'a>> = Vec::new();
    for (case, point, change) in worst {
        let same = found.iter_mut().find(|(other, p, ..)| {
            (&other.model, other.parallel, &other.quant)
                == (&case.model, case.parallel, &case.quant)
                && (p.point, &p.before, &p.after) == (point.point, &point.before, &point.after)
        });
        match same {
            Some((.., others)) => others.push(name(&case.version)),
            None => found.push((case, point, change, Vec::new())),
        }
    }
    found
}

/// The worst point of each case that moved, most first.
fn worst(impact: &Impact) -> Vec<Worst<'_>> {
    let mut worst: Vec<(&ImpactCase, &PointImpact, f64)> = Vec::new();
    for case in &impact.cases {
        let moved = case.points.iter().filter(|p| p.fate() == Fate::Moved);
        let changes = moved.filter_map(|p| Some((p, p.change()?)));
        let most = changes.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        worst.extend(most.map(|(point, change)| (case, point, change)));
    }
    worst.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    alike(worst)
}

/// The steps that moved most, one of each case, for a report.
pub(super) fn moves(impact: &Impact, most: usize) -> Vec<PredictedMove> {
    worst(impact).into_iter().take(most).map(predicted_move).collect()
}

fn predicted_move((case, point, change, others): Worst<'_>) -> PredictedMove {
    let time =
        |step: Option<&super::Step>| step.and_then(|s| s.as_ref().ok()).map_or(0.0, |t| t.ms);
    let mut step = title(case, point.point);
    if !others.is_empty() {
        step += &format!(" (and {})", others.join(", "));
    }
    PredictedMove {
        step,
        before_ms: time(point.before.as_ref()),
        after_ms: time(Some(&point.after)),
        change: percent(change),
        because: point.ops.first().and_then(because),
    }
}

/// The operation, the table, what was looked up and how it was answered.
pub(super) fn because(op: &OpMove) -> Option<String> {
    let (_, lookup) = most_moved(op)?;
    Some(format!("{}: {}, {}, {}", op.name, lookup.table, lookup.key, lookup.how.word()))
}

/// The worst movers.
fn movers(impact: &Impact) -> Vec<Mover> {
    worst(impact).into_iter().take(WORST).map(mover).collect()
}

fn mover(worst: Worst<'_>) -> Mover {
    let (case, point, _, others) = &worst;
    let mut reasons: Vec<String> = point.ops.iter().take(OPS).flat_map(reasons).collect();
    if point.ops.len() > OPS {
        reasons.push(format!("and {} more", plural(point.ops.len() - OPS, "operation")));
    }
    if !others.is_empty() {
        reasons.push(format!("the same on {}", others.join(", ")));
    }
    let title = title(case, point.point);
    let PredictedMove { before_ms, after_ms, change, .. } = predicted_move(worst);
    Mover {
        title,
        change: format!("{:.3} → {:.3} ms, {change}", Figure(before_ms), Figure(after_ms)),
        reasons,
    }
}

/// An operation's move, and the lookup that moved it most.
fn reasons(op: &OpMove) -> Vec<String> {
    let sign = if op.delta() < 0.0 { "−" } else { "+" };
    let moved = format!("{} {sign}{:.3} ms", op.name, Figure(op.delta().abs()));
    let Some((before, shown)) = most_moved(op) else { return vec![moved] };
    let part = if *shown.op == *op.name { String::new() } else { format!("{}, ", shown.op) };
    let how = shown.how.word();
    let mut lines = vec![format!("{moved}: {part}{}, {}, {how}", shown.table, shown.key)];
    let places = |l: &TableLookup| -> Vec<(String, u32)> {
        l.rows.iter().map(|r| (r.origin.path.clone(), r.row)).collect()
    };
    // Rows that stay where they are need no second line: only their latency changed.
    if let Some(before) = before.filter(|b| b.how != shown.how || places(b) != places(shown)) {
        lines.push(format!("before: {}, {}", before.how.word(), rows(before)));
    }
    lines.push(rows(shown));
    lines
}

/// The lookup that moved most, with the one before of the same key; a lookup without one moved by
/// its whole time.
fn most_moved(op: &OpMove) -> Option<(Option<&TableLookup>, &TableLookup)> {
    let same =
        |a: &TableLookup, b: &TableLookup| a.op == b.op && a.table == b.table && a.key == b.key;
    let paired = op.lookups_after.iter().map(|after| {
        let before = op.lookups_before.iter().find(|before| same(before, after));
        (before, after)
    });
    let moved = |(before, after): &(Option<&TableLookup>, &TableLookup)| {
        (after.ms - before.map_or(0.0, |b| b.ms)).abs()
    };
    let most = paired.max_by(|a, b| moved(a).total_cmp(&moved(b)));
    most.or_else(|| op.lookups_before.first().map(|gone| (None, gone)))
}

/// The heaviest rows of a lookup by file, with their weights.
fn rows(lookup: &TableLookup) -> String {
    let mut heaviest: Vec<_> = lookup.rows.iter().collect();
    heaviest.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    for row in heaviest.iter().take(ROWS) {
        let path = row.origin.path.as_str();
        let text = format!("{} ({:.0} %)", row.row, row.weight * 100.0);
        match files.iter_mut().find(|(p, _)| *p == path) {
            Some((_, rows)) => rows.push(text),
            None => files.push((path, vec![text])),
        }
    }
    let file = |(path, rows): &(&str, Vec<String>)| format!("row {} of {path}", rows.join(", "));
    let mut text = files.iter().map(file).collect::<Vec<_>>().join("; ");
    if lookup.rows.len() > ROWS {
        text += &format!("; {} more", lookup.rows.len() - ROWS);
    }
    text
}

/// Answers that became errors, by case and reason.
pub(super) fn lost(impact: &Impact) -> Vec<String> {
    let mut reasons: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (case, point) in impact.points().filter(|(_, p)| p.fate() == Fate::Lost) {
        let Err(why) = &point.after else { continue };
        let case = format!("{}, {} {}", name(&case.version), case.model, layout(case));
        *reasons.entry((case, why.to_string())).or_default() += 1;
    }
    let more = reasons.len().saturating_sub(LOST);
    let line = |((case, why), n): ((String, String), usize)| {
        format!("{case}: {} lost: {why}", plural(n, "answer"))
    };
    let mut lines: Vec<String> = reasons.into_iter().take(LOST).map(line).collect();
    if more > 0 {
        lines.push(format!("and {} more", plural(more, "case")));
    }
    lines
}
