//! Ladders of one table: groups of rows with few sizes along an axis along which the other groups have many.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::upper_median;
use crate::checks::context::RowContext;
use crate::database::table::{PartNumbers, number_bits};
use crate::findings::{EXAMPLES, Hit, Severity};

/// Limits for groups of rows that have too few sizes along an axis (short ladders).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShortLadders {
    /// The axes along which ladders are judged, such as `isl`. Axes whose sizes follow from the models, such as heads,
    /// are not listed.
    axes: Vec<String>,
    /// Groups are judged along an axis only if the median number of sizes per group is at least this number.
    sizes: f64,
    /// A group's ladder is too short if its number of sizes is at most this share of the median number of sizes per
    /// group.
    short: f64,
    /// The axes along which the GPU's memory limits the largest size. Along these axes, a group that starts at a usual
    /// or smaller size (at most the groups' median first size) is too short only if it has a single size.
    limited: Vec<String>,
    /// The maximum share of a table's groups that may have a short ladder. If more groups have one, the table was
    /// designed with few sizes, and nothing is reported.
    share: f64,
}

/// The rows of a group with a short ladder, and the number of different sizes in the group.
type ShortGroup = (Vec<usize>, usize);

impl ShortLadders {
    /// Returns a hit on the rows of groups with short ladders; `None` if there are none. Only the axis with the most
    /// such groups is reported. The severity is info if the loader adds rows of other files to the table.
    pub(crate) fn hit<'v>(&self, rows: &'v RowContext<'v>) -> Option<Hit<'v>> {
        let keys = rows.keys()?;
        let spec = rows.spec;
        let place = |axis: &String| spec.key.iter().position(|part| part.name == *axis);
        let is_work = |axis: &&String| self.axes.contains(axis);
        let axes: Vec<usize> = spec.axes.iter().filter(is_work).filter_map(place).collect();
        let placed = |row: usize| (keys.without(&axes, row), row);
        let mut placed: Vec<(u64, usize)> = (0..rows.count).map(placed).collect();
        placed.sort_unstable();
        // The rows of each group have the same key apart from the axes.
        let groups: Vec<&[(u64, usize)]> = placed.chunk_by(|a, b| a.0 == b.0).collect();
        let along = axes.iter().filter_map(|axis| {
            let (short, usual) = self.short(rows, keys.numbers(*axis)?, &groups, *axis)?;
            Some((*axis, short, usual))
        });
        let (axis, short, usual) =
            along.max_by_key(|(axis, short, _)| (short.len(), Reverse(*axis)))?;
        let (name, total) = (&rows.spec.key[axis].name, groups.len());
        let info = rows.rule.severity.at_most(Severity::Info);
        let is_filled = rows.is_filled();
        let severity = if is_filled { info } else { rows.rule.severity };
        let all: Vec<usize> = short.iter().flat_map(|(rows, _)| rows).copied().collect();
        Hit::rows(rows.file, all, severity, move |part| {
            let is_own = |(rows, _): &&ShortGroup| rows.iter().any(|row| part.has(*row));
            let own: Vec<&ShortGroup> = short.iter().filter(is_own).collect();
            let (sizes, why) = match own.iter().map(|(_, sizes)| *sizes).max().unwrap_or(1) {
                1 => ("one size".to_owned(), ": the planner cannot interpolate there"),
                most => (format!("at most {most} sizes"), ": the planner extrapolates beyond them"),
            };
            let why =
                if is_filled { "; donors or earlier versions may have the others" } else { why };
            let message = format!(
                "{} of {total} groups of keys {} {sizes} along {name}, where the median group has {usual:.0}{why}",
                own.len(),
                if own.len() == 1 { "has" } else { "have" },
            );
            let shown: Vec<usize> = own.iter().map(|(rows, _)| rows[0]).take(EXAMPLES).collect();
            let finding = rows.finding_as(severity, message).rows(part.rows.len());
            Some(finding.examples(rows.examples(&shown, &["latency"])))
        })
    }

    /// Returns the groups with short ladders along an axis, and the median number of sizes over all groups. `None` if
    /// no group has a short ladder, or if too many groups have one.
    fn short(
        &self,
        rows: &RowContext<'_>,
        sizes: PartNumbers<'_>,
        groups: &[&[(u64, usize)]],
        axis: usize,
    ) -> Option<(Vec<ShortGroup>, f64)> {
        // The bits of the sizes have the same order as the sizes.
        let size = |row: usize| number_bits(sizes.get(row));
        let ladder = |group: &&[(u64, usize)]| {
            let mut found: Vec<u64> = group.iter().map(|(_, row)| size(*row)).collect();
            found.sort_unstable();
            found.dedup();
            (found.first().copied().map_or(0.0, f64::from_bits), found.len())
        };
        let ladders: Vec<(f64, usize)> = groups.iter().map(ladder).collect();
        let total = groups.len();
        let (mut lows, mut counts): (Vec<f64>, Vec<f64>) =
            ladders.iter().map(|(low, sizes)| (*low, *sizes as f64)).unzip();
        let (usual_low, usual) = (upper_median(&mut lows), upper_median(&mut counts));
        let is_limited = self.limited.contains(&rows.spec.key[axis].name);
        let longest = |low: f64| {
            if is_limited && low <= usual_low { 1.0 } else { (self.short * usual).max(1.0) }
        };
        // The rows of each short group, and the number of its sizes.
        let short = groups.iter().zip(ladders);
        let short = short.filter(|(_, (low, sizes))| *sizes as f64 <= longest(*low));
        let short = short.map(|(group, (_, sizes))| {
            let mut rows: Vec<usize> = group.iter().map(|(_, row)| *row).collect();
            rows.sort_by_key(|row| size(*row));
            (rows, sizes)
        });
        let mut short: Vec<ShortGroup> = short.collect();
        let is_rare = short.len() as f64 <= self.share * total as f64;
        if total < 3 || usual < self.sizes || short.is_empty() || !is_rare {
            return None;
        }
        short.sort_unstable();
        Some((short, usual))
    }
}
