//! A point that stands out, by itself or beside other tables, as findings show it.

use serde_json::Value;

use crate::base::stats::times_off;
use crate::checks::compare::curves::{ShapeScore, TableScores};
use crate::checks::compare::sketch::SketchOutlier;
use crate::database::table::number_json;
use crate::findings::Example;

/// The comparison in which a point stands out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StandsOutBy {
    /// The point's own neighbours.
    Neighbours,
    /// The point's neighbours in the ratio to other tables.
    References,
    /// The other series of the slice, for a whole series in the ratio to other tables.
    Shape,
}

/// The verdict of other tables on a point that stands out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PointStanding {
    /// The point stands out in its own table alone.
    Alone,
    /// Other tables show the same point: it is a step of the kernel.
    Recurring,
}

/// A point that stands out.
#[derive(Debug)]
pub(super) struct OutlyingPoint {
    pub row: u32,
    /// The point's slice, an index into the sketch's slices.
    pub slice: u32,
    /// In ms.
    pub latency: f64,
    /// The latency divided by that of the neighbours; below 1 for a drop.
    pub ratio: f64,
    /// Axes of the sweep that show it, a bit each.
    pub axes: u8,
    pub by: StandsOutBy,
    pub standing: PointStanding,
    /// Path of a table beside which it does.
    pub reference: Option<String>,
    key: Vec<(String, Value)>,
}

impl OutlyingPoint {
    /// A point far from its own neighbours.
    pub fn by_itself(found: &SketchOutlier) -> Self {
        let point = found.outlier;
        Self {
            row: point.row,
            slice: found.slice,
            latency: point.latency,
            ratio: point.ratio,
            axes: point.axes,
            by: StandsOutBy::Neighbours,
            standing: PointStanding::Alone,
            reference: None,
            key: found.key.clone(),
        }
    }

    /// A bend that other tables, such as `reference`, do not have.
    pub fn beside(scores: &TableScores, bend: usize, reference: Option<&str>) -> Self {
        let point = &scores.curve.bends[bend];
        Self {
            row: point.row,
            slice: point.slice,
            latency: f64::from(point.point.latency),
            ratio: scores.bends[bend].score.exp(),
            axes: point.axis_bits,
            by: StandsOutBy::References,
            standing: PointStanding::Alone,
            reference: reference.map(str::to_owned),
            key: scores.curve.bend_key(bend),
        }
    }

    /// The middle point of a series that is off all along its sweep.
    pub fn of_shape(scores: &TableScores, found: &ShapeScore) -> Self {
        let shape = &scores.curve.shapes[found.shape];
        Self {
            row: shape.row,
            slice: shape.slice,
            latency: shape.latency(),
            ratio: found.score.exp(),
            axes: 1,
            by: StandsOutBy::Shape,
            standing: PointStanding::Alone,
            reference: None,
            key: scores.curve.shape_key(found.shape),
        }
    }

    /// Returns true if the point is slower, false if it is faster.
    pub fn spike(&self) -> bool {
        self.ratio > 1.0
    }

    /// Returns how far the point stands out: 1 or more.
    pub fn factor(&self) -> f64 {
        times_off(self.ratio)
    }

    /// Returns the point's row with its figures.
    pub fn example(&self) -> Example {
        let over = match self.by {
            StandsOutBy::Neighbours => "over_neighbours",
            StandsOutBy::References => "over_neighbours_by_references",
            StandsOutBy::Shape => "over_slice_by_references",
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
