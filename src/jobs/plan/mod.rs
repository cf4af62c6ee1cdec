//! What to measure again: a rerun list from a report, from holes, from what models read, from coverage.
//!
//! Whatever asks for a point names a row of a table, its own or one of another table that has what it
//! lacks. The list is made of these rows' columns, so that a collector, `measure` and `remeasure` can run
//! them, and `merge --only` can hold a run against it.

mod cost;
mod coverage;
mod holes;
mod predictions;
mod reported;
mod site;
mod text;
mod wish;

use std::collections::BTreeSet;
use std::path::Path;

use crate::base::error::{Result, unknown};
use crate::base::exit::Exit;
use crate::base::progress::Progress;
use crate::base::words::plural;
use crate::database::catalog::{Place, TableFile};
use crate::database::source::{LooseFiles, Source};
use crate::gpu::rerun::RerunList;
use crate::jobs::rows::loose_table;
use crate::specs::Specs;

use self::cost::Collectors;
use self::reported::ReportedRow;
use self::site::PlanSite;
pub use self::site::{Occasion, PlanOptions};
use self::wish::{GatheredPoints, Wish, gather};

/// A rerun list, and what is to be said of it.
#[derive(Debug)]
pub struct RerunPlan {
    /// The list.
    pub list: RerunList,
    /// What was left out, a sentence each.
    pub notes: Vec<String>,
}

impl RerunPlan {
    /// How the run ends: inconclusive where there is nothing to measure.
    pub fn exit(&self) -> Exit {
        if self.list.points() == 0 { Exit::Inconclusive } else { Exit::Clean }
    }
}

/// Plans what to measure again.
///
/// # Errors
///
/// When there is no database, nothing that the options name, or a report is of another state.
pub fn run(options: &PlanOptions, progress: &dyn Progress) -> Result<RerunPlan> {
    if let Occasion::Report(path, only) = &options.occasion {
        let reported = reported::read(path, only)?;
        let about = format!("rows named by {}", file_name(path));
        return of_report(options, reported, about);
    }
    let site = PlanSite::open(options)?;
    let mut notes = Vec::new();
    let (wishes, about) = match &options.occasion {
        Occasion::Holes => (
            holes::wishes(&site, options, progress)?,
            "keys that the nearest systems have and the table lacks".to_owned(),
        ),
        Occasion::Predictions { own } => {
            let what = if *own { "read or lack" } else { "lack" };
            (
                predictions::wishes(&site, options, *own, &mut notes)?,
                format!("rows that default models {what}"),
            )
        }
        Occasion::Coverage { column, share } => (
            coverage::wishes(&site, column, *share, &mut notes)?,
            format!("rows that raise {column} to {:.0} % of each slice", share * 100.0),
        ),
        Occasion::Report(..) => (Vec::new(), String::new()),
    };
    let collectors = Collectors::read(&site.specs().library)?;
    let gathered = gather(wishes, site.source.as_ref(), site.specs(), &collectors)?;
    Ok(finish(about, gathered, notes))
}

/// A path's last part, for a list that is kept: where the file lay does not matter.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The list of what a report names: rows of tables of the database at the root, or of files by
/// themselves.
fn of_report(
    options: &PlanOptions,
    reported: Vec<ReportedRow>,
    about: String,
) -> Result<RerunPlan> {
    let is_file = |row: &ReportedRow| options.reference.is_none() && Path::new(&row.path).is_file();
    let all_files = !reported.is_empty() && reported.iter().all(is_file);
    match PlanSite::open(options) {
        Ok(site) => {
            // A path of the database is meant as such, wherever the command runs.
            let paths: BTreeSet<&str> =
                site.tables().iter().map(|t| t.entry.path.as_str()).collect();
            match reported.iter().find(|row| !paths.contains(row.path.as_str())) {
                None => {
                    let file = |row: &ReportedRow| {
                        site.selected().find(|t| t.entry.path == row.path).cloned()
                    };
                    return of_rows(reported, about, file, site.source.as_ref(), site.specs());
                }
                Some(row) if !all_files => return Err(unknown("table", &row.path, paths)),
                Some(_) => {}
            }
        }
        Err(why) if !all_files => return Err(why),
        Err(_) => {}
    }
    let specs = Specs::overlaid(options.rules.as_deref())?;
    of_rows(reported, about, |row| loose_file(row, &specs), &LooseFiles::default(), &specs)
}

/// The list of reported rows, of which those without a `file` are left out.
fn of_rows(
    reported: Vec<ReportedRow>,
    about: String,
    file: impl Fn(&ReportedRow) -> Option<TableFile>,
    source: &dyn Source,
    specs: &Specs,
) -> Result<RerunPlan> {
    let wish = |row: ReportedRow| {
        let file = file(&row)?;
        let place = file.place.clone();
        Some(Wish { place, file, row: row.row, key: row.key, reason: row.reason })
    };
    let wishes = reported.into_iter().filter_map(wish).collect();
    let collectors = Collectors::read(&specs.library)?;
    Ok(finish(about, gather(wishes, source, specs, &collectors)?, Vec::new()))
}

/// The file of a row in a report on loose files; none where its path names no file.
fn loose_file(row: &ReportedRow, specs: &Specs) -> Option<TableFile> {
    let mut file = loose_table(Path::new(&row.path), specs)?;
    if let Some([system, backend, version]) = row.place.clone()
        && specs.systems.get(&file.place.system).is_none()
    {
        file.place = Place { system, family: None, backend, version };
    }
    Some(file)
}

fn finish(about: String, gathered: GatheredPoints, mut notes: Vec<String>) -> RerunPlan {
    if gathered.unserved > 0 {
        let rows = plural(gathered.unserved, "row");
        notes.push(format!(
            "{rows} left out, because the loader uses another row with the same key"
        ));
    }
    if gathered.unlike > 0 {
        let points = plural(gathered.unlike, "point");
        notes.push(format!("{points} left out, because they have other columns than the rest"));
    }
    RerunPlan { list: RerunList::new(about, gathered.operations), notes }
}
