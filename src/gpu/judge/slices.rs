//! Verdicts on the slices of a sample.

use std::collections::BTreeMap;

use super::measured::Measured;
use super::words::{against_recorded, percent};
use crate::base::error::Reason;
use crate::base::stats::Interval;
use crate::base::words::{count, names, plural};
use crate::gpu::recipe::Margins;

/// The verdict on one slice of a table.
#[derive(Debug, Clone)]
pub struct SliceVerdict {
    /// The name of the slice: its texts, joined by spaces.
    pub slice: String,
    /// Number of judged points in the slice.
    pub points: usize,
    /// The median log ratio of measured to recorded time, after subtracting the GPU's offset.
    pub bias: f64,
    /// The confidence interval of `bias`.
    pub interval: Interval,
    /// True if the slice is wrong: the absolute value of `bias` exceeds both the noise and the tolerated error.
    pub differs: bool,
}

/// Judges each slice that has enough points. Returns nothing if all points are in one slice. The more slices there are,
/// the wider is the limit for each, so that false alarms do not become more frequent.
pub(super) fn slices(judged: &[&Measured], among: f64, limits: &Margins) -> Vec<SliceVerdict> {
    let mut slices: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for point in judged {
        slices.entry(&point.point.slice).or_default().push(point);
    }
    if slices.len() < 2 {
        return Vec::new();
    }
    let count = slices.len() as f64;
    slices.retain(|_, points| points.len() >= limits.least_points);
    let own = Margins { level: limits.level / count, ..limits.clone() };
    let verdict = |(slice, points): (&str, Vec<&Measured>)| {
        let middle = Measured::middle(&points, among, &own);
        SliceVerdict {
            slice: slice.to_owned(),
            points: points.len(),
            bias: middle.bias,
            interval: middle.interval(limits.confidence),
            differs: middle.bias.abs() > middle.allowed.max(limits.excludes.ln_1p()),
        }
    };
    slices.into_iter().map(verdict).collect()
}

/// Returns a sentence if the slices without any measured point contain more than `share` of the table's rows; `None`
/// otherwise. `rows` is the number of rows of each slice.
pub(crate) fn unmeasured(
    points: &[Measured],
    rows: &BTreeMap<String, usize>,
    share: f64,
) -> Option<String> {
    let mut slices: BTreeMap<&str, Option<&Reason>> = BTreeMap::new();
    for point in points {
        let failed = point.answer.as_ref().err();
        let first = slices.entry(&point.point.slice).or_insert(failed);
        *first = first.filter(|_| failed.is_some());
    }
    slices.retain(|_, failed| failed.is_some());
    let why = slices.values().flatten().next()?.to_string();
    let lost: usize = slices.keys().filter_map(|slice| rows.get(*slice)).sum();
    let all: usize = rows.values().sum();
    let is_large = lost as f64 > share * all as f64;
    is_large.then(|| {
        format!(
            "no point of {} could be measured ({} of {}): {}",
            names(slices.into_keys()),
            count(lost),
            plural(all, "row"),
            why.lines().next().unwrap_or_default()
        )
    })
}

/// Returns a sentence on the slices that differ from the measurements; `None` if no slice differs.
pub(super) fn wrong(slices: &[SliceVerdict]) -> Option<String> {
    let differing: Vec<&SliceVerdict> = slices.iter().filter(|s| s.differs).collect();
    let (first, more) = differing.split_first()?;
    let worst = more.iter().fold(*first, |a, b| if b.bias.abs() > a.bias.abs() { b } else { a });
    Some(format!(
        "{} of {} slices differ, {} most: {} ({} to {})",
        differing.len(),
        slices.len(),
        worst.slice,
        against_recorded(worst.bias),
        percent(worst.interval.low),
        percent(worst.interval.high),
    ))
}
