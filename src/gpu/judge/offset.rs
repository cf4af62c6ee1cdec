//! The offset of a card: how its times differ from recorded ones in tables that are not judged.

use super::middle::{Middle, collections};
use super::words::{against_recorded, size};
use crate::base::stats::{median, normal_within};
use crate::gpu::recipe::Margins;

/// Smallest number of control tables that are about right, and of control tables if all are wrong.
const LEAST_RIGHT: usize = 2;
const LEAST: usize = 3;

/// The offset of a card, estimated from control tables.
///
/// A card's offset varies as `Margins::card` states. So the estimate is closer to zero than the control
/// tables' median, the closer the less they say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    /// Median over the control tables of their median log ratio of measured to recorded time.
    pub seen: f64,
    /// Number of control tables.
    pub tables: usize,
    /// Estimated log ratio, which a judged table's ratios are compared with.
    pub log: f64,
    /// Standard deviation of what remains of the card's offset.
    rest: f64,
}

impl Offset {
    /// Estimates the offset from the medians of control tables; `None` without enough tables. A table
    /// that is off by more than a sample must rule out is wrong itself, unless all are.
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
        let seen = median(&medians);
        Some(Self {
            seen,
            tables: tables.len(),
            log: share * seen,
            rest: card * (1.0 - share).sqrt(),
        })
    }

    /// Standard deviation of the differences between honest collections, given the offset of the card.
    pub(crate) fn collections(offset: Option<&Self>, limits: &Margins) -> f64 {
        offset.map_or(collections(limits), |offset| offset.rest.hypot(own(limits)))
    }

    /// The reason why nothing can be judged on this card; `None` if its offset is small.
    pub(super) fn trouble(&self, limits: &Margins) -> Option<String> {
        (self.seen.abs() > limits.card_most.ln_1p()).then(|| {
            format!(
                "on this card {} other tables are {} in the median, more than a card alone explains ({})",
                self.tables,
                against_recorded(self.seen),
                size(limits.card_most.ln_1p()),
            )
        })
    }
}

/// Standard deviation of the differences between honest collections on one card.
fn own(limits: &Margins) -> f64 {
    let card = limits.card / normal_within(0.95);
    (collections(limits).powi(2) - card.powi(2)).max(0.0).sqrt()
}
