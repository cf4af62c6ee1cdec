//! Waivers that match nothing.

use super::finding;
use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead};

/// The check for waivers that match nothing.
pub struct WaiverUnused;

impl Judge for WaiverUnused {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Waivers])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Waivers(at) = item else { return Found::new() };
        finding(rule, at, at.unused)
    }
}
