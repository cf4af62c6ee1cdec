//! Scores found faults and false alarms.
//!
//! A fault is found if one of its rules has a new finding in its place: on its table, directory or
//! system, on changed or added rows if findings name rows, and on its slice if findings name
//! slices. An info counts only if the fault's `infos` is set. A false alarm is a new finding,
//! except an info, of a rule that the fault does not imply, or in another place.

use std::collections::BTreeMap;

use super::fault::{FaultClass, Variant};
use super::injection::Injection;
use super::owner::{FaultRelation, owner};
use perfdb_gate::base::error::Exit;
use perfdb_gate::findings::{Finding, Severity};

/// The score of a fault in one size.
#[derive(Debug)]
pub struct FaultScore {
    /// The fault and its size.
    pub variant: Variant,
    /// Number of times that the fault was planted.
    pub planted: usize,
    /// Number of times that the fault was found.
    pub found: usize,
    /// Number of times that a warning or an error found the fault.
    pub warned: usize,
    /// Number of rows planted, for findings that name rows.
    pub rows: u64,
    /// Number of planted rows that findings report.
    pub reported_rows: u64,
}

/// The score of a rule over all faults and false alarms.
#[derive(Debug, Default)]
pub struct RuleScore {
    /// Number of planted faults that the rule should find.
    pub planted: usize,
    /// Number of faults found.
    pub found: usize,
    /// Number of rows planted, for findings that name rows.
    pub rows: u64,
    /// Number of planted rows that findings report.
    pub reported_rows: u64,
    /// Number of planted faults that do not imply the rule.
    pub others: usize,
    /// Number of false alarms.
    pub alarms: usize,
    /// Number of false alarms that are errors.
    pub alarm_errors: usize,
}

/// A fault that was not found.
#[derive(Debug)]
pub struct MissedFault {
    /// The fault and its size.
    pub variant: Variant,
    /// Path of the table with the fault.
    pub path: String,
}

/// A finding that no planted fault explains.
#[derive(Debug)]
pub struct FalseAlarm {
    /// The finding.
    pub finding: Finding,
    /// The nearest planted fault, if one is near.
    pub fault: Option<Variant>,
}

/// The result of a selftest.
#[derive(Debug)]
pub struct Scores {
    /// Seed of the random choice.
    pub seed: u64,
    /// Number of tables in which faults can be planted.
    pub tables: usize,
    /// Number of rows that were judged in the clean state.
    pub rows: u64,
    /// Scores of faults by size, in the order of the file.
    pub faults: Vec<FaultScore>,
    /// Severities of rules by id.
    pub rules: BTreeMap<String, Severity>,
    /// Faults that were not found.
    pub missed: Vec<MissedFault>,
    /// False alarms.
    pub alarms: Vec<FalseAlarm>,
    /// Ids of rules that may report any change of a table.
    pub(super) always: Vec<String>,
    /// Ids of rules that may report a fault on tables of the same name.
    pub(super) beside: Vec<String>,
}

impl FaultScore {
    pub(super) fn new(variant: &Variant) -> Self {
        let variant = variant.clone();
        Self { variant, planted: 0, found: 0, warned: 0, rows: 0, reported_rows: 0 }
    }
}

impl Scores {
    /// Scores the findings of a round; `is_new` returns true if the clean state lacks a finding.
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
            // A finding that the clean state also has counts on changed rows, but is not a false
            // alarm.
            if !finding.is_new() && (is_info || !is_new(finding)) {
                continue;
            }
            let owner = owner(injections, finding);
            match owner {
                Some((at, relation))
                    if !relation.is_elsewhere() && injections[at].finds(finding) =>
                {
                    let all = if is_info { &mut infos } else { &mut found };
                    all[at].push(finding);
                }
                Some((at, relation)) if self.implies(&injections[at], relation, finding) => {}
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
            if let Some(reported) = by_row.map(|f| f.rows).max() {
                let planted = injection.planted.rows as u64;
                let fault = &mut self.faults[injection.number];
                fault.rows += planted;
                fault.reported_rows += reported.min(planted);
            }
        }
    }

    /// Returns true if a fault may cause a finding, in its own place or elsewhere.
    fn implies(
        &self,
        injection: &Injection<'_>,
        relation: FaultRelation,
        finding: &Finding,
    ) -> bool {
        let (fault, rule) = (&injection.variant.fault, &finding.rule);
        if relation.is_elsewhere() {
            let changes = fault.class != FaultClass::Control;
            fault.may_break_elsewhere(rule) || changes && self.beside.contains(rule)
        } else {
            fault.may_break(rule) || self.always.contains(rule)
        }
    }

    /// Scores the findings on planted waivers.
    pub(super) fn waivers(&mut self, number: usize, findings: &[Finding]) {
        let finds = self.faults[number].variant.fault.finds.clone();
        let (found, others): (Vec<_>, Vec<_>) =
            findings.iter().partition(|f| finds.contains(&f.rule));
        self.faults[number].warned += usize::from(!found.is_empty());
        others.into_iter().for_each(|finding| self.alarm(finding, Some(number)));
        self.count(number, !found.is_empty(), ".perfdb-gate/waivers.yaml");
    }

    /// Counts a planted fault, and records it if it was missed.
    fn count(&mut self, number: usize, found: bool, path: &str) {
        let fault = &mut self.faults[number];
        fault.planted += 1;
        fault.found += usize::from(found);
        if !found && fault.variant.fault.class != FaultClass::Control {
            let variant = fault.variant.clone();
            self.missed.push(MissedFault { variant, path: path.to_owned() });
        }
    }

    /// Records a false alarm near a fault.
    fn alarm(&mut self, finding: &Finding, fault: Option<usize>) {
        let fault = fault.map(|number| self.faults[number].variant.clone());
        self.alarms.push(FalseAlarm { finding: finding.clone(), fault });
    }

    /// Returns the score of a rule.
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
                score.reported_rows += scored.reported_rows;
            }
            if !fault.may_break(id) {
                score.others += scored.planted;
            }
        }
        score
    }

    /// Returns the number of planted faults.
    pub fn planted(&self) -> usize {
        self.faults.iter().map(|f| f.planted).sum()
    }

    /// Returns the exit code: inconclusive if nothing was planted, findings if a structural fault
    /// was missed or a false alarm is an error.
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
