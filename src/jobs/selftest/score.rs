//! What was found of the faults, and what was found besides.
//!
//! A fault is found when one of its rules has a new finding (an info counts only if its `infos` say so) in
//! the place where it was planted: on its table, directory or system, on rows that it changes or adds where
//! findings name rows, and on its slice where they name slices. A false alarm is a new finding, except an
//! info, of a rule that the fault does not imply, or in another place.

use std::collections::BTreeMap;

use super::fault::{FaultClass, Variant};
use super::injection::Injection;
use super::owner::{FindingReach, owner};
use crate::base::exit::Exit;
use crate::findings::{Finding, Severity};

/// A fault of one size.
#[derive(Debug)]
pub struct FaultScore {
    /// The fault and its size.
    pub variant: Variant,
    /// Times that it was planted.
    pub planted: usize,
    /// Times that it was found.
    pub found: usize,
    /// Times that a warning or an error found it.
    pub warned: usize,
    /// Rows planted, where findings name rows.
    pub rows: u64,
    /// Rows that the finding reports.
    pub rows_told: u64,
}

/// A rule, summed up over faults and false alarms.
#[derive(Debug, Default)]
pub struct RuleScore {
    /// Faults planted that it should find.
    pub planted: usize,
    /// Faults found.
    pub found: usize,
    /// Rows planted, where findings name rows.
    pub rows: u64,
    /// Rows reported.
    pub rows_told: u64,
    /// Faults planted that do not imply it.
    pub others: usize,
    /// False alarms.
    pub alarms: usize,
    /// False alarms that are errors.
    pub alarm_errors: usize,
}

/// A fault that was not found.
#[derive(Debug)]
pub struct MissedFault {
    /// The fault and its size.
    pub variant: Variant,
    /// The table that has it.
    pub path: String,
}

/// A false alarm.
#[derive(Debug)]
pub struct FalseAlarm {
    /// The finding.
    pub finding: Finding,
    /// The fault that is nearest, if one is near.
    pub fault: Option<Variant>,
}

/// The result of a selftest.
#[derive(Debug)]
pub struct Scores {
    /// Seed of the draw.
    pub seed: u64,
    /// Tables that faults were planted in.
    pub tables: usize,
    /// Their rows.
    pub rows: u64,
    /// Faults by id and size, in the order of the file.
    pub faults: Vec<FaultScore>,
    /// Severities of rules by id.
    pub rules: BTreeMap<String, Severity>,
    /// Faults that were not found.
    pub missed: Vec<MissedFault>,
    /// False alarms.
    pub alarms: Vec<FalseAlarm>,
    /// Rules that any change of a table may break.
    pub(super) always: Vec<String>,
    /// Rules that a fault may break on tables of the same name.
    pub(super) beside: Vec<String>,
}

impl FaultScore {
    pub(super) fn new(variant: &Variant) -> Self {
        let variant = variant.clone();
        Self { variant, planted: 0, found: 0, warned: 0, rows: 0, rows_told: 0 }
    }
}

impl Scores {
    /// Scores the findings of a round; `is_new` says which of them the clean state lacks.
    pub(super) fn round(
        &mut self,
        injections: &[Injection<'_>],
        findings: &[Finding],
        is_new: &dyn Fn(&Finding) -> bool,
    ) {
        let mut found: Vec<Vec<&Finding>> = vec![Vec::new(); injections.len()];
        let mut infos: Vec<Vec<&Finding>> = vec![Vec::new(); injections.len()];
        for finding in findings {
            let is_info = finding.severity == Severity::Info;
            // A finding of the clean state counts on rows that are changed, but is not a false alarm.
            if !finding.is_new() && (is_info || !is_new(finding)) {
                continue;
            }
            let owner = owner(injections, finding);
            match owner {
                Some((at, FindingReach::Place)) if injections[at].finds(finding) => {
                    let all = if is_info { &mut infos } else { &mut found };
                    all[at].push(finding);
                }
                Some((at, reach)) if self.implies(&injections[at], reach, finding) => {}
                _ if is_info || !is_new(finding) => {}
                _ => self.alarm(finding, owner.map(|(at, _)| injections[at].number)),
            }
        }
        for ((injection, mut found), infos) in injections.iter().zip(found).zip(infos) {
            found.retain(|finding| injection.is_of_slice(finding));
            self.faults[injection.number].warned += usize::from(!found.is_empty());
            if injection.variant.fault.infos {
                found.extend(infos.into_iter().filter(|finding| injection.is_of_slice(finding)));
            }
            self.count(injection.number, !found.is_empty(), &injection.file.entry.path);
            let by_row = found.iter().filter(|f| f.is_new());
            if let Some(told) = by_row.map(|f| f.rows).max() {
                let planted = injection.planted.rows as u64;
                let fault = &mut self.faults[injection.number];
                fault.rows += planted;
                fault.rows_told += told.min(planted);
            }
        }
    }

    /// Whether a fault may bring a finding of that rule about, in its place or elsewhere.
    fn implies(&self, injection: &Injection<'_>, reach: FindingReach, finding: &Finding) -> bool {
        let (fault, rule) = (&injection.variant.fault, &finding.rule);
        match reach {
            FindingReach::Place => fault.may_break(rule) || self.always.contains(rule),
            FindingReach::Elsewhere => {
                let changes = fault.class != FaultClass::Control;
                fault.may_break_elsewhere(rule) || changes && self.beside.contains(rule)
            }
        }
    }

    /// Scores the findings on planted waivers.
    pub(super) fn waivers(&mut self, number: usize, told: &[Finding]) {
        let finds = self.faults[number].variant.fault.finds.clone();
        let (found, others): (Vec<_>, Vec<_>) = told.iter().partition(|f| finds.contains(&f.rule));
        self.faults[number].warned += usize::from(!found.is_empty());
        others.into_iter().for_each(|finding| self.alarm(finding, Some(number)));
        self.count(number, !found.is_empty(), ".perfdb-gate/waivers.yaml");
    }

    fn count(&mut self, number: usize, found: bool, path: &str) {
        let fault = &mut self.faults[number];
        fault.planted += 1;
        fault.found += usize::from(found);
        if !found && fault.variant.fault.class != FaultClass::Control {
            let variant = fault.variant.clone();
            self.missed.push(MissedFault { variant, path: path.to_owned() });
        }
    }

    fn alarm(&mut self, finding: &Finding, fault: Option<usize>) {
        let fault = fault.map(|number| self.faults[number].variant.clone());
        self.alarms.push(FalseAlarm { finding: finding.clone(), fault });
    }

    /// The score of a rule.
    pub(super) fn rule(&self, id: &str) -> RuleScore {
        let alarms = || self.alarms.iter().filter(|a| a.finding.rule == id);
        let is_error = |a: &&FalseAlarm| a.finding.severity == Severity::Error;
        let mut score = RuleScore {
            alarms: alarms().count(),
            alarm_errors: alarms().filter(is_error).count(),
            ..RuleScore::default()
        };
        for scored in &self.faults {
            let fault = &scored.variant.fault;
            if fault.finds.first().is_some_and(|first| first == id) {
                score.planted += scored.planted;
                score.found += scored.found;
                score.rows += scored.rows;
                score.rows_told += scored.rows_told;
            }
            if !fault.may_break(id) {
                score.others += scored.planted;
            }
        }
        score
    }

    /// Faults planted.
    pub fn planted(&self) -> usize {
        self.faults.iter().map(|f| f.planted).sum()
    }

    /// The exit code: inconclusive if nothing was planted, findings if a structural fault was missed or a
    /// false alarm is an error.
    pub fn exit(&self) -> Exit {
        let missed = |m: &MissedFault| m.variant.fault.class == FaultClass::Structural;
        let is_error = |a: &FalseAlarm| a.finding.severity == Severity::Error;
        if self.planted() == 0 {
            Exit::Inconclusive
        } else if self.missed.iter().any(missed) || self.alarms.iter().any(is_error) {
            Exit::Findings
        } else {
            Exit::Clean
        }
    }
}
