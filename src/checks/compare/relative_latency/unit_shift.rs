//! Slices in another unit than their peers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::peers::{NEARBY, PeerTerms};
use super::{chosen, finding};
use crate::base::expr::ExprError;
use crate::checks::CrossContext;
use crate::checks::judge::{Found, Judge};
use crate::checks::rule::Rule;

/// Factors that a unit is off by.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Units")]
pub struct UnitFactors {
    /// Points that a slice and its sibling must share.
    points: usize,
    /// Least and most ratio that is taken for a unit's factor; its inverse too.
    factor: [f64; 2],
    /// Independent references that must all agree.
    references: usize,
}

impl Judge for UnitFactors {
    /// One finding for each table with slices in another unit than all their peers.
    fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Found, ExprError> {
        let mut found = Found::new();
        let relative = at.relative_latencies(PeerTerms { points: self.points, unnamed: None });
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let Some(own) = relative.get(&file.entry.path) else { continue };
            let slices = chosen(own, |_, ratios| self.shifted(ratios));
            let why = "; that is a unit's factor, off every one of them";
            found.extend(finding(rule, rule.severity, at, file, slices, why));
        }
        Ok(found)
    }
}

impl UnitFactors {
    /// Whether a slice is off by a unit's factor, up or down, from all its references.
    fn shifted(&self, ratios: &BTreeMap<String, f64>) -> bool {
        let [least, most] = self.factor;
        let factor = least..=most;
        self.all_agree(ratios, |ratio| factor.contains(&ratio))
            || self.all_agree(ratios, |ratio| factor.contains(&(1.0 / ratio)))
    }

    /// Whether all references are off alike, and enough of them. The same collector errs alike on other
    /// systems: these confirm, and do not acquit.
    fn all_agree(&self, ratios: &BTreeMap<String, f64>, off: impl Fn(f64) -> bool) -> bool {
        let (mut own, mut confirming) = (0, 0);
        for (reference, ratio) in ratios {
            match (reference == NEARBY, off(*ratio)) {
                (true, is_off) => confirming += usize::from(is_off),
                (false, true) => own += 1,
                (false, false) => return false,
            }
        }
        own > 0 && own + confirming >= self.references
    }
}
