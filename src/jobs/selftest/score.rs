//! What was found of the faults, and what was found besides.
//!
//! A fault is found when one of its rules has a new finding, no info, in the place where it was planted:
//! on its table, directory or system; of rows that it changes or adds where findings tell rows, of its
//! slice where they tell slices. A false alarm is a finding, no info, that the clean state has not, or not as
//! bad or of as many rows, of a rule that the fault does not imply, or in another place.

use std::collections::{BTreeMap, BTreeSet};

use super::Options;
use super::fault::{Class, Faults, Variant};
use super::rounds::Plot;
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
    pub class: Class,
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
    /// Rows planted, where rows tell.
    pub rows: u64,
    /// Those told by the finding.
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
    /// Rows planted of them, where rows tell.
    pub rows: u64,
    /// Those told.
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
    pub class: Class,
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
            // Faults are planted in databases; traces are none.
            rules: rules.all().filter(|r| !r.check.needs().traces).map(rule).collect(),
            always: faults.always.iter().cloned().collect(),
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
            rows: 0,
            rows_told: 0,
        });
    }

    /// Scores the findings of a round; `is_new` tells those that the clean state lacks.
    pub(super) fn round(
        &mut self,
        plots: &[Plot<'_>],
        findings: &[Finding],
        is_new: &dyn Fn(&Finding) -> bool,
    ) {
        let mut told: Vec<Vec<&Finding>> = vec![Vec::new(); plots.len()];
        // Rows that were found before and are changed now are old news, but for what was done to them.
        let brought = |f: &&Finding| f.severity != Severity::Info && f.is_new();
        for finding in findings.iter().filter(|f| brought(f) || is_new(f)) {
            let owner = owner(plots, finding);
            let implied = owner.is_some_and(|(plot, here)| {
                let fault = &self.faults[plots[plot].number];
                let any = |rules: &[String]| rules.iter().any(|r| *r == finding.rule || r == "*");
                match here {
                    true => {
                        any(&fault.finds) || any(&fault.may) || self.always.contains(&finding.rule)
                    }
                    false => any(&fault.elsewhere),
                }
            });
            match owner {
                Some((plot, true))
                    if self.faults[plots[plot].number].finds.contains(&finding.rule) =>
                {
                    told[plot].push(finding);
                }
                _ if implied || !is_new(finding) => {}
                _ => self.alarm(finding, owner.map(|(plot, _)| plots[plot].number)),
            }
        }
        for (plot, found) in plots.iter().zip(told) {
            let found: Vec<&Finding> = found.into_iter().filter(|f| of_slice(plot, f)).collect();
            let by_row = |f: &&&Finding| f.is_new();
            let rows = found.iter().filter(by_row).map(|f| f.rows).max();
            self.count(plot.number, !found.is_empty(), &plot.file.entry.path);
            let rows =
                rows.map(|told| (told.min(plot.planted.rows as u64), plot.planted.rows as u64));
            if let Some((told, planted)) = rows {
                let fault = &mut self.faults[plot.number];
                (fault.rows, fault.rows_told) = (fault.rows + planted, fault.rows_told + told);
                if let Some(rule) = fault.finds.first().and_then(|r| self.rules.get_mut(r)) {
                    (rule.rows, rule.rows_told) = (rule.rows + planted, rule.rows_told + told);
                }
            }
        }
    }

    /// Scores what is said of planted waivers.
    pub(super) fn waivers(&mut self, number: usize, told: &[Finding]) {
        let found = told.iter().any(|f| self.faults[number].finds.contains(&f.rule));
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
            let implies = |rules: &[String]| rules.iter().any(|r| r == id || r == "*");
            if fault.finds.first() == Some(id) {
                rule.planted += 1;
                rule.found += usize::from(found);
            }
            rule.others += usize::from(!implies(&fault.finds) && !implies(&fault.may));
        }
        if !found && fault.class != Class::Control {
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

    /// The exit code: 3 where nothing was planted, 1 where a fault was missed that can always be
    /// found, or a false alarm is an error.
    pub fn code(&self) -> u8 {
        let missed = self.missed.iter().any(|m| m.class == Class::Structural);
        let alarmed = self.alarms.iter().any(|a| a.severity == Severity::Error);
        match self.planted() {
            0 => 3,
            _ => u8::from(missed || alarmed),
        }
    }
}

/// The fault that a finding is near to, and whether it is in the fault's place.
fn owner(plots: &[Plot<'_>], finding: &Finding) -> Option<(usize, bool)> {
    let position = |is: &dyn Fn(&Plot<'_>) -> bool| plots.iter().position(is);
    let other = finding.evidence.other.as_deref();
    let here = |p: &Plot<'_>| p.paths.contains(&finding.path);
    // Of two tables that are alike either may be told.
    let twin = |p: &Plot<'_>| other.is_some_and(|o| p.paths.contains(o));
    // What a version takes from the table that is gone.
    let donor = |p: &Plot<'_>| {
        finding.parts.contains(&format!("{} from {}", p.file.table, p.file.place.version))
    };
    let table = |p: &Plot<'_>| {
        finding.place.as_ref() == Some(&p.file.place)
            && finding.table.as_ref() == Some(&p.file.table)
    };
    // A model lacks what its version, or one that takes rows from it, does.
    let version = |p: &Plot<'_>| {
        let place = finding.place.as_ref().filter(|_| finding.table.is_none());
        place.is_some_and(|f| {
            let own = &p.file.place;
            (&f.system, &f.backend) == (&own.system, &own.backend)
        })
    };
    let machine = |p: &Plot<'_>| {
        let yaml = |path: &String| path.ends_with(&format!("/{}.yaml", p.file.place.system));
        let place = finding.place.as_ref();
        p.planted.changes.keys().any(yaml) && place.is_some_and(|f| f.system == p.file.place.system)
    };
    let here: [&dyn Fn(&Plot<'_>) -> bool; 5] = [&here, &table, &twin, &machine, &version];
    if finding.table.is_none()
        && position(here[0]).is_none()
        && let Some(plot) = position(&donor)
    {
        return Some((plot, false));
    }
    if let Some(plot) = here.iter().find_map(|is| position(is)) {
        return Some((plot, true));
    }
    let named = |p: &Plot<'_>| finding.table.as_ref() == Some(&p.file.table);
    position(&named).map(|plot| (plot, false))
}

/// Whether a finding that tells slices tells the planted one.
fn of_slice(plot: &Plot<'_>, finding: &Finding) -> bool {
    let slices = &finding.evidence.slices;
    let Some(planted) = plot.planted.slice.as_ref().filter(|_| !slices.is_empty()) else {
        return true;
    };
    slices.iter().any(|s| s.slice == *planted)
}
