//! Chooses the slice and the few series of a table that a chart shows.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::change::ChangedRows;
use super::rings::{Rings, SliceTexts};
use super::series::SeriesSet;

/// The maximum number of series in a chart, which is the number of colours that colour-blind people can distinguish.
pub(super) const SERIES: usize = 6;

/// A series that a chart may show.
#[derive(Clone)]
struct SeriesCandidate<'a> {
    /// The row numbers of the series.
    rows: &'a [usize],
    /// The median latency of the series in ms.
    latency: f64,
    /// The rank of the series among those that must be shown because of a finding; 0 is shown first. `None` if no
    /// finding requires the series.
    priority: Option<usize>,
    /// The number of the series' rows that findings name.
    marks: usize,
    /// The number of the series' rows that changed.
    moves: usize,
    /// The largest change of a row's latency or power in the series, computed as `|ln(after / before)|`.
    far: f64,
    /// The index of the first condition in the chart spec's `prefer` that a row of the series meets. Series with a
    /// lower index are preferred. `None` if no series is less preferred than this one.
    preference: Option<usize>,
}

impl SeriesSet<'_> {
    /// Chooses the series to show and returns the row numbers of each chosen series. The fastest series comes first.
    /// The series belong to one slice, which is the first of these that exists:
    /// - the requested slice
    /// - a slice that a finding names
    /// - the slice with the most changed rows
    /// - the largest slice
    ///
    /// If series of this slice have findings or changes, only such series are chosen. A series with the worst row of a
    /// finding is chosen even if it belongs to another slice.
    pub(super) fn choose(&self, moves: &ChangedRows, rings: &Rings) -> Vec<Vec<usize>> {
        let shown = self.priority_series(rings);
        let told = rings.slices.iter().find_map(|slice| self.of_slice(slice));
        let asked = rings.asked.as_ref().and_then(|slice| self.of_slice(slice));
        let series = asked.or(shown.first().copied()).or(told);
        let slice = series.map(|series| self.slice(&self.series[&series]));
        let Some(slice) = slice.or_else(|| self.slice_to_show(moves)) else { return Vec::new() };
        let mut marks: HashMap<u64, usize> = HashMap::new();
        for row in rings.rows() {
            *marks.entry(self.keys.hashes()[row]).or_default() += 1;
        }
        let least = self.preferred.iter().max();
        let mut candidates: Vec<SeriesCandidate<'_>> = Vec::new();
        for (series, rows) in &self.series {
            let priority = shown.iter().chain(&told).position(|shown| shown == series);
            if priority.is_none() && (self.slice(rows) != slice || !self.is_line(rows)) {
                continue;
            }
            let moved = moves.series.get(series).copied().unwrap_or_default();
            let preference = rows.iter().map(|row| self.preferred[*row]).min();
            candidates.push(SeriesCandidate {
                rows,
                latency: self.median_latency(rows),
                priority,
                marks: marks.get(series).copied().unwrap_or(0),
                moves: moved.rows,
                far: moved.far,
                preference: preference.filter(|own| Some(own) < least),
            });
        }
        let matters = |c: &SeriesCandidate<'_>| c.marks + c.moves > 0;
        if candidates.iter().any(matters) {
            candidates.retain(|c| c.priority.is_some() || matters(c));
        }
        candidates.sort_by(|a, b| {
            a.latency.total_cmp(&b.latency).then_with(|| a.rows[0].cmp(&b.rows[0]))
        });
        pick(&candidates).into_iter().map(|i| candidates[i].rows.to_vec()).collect()
    }

    /// Returns which of the `chosen` series belong to the requested slice, as indices in `chosen`. The result is empty
    /// if no slice is requested.
    pub(super) fn in_slice(&self, chosen: &[Vec<usize>], rings: &Rings) -> Vec<usize> {
        let Some(slice) = &rings.asked else { return Vec::new() };
        (0..chosen.len()).filter(|series| self.has_texts(&chosen[*series], slice)).collect()
    }

    /// Returns true if two series have enough points for a line along this x axis: the series with the worst row that
    /// findings name, and any series of the slice with the most changed rows.
    pub(super) fn shows(&self, moves: &ChangedRows, rings: &Rings) -> bool {
        let worst = self
            .priority_series(rings)
            .first()
            .is_none_or(|series| self.is_line(&self.series[series]));
        // The smallest hash decides between equal slices, because the order of the map is arbitrary.
        let most = moves.slices.iter().max_by_key(|(slice, moved)| (moved.rows, Reverse(**slice)));
        worst && most.is_none_or(|(most, _)| self.lines().any(|rows| self.slice(rows) == *most))
    }

    /// Returns the hashes of the series that a chart must show because they contain a row of [`Rings::priority_rows`].
    /// The series are in the order of these rows.
    fn priority_series(&self, rings: &Rings) -> Vec<u64> {
        let mut seen = BTreeSet::new();
        let drawn = rings.priority_rows.iter().filter(|row| self.is_drawn(**row));
        drawn.map(|row| self.keys.hashes()[*row]).filter(|series| seen.insert(*series)).collect()
    }

    /// Returns the hash of the series with most points in a slice; `None` if no series of the slice has enough points
    /// for a line.
    fn of_slice(&self, slice: &SliceTexts) -> Option<u64> {
        let largest = self.lines().filter(|rows| self.has_texts(rows, slice));
        let largest = largest.max_by_key(|rows| (rows.len(), Reverse(rows[0])));
        largest.map(|rows| self.keys.hashes()[rows[0]])
    }

    /// Returns true if a series belongs to a slice. `rows` contains the row numbers of the series.
    fn has_texts(&self, rows: &[usize], slice: &SliceTexts) -> bool {
        self.loader.as_ref().is_some_and(|loader| {
            let texts: BTreeSet<(String, String)> = loader.texts(rows[0]).into_iter().collect();
            slice.iter().all(|(name, text)| texts.contains(&(name.clone(), text.clone())))
        })
    }

    /// Returns the hash of the slice with most changed rows, or else of the largest slice; `None` if no series has
    /// enough points for a line.
    fn slice_to_show(&self, moves: &ChangedRows) -> Option<u64> {
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        self.lines().for_each(|rows| *sizes.entry(self.slice(rows)).or_default() += rows.len());
        // The first row decides between equal slices, because the order of the map is arbitrary.
        let shown = self.lines().max_by_key(|rows| {
            let slice = self.slice(rows);
            let moved = moves.slices.get(&slice).map_or(0, |moved| moved.rows);
            (moved, sizes[&slice], Reverse(rows[0]))
        });
        shown.map(|rows| self.slice(rows))
    }

    fn median_latency(&self, rows: &[usize]) -> f64 {
        let mut values: Vec<f64> = rows.iter().map(|r| self.latency[*r]).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

/// Chooses at most [`SERIES`] candidates, and returns their indices. Candidates that a finding requires come first. The
/// candidate whose latency or power changed most comes second. Then come candidates with rows that findings name, and
/// then candidates that the chart prefers. Free places are filled with candidates spread evenly from fast to slow.
fn pick(candidates: &[SeriesCandidate<'_>]) -> BTreeSet<usize> {
    let farthest = (0..candidates.len())
        .filter(|i| candidates[*i].far > 0.0)
        .max_by(|a, b| candidates[*a].far.total_cmp(&candidates[*b].far));
    let rank = |i: &usize| {
        let SeriesCandidate { priority, marks, preference, .. } = candidates[*i];
        let after = |place: Option<usize>| place.unwrap_or(usize::MAX);
        (after(priority), farthest != Some(*i), Reverse(marks), after(preference))
    };
    let mut wanted: Vec<usize> = (0..candidates.len()).collect();
    wanted.retain(|i| rank(i) != (usize::MAX, true, Reverse(0), usize::MAX));
    wanted.sort_by_key(rank);
    let mut shown: BTreeSet<usize> = wanted.into_iter().take(SERIES).collect();
    let left: Vec<usize> = (0..candidates.len()).filter(|i| !shown.contains(i)).collect();
    let free = SERIES.saturating_sub(shown.len()).min(left.len());
    // The other series are split into `free` equal parts, and the middle of each part is taken, so that extremes are
    // avoided.
    shown.extend((0..free).map(|n| left[(2 * n + 1) * left.len() / (2 * free)]));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(marks: usize, preference: Option<usize>) -> SeriesCandidate<'static> {
        let (latency, far) = (1.0, 0.0);
        SeriesCandidate { rows: &[0], latency, priority: None, marks, moves: 0, far, preference }
    }

    fn picked(candidates: &[SeriesCandidate<'_>]) -> Vec<usize> {
        pick(candidates).into_iter().collect()
    }

    #[test]
    fn the_series_of_a_chart_are_chosen_at_even_steps() {
        let plain = vec![candidate(0, None); 24];
        assert_eq!(picked(&plain), [2, 6, 10, 14, 18, 22]);
        assert_eq!(picked(&plain[..3]), [0, 1, 2]);
        assert!(picked(&[]).is_empty());
    }

    #[test]
    fn series_with_findings_are_chosen_before_preferred_series() {
        let mut all = vec![candidate(0, None); 20];
        all[19] = candidate(1, None);
        all[18] = candidate(0, Some(1));
        assert!([18, 19].iter().all(|i| picked(&all).contains(i)), "{:?}", picked(&all));
        let mut many = vec![candidate(0, Some(0)); 8];
        many[7] = candidate(3, None);
        assert_eq!(picked(&many), [0, 1, 2, 3, 4, 7]);
    }

    #[test]
    fn the_series_of_a_finding_s_worst_row_is_always_chosen() {
        let mut all = vec![candidate(50, Some(0)); 20];
        all[13] = SeriesCandidate { priority: Some(1), ..candidate(1, None) };
        all[17] = SeriesCandidate { far: 2.0, ..candidate(0, None) };
        assert!([13, 17].iter().all(|i| picked(&all).contains(i)), "{:?}", picked(&all));
    }
}
