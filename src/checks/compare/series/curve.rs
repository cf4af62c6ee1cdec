//! The points and series of a table that are kept to compare its curves with those of other tables.

use hashbrown::HashMap;
use serde_json::Value as Json;

use super::{AxisNeighbours, NO_ROW, SHAPE_POINTS, Scan, SeriesSample, Sizes};
use crate::base::expr::Vals;
use crate::checks::inputs::CurveTerms;
use crate::database::coverage::KeyCoverage;
use crate::database::table::Keys;

/// The maximum number of segments that are kept per slice and axis. A segment is five successive points of a series.
const SEGMENTS: usize = 512;

/// The approximate number of rows that are sampled per table. The segment of five successive points around each of
/// these rows is kept.
const SAMPLE: usize = 8_192;

/// A series is kept if the latency of its middle point is at least `floor_ms` divided by this number. The limit is
/// below `floor_ms`, so that series that were wrongly measured as too fast are kept, too.
const SHORTER: f64 = 3.0;

/// A key, and the table's latency at that key. A point that stands for a missing neighbour has a latency of 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyPoint {
    /// Hash of the key.
    pub hash: u64,
    /// The latency in ms.
    pub latency: f32,
}

/// Latencies by the hash of the key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyLatencies {
    by_hash: HashMap<u64, f32>,
    /// The number of rows that were added, including repeated keys.
    given: usize,
}

impl KeyLatencies {
    /// Collects latencies in ms by key hash. Latencies of 0 are left out. If a key is repeated, its first latency is
    /// kept.
    pub(crate) fn of(points: impl Iterator<Item = (u64, f64)>) -> Self {
        let most = points.size_hint().1.unwrap_or_default();
        let mut own = Self { by_hash: HashMap::with_capacity(most), given: 0 };
        for (hash, ms) in points.map(|(hash, ms)| (hash, ms as f32)).filter(|(_, ms)| *ms > 0.0) {
            own.by_hash.entry(hash).or_insert(ms);
            own.given += 1;
        }
        own
    }

    /// Returns true if the latencies of exactly `rows` rows were added, all at different keys.
    pub(crate) fn are_of_each(&self, rows: usize) -> bool {
        self.given == rows && self.by_hash.len() == rows
    }

    /// The latency at a key in ms.
    pub(crate) fn get(&self, hash: u64) -> Option<f32> {
        self.by_hash.get(&hash).copied()
    }
}

/// The neighbours of a point along an axis: two points before it and two after, in the order of the sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxisPoints {
    /// The four neighbours, in the order of the sweep.
    pub points: [KeyPoint; 4],
    /// The sizes of the four neighbours, with the size of the point itself in the middle.
    pub sizes: Sizes,
}

/// A deviating point: a point off the line between its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviatingPoint {
    /// The point's row.
    pub row: u32,
    /// The slice, as an index into the sketch's slices.
    pub slice: u32,
    /// The point's key and latency.
    pub point: KeyPoint,
    /// The logarithm of the point's latency divided by the latency on the line between its neighbours.
    pub log_ratio: f32,
    /// The index of the point's first entry in [`TableCurve::neighbours`]. The point has one entry per axis.
    first: u32,
    /// The number of axes along which the point has two neighbours.
    axes: u8,
    /// The axes along which the point has two neighbours, one bit each.
    pub axis_bits: u8,
}

/// A series along the first axis of the sweep, represented by a few of its points.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesSamplePoints {
    /// The slice, as an index into the sketch's slices.
    pub slice: u32,
    /// The row of the series' middle point.
    pub row: u32,
    /// Points that are spread evenly over the series.
    pub points: [KeyPoint; SHAPE_POINTS],
}

impl SeriesSamplePoints {
    /// Returns the latency of the series' middle point in ms.
    pub(crate) fn latency(&self) -> f64 {
        f64::from(self.points[SHAPE_POINTS / 2].latency)
    }
}

/// Five successive points of a series. All of their latencies are at least the timer's floor.
#[derive(Debug, Clone, PartialEq)]
pub struct FivePoints {
    /// The slice, as an index into the sketch's slices.
    pub slice: u32,
    /// The index of the axis along which the points are successive.
    pub axis: u8,
    /// The five points in ascending order of their size.
    pub points: [KeyPoint; 5],
}

/// The points of a table that are kept to compare its series with those of other tables: the deviating points, a few
/// points of each series, and segments of five successive points.
#[derive(Debug, Clone, Default)]
pub struct TableCurve {
    /// A point deviates if it differs from the line between its neighbours by at least this factor, up or down. The
    /// deviation is confirmed if it is still this large after division by another table's latencies.
    pub least_deviation: f64,
    /// The deviating points, sorted by key hash.
    pub deviations: Vec<DeviatingPoint>,
    /// The neighbours of the deviating points: for each deviating point, one entry per axis.
    neighbours: Vec<AxisPoints>,
    /// The series, each represented by a few points. Series whose middle point is far below the timer's floor are left
    /// out.
    pub shapes: Vec<SeriesSamplePoints>,
    /// For each slice, the number of points that have two neighbours and a latency of at least the timer's floor.
    slow: Vec<u32>,
    /// Segments of five successive points; at most `SEGMENTS` of them per slice and axis.
    pub segments: Vec<FivePoints>,
    /// The names of the parts of the table's key.
    parts: Vec<String>,
    deviation_keys: KeyCoverage,
    shape_keys: KeyCoverage,
}

/// The rows from which a table's curves are made.
pub(crate) struct CurveRows<'a> {
    pub keys: &'a Keys<'a>,
    /// The latency in ms, one value per row.
    pub latency: &'a Vals<'a, f64>,
}

impl CurveRows<'_> {
    fn point(&self, row: u32) -> KeyPoint {
        if row == NO_ROW {
            return KeyPoint { hash: 0, latency: 0.0 };
        }
        let latency = self.latency.get(row as usize) as f32;
        KeyPoint { hash: self.keys.hashes()[row as usize], latency }
    }

    /// Returns true if a row is in the sample of about [`SAMPLE`] rows. Rows are chosen by the hashes of their keys. So
    /// the sample does not depend on the order of rows, and an added row hardly changes it.
    pub(crate) fn samples(&self, row: u32) -> bool {
        let hashes = self.keys.hashes();
        let share = (SAMPLE as f64 / hashes.len() as f64).min(1.0);
        hashes[row as usize] <= (share * u64::MAX as f64) as u64
    }

    /// The neighbours of a point along an axis, with their keys and latencies.
    pub(crate) fn around(&self, axis: &AxisNeighbours) -> AxisPoints {
        AxisPoints { points: axis.rows.map(|row| self.point(row)), sizes: axis.sizes }
    }
}

impl TableCurve {
    /// Collects from a scan the deviating points, series and segments that are compared with other tables. `slice`
    /// returns the slice number of a row.
    pub(crate) fn of(
        scan: &Scan,
        rows: &CurveRows<'_>,
        terms: CurveTerms,
        mut slice: impl FnMut(usize) -> u32,
    ) -> Self {
        let CurveTerms { least_deviation, floor_ms } = terms;
        let mut own = Self { least_deviation, ..Self::default() };
        let hash = |row: u32| rows.keys.hashes()[row as usize];
        let mut order: Vec<usize> = (0..scan.deviations.len()).collect();
        order.sort_unstable_by_key(|i| (hash(scan.deviations[*i].row), scan.deviations[*i].row));
        // Many tables' curves are in memory at once, so the vectors are allocated in their exact size.
        own.deviations.reserve_exact(order.len());
        own.neighbours
            .reserve_exact(scan.deviations.iter().map(|deviation| deviation.axes.len()).sum());
        for deviation in order.iter().map(|i| &scan.deviations[*i]) {
            own.deviations.push(DeviatingPoint {
                row: deviation.row,
                slice: slice(deviation.row as usize),
                point: rows.point(deviation.row),
                log_ratio: deviation.log_ratio as f32,
                first: own.neighbours.len() as u32,
                axes: deviation.axes.len() as u8,
                axis_bits: deviation.axes.iter().fold(0, |bits, axis| bits | axis.bit),
            });
            own.neighbours.extend(deviation.axes.iter().map(|axis| rows.around(axis)));
        }
        own.parts = rows.keys.names().map(str::to_owned).collect();
        let deviating: Vec<u32> = own.deviations.iter().map(|d| d.row).collect();
        own.deviation_keys = KeyCoverage::of(rows.keys, &deviating);
        let is_slow = |row: &u32| rows.latency.get(*row as usize) >= floor_ms;
        let middle = |shape: &SeriesSample| shape.rows[SHAPE_POINTS / 2];
        let is_kept =
            |shape: &&SeriesSample| rows.latency.get(middle(shape) as usize) * SHORTER >= floor_ms;
        own.shapes.reserve_exact(scan.shapes.iter().filter(is_kept).count());
        let mut start = 0;
        for shape in &scan.shapes {
            let slice = slice(shape.rows[0] as usize);
            let inner = &scan.inner[start..shape.inner_end as usize];
            start = shape.inner_end as usize;
            own.slow.resize(own.slow.len().max(slice as usize + 1), 0);
            own.slow[slice as usize] += inner.iter().filter(|row| is_slow(row)).count() as u32;
            if is_kept(&shape) {
                let points = shape.rows.map(|row| rows.point(row));
                own.shapes.push(SeriesSamplePoints { slice, row: middle(shape), points });
            }
        }
        let slow = scan.segments.iter().filter(|(_, five)| five.iter().all(is_slow));
        let sliced = slow.map(|(axis, five)| (slice(five[2] as usize), *axis, hash(five[2]), five));
        let mut segments: Vec<(u32, u8, u64, &[u32; 5])> = sliced.collect();
        segments.sort_unstable();
        let along = segments.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let kept = along.flat_map(|along| along.iter().take(SEGMENTS));
        let segment = |(slice, axis, _, five): &(u32, u8, u64, &[u32; 5])| FivePoints {
            slice: *slice,
            axis: *axis,
            points: five.map(|row| rows.point(row)),
        };
        own.segments = kept.map(segment).collect();
        let middles: Vec<u32> = own.shapes.iter().map(|s| s.row).collect();
        own.shape_keys = KeyCoverage::of(rows.keys, &middles);
        own
    }

    /// Returns the number of a slice's points that have two neighbours and a latency of at least the timer's floor.
    pub(crate) fn slow(&self, slice: u32) -> u32 {
        self.slow.get(slice as usize).copied().unwrap_or(0)
    }

    /// The neighbours of a deviating point, one entry per axis.
    pub(crate) fn neighbours(&self, deviation: &DeviatingPoint) -> &[AxisPoints] {
        let first = deviation.first as usize;
        &self.neighbours[first..first + deviation.axes as usize]
    }

    /// Returns the deviating points at a key, each with its index in `deviations`.
    pub(crate) fn deviations_at(
        &self,
        hash: u64,
    ) -> impl Iterator<Item = (usize, &DeviatingPoint)> {
        let first = self.deviations.partition_point(|b| b.point.hash < hash);
        let from = (first..).zip(&self.deviations[first..]);
        from.take_while(move |(_, b)| b.point.hash == hash)
    }

    /// Returns the names and values of the key of the deviating point with the index `deviation`.
    pub(crate) fn deviation_key(&self, deviation: usize) -> Vec<(String, Json)> {
        self.key(&self.deviation_keys, deviation)
    }

    /// Returns the names and values of the key of a series' middle point. `shape` is the index of the series.
    pub(crate) fn shape_key(&self, shape: usize) -> Vec<(String, Json)> {
        self.key(&self.shape_keys, shape)
    }

    fn key(&self, keys: &KeyCoverage, point: usize) -> Vec<(String, Json)> {
        self.parts.iter().cloned().zip(keys.key(point)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_has_its_first_latency() {
        let own = KeyLatencies::of([(7, 1.0), (9, 2.0), (9, 3.0)].into_iter());
        assert_eq!([7, 9].map(|key| own.get(key)), [Some(1.0), Some(2.0)]);
        assert!(!own.are_of_each(3));
    }

    #[test]
    fn a_latency_of_zero_is_not_a_latency() {
        let own = KeyLatencies::of([(1, 0.0), (2, 0.5)].into_iter());
        assert_eq!([1, 2].map(|key| own.get(key)), [None, Some(0.5)]);
        assert!(!own.are_of_each(2) && own.are_of_each(1), "a row has no latency");
    }
}
