//! Waivers themselves: those past their date, those that match nothing.

use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead, WaiverContext};
use crate::findings::{Severity, exceptions};

/// Returns one finding on the waivers file with all faults in `wrong`; empty without faults.
fn finding(rule: RuleHead<'_>, at: &WaiverContext<'_>, wrong: &[String]) -> Found {
    if wrong.is_empty() {
        return Found::new();
    }
    vec![rule.on_path(at.path, wrong.join("; "))]
}

/// The check for waivers that match no finding.
pub(crate) struct WaiverUnused;

impl Judge for WaiverUnused {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Waivers])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Waivers(at) = item else { return Found::new() };
        finding(rule, at, at.unused)
    }
}

/// The check for waivers whose end date has passed.
pub(crate) struct WaiverExpired;

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
