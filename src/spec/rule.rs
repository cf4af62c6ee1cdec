//! A rule: one YAML file that holds its whole life.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::Check;
use crate::finding::Severity;

/// What is looked for, why it matters, what to do, and how it is checked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Kebab-case, the file's stem; part of the contract.
    pub id: String,
    /// The severity of its findings, unless the check says another.
    pub severity: Severity,
    /// One line for lists.
    pub summary: String,
    /// What it looks for.
    pub what: String,
    /// Why that matters.
    pub why: String,
    /// What to do instead.
    pub instead: String,
    /// The check that finds it, with its parameters.
    pub check: Check,
    /// A tree in which it fires.
    pub bad: Example,
    /// A tree in which it does not.
    pub good: Example,
}

/// A small tree of files, synthetic, that a rule is tried on.
///
/// Paths are relative to the tree's top. A system YAML that is not given is taken from the
/// embedded facts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Contents by path.
    pub files: BTreeMap<String, String>,
    /// Rows the finding must count, where the rule counts rows.
    #[serde(default)]
    pub rows: Option<u64>,
}
