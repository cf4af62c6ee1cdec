//! A point that stands out, by itself or beside other tables, as findings show it.

use serde_json::Value;

use crate::checks::compare::curves::{Evidence, ShapeScore, TableScores};
use crate::checks::compare::sketch::SketchOutlier;
use crate::database::table::number_json;
use crate::findings::Example;

/// By what a point stands out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StandsOutBy {
    /// Its own neighbours, all of them on the side of one axis or more where this is `inner`.
    Neighbours { inner: bool },
    /// Its neighbours in the ratio to other tables.
    References,
    /// All of its series beside the other series of its slice, in the ratio to other tables.
    Shape,
}

/// A point that stands out.
#[derive(Debug, Clone)]
pub(super) struct OutlyingPoint {
    pub row: u32,
    /// The point's slice, an index into the sketch's slices.
    pub slice: u32,
    /// In ms.
    pub latency: f64,
    /// How many times its neighbours' latency that is; below 1 for a drop.
    pub ratio: f64,
    /// Axes of the sweep that show it, a bit each.
    pub axes: u8,
    pub by: StandsOutBy,
    /// Path of a table beside which it does.
    pub reference: Option<String>,
    key: Vec<(String, Value)>,
}

impl OutlyingPoint {
    /// A point far from its own neighbours.
    pub fn alone(found: &SketchOutlier) -> Self {
        let point = found.outlier;
        Self {
            row: point.row,
            slice: found.slice,
            latency: point.latency,
            ratio: point.ratio,
            axes: point.axes,
            by: StandsOutBy::Neighbours { inner: point.inner },
            reference: None,
            key: found.key.clone(),
        }
    }

    /// A bend that other tables, such as `reference`, do not have.
    pub fn beside(
        scores: &TableScores,
        bend: usize,
        evidence: Evidence,
        reference: Option<String>,
    ) -> Self {
        let point = &scores.curve.bends[bend];
        Self {
            row: point.row,
            slice: point.slice,
            latency: f64::from(point.point.latency),
            ratio: evidence.score.exp(),
            axes: point.axis_bits,
            by: StandsOutBy::References,
            reference,
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
            reference: None,
            key: scores.curve.shape_key(found.shape),
        }
    }

    /// Returns the value of a column of the point's key, if it is a number.
    pub fn key(&self, column: &str) -> Option<f64> {
        self.key.iter().find(|(name, _)| name == column)?.1.as_f64()
    }

    /// Whether it is slower, not faster.
    pub fn spike(&self) -> bool {
        self.ratio > 1.0
    }

    /// How far it stands out: 1 or more.
    pub fn factor(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// Its row with its figures.
    pub fn example(&self) -> Example {
        let over = match self.by {
            StandsOutBy::Neighbours { .. } => "over_neighbours",
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
