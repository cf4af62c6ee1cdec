//! Waivers past their date.

use super::finding;
use crate::checks::WaiverContext;
use crate::checks::judge::{CheckInputs, Judge};
use crate::checks::rule::Rule;
use crate::findings::Finding;

/// Waivers past their date.
pub struct WaiverExpired;

impl Judge for WaiverExpired {
    fn needs(&self) -> CheckInputs {
        CheckInputs { waivers: true, ..CheckInputs::default() }
    }

    fn waivers(&self, rule: &Rule, at: &WaiverContext<'_>) -> Option<Finding> {
        finding(rule, at, at.expired)
    }
}
