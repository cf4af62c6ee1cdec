//! What is kept of a table to hold its curves against those of other tables.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::latencies::KeyLatencies;
use crate::base::expr::{Vals, Value};
use crate::checks::compare::series::{NO_ROW, SHAPE_POINTS, Scan};
use crate::checks::compare::sketch::Slice;
use crate::database::table::{Keys, number_json};

/// Stretches that are kept of a table, about.
const STRETCHES: usize = 1024;

/// How many times shorter than the timer needs a series may be that is kept: a fast one should take longer.
const SHORTER: f64 = 3.0;

/// A key and the table's latency there; of a neighbour that is not there, 0 ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[repr(C, packed(4))]
pub struct KeyPoint {
    /// Hash of the key.
    pub hash: u64,
    /// In ms.
    pub latency: f32,
}

/// A point that its own curve bends at, by its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BendPoint {
    /// Its row.
    pub row: u32,
    /// Its slice, an index into the sketch's slices.
    pub slice: u32,
    /// Its key and latency.
    pub point: KeyPoint,
    /// Logarithm of its latency over the line between its neighbours.
    pub log_ratio: f32,
    /// Where its neighbours begin in [`TableCurve::neighbours`].
    first: u32,
    /// On how many axes it has two.
    axes: u8,
    /// Those axes, a bit each.
    pub axis_bits: u8,
}

/// A series along the first axis of the sweep: all else is fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapePoints {
    /// Its slice, an index into the sketch's slices.
    pub slice: u32,
    /// The row of the middle one of its points.
    pub row: u32,
    /// Points spread evenly over it.
    pub points: [KeyPoint; SHAPE_POINTS],
}

impl ShapePoints {
    /// The latency of its middle point in ms.
    pub fn latency(&self) -> f64 {
        f64::from(self.points[SHAPE_POINTS / 2].latency)
    }
}

/// Five points of a series one after the other, none of them shorter than the timer needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its slice, an index into the sketch's slices.
    pub slice: u32,
    /// Its points.
    pub points: [KeyPoint; 5],
}

/// The keys of some points, for people.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PointKeys {
    /// The parts of the key by name.
    parts: Vec<(String, PartKind)>,
    /// Their numbers, point by point: sizes, of which the large ones are round.
    numbers: Vec<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum PartKind {
    Number,
    Flag,
    Text,
}

/// The curves of a table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TableCurve {
    /// Every key's latency.
    pub latencies: KeyLatencies,
    /// By the hash of their keys.
    pub bends: Vec<BendPoint>,
    /// Of the bends: two before and two after, axis by axis.
    neighbours: Vec<[KeyPoint; 4]>,
    /// Its series that take about as long as the timer needs.
    pub shapes: Vec<ShapePoints>,
    /// Points with two neighbours that take as long as the timer needs, by slice.
    slow: Vec<u32>,
    /// A sample of stretches of the series, evenly spread.
    pub stretches: Vec<Stretch>,
    bend_keys: PointKeys,
    shape_keys: PointKeys,
}

/// The rows of a table as curves need them.
pub struct CurveRows<'a> {
    /// The table's keys.
    pub keys: &'a Keys<'a>,
    /// In ms, one value per row.
    pub latency: &'a Vals<'a, f64>,
    /// Latency in ms below which the timer explains much.
    pub floor_ms: f64,
}

impl CurveRows<'_> {
    fn point(&self, row: u32) -> KeyPoint {
        if row == NO_ROW {
            return KeyPoint { hash: 0, latency: 0.0 };
        }
        let latency = self.latency.get(row as usize) as f32;
        KeyPoint { hash: self.keys.hashes()[row as usize], latency }
    }
}

impl TableCurve {
    /// Keeps what a scan found. `served` are the keys and latencies that others look up; `slice` numbers
    /// a row's slice.
    pub fn of(
        scan: &Scan,
        rows: &CurveRows<'_>,
        served: impl Iterator<Item = (u64, f64)> + Clone,
        mut slice: impl FnMut(usize) -> u32,
    ) -> Self {
        let mut own = Self { latencies: KeyLatencies::of(served), ..Self::default() };
        let hash = |row: u32| rows.keys.hashes()[row as usize];
        let mut order: Vec<usize> = (0..scan.bends.len()).collect();
        order.sort_unstable_by_key(|i| (hash(scan.bends[*i].row), scan.bends[*i].row));
        own.bends.reserve_exact(order.len());
        for bend in order.iter().map(|i| &scan.bends[*i]) {
            own.bends.push(BendPoint {
                row: bend.row,
                slice: slice(bend.row as usize),
                point: rows.point(bend.row),
                log_ratio: bend.log_ratio as f32,
                first: own.neighbours.len() as u32,
                axes: bend.axes.len() as u8,
                axis_bits: bend.axes.iter().fold(0, |bits, axis| bits | axis.bit),
            });
            let neighbours = bend.axes.iter().map(|axis| axis.rows.map(|row| rows.point(row)));
            own.neighbours.extend(neighbours);
        }
        own.bend_keys = PointKeys::of(rows.keys, own.bends.iter().map(|b| b.row));
        let step = scan.inner.len().div_ceil(STRETCHES).max(1);
        let is_slow = |row: &u32| rows.latency.get(*row as usize) >= rows.floor_ms;
        let mut start = 0;
        for shape in &scan.shapes {
            let slice = slice(shape.rows[0] as usize);
            let inner = &scan.inner[start..shape.inner_end as usize];
            // Every `step`-th point of the table, and not of the series, which may be short.
            let first = start.next_multiple_of(step) - start;
            for five in inner.windows(5).skip(first).step_by(step) {
                if five.iter().all(is_slow) {
                    let points = std::array::from_fn(|n| rows.point(five[n]));
                    own.stretches.push(Stretch { slice, points });
                }
            }
            start = shape.inner_end as usize;
            own.slow.resize(own.slow.len().max(slice as usize + 1), 0);
            own.slow[slice as usize] += inner.iter().filter(|row| is_slow(row)).count() as u32;
            let row = shape.rows[SHAPE_POINTS / 2];
            if rows.latency.get(row as usize) * SHORTER >= rows.floor_ms {
                let points = shape.rows.map(|row| rows.point(row));
                own.shapes.push(ShapePoints { slice, row, points });
            }
        }
        own.shape_keys = PointKeys::of(rows.keys, own.shapes.iter().map(|s| s.row));
        own
    }

    /// Points of a slice with two neighbours that take as long as the timer needs.
    pub fn slow(&self, slice: u32) -> u32 {
        self.slow.get(slice as usize).copied().unwrap_or(0)
    }

    /// The neighbours of a bend: two before and two after, an entry for each axis.
    pub fn neighbours(&self, bend: &BendPoint) -> &[[KeyPoint; 4]] {
        let first = bend.first as usize;
        &self.neighbours[first..first + bend.axes as usize]
    }

    /// The bends at a key, with their numbers.
    pub fn bends_at(&self, hash: u64) -> impl Iterator<Item = (usize, &BendPoint)> {
        let first = self.bends.partition_point(|b| b.point.hash < hash);
        let from = (first..).zip(&self.bends[first..]);
        from.take_while(move |(_, b)| b.point.hash == hash)
    }

    /// The key of a bend, for people.
    pub fn bend_key(&self, bend: usize, slice: &Slice) -> Vec<(String, Json)> {
        self.bend_keys.show(bend, slice)
    }

    /// The key of a shape's middle point, for people.
    pub fn shape_key(&self, shape: usize, slice: &Slice) -> Vec<(String, Json)> {
        self.shape_keys.show(shape, slice)
    }
}

impl PointKeys {
    fn of(keys: &Keys<'_>, rows: impl Iterator<Item = u32>) -> Self {
        let kind = |value: &Value<'_>| match value {
            Value::Number(_) => PartKind::Number,
            Value::Bool(_) => PartKind::Flag,
            Value::Text(..) => PartKind::Text,
        };
        let named = keys.names().zip(keys.values());
        let parts = named.map(|(name, value)| (name.to_owned(), kind(value))).collect();
        let mut numbers = Vec::new();
        for row in rows {
            for value in keys.values() {
                match value {
                    Value::Number(v) => numbers.push(v.get(row as usize) as f32),
                    Value::Bool(v) => numbers.push(f32::from(v.get(row as usize))),
                    Value::Text(..) => {}
                }
            }
        }
        numbers.shrink_to_fit();
        Self { parts, numbers }
    }

    /// The key of a point, whose texts are those of its slice.
    fn show(&self, point: usize, slice: &Slice) -> Vec<(String, Json)> {
        let each = self.parts.iter().filter(|(_, kind)| *kind != PartKind::Text).count();
        let mut numbers = self.numbers[point * each..(point + 1) * each].iter();
        let part = |(name, kind): &(String, PartKind)| {
            let value = match kind {
                PartKind::Text => slice.get(name).map_or(Json::Null, |t| t.as_str().into()),
                PartKind::Flag => numbers.next().is_some_and(|n| *n != 0.0).into(),
                PartKind::Number => numbers
                    .next()
                    .filter(|n| !n.is_nan())
                    .map_or(Json::Null, |n| number_json(f64::from(*n))),
            };
            (name.clone(), value)
        };
        self.parts.iter().map(part).collect()
    }
}
