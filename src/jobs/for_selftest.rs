//! The parts of the library that the crate `selftest/` uses and that are not public otherwise. They
//! are not part of the library's interface.

use std::sync::Arc;

use super::pull_request::judge_change;
pub use super::site::Site;
pub use crate::base::digest::sha256;
use crate::base::error::Result;
use crate::base::progress::Progress;
pub use crate::base::stats::{nearest_rank, upper_median};
pub use crate::base::words::{Figure, plural};
pub use crate::base::yaml::parse as parse_yaml;
use crate::checks::frame::{StateScope, Terms, judge};
use crate::checks::rule::{Rule, Rules};
use crate::database::diff::files;
use crate::database::state::State;
use crate::findings::Finding;
pub use crate::report::document::{Document, DocumentTable};

/// Checks the selected tables of a database with the given rules. Returns the findings and the number of checked rows.
///
/// # Errors
///
/// Returns an error if a formula fails.
pub fn judge_state(
    site: &Site,
    rules: &[Arc<Rule>],
    progress: &dyn Progress,
) -> Result<(Vec<Finding>, u64)> {
    let terms = Terms { rules, all_rules: &site.settings.rules, ledger: None };
    let scope = StateScope::new(site.state(), &site.selected, |_| false);
    let judged = judge(scope, None, terms, progress)?;
    Ok((judged.findings, judged.rows))
}

/// Checks a change of a database with the given rules, as if it were a pull request from `before` to `changed`.
///
/// # Errors
///
/// Returns an error if a formula fails.
pub fn judge_changed(
    before: State<'_>,
    changed: State<'_>,
    rules: &[Arc<Rule>],
    all_rules: &Rules,
    progress: &dyn Progress,
) -> Result<Vec<Finding>> {
    let terms = Terms { rules, all_rules, ledger: None };
    let files = files(before, changed);
    Ok(judge_change((before, changed), &files, None, terms, progress)?.findings)
}
