//! Waivers past their date.

use super::finding;
use crate::checks::context::Item;
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;

/// Waivers past their date.
pub struct WaiverExpired;

impl Judge for WaiverExpired {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Waivers])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Waivers(at) = item else { return Found::new() };
        finding(rule, at, at.expired)
    }
}
