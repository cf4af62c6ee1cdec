//! An outlier, found in its own table or in comparison with other tables, as findings show it.

use serde_json::Value;

use crate::base::stats::times_off;
use crate::checks::compare::curves::{SeriesScore, TableScores};
use crate::checks::compare::sketch::SketchOutlier;
use crate::database::table::{Example, number_json};

/// The comparison in which a point is an outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OutlierComparison {
    /// The point is compared with its neighbours in its own table.
    Neighbours,
    /// Each latency is divided by another table's latency at the same key. The point's ratio is compared with the
    /// ratios of its neighbours.
    References,
    /// Each latency is divided by another table's latency at the same key. The ratios in the point's series are
    /// compared with those in the other series of its slice.
    Shape,
}

/// Whether an outlier is in its own table alone or also in other tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PointStanding {
    /// Only the point's own table has the outlier.
    Alone,
    /// Other tables have the same outlier, so it is a property of the kernel and not an error of the measurement.
    Recurring,
}

/// An outlier: a single point, or a whole deviating series, which is represented by its middle point.
#[derive(Debug)]
pub(super) struct OutlyingPoint {
    pub row: u32,
    /// The point's slice, an index into the sketch's slices.
    pub slice: u32,
    /// The point's latency in ms.
    pub latency: f64,
    /// The factor by which the point is slower than expected from its neighbours or its slice; below 1 for a drop.
    pub ratio: f64,
    /// The axes along which the point deviates, one bit per axis in the order of the sweep.
    pub axes: u8,
    pub by: OutlierComparison,
    pub standing: PointStanding,
    /// The path of another table that confirms the deviation; `None` if no single table is named as the evidence.
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

    /// Creates an outlier from a deviating point that references confirm. `bend` is the index of the point, and
    /// `reference` is the path of a table that shows the deviation.
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

    /// Returns true if the point is too slow, false if it is too fast.
    pub(crate) fn spike(&self) -> bool {
        self.ratio > 1.0
    }

    /// Returns the factor by which the point is too slow or too fast, which is at least 1.
    pub(crate) fn factor(&self) -> f64 {
        times_off(self.ratio)
    }

    /// Returns the point's row with its latency and ratio, as an example.
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
