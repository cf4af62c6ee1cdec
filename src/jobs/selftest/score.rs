//! What was found of the faults, and what was found besides.
//!
//! A fault is found when one of its rules has a new finding, no info unless its `infos` say so, in the place where it was planted:
//! on its table, directory or system; of rows that it changes or adds where findings name rows, of its
//! slice where they name slices. A false alarm is a finding, no info, that the clean state has not, or not as
//! bad or of as many rows, of a rule that the fault does not imply, or in another place.

use std::collections::{BTreeMap, BTreeSet};

use super::Options;
use super::fault::{FaultClass, Faults, Variant};
use super::owner::{FindingReach, owner};
use super::rounds::Injection;
use crate::base::exit::Exit;
use crate::checks::rule::Rules;
use crate::findings::{Finding, Severity};

/// A fault of one size.
#[derive(Debug)]
pub struct FaultScore {
    /// Its id.
    pub id: String,
    /// Its size, for people.
    pub size: String,
    /// Whether it can always be found.
    pub class: FaultClass,
    /// Rules that find it.
    pub finds: Vec<String>,
    /// Rules that it may break beside those, in its place.
    may: Vec<String>,
    /// Rules that it may break in other places.
    elsewhere: Vec<String>,
    /// Times that it was planted.
    pub planted: usize,
    /// Times that it was found.
    pub found: usize,
    /// Times that a warning or an error found it.
    pub warned: usize,
    /// Whether an info on its rows finds it, too.
    infos: bool,
    /// The line of the chart that it is a point of.
    pub curve: Option<String>,
    /// What its size is by.
    pub by: Option<f64>,
    /// Rows planted, where rows are named.
    pub rows: u64,
    /// Those reported by the finding.
    pub rows_told: u64,
}

/// A rule.
#[derive(Debug, Default)]
pub struct RuleScore {
    /// Its severity.
    pub severity: Option<Severity>,
    /// Faults planted that it should find.
    pub planted: usize,
    /// Those found.
    pub found: usize,
    /// Rows planted of them, where rows are named.
    pub rows: u64,
    /// Those reported.
    pub rows_told: u64,
    /// Faults planted that do not imply it.
    pub others: usize,
    /// False alarms.
    pub alarms: usize,
    /// Those of them that are errors.
    pub alarm_errors: usize,
}

/// A fault that was not found.
#[derive(Debug)]
pub struct Missed {
    /// Its id.
    pub fault: String,
    /// Its size.
    pub size: String,
    /// Whether it can always be found.
    pub class: FaultClass,
    /// The table that has it.
    pub path: String,
}

/// A false alarm.
#[derive(Debug)]
pub struct Alarm {
    /// The rule.
    pub rule: String,
    /// How bad it says it is.
    pub severity: Severity,
    /// Where.
    pub path: String,
    /// The fault that brought it about; none where none is near.
    pub fault: Option<String>,
    /// What it says.
    pub message: String,
}

/// What a selftest finds.
#[derive(Debug, Default)]
pub struct Scores {
    /// Seed of the draw.
    pub seed: u64,
    /// Tables that faults were planted in.
    pub tables: usize,
    /// Their rows.
    pub rows: u64,
    /// Faults by id and size, in the order of the file.
    pub faults: Vec<FaultScore>,
    /// Rules by id.
    pub rules: BTreeMap<String, RuleScore>,
    /// Faults that were not found.
    pub missed: Vec<Missed>,
    /// What was found besides.
    pub alarms: Vec<Alarm>,
    always: BTreeSet<String>,
    beside: BTreeSet<String>,
}

impl Scores {
    pub(super) fn new(
        rules: &Rules,
        faults: &Faults,
        options: &Options,
        tables: usize,
        rows: u64,
    ) -> Self {
        let rule = |r: &std::sync::Arc<crate::checks::rule::Rule>| {
            (r.id.clone(), RuleScore { severity: Some(r.severity), ..RuleScore::default() })
        };
        Self {
            seed: options.seed,
            tables,
            rows,
            // Faults are planted in one state of a database; traces are none.
            rules: rules
                .all()
                .filter(|r| !r.check.needs().traces && !r.check.needs().changes)
                .map(rule)
                .collect(),
            always: faults.always.iter().cloned().collect(),
            beside: faults.beside.iter().cloned().collect(),
            ..Self::default()
        }
    }

    /// Takes up a fault of one size; the next number is its.
    pub(super) fn variant(&mut self, variant: Variant<'_>) {
        let fault = variant.fault;
        self.faults.push(FaultScore {
            id: fault.id.clone(),
            size: variant.size(),
            class: fault.class,
            finds: fault.finds.clone(),
            may: fault.may.clone(),
            elsewhere: fault.elsewhere.clone(),
            planted: 0,
            found: 0,
            warned: 0,
            infos: fault.infos,
            curve: fault.curve.clone(),
            by: variant.by,
            rows: 0,
            rows_told: 0,
        });
    }

    /// Scores the findings of a round; `is_new` says which of them the clean state lacks.
    pub(super) fn round(
        &mut self,
        injections: &[Injection<'_>],
        findings: &[Finding],
        is_new: &dyn Fn(&Finding) -> bool,
    ) {
        let mut found: Vec<Vec<&Finding>> = vec![Vec::new(); injections.len()];
        let mut noted: Vec<Vec<&Finding>> = vec![Vec::new(); injections.len()];
        for finding in findings {
            if finding.severity == Severity::Info && finding.is_new() {
                if let Some((at, FindingReach::Place)) = owner(injections, finding)
                    && self.finds(&injections[at], finding)
                {
                    noted[at].push(finding);
                }
                continue;
            }
            // Rows with findings of before that are changed now count for what was done to them, and
            // are not false alarms.
            let on_changed_rows = finding.severity != Severity::Info && finding.is_new();
            if !on_changed_rows && !is_new(finding) {
                continue;
            }
            let owner = owner(injections, finding);
            match owner {
                Some((at, FindingReach::Place)) if self.finds(&injections[at], finding) => {
                    found[at].push(finding);
                }
                Some((at, reach)) if self.implies(&injections[at], reach, finding) => {}
                _ if !is_new(finding) => {}
                _ => self.alarm(finding, owner.map(|(at, _)| injections[at].number)),
            }
        }
        for (injection, (mut found, noted)) in injections.iter().zip(found.into_iter().zip(noted)) {
            found.retain(|finding| injection.is_of_slice(finding));
            let fault = &mut self.faults[injection.number];
            fault.warned += usize::from(!found.is_empty());
            if fault.infos {
                found.extend(noted.into_iter().filter(|finding| injection.is_of_slice(finding)));
            }
            self.count(injection.number, !found.is_empty(), &injection.file.entry.path);
            self.count_rows(injection, &found);
        }
    }

    /// Whether the finding is one of those that a fault is to be found by.
    fn finds(&self, injection: &Injection<'_>, finding: &Finding) -> bool {
        self.faults[injection.number].finds.contains(&finding.rule)
    }

    /// Whether a fault may bring a finding of that rule about, in its place or elsewhere.
    fn implies(&self, injection: &Injection<'_>, reach: FindingReach, finding: &Finding) -> bool {
        let fault = &self.faults[injection.number];
        let rule = &finding.rule;
        match reach {
            FindingReach::Place => {
                names(&fault.finds, rule) || names(&fault.may, rule) || self.always.contains(rule)
            }
            FindingReach::Elsewhere => {
                let changes = fault.class != FaultClass::Control;
                names(&fault.elsewhere, rule) || changes && self.beside.contains(rule)
            }
        }
    }

    /// Counts how many of the rows of a fault are reported by what `found` it, where findings name rows.
    fn count_rows(&mut self, injection: &Injection<'_>, found: &[&Finding]) {
        let by_row = found.iter().filter(|f| f.is_new());
        let Some(told) = by_row.map(|f| f.rows).max() else { return };
        let planted = injection.planted.rows as u64;
        let told = told.min(planted);
        let fault = &mut self.faults[injection.number];
        fault.rows += planted;
        fault.rows_told += told;
        if let Some(rule) = fault.finds.first().and_then(|r| self.rules.get_mut(r)) {
            rule.rows += planted;
            rule.rows_told += told;
        }
    }

    /// Scores what is said of planted waivers.
    pub(super) fn waivers(&mut self, number: usize, told: &[Finding]) {
        let found = told.iter().any(|f| self.faults[number].finds.contains(&f.rule));
        self.faults[number].warned += usize::from(found);
        for finding in told {
            if !self.faults[number].finds.contains(&finding.rule) {
                self.alarm(finding, Some(number));
            }
        }
        self.count(number, found, ".perfdb-gate/waivers.yaml");
    }

    fn count(&mut self, number: usize, found: bool, path: &str) {
        let fault = &mut self.faults[number];
        fault.planted += 1;
        fault.found += usize::from(found);
        for (id, rule) in &mut self.rules {
            if fault.finds.first() == Some(id) {
                rule.planted += 1;
                rule.found += usize::from(found);
            }
            rule.others += usize::from(!names(&fault.finds, id) && !names(&fault.may, id));
        }
        if !found && fault.class != FaultClass::Control {
            self.missed.push(Missed {
                fault: fault.id.clone(),
                size: fault.size.clone(),
                class: fault.class,
                path: path.to_owned(),
            });
        }
    }

    fn alarm(&mut self, finding: &Finding, fault: Option<usize>) {
        if let Some(rule) = self.rules.get_mut(&finding.rule) {
            rule.alarms += 1;
            rule.alarm_errors += usize::from(finding.severity == Severity::Error);
        }
        let named = |number: usize| {
            let fault = &self.faults[number];
            format!("{} {}", fault.id, fault.size).trim_end().to_owned()
        };
        self.alarms.push(Alarm {
            rule: finding.rule.clone(),
            severity: finding.severity,
            path: finding.path.clone(),
            fault: fault.map(named),
            message: finding.message.clone(),
        });
    }

    /// Faults planted.
    pub fn planted(&self) -> usize {
        self.faults.iter().map(|f| f.planted).sum()
    }

    /// How the run ends: inconclusive where nothing was planted, with findings where a fault was
    /// missed that can always be found, or a false alarm is an error.
    pub fn exit(&self) -> Exit {
        let missed = self.missed.iter().any(|m| m.class == FaultClass::Structural);
        let alarmed = self.alarms.iter().any(|a| a.severity == Severity::Error);
        if self.planted() == 0 {
            Exit::Inconclusive
        } else if missed || alarmed {
            Exit::Findings
        } else {
            Exit::Clean
        }
    }
}

/// Whether some rules name one, by its id or as any.
fn names(rules: &[String], rule: &str) -> bool {
    rules.iter().any(|r| r == rule || r == "*")
}
