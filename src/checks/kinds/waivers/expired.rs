//! Waivers past their date.

use super::finding;
use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead};
use crate::findings::{Severity, exceptions};

/// The check for waivers past their date.
pub struct WaiverExpired;

impl Judge for WaiverExpired {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Waivers])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Waivers(at) = item else { return Found::new() };
        // The owners' exceptions are judged by their own gate, too, so they are at most a warning here.
        let is_own = at.path != exceptions::PATH;
        let most = if is_own { Severity::Error } else { Severity::Warning };
        finding(RuleHead { severity: rule.severity.at_most(most), ..rule }, at, at.expired)
    }
}
