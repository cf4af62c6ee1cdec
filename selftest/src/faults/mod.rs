//! Measures how well the rules find faults: known faults are planted in copies of real tables and
//! judged by the real checks.
//!
//! The copies are in memory ([`overlay`]). Faults are described in `selftest/src/faults/faults.yaml`
//! ([`fault`]). Tables of different names are not compared with each other, so that one round can
//! contain a fault per name ([`rounds`]). It is judged as a pull request on the clean state.
//! [`score`] defines which findings count.

mod amount;
mod clean;
mod draft;
mod fault;
mod injection;
mod overlay;
mod owner;
mod plant;
mod render;
mod rounds;
mod score;
mod target;

pub use fault::{Fault, FaultClass, Faults};
pub use render::{Format, recall_curves, render};
pub use score::Scores;

pub use clean::SelftestOptions;
use clean::{AlikeTables, CleanState};
use fault::Variant;
use score::FaultScore;

use perfdb_gate::base::error::Result;
use perfdb_gate::base::progress::Progress;
use perfdb_gate::checks::Input;
use perfdb_gate::database::catalog::TableFile;
use perfdb_gate::jobs::for_selftest::{Site, judge_state};

/// Plants faults and counts the found ones.
///
/// # Errors
///
/// Returns an error if there is no database, if the selection names something unknown, or if a
/// formula fails.
pub fn run(options: &SelftestOptions, progress: &dyn Progress) -> Result<Scores> {
    let (reference, rules) = (options.reference.as_deref(), options.rules.as_deref());
    let site = Site::open(&options.root, reference, rules, &options.selection)?;
    let Faults { always, beside, faults } = Faults::read(options.faults.as_deref())?;
    let variants: Vec<Variant> = faults.into_iter().flat_map(Fault::variants).collect();
    // Faults are planted in a single state without traces, and nobody asks the planner.
    let others = [Input::Traces, Input::Changes, Input::Predictions];
    let all_rules = &site.settings.rules;
    let rules =
        all_rules.choose(&[], &[], &|c| others.iter().all(|input| !c.needs().has(*input)))?;
    let is_selected = |(at, file): (usize, &TableFile)| {
        site.selected.table(&file.place, &file.table).then_some(at)
    };
    let tables: Vec<usize> =
        site.catalog.tables.iter().enumerate().filter_map(is_selected).collect();
    let (findings, rows) = judge_state(&site, &rules, progress)?;
    let alike = AlikeTables::of(&findings);
    let clean =
        CleanState { state: site.state(), rules: &rules, all_rules, findings: &findings, alike };
    let mut scores = Scores {
        seed: options.seed,
        tables: tables.len(),
        rows,
        faults: variants.iter().map(FaultScore::new).collect(),
        rules: rules.iter().map(|r| (r.id.clone(), r.severity)).collect(),
        missed: Vec::new(),
        alarms: Vec::new(),
        always,
        beside,
    };
    rounds::run(&clean, &tables, &variants, options, &mut scores, progress)?;
    Ok(scores)
}
