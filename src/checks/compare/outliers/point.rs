//! An outlier, found in its own table or in comparison with other tables, as findings show it.

use serde_json::Value;

use crate::base::stats::times_off;
use crate::checks::compare::curves::{SeriesScore, TableScores};
use crate::checks::compare::sketch::SketchOutlier;
use crate::database::table::{Example, number_json};

/// The comparison in which a point is an outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OutlierComparison {
    /// With the point's neighbours in its own table.
    Neighbours,
    /// The point's neighbours in the ratio to other tables.
    References,
    /// With the other series of the slice, in the ratio to other tables; the whole series deviates.
    Shape,
}

/// The verdict of other tables on an outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PointStanding {
    /// Only its own table has the outlier.
    Alone,
    /// Other tables show the same point: it is a step of the kernel.
    Recurring,
}

/// A point that is an outlier, in one of three comparisons.
#[derive(Debug)]
pub(super) struct OutlyingPoint {
    pub row: u32,
    /// The point's slice, an index into the sketch's slices.
    pub slice: u32,
    /// The latency in ms.
    pub latency: f64,
    /// The latency divided by that of the neighbours; below 1 for a drop.
    pub ratio: f64,
    /// The axes of the sweep on which the point deviates, one bit each.
    pub axes: u8,
    pub by: OutlierComparison,
    pub standing: PointStanding,
    /// Path of a table that shows the deviation in the ratio to it; `None` if the outlier was found without other
    /// tables.
    pub reference: Option<String>,
    key: Vec<(String, Value)>,
}

impl OutlyingPoint {
    /// Creates an outlier that was found in its own table.
    pub(crate) fn in_own_table(found: &SketchOutlier) -> Self {
        let point = found.outlier;
        Self {
            row: point.row,
            slice: found.slice,
            latency: point.latency,
            ratio: point.ratio,
            axes: point.axes,
            by: OutlierComparison::Neighbours,
            standing: PointStanding::Alone,
            reference: None,
            key: found.key.clone(),
        }
    }

    /// Creates an outlier from a point off the line between its neighbours, which other tables do not have. `bend` is
    /// its index, and `reference` is the path of one of the other tables.
    pub(crate) fn in_ratio_to_others(
        scores: &TableScores,
        bend: usize,
        reference: Option<&str>,
    ) -> Self {
        let point = &scores.curve.deviations[bend];
        Self {
            row: point.row,
            slice: point.slice,
            latency: f64::from(point.point.latency),
            ratio: scores.deviations[bend].score.exp(),
            axes: point.axis_bits,
            by: OutlierComparison::References,
            standing: PointStanding::Alone,
            reference: reference.map(str::to_owned),
            key: scores.curve.deviation_key(bend),
        }
    }

    /// Creates an outlier from the middle point of a series that deviates along its whole sweep.
    pub(crate) fn of_shape(scores: &TableScores, found: &SeriesScore) -> Self {
        let shape = &scores.curve.shapes[found.shape];
        Self {
            row: shape.row,
            slice: shape.slice,
            latency: shape.latency(),
            ratio: found.score.exp(),
            axes: 1,
            by: OutlierComparison::Shape,
            standing: PointStanding::Alone,
            reference: None,
            key: scores.curve.shape_key(found.shape),
        }
    }

    /// Returns true if the point is slower, false if it is faster.
    pub(crate) fn spike(&self) -> bool {
        self.ratio > 1.0
    }

    /// The factor of the deviation, up or down: 1 or more.
    pub(crate) fn factor(&self) -> f64 {
        times_off(self.ratio)
    }

    /// The point's row with its figures, as an example.
    pub(crate) fn example(&self) -> Example {
        let over = match self.by {
            OutlierComparison::Neighbours => "over_neighbours",
            OutlierComparison::References => "over_neighbours_by_references",
            OutlierComparison::Shape => "over_slice_by_references",
        };
        Example {
            row: u64::from(self.row),
            line: None,
            key: self.key.clone(),
            values: vec![
                ("latency_ms".into(), number_json(self.latency)),
                (over.into(), number_json(self.ratio)),
            ],
        }
    }
}
