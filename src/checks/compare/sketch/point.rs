//! The points, slices and outliers of a sketch, and the points that two sketches have in common.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::checks::compare::series::{AxisPoints, Outlier};

/// A slice, given by the text values of its key, such as the dtype and the kernel. The map's keys are the names of the
/// key parts.
pub type Slice = BTreeMap<String, String>;

/// Returns a description of a slice for messages, such as `gemm_dtype=fp8 kernel_source=cutlass`; empty if the key has
/// no text values.
pub fn slice_words<'a>(texts: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let words: Vec<String> =
        texts.into_iter().map(|(column, text)| format!("{column}={text}")).collect();
    words.join(" ")
}

/// The name of a slice in messages; `the table` if the key has no texts.
pub fn slice_name(slice: &Slice) -> String {
    if slice.is_empty() { "the table".to_owned() } else { slice_words(slice) }
}

/// Returns an identifier of a slice. Different slices have different identifiers, while their [`slice_words`] may be
/// equal.
pub fn slice_id(slice: &Slice) -> String {
    // A map of texts always serialises.
    serde_json::to_string(slice).unwrap_or_default()
}

/// A point of a table, as a sketch keeps it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SketchPoint {
    /// The hash of the point's key.
    pub hash: u64,
    /// The latency in ms; for a repeated key, the latency of the row that the loader serves.
    pub latency: f64,
    /// The natural logarithm of the latency, computed once because each table is compared with many others; not finite
    /// if the latency is not above 0.
    pub log: f64,
    /// The index of the point's slice in the sketch's slices. All slices beyond the range of `u16` share the last
    /// index.
    pub slice: u16,
}

impl SketchPoint {
    /// Creates a point from the hash of its key, its latency in ms and the index of its slice.
    pub(crate) fn new(hash: u64, latency: f64, slice: u16) -> Self {
        Self { hash, latency, log: latency.ln(), slice }
    }
}

/// An outlier of a table with its key.
#[derive(Debug, Clone, PartialEq)]
pub struct SketchOutlier {
    /// The outlier's row and its distance from its neighbours.
    pub outlier: Outlier,
    /// The hash of the outlier's key.
    pub hash: u64,
    /// The outlier's slice, an index into the sketch's slices.
    pub slice: u32,
    /// The outlier's neighbours, for each axis along which its latency is far from theirs.
    pub around: Vec<AxisPoints>,
    /// The outlier's key as names and values; empty except for the outliers with the largest deviation.
    pub key: Vec<(String, Value)>,
}

/// An iterator over the points at the keys that two sketches share.
pub(crate) struct SharedPoints<'a> {
    pub(super) a: &'a [SketchPoint],
    pub(super) b: &'a [SketchPoint],
}

impl Iterator for SharedPoints<'_> {
    /// Two points at the same key: the point of the first sketch, and the point of the second.
    type Item = (SketchPoint, SketchPoint);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (a, b) = (*self.a.first()?, *self.b.first()?);
            match { a.hash }.cmp(&{ b.hash }) {
                std::cmp::Ordering::Less => self.a = &self.a[1..],
                std::cmp::Ordering::Greater => self.b = &self.b[1..],
                std::cmp::Ordering::Equal => {
                    (self.a, self.b) = (&self.a[1..], &self.b[1..]);
                    return Some((a, b));
                }
            }
        }
    }
}
