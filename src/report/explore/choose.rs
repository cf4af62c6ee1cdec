//! Chooses the series on an explorer page. A page shows all series of a small table. Of a large table, it shows first
//! the series that findings name, then those that changed, then as many as fit, evenly from all slices.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::exploration::{Exploration, SideKind};
use crate::base::expr::{ExprError, Vals};
use crate::base::words::{count, plural};
use crate::database::table::TableScope;
use crate::report::chart::{POINTS, Rings, RowUse, SeriesSet};

/// The rows chosen for a page, and the numbers of rows and series that are left out.
#[derive(Default)]
pub(super) struct ChosenRows {
    /// The chosen row numbers of each side of the page. A side is the table, its base or a peer. Rows of the same
    /// series are adjacent.
    pub rows: Vec<Vec<usize>>,
    /// A row of the series that the page shows first: the index of the row's side (the table, its base or a peer), then
    /// the row number.
    pub first: Option<(usize, usize)>,
    /// The number of series that the page contains.
    series: usize,
    /// The number of series that could be shown, including the series that are left out.
    of: usize,
    /// The number of head rows without a positive finite latency, which a logarithmic axis cannot
    /// show.
    untimed: usize,
    /// The number of head rows that the loader does not read.
    unread: usize,
    /// The number of rows left out of the first series because the series is too long for a page.
    thinned: usize,
}

/// A series that may be shown on the page.
#[derive(Default)]
struct PageSeries {
    /// The rows of the series on each side of the page. A side is the table, its base or a peer. Each pair contains the
    /// index of a side, then the row numbers of the series in this side's table.
    rows: Vec<(usize, Vec<usize>)>,
    /// The number of this series' rows that have findings.
    ringed: usize,
    /// The smallest index in [`Rings::priority_rows`] of a row of the series. Series with a small index are shown
    /// first. `None` if that list contains no row of the series.
    priority: Option<usize>,
    /// The number of the series' points that differ between base and head.
    changed: usize,
    /// The index of the first condition in the chart's `prefer` that a row of the series meets; the number of
    /// conditions if no row meets one. Series with a small index are preferred.
    preference: usize,
    /// The hash of the series' slice.
    slice: u64,
}

impl PageSeries {
    fn weight(&self) -> usize {
        self.rows.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// Returns the number of rows that the series has in the head or in the base, whichever number is larger.
    fn points(&self) -> usize {
        let own = self.rows.iter().filter(|(side, _)| *side <= 1);
        own.map(|(_, rows)| rows.len()).max().unwrap_or(0)
    }
}

/// Chooses the most important series until the page has `most` rows. Every chosen series keeps all of its rows, unless
/// the most important series alone has more than `most` rows: then some of its rows are left out.
///
/// # Errors
///
/// If the filter does not fit a table.
pub(super) fn choose(
    page: &Exploration<'_>,
    scopes: &[TableScope<'_>],
    sets: &[SeriesSet<'_>],
    rings: &Rings,
    most: usize,
) -> Result<ChosenRows, ExprError> {
    let mut chosen = ChosenRows { rows: vec![Vec::new(); sets.len()], ..ChosenRows::default() };
    let mut priority: HashMap<usize, usize> = HashMap::new();
    for (place, row) in rings.priority_rows.iter().enumerate() {
        priority.entry(*row).or_insert(place);
    }
    let mut all: HashMap<u64, PageSeries> = HashMap::new();
    for (side, (set, scope)) in sets.iter().zip(scopes).enumerate() {
        let kind = page.sides[side].kind;
        let mask = page.filter.map(|filter| filter.mask(scope)).transpose()?;
        let is_wanted =
            |row: usize| mask.as_ref().is_none_or(|mask: &Vals<'_, bool>| mask.get(row));
        for (hash, rows) in &set.series {
            // Series that only a peer has are not shown.
            if kind == SideKind::Peer && !all.contains_key(hash) {
                continue;
            }
            let mut drawn: Vec<usize> = Vec::new();
            for row in rows.iter().copied().filter(|row| is_wanted(*row)) {
                let ringed = kind == SideKind::Head && !rings.of(row).is_empty();
                let is_timed = set.latency[row] > 0.0 && set.latency[row].is_finite();
                if !is_timed {
                    chosen.untimed += usize::from(kind == SideKind::Head);
                } else if set.uses[row] == RowUse::Unread && !ringed {
                    chosen.unread += usize::from(kind == SideKind::Head);
                } else {
                    drawn.push(row);
                }
            }
            if drawn.is_empty() {
                continue;
            }
            let series = all.entry(*hash).or_default();
            if kind != SideKind::Peer {
                series.slice = set.slice_parts.hashes()[drawn[0]];
                let best = drawn.iter().map(|row| set.preferred[*row]).min();
                series.preference = best.unwrap_or(usize::MAX);
            }
            if kind == SideKind::Head {
                series.priority = drawn.iter().filter_map(|row| priority.get(row).copied()).min();
                series.ringed = drawn.iter().filter(|row| !rings.of(**row).is_empty()).count();
            }
            series.rows.push((side, drawn));
        }
    }
    chosen.of = all.len();
    let base = page.sides.iter().position(|side| side.kind == SideKind::Base);
    if let Some(base) = base {
        all.values_mut().for_each(|series| series.changed = changed(series, sets, base));
    }
    chosen.take(ranked(all), most);
    Ok(chosen)
}

/// Counts the points of a series that differ between base and head.
fn changed(series: &PageSeries, sets: &[SeriesSet<'_>], base: usize) -> usize {
    let points = |side: usize| -> BTreeSet<(u64, u64)> {
        let set = &sets[side];
        let rows = series.rows.iter().filter(|(of, _)| *of == side).flat_map(|(_, rows)| rows);
        let served = rows.filter(|row| set.uses[**row] == RowUse::Served);
        served.map(|row| (set.x[*row].to_bits(), set.latency[*row].to_bits())).collect()
    };
    points(0).symmetric_difference(&points(base)).count()
}

/// Sorts series by importance: series with findings, then changed series, then unchanged series without findings. The
/// last group starts with one series of each slice, followed by a second series of each slice, and so on.
fn ranked(all: HashMap<u64, PageSeries>) -> Vec<PageSeries> {
    let mut series: Vec<(u64, PageSeries)> = all.into_iter().collect();
    // The hash orders series of equal priority arbitrarily, but in the same way in every run.
    series.sort_by_key(|(hash, s)| {
        let priority = s.priority.unwrap_or(usize::MAX);
        let is_line = s.points() >= POINTS;
        (priority, Reverse((s.ringed, s.changed, is_line)), s.preference, *hash)
    });
    // Series without findings or changes alternate between slices: one of each slice, then a second of each.
    let mut taken: HashMap<u64, usize> = HashMap::new();
    let mut turns: Vec<(usize, usize, PageSeries)> = Vec::new();
    for (place, (_, series)) in series.into_iter().enumerate() {
        let mut turn = 0;
        if series.ringed + series.changed == 0 {
            let taken = taken.entry(series.slice).or_default();
            *taken += 1;
            turn = *taken;
        }
        turns.push((turn, place, series));
    }
    turns.sort_by_key(|(turn, place, _)| (*turn, *place));
    turns.into_iter().map(|(.., series)| series).collect()
}

impl ChosenRows {
    fn take(&mut self, ranked: Vec<PageSeries>, most: usize) {
        let mut room = most;
        for (place, mut series) in ranked.into_iter().enumerate() {
            let weight = series.weight();
            if weight > room {
                if place > 0 {
                    break;
                }
                // The first series alone exceeds the limit, so only every n-th row is shown.
                let step = weight.div_ceil(room.max(1));
                for (_, rows) in &mut series.rows {
                    let all = rows.len();
                    *rows = rows.iter().copied().step_by(step).collect();
                    self.thinned += all - rows.len();
                }
            }
            if place == 0 {
                self.first = series.rows.first().map(|(side, rows)| (*side, rows[0]));
            }
            room = room.saturating_sub(series.weight());
            self.series += 1;
            for (side, rows) in series.rows {
                self.rows[side].extend(rows);
            }
        }
    }

    /// Describes how many series are shown, such as `40 of 100 series`.
    pub(crate) fn shown(&self) -> String {
        match self.of {
            of if self.series == of => format!("all {} series", count(of)),
            of => format!("{} of {} series", count(self.series), count(of)),
        }
    }

    /// Returns sentences about the series and rows that the page does not show.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.series < self.of {
            said.push(format!(
                "This page holds {} of {} series: first those that findings name, then those that changed, \
                 then as many as fit, evenly from all slices. Fewer --peers leave room for more, and \
                 --where \"COLUMN = VALUE\" chooses others.",
                count(self.series),
                count(self.of),
            ));
        }
        let mut few = |n: usize, what: &str| {
            if n > 0 {
                said.push(format!("{} {what}", plural(n, "row")));
            }
        };
        few(self.untimed, "without a positive time cannot be drawn.");
        few(self.unread, "that the loader does not read are not drawn.");
        few(self.thinned, "of a series that is too long for a page were left out evenly.");
        said
    }
}
