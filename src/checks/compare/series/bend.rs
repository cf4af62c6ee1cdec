//! A point against the line between its neighbours along an axis.

use super::line::least_telling;
use super::neighbours::AxisNeighbours;

/// A point that lies off the line between its neighbours along every axis on which it has two.
///
/// A power law joins two neighbours: a line in the logarithms of size and latency. Kernels step, so most
/// bends are right; which of them is a disturbed measurement shows against other tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Bend {
    /// The point's row.
    pub row: u32,
    /// Logarithm of its latency over that of the line, of the axis that shows least. Above 0 for a slow
    /// point.
    pub log_ratio: f64,
    /// Its neighbours, an entry for each axis on which it has one on either side.
    pub axes: Vec<AxisNeighbours>,
}

/// A point on its way to be a bend.
#[derive(Default)]
pub(super) struct BendCandidate {
    /// None until an axis has shown something.
    log_ratio: Option<f64>,
}

impl BendCandidate {
    /// Takes in what an axis says: the least telling stays, and nothing does where two contradict.
    pub fn judge(&mut self, log_ratio: Option<f64>) {
        let Some(ratio) = log_ratio else { return };
        self.log_ratio = Some(self.log_ratio.map_or(ratio, |known| least_telling(known, ratio)));
    }

    /// Whether nothing said yet keeps it from bending by that much.
    pub fn may_bend(&self, least: f64) -> bool {
        self.log_ratio.is_none_or(|ratio| ratio.abs() >= least)
    }

    /// How far it bends; none where that is less, or it lies at the end of every axis.
    pub fn log_ratio(&self, least: f64) -> Option<f64> {
        self.log_ratio.filter(|ratio| ratio.abs() >= least)
    }
}
