//! Tables in which only some rows have a power reading.

use std::cmp::Reverse;

use super::Readings;
use crate::base::words::{count, plural};
use crate::checks::compare::sketch::{Slice, slice_id, slice_words};
use crate::checks::{Judge, Judged, RowContext};
use crate::database::table::NumberedRows;
use crate::findings::{Hits, SliceEvidence, wholes};

/// The check for tables in which only some rows have a power reading.
pub(crate) struct PartialPower;

/// The number of rows of a slice, and how many of them have a power reading.
#[derive(Default)]
struct SliceRows {
    /// The index of the slice's first row. Messages describe the slice by the key of this row.
    first: usize,
    rows: usize,
    measured: usize,
}

impl Judge for PartialPower {
    /// Reports a table with power columns in which some rows have no reading.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let (Some(readings), Some(keys)) = (Readings::of(rows), rows.keys()) else {
            return Ok(Hits::new());
        };
        let NumberedRows { of_rows, counts } = keys.slice_numbers();
        let mut slices: Vec<SliceRows> = Vec::with_capacity(counts.len());
        for (row, number) in of_rows.iter().enumerate() {
            if *number as usize == slices.len() {
                slices.push(SliceRows { first: row, ..SliceRows::default() });
            }
            let slice = &mut slices[*number as usize];
            slice.rows += 1;
            slice.measured += usize::from(readings.measured(row));
        }
        let measured: usize = slices.iter().map(|s| s.measured).sum();
        let lacking = rows.count - measured;
        if lacking == 0 {
            return Ok(Hits::new());
        }
        let mut short: Vec<(Slice, &SliceRows)> = slices
            .iter()
            .filter(|s| s.measured < s.rows)
            .map(|s| (keys.texts(s.first).into_iter().collect(), s))
            .collect();
        short.sort_by(|(a, s), (b, t)| {
            let lacks = |s: &SliceRows| Reverse(s.rows - s.measured);
            lacks(s).cmp(&lacks(t)).then_with(|| a.cmp(b))
        });
        let message = said(&short, slices.len(), measured, rows.count);
        let evidence = short.iter().map(|(slice, s)| SliceEvidence {
            slice: slice.clone(),
            figure: ("measured".into(), serde_json::json!([s.measured, s.rows])),
        });
        let finding = rows.finding(message).rows(lacking);
        let finding = finding.evidence("measured", measured).slices(evidence);
        Ok(wholes([finding.parts(short.iter().map(|(slice, _)| slice_id(slice)))]))
    }
}

/// Returns a message with the number of rows that have power, and with the slices that lack the most readings.
fn said(short: &[(Slice, &SliceRows)], slices: usize, measured: usize, rows: usize) -> String {
    const SHOWN: usize = 3;
    if measured == 0 {
        return format!("none of {} has a power reading", plural(rows, "row"));
    }
    let mut said = format!("{} of {} have a power reading", count(measured), plural(rows, "row"));
    if slices < 2 {
        return said;
    }
    let told = short.iter().take(SHOWN).map(|(slice, s)| {
        let have = if s.measured == 0 { "none".to_owned() } else { count(s.measured) };
        format!("{have} of {} in {}", count(s.rows), slice_words(slice))
    });
    said += &format!(": {}", told.collect::<Vec<_>>().join(", "));
    if short.len() > SHOWN {
        said += &format!(" and {} more", plural(short.len() - SHOWN, "slice"));
    }
    said
}
