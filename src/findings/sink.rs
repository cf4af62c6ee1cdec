//! The one place that filters, waives, sorts and counts findings.

use jiff::civil::Date;

use super::{Finding, Novelty, Severity};
use crate::findings::baseline::Baseline;
use crate::findings::waiver::{Applied, WaiverError, Waivers};

/// Collects findings; the only place that waives, compares with a baseline, sorts and counts.
#[derive(Debug, Default)]
pub struct Sink {
    findings: Vec<Finding>,
    baselined: u64,
}

/// Findings by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Infos.
    pub infos: u64,
    /// Waived, not counted above.
    pub waived: u64,
    /// Known to the baseline, not counted above.
    pub baselined: u64,
    /// There before a pull request, not counted above.
    pub old: u64,
}

impl Sink {
    /// Takes findings in any order.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
    }

    /// Says of each finding what it means for predictions.
    pub fn each(&mut self, say: impl FnMut(&mut Finding)) {
        self.findings.iter_mut().for_each(say);
    }

    /// Applies waivers; what is to be said of them comes back.
    pub fn waive(&mut self, waivers: &Waivers, today: Date) -> Result<Applied, WaiverError> {
        waivers.apply(&mut self.findings, today)
    }

    /// Distinguishes new findings from those that a baseline knows.
    pub fn compare(&mut self, baseline: &Baseline) {
        for finding in self.findings.iter_mut().filter(|f| f.novelty.as_new() != Some(false)) {
            let new = baseline.is_new(finding);
            finding.novelty = Novelty::of(new);
            self.baselined += u64::from(!new && finding.waived_by.is_none());
        }
    }

    /// The findings in the order of reports, and their counts.
    pub fn finish(mut self) -> (Vec<Finding>, Counts) {
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
