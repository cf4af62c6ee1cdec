//! The only place that waives, sorts and counts findings.

use jiff::civil::Date;

use super::{Finding, Novelty, Severity};
use crate::findings::baseline::Baseline;
use crate::findings::exceptions::Exceptions;
use crate::findings::waiver::{Applied, WaiverError, Waivers};

/// Collects findings, waives them, compares them with a baseline, sorts and counts them.
#[derive(Debug, Default)]
pub struct Sink {
    pub(super) findings: Vec<Finding>,
    baselined: u64,
}

/// Numbers of findings by severity. Waived findings and those of the baseline or the base are counted separately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of errors.
    pub errors: u64,
    /// Number of warnings.
    pub warnings: u64,
    /// Number of findings with severity info.
    pub infos: u64,
    /// Number of waived findings, not included in the severities.
    pub waived: u64,
    /// Number of findings in the baseline, not included in the severities.
    pub baselined: u64,
    /// Number of findings that the base of a pull request has, not included in the severities.
    pub old: u64,
}

impl Sink {
    /// Adds findings in any order.
    pub(crate) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
    }

    /// Keeps the findings for which `is_kept` is true.
    pub(crate) fn retain(&mut self, is_kept: impl FnMut(&Finding) -> bool) {
        self.findings.retain(is_kept);
    }

    /// Calls `say` on every finding; `say` may change the finding.
    pub(crate) fn for_each_mut(&mut self, say: impl FnMut(&mut Finding)) {
        self.findings.iter_mut().for_each(say);
    }

    /// Applies waivers; returns the waivers that expired or matched nothing.
    pub(crate) fn waive(&mut self, waivers: &Waivers, today: Date) -> Result<Applied, WaiverError> {
        waivers.apply(&mut self.findings, today)
    }

    /// Marks each finding as new or as known to the baseline.
    pub(crate) fn compare(&mut self, baseline: &Baseline) {
        for finding in self.findings.iter_mut().filter(|f| f.novelty.as_new() != Some(false)) {
            let new = baseline.is_new(finding);
            finding.novelty = Novelty::of(new);
            self.baselined += u64::from(!new && finding.waived_by.is_none());
        }
    }

    /// Applies the exceptions that the database's owners approved. Returns descriptions of expired exceptions.
    pub(crate) fn excuse(
        &mut self,
        exceptions: &Exceptions,
        today: Date,
        is_rule: &dyn Fn(&str) -> bool,
    ) -> Vec<String> {
        exceptions.apply(&mut self.findings, today, is_rule)
    }

    /// Returns the findings in the order of reports, and their counts.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, Counts) {
        self.findings.sort_by(|a, b| a.order().cmp(&b.order()));
        let mut counts = Counts::default();
        for finding in &self.findings {
            let counter = match (finding.counts(), finding.severity) {
                (false, _) if finding.waived_by.is_some() => &mut counts.waived,
                (false, _) => &mut counts.old,
                (true, Severity::Error) => &mut counts.errors,
                (true, Severity::Warning) => &mut counts.warnings,
                (true, Severity::Info) => &mut counts.infos,
            };
            *counter += 1;
        }
        counts.baselined = self.baselined;
        counts.old -= self.baselined;
        (self.findings, counts)
    }
}
