//! The rows of a table that are ringed because findings on the table name them. Example rows are not ringed, because
//! they may belong to another table, such as the reference of a coverage hole.

use std::collections::{BTreeMap, BTreeSet};

use super::peer::farthest;
use super::scene::{LineKind, Panel, RingedRule};
use crate::findings::Finding;

/// The maximum number of rows per finding that a chart shows with priority.
const PRIORITY_ROWS: usize = 16;
/// The maximum number of rings per rule in a chart; more rings would hide the lines.
const MOST_RINGS: usize = 10;

/// The name of a slice: a map from the name of each key part to its text, such as from `gemm_dtype` to `fp8`.
pub(super) type SliceTexts = BTreeMap<String, String>;

/// A table's rows that have findings. A chart draws rings around the points of these rows.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    /// The rules whose findings name rows of the table. Rules with errors come first.
    pub(in crate::report) rules: Vec<RingedRule>,
    /// For each row that findings name, the rules of these findings, as indices of `rules`. The map's key is the row
    /// number.
    by_row: BTreeMap<usize, Vec<usize>>,
    /// The rows that a chart shows with priority: first the worst row of each finding, then the second worst row of
    /// each finding, and so on.
    pub(in crate::report) priority_rows: Vec<usize>,
    /// The slices that findings name instead of rows, because a whole slice deviates from a peer. Slices whose
    /// latencies differ most from the peer's latencies come first.
    pub(super) slices: Vec<SliceTexts>,
    /// The slice that the caller requests, which takes precedence over findings; `None` if no slice is requested.
    pub(super) asked: Option<SliceTexts>,
}

impl Rings {
    /// Collects the table's rows that have findings. `rows` is the number of rows in the table.
    pub(crate) fn new<'f>(findings: impl IntoIterator<Item = &'f Finding>, rows: usize) -> Self {
        let mut findings: Vec<&Finding> = findings.into_iter().collect();
        findings.sort_by(|a, b| (a.severity, &a.rule).cmp(&(b.severity, &b.rule)));
        let mut rings = Self::default();
        let mut named: Vec<Vec<usize>> = Vec::new();
        let mut told: Vec<(f64, SliceTexts)> = Vec::new();
        for finding in findings {
            let own: Vec<usize> = finding.named_rows.iter().map(|row| *row as usize).collect();
            let own: Vec<usize> = own.into_iter().filter(|row| *row < rows).collect();
            if own.is_empty() {
                told.extend(finding.evidence.slices.iter().filter_map(|evidence| {
                    farthest(evidence).map(|(_, far)| (far, evidence.slice.clone()))
                }));
                continue;
            }
            let rule = rings.rule(finding);
            for row in own.iter().copied().collect::<BTreeSet<usize>>() {
                let rules = rings.by_row.entry(row).or_default();
                if !rules.contains(&rule) {
                    rules.push(rule);
                    rings.rules[rule].rows += 1;
                }
            }
            // If a finding names rows, its examples are its worst rows, or the rows that these copy.
            let examples = finding.examples.iter().map(|e| e.row as usize);
            let examples = examples.filter(|row| *row < rows).chain(own);
            named.push(examples.take(PRIORITY_ROWS).collect());
        }
        told.sort_by(|a, b| b.0.total_cmp(&a.0));
        rings.slices = told.into_iter().map(|(_, slice)| slice).collect();
        for place in 0..PRIORITY_ROWS {
            rings.priority_rows.extend(named.iter().filter_map(|rows| rows.get(place)));
        }
        rings
    }

    /// Returns the index of a finding's rule in `rules`, and adds the rule if `rules` does not contain it.
    fn rule(&mut self, finding: &Finding) -> usize {
        let known = self.rules.iter().position(|ring| ring.name == finding.rule);
        known.unwrap_or_else(|| {
            let (name, severity) = (finding.rule.clone(), finding.severity);
            self.rules.push(RingedRule { name, severity, rows: 0 });
            self.rules.len() - 1
        })
    }

    /// Returns the rules with a finding on this row, as indices of `rules`.
    pub(in crate::report) fn of(&self, row: usize) -> &[usize] {
        self.by_row.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Keeps at most [`MOST_RINGS`] rings per rule in a chart and removes all others. Rows whose value differs most
    /// from the value of the served row at the same x position keep their rings. Between equal differences, the order
    /// of [`Rings::priority_rows`] decides.
    pub(super) fn thin(&self, panels: &mut [Panel]) {
        let mut ringed: Vec<(f64, usize, usize)> = Vec::new();
        let latency = panels.first();
        for (panel, line) in latency.iter().flat_map(|p| p.lines.iter().map(move |line| (p, line)))
        {
            let served = panel.line(line.series, LineKind::Head);
            for point in &line.points {
                let here = served.and_then(|line| line.points.iter().find(|p| p.x == point.x));
                let far = here.map_or(0.0, |here| (point.y / here.y).ln().abs());
                let row = point.row.unwrap_or(usize::MAX);
                ringed.extend(point.rings.iter().map(|ring| (far, *ring, row)));
            }
        }
        let place = |row| {
            self.priority_rows.iter().position(|examples| *examples == row).unwrap_or(usize::MAX)
        };
        ringed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| place(a.2).cmp(&place(b.2))));
        let mut kept: BTreeSet<(usize, usize)> = BTreeSet::new();
        for rule in 0..self.rules.len() {
            let rows = ringed.iter().filter(|(_, ring, _)| *ring == rule);
            kept.extend(rows.take(MOST_RINGS).map(|(_, ring, row)| (*ring, *row)));
        }
        let lines = panels.iter_mut().flat_map(|panel| &mut panel.lines);
        for point in lines.flat_map(|line| &mut line.points) {
            let row = point.row;
            point.rings.retain(|ring| row.is_some_and(|row| kept.contains(&(*ring, row))));
            point.row = row.filter(|_| !point.rings.is_empty());
        }
    }

    /// Returns the row number of each row that has findings.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        self.by_row.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Example, Severity, SliceEvidence};

    fn finding(rule: &str, severity: Severity, rows: &[usize]) -> Finding {
        Finding::on_path(rule, severity, "t", "m").naming(rows.iter().copied())
    }

    #[test]
    fn only_rows_named_by_a_finding_are_ringed() {
        let example = |row| Example { row, ..Example::default() };
        let hole = finding("coverage-hole", Severity::Error, &[]).examples(vec![example(3)]);
        let spike = finding("latency-spike", Severity::Warning, &[7, 2]);
        let copies = finding("duplicate-key", Severity::Error, &[2, 99]).examples(vec![example(1)]);
        let rings = Rings::new([&hole, &spike, &copies], 10);
        let names: Vec<(&str, usize)> =
            rings.rules.iter().map(|r| (r.name.as_str(), r.rows)).collect();
        assert_eq!(names, [("duplicate-key", 1), ("latency-spike", 2)], "errors first");
        assert_eq!(rings.rows().collect::<Vec<_>>(), [2, 7], "99 is no row, 3 is another table's");
        assert_eq!(rings.of(2), [0, 1]);
        assert_eq!(rings.priority_rows, [1, 7, 2, 2], "the worst of each finding, then the next");
    }

    #[test]
    fn a_finding_on_slices_rings_no_row_and_selects_the_slices() {
        let slice = SliceTexts::from([("gemm_dtype".to_owned(), "fp8".to_owned())]);
        let ratios = serde_json::json!({"sglang": 4.0});
        let evidence =
            SliceEvidence { slice: slice.clone(), figure: ("ratio_over".into(), ratios) };
        let apart = finding("sibling-deviation", Severity::Warning, &[]).slices([evidence]);
        let rings = Rings::new([&apart], 10);
        assert!(rings.rules.is_empty() && rings.rows().next().is_none());
        assert_eq!(rings.slices, [slice]);
    }
}
