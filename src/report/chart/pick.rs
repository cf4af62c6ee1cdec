//! Picks the few series of a table that a chart shows.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The most series in a chart: the number of colours that colour-blind people can distinguish.
pub(super) const SERIES: usize = 6;

/// A series that a chart may show.
pub(super) struct SeriesCandidate<'a> {
    /// The row numbers of the series.
    pub rows: &'a [usize],
    /// The median latency in ms.
    pub latency: f64,
    /// The rank among series that must be shown because a finding reports one of their rows; `None`
    /// for others.
    pub led: Option<usize>,
    /// The number of rows that findings name.
    pub marks: usize,
    /// The number of rows that changed.
    pub moves: usize,
    /// The largest absolute log ratio of changed rows.
    pub far: f64,
    /// The index of the chart's first preference that a row meets; the number of preferences if it
    /// meets none.
    pub preference: usize,
    /// True if other rows of the table meet only a later preference or none.
    pub is_preferred: bool,
}

/// Returns the indices of at most [`SERIES`] candidates to show, chosen in this order: series that
/// a finding needs, the series that moved farthest, series of other rows that findings name, series
/// that the chart prefers, then others spread evenly from fast to slow.
pub(super) fn pick(candidates: &[SeriesCandidate<'_>]) -> BTreeSet<usize> {
    let farthest = (0..candidates.len())
        .filter(|i| candidates[*i].far > 0.0)
        .max_by(|a, b| candidates[*a].far.total_cmp(&candidates[*b].far));
    let is_farthest = |i: usize| farthest == Some(i);
    let mut wanted: Vec<usize> = (0..candidates.len())
        .filter(|i| {
            let candidate = &candidates[*i];
            let named = candidate.led.is_some() || candidate.marks > 0;
            named || candidate.is_preferred || is_farthest(*i)
        })
        .collect();
    wanted.sort_by_key(|i| {
        let candidate = &candidates[*i];
        let led = candidate.led.unwrap_or(usize::MAX);
        (led, !is_farthest(*i), Reverse(candidate.marks), candidate.preference)
    });
    let mut shown: BTreeSet<usize> = wanted.into_iter().take(SERIES).collect();
    let left: Vec<usize> = (0..candidates.len()).filter(|i| !shown.contains(i)).collect();
    let free = SERIES.saturating_sub(shown.len()).min(left.len());
    // The middle of each of `free` equal parts is taken, so that the extremes of many series are
    // not.
    shown.extend((0..free).map(|n| left[(2 * n + 1) * left.len() / (2 * free)]));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(marks: usize, preference: usize) -> SeriesCandidate<'static> {
        let is_preferred = preference < 2;
        SeriesCandidate {
            rows: &[0],
            latency: 1.0,
            led: None,
            marks,
            moves: 0,
            far: 0.0,
            preference,
            is_preferred,
        }
    }

    fn picked(candidates: &[SeriesCandidate<'_>]) -> Vec<usize> {
        pick(candidates).into_iter().collect()
    }

    #[test]
    fn many_series_are_spread_evenly() {
        let plain: Vec<_> = (0..24).map(|_| candidate(0, 2)).collect();
        assert_eq!(picked(&plain), [2, 6, 10, 14, 18, 22]);
        assert_eq!(picked(&plain[..3]), [0, 1, 2]);
        assert!(picked(&[]).is_empty());
    }

    #[test]
    fn series_of_findings_come_first_then_those_that_the_chart_prefers() {
        let mut all: Vec<_> = (0..20).map(|_| candidate(0, 2)).collect();
        all[19] = candidate(1, 2);
        all[18] = candidate(0, 1);
        assert!([18, 19].iter().all(|i| picked(&all).contains(i)), "{:?}", picked(&all));
        let mut many: Vec<_> = (0..8).map(|_| candidate(0, 0)).collect();
        many[7] = candidate(3, 2);
        assert_eq!(picked(&many), [0, 1, 2, 3, 4, 7]);
    }

    #[test]
    fn the_worst_row_of_a_finding_is_shown_whatever_else_is_ringed() {
        let mut all: Vec<_> = (0..20).map(|_| candidate(50, 0)).collect();
        all[13] = SeriesCandidate { led: Some(1), ..candidate(1, 2) };
        all[17] = SeriesCandidate { far: 2.0, ..candidate(0, 2) };
        assert!([13, 17].iter().all(|i| picked(&all).contains(i)), "{:?}", picked(&all));
    }
}
