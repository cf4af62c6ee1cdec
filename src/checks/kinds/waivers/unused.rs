//! Waivers that match nothing.

use super::finding;
use crate::checks::WaiverContext;
use crate::checks::judge::{CheckInputs, Judge};
use crate::checks::rule::Rule;
use crate::findings::Finding;

/// Waivers that match nothing.
pub struct WaiverUnused;

impl Judge for WaiverUnused {
    fn needs(&self) -> CheckInputs {
        CheckInputs { waivers: true, ..CheckInputs::default() }
    }

    fn waivers(&self, rule: &Rule, at: &WaiverContext<'_>) -> Option<Finding> {
        finding(rule, at, at.unused)
    }
}
