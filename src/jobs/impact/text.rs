//! Renders an impact as a document for people.

use super::summary::{
    LEFT_OUT, MovedSteps, delta, gaps, headline, lost, movers, notes, quant, range,
};
use crate::base::group::grouped;
use crate::base::words::{Figure, count, plural, plural_verb};
use crate::planner::{
    Impact, ImpactCase, OpMove, PlannedVersion, PointImpact, PowerCoverage, StepEffect,
};
use crate::report::document::{Document, DocumentTable, ListItem};

/// The maximum number of steps with a changed time that the text shows.
const WORST: usize = 10;
/// The maximum number of operations shown below a step.
const OPS: usize = 3;

/// Converts predictions to a document for text and Markdown output.
pub(super) fn document(impact: &Impact) -> Document {
    let refused = impact.cases.iter().filter(|case| case.is_refused()).count();
    let answered = impact.cases.iter().filter(|case| !case.is_refused());
    let versions = grouped(answered.map(|case| (&case.version, case)));
    let mut document = Document::new("Predictions");
    document.paragraph(headline(impact));
    document.list("Worst movers, one of each cause", movers(impact).iter().take(WORST).map(mover));
    document.list("Answers that became errors", lost(impact));
    document.list("Notes", notes(impact));
    document.list("Not asked", gaps(impact));
    for (version, cases) in &versions {
        if impact.compared {
            let news = cases.iter().filter(|case| is_news(case)).map(|case| changes(case));
            let heads = ["model", "layout", "quantisation", "moved", "change"];
            let table = DocumentTable::new(&heads, [3], news);
            document.folded(&version_heading(version, cases), table);
        } else {
            let heading = format!("{version} (ms by phase, batch × tokens)");
            document.table(&heading, times(cases));
        }
    }
    if refused > 0 {
        let states = if impact.compared { "in both states" } else { "here" };
        let cases = plural_verb(refused, "case", ["is", "are"]);
        let hint = "--format json has the reasons";
        document.paragraph(format!("{cases} refused by the planner {states}; {hint}."));
    }
    document.paragraph(format!(
        "Predicted by {}. Predictions are estimates of static steps from the tables alone. They leave out {}.",
        impact.planner.name,
        LEFT_OUT.join(", ")
    ));
    document
}

/// Renders the heading of a version, with the number of steps whose time changed and the number of steps for which the
/// planner reports power.
fn version_heading(version: &PlannedVersion, cases: &[&ImpactCase]) -> String {
    let points: Vec<&PointImpact> = cases.iter().flat_map(|case| &case.points).collect();
    let moved = points.iter().filter(|p| p.effect() == StepEffect::Moved).count();
    let (moved, all) = (count(moved), count(points.len()));
    let words =
        |power: PowerCoverage| format!("power of {} of {} steps", power.available, power.steps);
    let power = match PowerCoverage::both(points.iter().copied()) {
        [Some(before), Some(after)] if before != after => {
            format!("; {} before, {} after", words(before), words(after))
        }
        [_, Some(after)] => format!("; {}", words(after)),
        [_, None] => String::new(),
    };
    format!("{version}: {moved} of {all} step times move{power}")
}

fn is_news(case: &ImpactCase) -> bool {
    let changed = |p: &PointImpact| {
        matches!(p.effect(), StepEffect::Moved | StepEffect::Lost | StepEffect::Gained)
    };
    case.points.iter().any(changed) || case.quant_before.is_some()
}

/// Returns one row of a table that compares cases: model, layout, quantisation, number of steps whose time changed,
/// notes.
fn changes(case: &ImpactCase) -> Vec<String> {
    let of = |effect| case.points.iter().filter(move |p| p.effect() == effect);
    let factors: Vec<f64> = of(StepEffect::Moved).filter_map(PointImpact::factor).collect();
    let mut notes: Vec<String> = range(&factors).into_iter().collect();
    for (effect, words) in
        [(StepEffect::Lost, "became errors"), (StepEffect::Gained, "were errors before")]
    {
        let n = of(effect).count();
        if n > 0 {
            notes.push(format!("{n} {words}"));
        }
    }
    let moved = format!("{}/{}", factors.len(), case.points.len());
    vec![case.case.model.clone(), case.layout().words(), quant(case), moved, notes.join("; ")]
}

/// Builds a table of predicted times in ms, with a row per case and a column per step. Used if nothing is compared.
fn times(cases: &[&ImpactCase]) -> DocumentTable {
    let points = cases.first().map(|case| &case.points[..]).unwrap_or_default();
    let steps: Vec<String> = points.iter().map(|p| p.point.words().replace(" × ", "×")).collect();
    let error = |case: &&ImpactCase| case.points.iter().find_map(|p| p.after.clone().err());
    let note = cases.iter().any(|case| error(case).is_some()).then_some("note");
    let mut heads = vec!["model", "layout", "quantisation"];
    heads.extend(steps.iter().map(String::as_str).chain(note));
    let rows = cases.iter().map(|case| {
        let mut row = vec![case.case.model.clone(), case.layout().words(), quant(case)];
        let time = |p: &PointImpact| match &p.after {
            Ok(time) => format!("{:.2}", Figure(time.ms)),
            Err(_) => "-".to_owned(),
        };
        row.extend(case.points.iter().map(time));
        row.extend(note.map(|_| error(case).map(|why| why.to_string()).unwrap_or_default()));
        row
    });
    DocumentTable::new(&heads, (3..3 + steps.len()).collect::<Vec<_>>(), rows)
}

/// Renders a step whose time changed, with the operations that caused the change.
fn mover(mover: &MovedSteps<'_>) -> ListItem {
    let ops = &mover.point.ops;
    let mut below: Vec<String> = ops.iter().take(OPS).map(reason).collect();
    if ops.len() > OPS {
        below.push(format!("and {} more", plural(ops.len() - OPS, "operation")));
    }
    if mover.steps > 1 {
        let others = mover.steps - 1;
        below.push(plural_verb(
            others,
            "other step",
            ["moves for this reason", "move for this reason"],
        ));
    }
    ListItem { text: format!("{}: {}", mover.title(), mover.row().times()), below }
}

/// Renders the change of an operation's time, with the changed tables that caused it.
fn reason(op: &OpMove) -> String {
    let source = match (op.source_before, op.source_after) {
        (before, after) if before == after => String::new(),
        (before, after) => {
            let name = |source: Option<crate::planner::Source>| {
                source.map_or("none", |source| source.into_str())
            };
            format!(" ({} → {})", name(before), name(after))
        }
    };
    let cause =
        if op.cause.words.is_empty() { String::new() } else { format!(": {}", op.cause.words) };
    format!("{}{source}{cause}", delta(op))
}
