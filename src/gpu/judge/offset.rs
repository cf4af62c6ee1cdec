//! The offset of a GPU: the log ratio of its times to the recorded ones, in tables that are not judged.

use super::middle::{Middle, collections};
use super::words::{against_recorded, size};
use crate::base::stats::{median, normal_within};
use crate::gpu::recipe::Margins;

/// The number of control tables with a small bias that suffices to estimate the GPU's offset from them alone. If there
/// are fewer, the offset is estimated from all control tables, of which there must be at least [`LEAST`].
const LEAST_RIGHT: usize = 2;
const LEAST: usize = 3;

/// The offset of a GPU: the log ratio of its times to the recorded times, as estimated from control tables.
///
/// GPUs of one model differ little, so a large observed offset is partly noise. Therefore, the estimate `log` is the
/// observed `median` times a factor below 1. The less precise the median is, the smaller is the factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    /// The median, over the control tables, of a table's median log ratio of measured to recorded time.
    pub median: f64,
    /// Number of control tables.
    pub tables: usize,
    /// The estimated log ratio, which is subtracted from the log ratios of a judged table.
    pub log: f64,
    /// The standard deviation of the estimate `log`.
    error: f64,
}

impl Offset {
    /// Estimates the offset from the median log ratios of control tables; `None` if there are too few tables. Tables
    /// with a large bias are ignored if enough others remain.
    pub(crate) fn of(tables: &[&Middle], limits: &Margins) -> Option<Self> {
        let is_right = |t: &&&Middle| t.bias.abs() <= limits.excludes.ln_1p();
        let right: Vec<&Middle> = tables.iter().filter(is_right).copied().collect();
        let tables = match (right.len(), tables.len()) {
            (LEAST_RIGHT.., _) => right,
            (_, LEAST..) => tables.to_vec(),
            _ => return None,
        };
        let medians: Vec<f64> = tables.iter().map(|t| t.bias).collect();
        let card = limits.card / normal_within(0.95);
        let errors: f64 = tables.iter().map(|t| t.error.powi(2) + own(limits).powi(2)).sum();
        // The variance of a median is 1.57 times that of a mean.
        let error = 1.57 * errors / (tables.len() as f64).powi(2);
        let share = card.powi(2) / (card.powi(2) + error);
        let median = median(&medians);
        Some(Self {
            median,
            tables: tables.len(),
            log: share * median,
            error: card * (1.0 - share).sqrt(),
        })
    }

    /// Returns the standard deviation of a table's median log ratio over repeated measurements of the whole table. The
    /// standard deviation is smaller if the GPU's `offset` is known.
    pub(crate) fn collections(offset: Option<&Self>, limits: &Margins) -> f64 {
        offset.map_or(collections(limits), |offset| offset.error.hypot(own(limits)))
    }

    /// Returns a sentence if the GPU's offset is so large that no table can be judged on this GPU; `None` otherwise.
    pub(super) fn trouble(&self, limits: &Margins) -> Option<String> {
        (self.median.abs() > limits.card_most.ln_1p()).then(|| {
            format!(
                "on this card {} other tables are {} in the median, more than a card alone explains ({})",
                self.tables,
                against_recorded(self.median),
                size(limits.card_most.ln_1p()),
            )
        })
    }
}

/// Returns the standard deviation of a table's median log ratio over repeated measurements of the whole table on the
/// same GPU.
fn own(limits: &Margins) -> f64 {
    let card = limits.card / normal_within(0.95);
    (collections(limits).powi(2) - card.powi(2)).max(0.0).sqrt()
}
