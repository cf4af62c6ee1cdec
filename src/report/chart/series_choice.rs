//! Chooses the slice and the series of a table that a chart shows.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::moves::{Moved, RatioMoves};
use super::pick::{SeriesCandidate, pick};
use super::rings::{Rings, SliceTexts};
use super::series::SeriesSet;

impl SeriesSet<'_> {
    /// Returns the row numbers of the series to show, from fast to slow. They belong to one slice:
    /// the slice of the worst row that a finding names, else a slice that a finding reports, else
    /// the slice with most moved rows, else the largest. Only series with named or moved rows are
    /// candidates, or all if none has such rows. The series of a finding's worst row is shown even
    /// if it is in another slice.
    pub(super) fn choose(&self, moves: &RatioMoves, rings: &Rings) -> Vec<Vec<usize>> {
        let (moved, moved_slices) = moves.tally(self);
        let marks = tally(self.keys.hashes(), rings.rows());
        let led = self.led(rings);
        let told = rings.slices.iter().find_map(|slice| self.of_slice(slice));
        let slice = led.first().copied().or(told).map(|series| self.slice(&self.series[&series]));
        let Some(slice) = slice.or_else(|| self.slice_to_show(&moved_slices)) else {
            return Vec::new();
        };
        let place = |series| led.iter().chain(&told).position(|led| *led == series);
        let mut candidates: Vec<SeriesCandidate<'_>> = Vec::new();
        for (series, rows) in &self.series {
            let led = place(*series);
            if led.is_some() || self.slice(rows) == slice && self.is_line(rows) {
                let marks = marks.get(series).copied().unwrap_or(0);
                let moved = moved.get(series).copied().unwrap_or_default();
                candidates.push(self.candidate(rows, led, marks, moved));
            }
        }
        let tells = |c: &SeriesCandidate<'_>| c.marks + c.moves > 0;
        if candidates.iter().any(tells) {
            candidates.retain(|c| c.led.is_some() || tells(c));
        }
        candidates.sort_by(|a, b| {
            a.latency.total_cmp(&b.latency).then_with(|| a.rows[0].cmp(&b.rows[0]))
        });
        pick(&candidates).into_iter().map(|i| candidates[i].rows.to_vec()).collect()
    }

    /// Returns true if a chart along this axis shows the worst row that a finding names on a line.
    pub fn shows_worst(&self, rings: &Rings) -> bool {
        self.led(rings).first().is_none_or(|series| self.is_line(&self.series[series]))
    }

    /// Returns true if the slice with most moved rows has a line along this axis.
    pub(super) fn shows_moves(&self, moves: &RatioMoves) -> bool {
        let (_, slices) = moves.tally(self);
        // The smallest hash decides between equal slices, because the map has no order.
        let most = slices.iter().max_by_key(|(slice, moved)| (moved.rows, Reverse(**slice)));
        most.is_none_or(|(most, _)| self.lines().any(|rows| self.slice(rows) == *most))
    }

    /// Returns the series of the rows that a chart must show, in their order.
    fn led(&self, rings: &Rings) -> Vec<u64> {
        let mut led: Vec<u64> = Vec::new();
        for row in rings.led.iter().filter(|row| self.is_drawn(**row)) {
            let series = self.keys.hashes()[*row];
            if !led.contains(&series) {
                led.push(series);
            }
        }
        led
    }

    /// Returns the series with most rows in a slice of the loader's key.
    fn of_slice(&self, slice: &SliceTexts) -> Option<u64> {
        let loader = self.loader.as_ref()?;
        let has = |rows: &[usize]| {
            let texts = loader.texts(rows[0]);
            let names = |(name, text): (&String, &String)| {
                texts.iter().any(|(own, value)| own == name && value == text)
            };
            slice.iter().all(names)
        };
        let largest = self.lines().filter(|rows| has(rows));
        let largest = largest.max_by_key(|rows| (rows.len(), Reverse(rows[0])));
        largest.map(|rows| self.keys.hashes()[rows[0]])
    }

    /// Returns the slice with most moved rows, else the largest slice; `None` if no series has
    /// enough points for a line.
    fn slice_to_show(&self, moved: &HashMap<u64, Moved>) -> Option<u64> {
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        self.lines().for_each(|rows| *sizes.entry(self.slice(rows)).or_default() += rows.len());
        // The first row of a series is unique and decides between equal slices, because the map has
        // no order.
        let shown = self.lines().max_by_key(|rows| {
            let slice = self.slice(rows);
            (moved.get(&slice).map_or(0, |m| m.rows), sizes[&slice], Reverse(rows[0]))
        });
        shown.map(|rows| self.slice(rows))
    }

    fn candidate<'s>(
        &self,
        rows: &'s [usize],
        led: Option<usize>,
        marks: usize,
        moved: Moved,
    ) -> SeriesCandidate<'s> {
        let preference = rows.iter().map(|r| self.preferred[*r]).min().unwrap_or(usize::MAX);
        SeriesCandidate {
            rows,
            latency: self.median_latency(rows),
            led,
            marks,
            moves: moved.rows,
            far: moved.far,
            preference,
            is_preferred: self.preferred.iter().max().is_some_and(|least| preference < *least),
        }
    }

    fn median_latency(&self, rows: &[usize]) -> f64 {
        let mut values: Vec<f64> = rows.iter().map(|r| self.latency[*r]).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

/// Counts the rows by hash.
fn tally(hashes: &[u64], rows: impl Iterator<Item = usize>) -> HashMap<u64, usize> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    rows.filter_map(|row| hashes.get(row)).for_each(|hash| *counts.entry(*hash).or_default() += 1);
    counts
}
