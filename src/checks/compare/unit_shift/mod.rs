//! Slices in another unit than the same keys of other tables, and slices that are a hundred times slower or faster.
//!
//! No machine, backend or version makes a kernel a hundred times slower at the same sizes, so a table is compared
//! with every other table of its name. A slice without common keys is compared with the time that a kernel takes at
//! all, and so is every row.

mod too_long;

use schemars::JsonSchema;
use serde::Deserialize;

use self::too_long::too_long;
use crate::base::stats::{nearest_rank, times_off, upper_median};
use crate::base::words::{Figure, plural, plural_verb};
use crate::checks::compare::sketch::{
    Sketch, SketchPoint, SketchedTable, Slice, slice_id, slice_name,
};
use crate::checks::{CheckInputs, CrossContext, Input, Judge, Judged, RowContext, RuleHead};
use crate::database::table::number_json;
use crate::findings::{Finding, Severity, SliceEvidence, wholes};

/// Limits for the check of slices whose latencies may be in another unit, such as µs instead of ms.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Units")]
pub struct UnitFactors {
    /// A slice is compared with a reference only if both have at least this many keys in common.
    points: usize,
    /// A slice is reported with a warning if it is slower or faster than its references by at least this factor.
    from: f64,
    /// The minimum and the maximum factor, up or down, by which a slice in another unit differs from its references.
    factor: [f64; 2],
    /// The maximum spread of the ratios to a reference: the upper quartile divided by the lower quartile. A change of
    /// the unit cannot explain a larger spread.
    spread: f64,
    /// The minimum and the maximum plausible first percentile of a slice's latencies, in ms. A slice that shares no
    /// keys with another table is judged by this range alone.
    alone_ms: [f64; 2],
    /// A slice is compared with `alone_ms` only if it has at least this many points.
    alone_points: usize,
    /// Names of the tables that are not compared with other tables.
    except: Vec<String>,
    /// A measured time above this number of hours is reported, since no kernel takes that long.
    hours: f64,
}

/// Two slices are compared key by key only if their geometric mean latencies differ by at least the factor `from` (see
/// [`UnitFactors`]) divided by this number. The limit is below `from`, since the slices may have different keys.
const SCREEN: f64 = 5.0;

/// The mean logarithm of each slice's latencies, by table index and slice index. NaN for a slice without latencies; a
/// table that is not compared has an empty list.
type MeanLogs = Vec<Vec<f64>>;

/// A slice whose latencies differ from all references by a large factor.
struct ShiftedSlice<'a> {
    slice: &'a Slice,
    index: usize,
    /// The slice's latencies divided by those of a reference, as a median over the references.
    ratio: f64,
    references: usize,
    /// The spread of the ratios over the keys (upper quartile divided by lower), as a median over the references.
    spread: f64,
    /// The slice's latencies divided by those of the slowest reference; 0 if there is no reference. References with
    /// implausibly short latencies are ignored.
    least: f64,
    /// The smallest ratio of a latency in the slice to its bound; `None` without a bound or if not computed.
    over_bound: Option<f64>,
}

/// The ratios of a slice's latencies to those of a reference, summarised over the common keys.
struct Ratio {
    /// The logarithm of the median ratio.
    log: f64,
    /// The factor between the upper and the lower quartile of the ratios.
    spread: f64,
}

impl Judge for UnitFactors {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers])
    }

    fn judges_unknown_tables(&self) -> bool {
        true
    }

    /// Reports rows with a measured time that no kernel takes.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(too_long(rows, self.hours))
    }

    /// Returns one finding for each table that has slices in another unit than other tables of the same name.
    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        let tables = &at.peers.tables;
        let is_compared = |(file, sketch): &SketchedTable<'v>| {
            !self.except.contains(&file.table) && sketch.points.len() >= self.points
        };
        let of_table = |one: &SketchedTable<'v>| {
            if is_compared(one) { levels(one.1) } else { Vec::new() }
        };
        let levels: MeanLogs = tables.iter().map(of_table).collect();
        let judged =
            (0..tables.len()).filter(|i| is_compared(&tables[*i]) && at.judged(tables[*i].0));
        Ok(wholes(judged.filter_map(|number| self.finding(rule, at, &levels, number))))
    }
}

impl UnitFactors {
    fn finding(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        levels: &MeanLogs,
        number: usize,
    ) -> Option<Finding> {
        let table @ (file, sketch) = at.peers.tables[number];
        let mut shifted = self.shifted(at, levels, number);
        // Hardly any table is read again for its bounds.
        if shifted.iter().any(|s| s.least > self.from) {
            let over_bound = at.reread.over_bound(file);
            shifted.iter_mut().for_each(|s| s.over_bound = over_bound.get(s.slice).copied());
        }
        let Some(worst) =
            shifted.iter().max_by(|a, b| times_off(a.ratio).total_cmp(&times_off(b.ratio)))
        else {
            return self.alone(rule, at, levels, number);
        };
        let [least, most] = self.factor;
        let is_unit = |s: &ShiftedSlice<'_>| (least..=most).contains(&times_off(s.ratio));
        // If the only reference is just as implausible, it may be the wrong one.
        let is_supported = |s: &ShiftedSlice<'_>| {
            s.references > 1 || self.implausible_end(sketch, s.index).is_some()
        };
        let is_certain = |s: &ShiftedSlice<'_>| match s.over_bound.filter(|_| s.least > self.from) {
            _ if s.spread > self.spread => false,
            Some(over) if over > self.from => true,
            Some(_) => is_unit(s) && is_supported(s),
            None => (is_unit(s) || s.least > self.from) && is_supported(s),
        };
        let certain = shifted.iter().any(is_certain);
        let severity =
            if certain { rule.severity } else { rule.severity.at_most(Severity::Warning) };
        let [side, level] = if worst.ratio > 1.0 { ["higher", "slow"] } else { ["lower", "fast"] };
        let (is, why) = if worst.spread > self.spread {
            let spread = Figure(worst.spread);
            let why = format!(
                "; half of these ratios differ by {spread:.0} times or more, so that no unit explains them"
            );
            (format!("implausibly {level}"), why)
        } else {
            ("probably in another unit".to_owned(), String::new())
        };
        let over = worst.over_bound.filter(|over| *over > self.from).map(|over| {
            format!(", and at least {:.0} times as long as the machine needs", Figure(over))
        });
        let message = format!(
            "{} {is}: at {}, latencies are {:.0} times {side} than the median of {} at the same keys{}{why}",
            plural_verb(shifted.len(), "slice", ["is", "are"]),
            slice_name(worst.slice),
            Figure(times_off(worst.ratio)),
            plural(worst.references, "other table"),
            over.unwrap_or_default(),
        );
        let figures: Vec<(usize, f64)> = shifted.iter().map(|s| (s.index, s.ratio)).collect();
        Some(on_slices(rule, severity, table, message, "ratio", &figures))
    }

    /// Returns a finding on slices whose latencies are implausible and whose keys no other table has; `None` without
    /// such a slice. `number` is the table's index in the peers.
    fn alone(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        levels: &MeanLogs,
        number: usize,
    ) -> Option<Finding> {
        let table @ (_, sketch) = at.peers.tables[number];
        let ends = (0..sketch.counts.len()).filter_map(|slice| {
            let end = self.implausible_end(sketch, slice)?;
            let mut others = others(at, levels, number, &sketch.slices[slice]);
            let is_alone = !others.any(|(other, ..)| self.ratio(sketch, slice, other).is_some());
            is_alone.then_some((slice, end))
        });
        let ends: Vec<(usize, f64)> = ends.collect();
        let (worst, end) = *ends.first()?;
        let [least, most] = self.alone_ms;
        let message = format!(
            "{} implausibly {}: the fastest hundredth of the latencies of {} ends at {:.4} ms, where other tables have \
             {least} to {most} ms; no other table has these keys",
            plural_verb(ends.len(), "slice", ["is", "are"]),
            if end > most { "slow" } else { "fast" },
            slice_name(&sketch.slices[worst]),
            Figure(end),
        );
        let severity = rule.severity.at_most(Severity::Warning);
        Some(on_slices(rule, severity, table, message, "fastest_ms", &ends))
    }

    /// The slices of a table whose latencies differ from their references by [`UnitFactors::from`] or more.
    fn shifted<'a>(
        &self,
        at: &CrossContext<'a>,
        levels: &MeanLogs,
        number: usize,
    ) -> Vec<ShiftedSlice<'a>> {
        let (_, sketch) = at.peers.tables[number];
        let mut found = Vec::new();
        let slices = sketch.slices.iter().zip(&levels[number]).enumerate();
        for (index, (slice, own)) in slices.filter(|(_, (_, own))| !own.is_nan()) {
            let others = || others(at, levels, number, slice);
            let mut away: Vec<f64> = others().map(|(.., level)| (level - own).abs()).collect();
            if away.is_empty() || upper_median(&mut away) < (self.from / SCREEN).ln() {
                continue;
            }
            let ratio = |(other, slice, _)| Some((self.ratio(sketch, index, other)?, other, slice));
            let references: Vec<(Ratio, &Sketch, usize)> = others().filter_map(ratio).collect();
            let mut ratios: Vec<f64> = references.iter().map(|(ratio, ..)| ratio.log).collect();
            let mut spreads: Vec<f64> = references.iter().map(|(ratio, ..)| ratio.spread).collect();
            if let Some(middle) = middle(&mut ratios)
                && middle.abs() >= self.from.ln()
            {
                let [fastest, _] = self.alone_ms;
                let is_sound = |(_, other, slice): &&(Ratio, &Sketch, usize)| {
                    self.implausible_end(other, *slice).is_none_or(|end| end >= fastest)
                };
                let sound = references.iter().filter(is_sound);
                let least = sound.map(|(ratio, ..)| ratio.log).reduce(f64::min);
                found.push(ShiftedSlice {
                    slice,
                    index,
                    ratio: middle.exp(),
                    references: ratios.len(),
                    spread: upper_median(&mut spreads),
                    least: least.map_or(0.0, f64::exp),
                    over_bound: None,
                });
            }
        }
        found.sort_by_key(|shifted| shifted.slice);
        found
    }

    /// The ratio of a slice's latencies to another table's at their common keys; `None` if the common keys are too few.
    fn ratio(&self, own: &Sketch, slice: usize, other: &Sketch) -> Option<Ratio> {
        let shared = own.common(other);
        let shared =
            shared.filter(|(a, b)| usize::from(a.slice) == slice && is_time(a) && is_time(b));
        let mut ratios: Vec<f64> = shared.map(|(a, b)| a.latency / b.latency).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| nearest_rank(&ratios, share);
        let (low, middle, high) = (at(0.25)?, at(0.5)?, at(0.75)?);
        let ratio = Ratio { log: middle.ln(), spread: high / low };
        (ratios.len() >= self.points).then_some(ratio)
    }

    /// Returns the first percentile of a slice's latencies in ms if it is implausible. Returns `None` if it is
    /// plausible or the slice has too few points.
    fn implausible_end(&self, sketch: &Sketch, slice: usize) -> Option<f64> {
        if (*sketch.counts.get(slice)? as usize) < self.alone_points {
            return None;
        }
        let own = sketch.points.iter().filter(|p| usize::from(p.slice) == slice && is_time(p));
        let mut times: Vec<f64> = own.map(|point| point.latency).collect();
        let rank = times.len() / 100;
        if times.is_empty() || times.len() < self.alone_points {
            return None;
        }
        let end = *times.select_nth_unstable_by(rank, f64::total_cmp).1;
        let [least, most] = self.alone_ms;
        (!(least..=most).contains(&end)).then_some(end)
    }
}

/// The mean logarithm of the latencies of each slice; NaN for a slice without latencies.
fn levels(sketch: &Sketch) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); sketch.counts.len()];
    for point in sketch.points.iter().filter(|p| is_time(p)) {
        let (points, sum) = &mut sums[point.slice as usize];
        *points += 1.0;
        *sum += point.log;
    }
    sums.into_iter().map(|(points, sum)| sum / points).collect()
}

/// Iterates over the other tables that have latencies of `slice`. Each item is the other table's sketch, the slice's
/// index in that sketch, and the mean logarithm of the slice's latencies there.
fn others<'a>(
    at: &CrossContext<'a>,
    levels: &MeanLogs,
    number: usize,
    slice: &Slice,
) -> impl Iterator<Item = (&'a Sketch, usize, f64)> {
    let others = at.peers.with_slice(slice).filter(move |(other, _)| *other != number);
    others.filter_map(|(other, index)| {
        let level = levels[other].get(index).filter(|level| !level.is_nan())?;
        Some((at.peers.tables[other].1, index, *level))
    })
}

/// Returns a finding on slices of a table. `figures` pairs each slice's index with its value for the evidence.
fn on_slices(
    rule: RuleHead<'_>,
    severity: Severity,
    (file, sketch): SketchedTable<'_>,
    message: String,
    name: &'static str,
    figures: &[(usize, f64)],
) -> Finding {
    let slice = |index: usize| &sketch.slices[index];
    let evidence = figures.iter().map(|(index, figure)| SliceEvidence {
        slice: slice(*index).clone(),
        figure: (name.into(), number_json(*figure)),
    });
    Finding::on_table(rule.id, severity, file, message)
        .rows(sketch.rows_of(figures.iter().map(|(index, _)| *index)))
        .parts(figures.iter().map(|(index, _)| slice_id(slice(*index))))
        .slices(evidence)
}

/// Returns true for a point with a positive, finite latency. Other rules report all other latencies.
fn is_time(point: &SketchPoint) -> bool {
    point.latency > 0.0 && point.latency.is_finite()
}

/// Returns the median of logarithms; `None` if the list is empty. Of two middle values, the one nearer to 0 is
/// returned, or 0 if the two have different signs.
fn middle(logs: &mut [f64]) -> Option<f64> {
    logs.sort_by(f64::total_cmp);
    let (below, above) = (*logs.get(logs.len().checked_sub(1)? / 2)?, logs[logs.len() / 2]);
    if below * above <= 0.0 && below != above {
        return Some(0.0);
    }
    Some(if below.abs() < above.abs() { below } else { above })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_shift_needs_both_of_two_references_to_differ() {
        assert_eq!(middle(&mut [6.9]), Some(6.9));
        assert_eq!(middle(&mut [6.9, 0.1]), Some(0.1));
        assert_eq!(middle(&mut [6.9, -6.9]), Some(0.0));
        assert_eq!(middle(&mut [-6.8, -6.9]), Some(-6.8));
        assert_eq!(middle(&mut [6.9, 0.1, 7.0]), Some(6.9));
        assert_eq!(middle(&mut []), None);
    }
}
