//! The points, slices and outliers of a sketch.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::checks::compare::curves::AxisPoints;
use crate::checks::compare::series::Outlier;

/// The texts of a key by name: dtypes, kernels, phases.
pub type Slice = BTreeMap<String, String>;

/// A slice for people: `gemm_dtype=fp8 kernel_source=cutlass`; nothing where the key has no texts.
pub fn slice_words(slice: &Slice) -> String {
    let words: Vec<String> =
        slice.iter().map(|(column, text)| format!("{column}={text}")).collect();
    words.join(" ")
}

/// What names a slice among others: unlike its words, no two slices have the same.
pub fn slice_id(slice: &Slice) -> String {
    // A map of texts always serialises.
    serde_json::to_string(slice).unwrap_or_default()
}

/// A point of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SketchPoint {
    /// Hash of its key.
    pub hash: u64,
    /// Latency in ms; of a repeated key, that of the row the loader serves first.
    pub latency: f64,
    /// Its logarithm: tables are held against each other pair by pair, so it is taken of each point once. No number
    /// where the latency is not a time.
    pub log: f64,
    /// Its slice, an index into [`Sketch::slices`]: a sketch has some 4,096 points, and of more slices than
    /// this distinguishes the last ones count as one.
    pub slice: u16,
}

impl SketchPoint {
    /// A point of a slice, by the hash of its key; `latency` in ms.
    pub fn new(hash: u64, latency: f64, slice: u16) -> Self {
        Self { hash, latency, log: latency.ln(), slice }
    }
}

/// An outlier, by key.
#[derive(Debug, Clone, PartialEq)]
pub struct SketchOutlier {
    /// Its row, and how far it is from its neighbours.
    pub outlier: Outlier,
    /// Hash of its key.
    pub hash: u64,
    /// Its slice, an index into [`Sketch::slices`].
    pub slice: u32,
    /// What lies around it, along the axes that show it.
    pub around: Vec<AxisPoints>,
    /// Its key for people, of the farthest outliers only.
    pub key: Vec<(String, Value)>,
}
