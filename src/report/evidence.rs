//! The evidence that a change of a collector owes, by framework and family.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::words::{count, plural};

/// The most pairs that the line names.
const NAMED: usize = 3;

/// The evidence that a change owes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// What is due, by framework, family and reason.
    pub due: Vec<EvidenceDue>,
    /// Why the evidence cannot be determined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The reason for which evidence is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceReason {
    /// The pinned version or image of the framework changed.
    PinVersion,
    /// The code of a collector changed.
    CollectorCode,
    /// The files that decide which cases are measured changed.
    CasePlan,
}

impl EvidenceReason {
    /// All reasons, in the order of reports.
    pub const ALL: [Self; 3] = [Self::PinVersion, Self::CollectorCode, Self::CasePlan];

    /// Returns the name in the repository's policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PinVersion => "pin_version",
            Self::CollectorCode => "collector_code",
            Self::CasePlan => "case_plan",
        }
    }
}

/// The evidence that a framework and family owe for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceDue {
    /// The framework, as the manifest of frameworks names it.
    pub framework: String,
    /// The family of tables.
    pub family: String,
    /// What changed.
    pub reason: EvidenceReason,
    /// What the policy requires for that reason.
    pub requirement: String,
    /// The systems and tables whose evidence the head has, such as `h200_sxm gemm_perf`.
    pub present: Vec<String>,
    /// The systems and tables whose evidence is missing.
    pub missing: Vec<String>,
}

impl EvidenceDue {
    /// Words the pair, the reason, and what is missing.
    pub fn text(&self) -> String {
        let Self { framework, family, reason, requirement, present, missing } = self;
        let state = match missing.first() {
            None => format!("{} present", count(present.len())),
            Some(first) if missing.len() == 1 => format!("{first} is missing"),
            Some(first) => format!("{} missing, for example {first}", count(missing.len())),
        };
        format!("{framework} {family} ({}, {requirement}): {state}", reason.name())
    }
}

impl Evidence {
    /// Sums up the evidence in one line; `None` if nothing is due.
    pub fn line(&self) -> Option<String> {
        if let Some(why) = &self.failed {
            return Some(format!("Evidence: what the change owes cannot be determined: {why}"));
        }
        let missing: Vec<&EvidenceDue> =
            self.due.iter().filter(|due| !due.missing.is_empty()).collect();
        let named: Vec<String> = missing.iter().take(NAMED).map(|due| due.text()).collect();
        let more = missing.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; {} more", count(more)) } else { String::new() };
        let all = plural(self.due.len(), "requirement");
        let state = match missing.len() {
            0 => "all present".to_owned(),
            n => format!("{} without evidence: {}{more}", count(n), named.join("; ")),
        };
        (!self.due.is_empty()).then(|| format!("Evidence due: {all}, {state}"))
    }
}
