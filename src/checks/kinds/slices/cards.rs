//! Rows that one of several cards measured, at another speed than the others.

use schemars::JsonSchema;
use serde::Deserialize;

use super::odd::OddSlice;
use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::base::words::Figure;
use crate::checks::context::RowContext;
use crate::checks::series::AxisSeries;
use crate::database::table::{Column, Numbering};

/// The approximate maximum number of points that are compared along an axis. Once it is reached, no further series are
/// read.
const POINTS: usize = 8192;

/// Limits for the check of a GPU (a card) that was slower or faster than the other GPUs that measured a table's rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CardLimits {
    /// The columns that name the card that measured a row.
    columns: Vec<String>,
    /// The numbers of cards (GPUs) that a host may have.
    hosts: Vec<usize>,
    /// The minimum number of points that each card must have.
    points: usize,
    /// The minimum factor by which the reported card is slower or faster than the other cards, as a median over the
    /// card's points.
    factor: f64,
    /// A card is reported only if every other card deviates by at most this factor, up or down. The deviation of a card
    /// is the median, over its points, of the latency divided by the latency that neighbouring points predict.
    others: f64,
    /// A card is reported only if at least this share of its own points deviates clearly, and at least this share of
    /// the other cards' points does not. A clear deviation is at least half of the reported card's median deviation.
    share: f64,
    /// A row is compared only if arithmetic at the GPU's peak rate would take at least this share of the row's latency.
    math: f64,
    /// A row is compared only if its latency is at least this many ms. This limit applies only to tables whose spec has
    /// no formula for the time that arithmetic takes.
    floor_ms: f64,
}

/// An assumption about which card (GPU) measured each row of a table.
struct Cards<'a> {
    count: usize,
    /// The name of the column that names the card, and the index of each row's card. `None` if the rows are assumed to
    /// alternate between the cards.
    column: Option<(&'a str, Vec<u32>)>,
}

#[derive(Clone, Copy)]
struct CardPoint {
    row: u32,
    size: f64,
    /// The logarithm of the point's latency divided by the latency that the point's neighbours predict.
    off: f64,
}

impl CardLimits {
    /// Finds the card that differs most from the other cards of its table.
    ///
    /// # Errors
    ///
    /// If the formula for the time that arithmetic takes does not fit the table's columns.
    pub(crate) fn odd(
        &self,
        rows: &RowContext<'_>,
        latency: &[f64],
    ) -> Result<Option<OddSlice>, ExprError> {
        let is_large = self.large(rows, latency)?;
        let mut worst: Option<(f64, OddSlice)> = None;
        let cards: Vec<Cards<'_>> = self.cards(rows).collect();
        for axis in rows.series() {
            let points = points(axis, latency, &is_large, |_| false);
            for cards in &cards {
                let Some(first) = self.first(cards, &points) else { continue };
                let found = self.confirmed(cards, axis, latency, &is_large, first);
                let is_worse =
                    |(off, _): &(f64, OddSlice)| worst.as_ref().is_none_or(|w| *off > w.0);
                worst = found.filter(is_worse).or(worst);
            }
        }
        Ok(worst.map(|(_, odd)| odd))
    }

    /// Returns, for each row, whether its latency depends on the card's clock: whether arithmetic takes a large enough
    /// share of the latency. If the spec has no formula for arithmetic, returns whether the latency is long enough.
    fn large(&self, rows: &RowContext<'_>, latency: &[f64]) -> Result<Vec<bool>, ExprError> {
        let Some(math) = rows.spec.bounds.iter().find(|bound| bound.name == "math") else {
            return Ok(latency.iter().map(|latency| *latency >= self.floor_ms).collect());
        };
        let seconds = math.seconds.numbers(rows.scope())?;
        let is_large =
            |(row, latency): (usize, &f64)| 1e3 * seconds.get(row) >= self.math * latency;
        Ok(latency.iter().enumerate().map(is_large).collect())
    }

    /// Returns the possible assignments of rows to cards: one for each column that names cards, and one for each
    /// possible number of cards that take turns.
    fn cards<'a>(&'a self, rows: &'a RowContext<'_>) -> impl Iterator<Item = Cards<'a>> {
        let named = self.columns.iter().filter_map(|name| {
            let mut numbering = Numbering::default();
            let column = rows.column(name)?;
            let texts = if let Column::Text { codes, .. } = column { Some(codes) } else { None };
            let number = |row: usize| column.number(row).to_bits();
            let value = |row: usize| texts.map_or_else(|| number(row), |c| u64::from(c[row]));
            let of_rows = (0..rows.count).map(|row| numbering.number(value(row))).collect();
            let count = numbering.into_values().len();
            Some(Cards { count, column: Some((name, of_rows)) })
        });
        let named = named.filter(|cards| self.hosts.iter().any(|count| *count >= cards.count));
        let turns = self.hosts.iter().map(|count| Cards { count: *count, column: None });
        named.filter(|cards| cards.count > 1).chain(turns)
    }

    /// Returns the index of the suspect: the card with the largest median deviation. Returns `None` if this deviation
    /// is well below the limit `factor`, or if any card has too few points.
    fn first(&self, cards: &Cards<'_>, points: &[CardPoint]) -> Option<u32> {
        let medians = cards.medians(points, self.points)?;
        let most = (0_u32..).zip(medians).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        (most.1.abs() >= 0.7 * self.factor.ln()).then_some(most.0)
    }

    /// Checks a suspected card against the limits. The card's latencies are compared with those of other cards at
    /// neighbouring sizes. Returns the absolute logarithm of the median factor between them, and the rows to report;
    /// `None` if a limit is not met.
    fn confirmed(
        &self,
        cards: &Cards<'_>,
        axis: &AxisSeries,
        latency: &[f64],
        is_large: &[bool],
        card: u32,
    ) -> Option<(f64, OddSlice)> {
        let is_own = |row: u32| cards.of(row) == card;
        let points = points(axis, latency, is_large, is_own);
        let mut medians = cards.medians(&points, self.points)?;
        let off = std::mem::take(&mut medians[card as usize]);
        let others = medians.iter().fold(0.0, |most: f64, off| most.max(off.abs()));
        let is_far = |point: &&CardPoint| point.off / off >= 0.5;
        let (own, rest): (Vec<_>, Vec<_>) = points.iter().partition(|point| is_own(point.row));
        let share = |of: &[&CardPoint]| {
            of.iter().filter(|point| is_far(point)).count() as f64 / of.len() as f64
        };
        let (far, near) = (share(&own), 1.0 - share(&rest));
        tracing::debug!(off, others, far, near, cards.count, axis = axis.axis, "card");
        let is_odd = off.abs() >= self.factor.ln()
            && others <= self.others.ln()
            && far >= self.share
            && near >= self.share;
        is_odd.then(|| (off.abs(), cards.says(card, off, others, axis, latency.len())))
    }
}

impl Cards<'_> {
    fn of(&self, row: u32) -> u32 {
        match &self.column {
            Some((_, of_rows)) => of_rows[row as usize],
            None => row % self.count as u32,
        }
    }

    /// Returns the median deviation of each card, from the deviations [`CardPoint::off`] of its points. Returns `None`
    /// if a card has fewer than `least` points.
    fn medians(&self, points: &[CardPoint], least: usize) -> Option<Vec<f64>> {
        let mut offs: Vec<Vec<f64>> = vec![Vec::new(); self.count];
        for point in points {
            offs[self.of(point.row) as usize].push(point.off);
        }
        let median = |mut offs: Vec<f64>| (offs.len() >= least).then(|| upper_median(&mut offs));
        offs.into_iter().map(median).collect()
    }

    /// Describes a GPU that is slower or faster than the other GPUs. `off` is the GPU's median deviation: the logarithm
    /// of its latency divided by the latency that neighbouring rows predict. `others` is the largest absolute median
    /// deviation among the other GPUs.
    fn says(&self, card: u32, off: f64, others: f64, axis: &AxisSeries, rows: usize) -> OddSlice {
        let rows: Vec<usize> = (0..rows).filter(|row| self.of(*row as u32) == card).collect();
        let which = match &self.column {
            Some((column, _)) => format!("rows of one {column} take"),
            None => {
                let end = if self.count == 2 { "nd" } else { "th" };
                format!("every {}{end} row from row {} on takes", self.count, card + 1)
            }
        };
        let says = format!(
            "{which} {:.2} times as long as the neighbours along {}, and no other card is more than {:.1} % off: as if one of {} cards ran {}",
            Figure(off.exp()),
            axis.axis,
            Figure(100.0 * others.exp_m1()),
            self.count,
            if off > 0.0 { "slower" } else { "faster" },
        );
        OddSlice { says, rows }
    }
}

/// Returns the deviations of points along an axis. A deviation is the logarithm of this ratio: the point's latency
/// divided by the latency that is interpolated between its two neighbours. From each deviation, the median over all
/// points of the same size is subtracted, since it is due to the kernel, not to a card. Sizes with few points are left
/// out, and so are points for which `is_large` is false. Points for which `skipped` is true do not serve as neighbours.
fn points(
    axis: &AxisSeries,
    latency: &[f64],
    is_large: &[bool],
    skipped: impl Fn(u32) -> bool,
) -> Vec<CardPoint> {
    const FEW: usize = 4;
    let mut points = Vec::new();
    for (series, sizes) in axis.iter() {
        if points.len() >= POINTS {
            break;
        }
        let at = |n: usize| (sizes[n].max(0.5).ln(), latency[series[n] as usize].ln());
        let mut highs: Vec<Option<usize>> = vec![None; series.len()];
        for n in (1..series.len()).rev() {
            highs[n - 1] = if skipped(series[n]) { highs[n] } else { Some(n) };
        }
        let mut low: Option<usize> = None;
        for (n, high) in highs.into_iter().enumerate() {
            if let (Some(low), Some(high)) = (low, high) {
                let (low, own, high) = (at(low), at(n), at(high));
                let share = (own.0 - low.0) / (high.0 - low.0);
                let off = own.1 - (low.1 + (high.1 - low.1) * share);
                points.push(CardPoint { row: series[n], size: sizes[n], off });
            }
            if !skipped(series[n]) {
                low = Some(n);
            }
        }
    }
    points.retain(|point| is_large[point.row as usize]);
    points.sort_unstable_by(|a, b| a.size.total_cmp(&b.size).then(a.row.cmp(&b.row)));
    for same in points.chunk_by_mut(|a, b| a.size == b.size) {
        let counted = same.iter().filter(|point| !skipped(point.row)).map(|point| point.off);
        let mut counted: Vec<f64> = counted.collect();
        let middle = if counted.len() < FEW { f64::NAN } else { upper_median(&mut counted) };
        same.iter_mut().for_each(|point| point.off -= middle);
    }
    points.retain(|point| point.off.is_finite());
    points
}
