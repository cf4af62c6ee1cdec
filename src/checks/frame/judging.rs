//! The inputs and the result of judging one state, or two states against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::state::JudgedState;
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::rule::{Rule, Rules};
use crate::database::diff::{ChangedFacts, Details, TableDiff};
use crate::database::ledger::Ledger;
use crate::findings::{Finding, Repaired};

/// The rules and logs that are the same for all states.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The rules of the run.
    pub rules: &'a [Arc<Rule>],
    /// All known rules, also those that do not run.
    pub all_rules: &'a Rules,
    /// The failures that a collector logged, if its log was given.
    pub ledger: Option<&'a Ledger>,
}

/// The result of judging a state or a pull request.
#[derive(Default)]
pub(crate) struct Judgement {
    /// Findings of the head, in no order.
    pub findings: Vec<Finding>,
    /// Findings of the base that the head no longer has.
    pub repaired: Vec<Repaired>,
    /// The differences of tables between base and head, sorted by path.
    pub diff: Vec<TableDiff>,
    /// The number of judged files that are not tables: sidecars, system YAMLs and files of facts.
    pub files: u64,
    /// The number of rows of the judged tables.
    pub rows: u64,
    /// Sorted paths of the judged tables that are in git-LFS and were not fetched.
    pub in_lfs: Vec<String>,
    /// Errors that the pull request hides by changing facts, such as a system's YAML. With the facts of the base, the
    /// head's added or changed rows would have these errors.
    pub hidden_by_facts: Vec<Finding>,
    /// The ids of the rules that examined the rows of each changed table, by the table's path.
    pub examined: BTreeMap<String, BTreeSet<String>>,
}

impl Judgement {
    /// Drops all findings of rules that are not in `rules`.
    pub(crate) fn keep(&mut self, rules: &[Arc<Rule>]) {
        let is_asked = |finding: &Finding| rules.iter().any(|rule| rule.id == finding.rule);
        self.findings.retain(is_asked);
        self.repaired.retain(|repaired| is_asked(&repaired.finding));
    }
}

/// What one run over all tables judges: the database's states, such as base and head, and the rules.
pub(super) struct JudgeRun<'a> {
    pub terms: Terms<'a>,
    pub needs: CheckInputs,
    /// The judged states, in order: the base (if there is one), the head, and the head under the facts of the base (if
    /// excused errors are judged).
    pub states: Vec<JudgedState<'a>>,
    /// The index of the head in `states`.
    pub head: usize,
    /// Paths of the tables in the head that all rules judge. Other tables only serve as references.
    pub subjects: BTreeSet<&'a str>,
    pub changed_facts: Option<ChangedFacts<'a>>,
    pub details: Option<&'a Details>,
}

impl<'a> JudgeRun<'a> {
    /// Iterates over the rules that judge tables against each other.
    pub(crate) fn comparing_rules(&self) -> impl Iterator<Item = &'a Arc<Rule>> + use<'a> {
        self.terms.rules.iter().filter(|rule| rule.check.needs().has(Input::Peers))
    }

    pub(crate) fn head(&self) -> &JudgedState<'a> {
        &self.states[self.head]
    }

    /// Returns true if a base and a head are compared.
    pub(crate) fn has_base(&self) -> bool {
        self.head > 0
    }

    /// Returns the index in `states` of the head that is judged with the facts of the base; `None` if `states` lacks
    /// it.
    pub(crate) fn excused_state(&self) -> Option<usize> {
        (self.states.len() > self.head + 1).then_some(self.head + 1)
    }
}
