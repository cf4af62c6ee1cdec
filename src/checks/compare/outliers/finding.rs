//! The finding on a table's outliers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::point::{OutlyingPoint, StandsOutBy};
use crate::base::words::{Figure, count, names, plural_verb};
use crate::checks::compare::sketch::Slice;
use crate::checks::context::CrossContext;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::database::table::number_json;
use crate::findings::{EXAMPLES, Finding, Severity, SliceEvidence};

/// Rows that a finding lists, at most.
const LISTED: usize = 1000;

/// The outliers of a table.
pub(super) struct TableOutliers<'a> {
    pub file: &'a TableFile,
    /// The slices of the table's sketch.
    pub slices: &'a [Slice],
    /// Those that are outliers elsewhere, too: a kernel's steps.
    pub recurring: Vec<OutlyingPoint>,
    /// Those that nothing but a neighbour speaks for.
    pub unsupported: Vec<OutlyingPoint>,
    /// Those that are neither.
    pub alone: Vec<OutlyingPoint>,
    /// Whether those are too few and too near to be worth a warning.
    pub minor: bool,
}

impl TableOutliers<'_> {
    /// Those that a finding shows: unsupported ones, then recurring ones, only where there are no others.
    fn shown(&self) -> &[OutlyingPoint] {
        let order = [&self.alone, &self.unsupported];
        order.into_iter().find(|some| !some.is_empty()).unwrap_or(&self.recurring)
    }

    pub fn finding(&self, rule: RuleHead<'_>, at: &CrossContext<'_>) -> Option<Finding> {
        let mut order: Vec<&OutlyingPoint> = self.shown().iter().collect();
        order.sort_by(|a, b| b.factor().total_cmp(&a.factor()).then(a.row.cmp(&b.row)));
        let worst = *order.first()?;
        let axes = self.axes(at);
        let side = if worst.spike() { "slower" } else { "faster" };
        let (shapes, points): (Vec<&OutlyingPoint>, Vec<&OutlyingPoint>) =
            order.iter().copied().partition(|o| o.by == StandsOutBy::Shape);
        let mut said = Vec::new();
        if let Some(worst) = points.first() {
            said.push(format!(
                "{} {side} than {} neighbours along {} {}, by up to {:.1}×",
                plural_verb(points.len(), "point", ["is", "are"]),
                if points.len() == 1 { "its" } else { "their" },
                if axes.len() == 1 { "column" } else { "columns" },
                names(axes.keys().map(String::as_str)),
                Figure(worst.factor()),
            ));
        }
        let beside = points.iter().filter(|o| o.by == StandsOutBy::References).count();
        if beside > 0 {
            let which = match beside {
                all if all == points.len() => "the same points are".to_owned(),
                1 => "1 of them is".to_owned(),
                some => format!("{} of them are", count(some)),
            };
            said.push(format!("{which} smooth in other tables"));
        }
        if let Some(worst) = shapes.first() {
            said.push(format!(
                "{} series {are} {side} than the rest of the slice all along column {}, by up to {:.1}× compared with other tables",
                count(shapes.len()),
                sweep(at, self.file).first().map_or("the sweep", String::as_str),
                Figure(worst.factor()),
                are = if shapes.len() == 1 { "is" } else { "are" },
            ));
        }
        let mut message = said.join("; ");
        let mut severity = rule.severity;
        if self.alone.is_empty() && !self.unsupported.is_empty() {
            severity = severity.at_most(Severity::Info);
            message += if worst.by == (StandsOutBy::Neighbours { inner: false }) {
                "; they are at the end of every axis and no other table has them, so a cache or an idle expert may explain them"
            } else {
                "; other tables of this system agree with these points, so the neighbours are slow"
            };
        } else if self.alone.is_empty() {
            severity = severity.at_most(Severity::Info);
            message += "; other tables show the same, so the kernel itself has this step";
        } else if !self.recurring.is_empty() {
            let recurring = count(self.recurring.len());
            message += &format!(
                "; {recurring} more also occur in other tables, so the kernel itself has that step"
            );
        }
        if self.minor {
            severity = severity.at_most(Severity::Info);
        }
        let examples = order.iter().take(EXAMPLES).map(|o| o.example()).collect();
        // All of them, the worst first: `plan` measures them again.
        let rows: Vec<u32> = order.iter().take(LISTED).map(|o| o.row).collect();
        let mut finding = Finding::on_table(rule.id, severity, self.file, message)
            .rows(order.len())
            .naming(order.iter().map(|o| o.row as usize))
            .examples(examples)
            .evidence("worst", number_json(worst.factor()))
            .evidence("axes", serde_json::json!(axes))
            .evidence("recurring", self.recurring.len())
            .evidence("beside_references", beside)
            .evidence("series", shapes.len())
            .evidence("point_rows", rows)
            .slices(self.points_by_slice());
        finding.evidence.reference = order.iter().find_map(|o| o.reference.clone());
        Some(finding)
    }

    /// Points by axis that shows them.
    fn axes(&self, at: &CrossContext<'_>) -> BTreeMap<String, usize> {
        let mut axes = BTreeMap::new();
        for (number, axis) in sweep(at, self.file).iter().enumerate() {
            let points = self.shown().iter().filter(|o| o.axes >> number & 1 == 1).count();
            if points > 0 {
                axes.insert(axis.clone(), points);
            }
        }
        axes
    }

    /// Points by slice, the slices with most of them first.
    fn points_by_slice(&self) -> Vec<SliceEvidence> {
        const SHOWN: usize = 10;
        let mut counts: BTreeMap<&Slice, usize> = BTreeMap::new();
        for outlier in self.shown() {
            *counts.entry(&self.slices[outlier.slice as usize]).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(slice, points)| (Reverse(*points), *slice));
        let told = counts.into_iter().take(SHOWN);
        told.map(|(slice, points)| SliceEvidence {
            slice: slice.clone(),
            figure: ("points".into(), points.into()),
        })
        .collect()
    }
}

/// The columns along which the table's time grows.
pub(super) fn sweep<'a>(at: &CrossContext<'a>, file: &TableFile) -> &'a [String] {
    at.state.specs.tables.get(&file.table).map_or(&[], |spec| &spec.sweep)
}
