//! Plans points to measure again: a rerun list from a report, missing keys, or
//! coverage.
//!
//! Every wish names a row of a table: of the table to complete, or of another table that has the
//! missing row. The list copies the columns of these rows. A collector, `measure` and `remeasure`
//! can run it, and `merge --only` compares a run with it.

mod cost;
mod coverage;
mod holes;
mod options;
mod reported;
mod wish;

use std::collections::BTreeSet;
use std::path::Path;

use crate::base::error::{Result, unknown};
use crate::base::exit::Exit;
use crate::base::progress::Progress;
use crate::base::words::{count, plural};
use crate::database::catalog::{Place, TableFile};
use crate::database::source::{LooseFiles, Source};
use crate::findings::assembled_row;
use crate::gpu::rerun::RerunList;
use crate::jobs::rows::loose_table;
use crate::specs::Specs;

use self::cost::Collectors;
pub use self::options::{Occasion, PlanOptions};
use self::reported::ReportedRow;
use self::wish::{GatheredPoints, Wish, gather};

/// A rerun list with notes.
#[derive(Debug)]
pub struct RerunPlan {
    /// The rerun list.
    pub list: RerunList,
    /// Sentences about points that were left out.
    pub notes: Vec<String>,
}

impl RerunPlan {
    /// Returns the exit code: inconclusive if there are no points to measure.
    pub fn exit(&self) -> Exit {
        if self.list.points() == 0 { Exit::Inconclusive } else { Exit::Clean }
    }

    /// Renders the plan: one line per operation with reasons and commands, then the notes and the
    /// total.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for operation in &self.list.operations {
            out += &format!(
                "{} {} {} {}: {}, {}\n",
                operation.table,
                operation.backend,
                operation.version,
                operation.system,
                plural(operation.points.len(), "point"),
                time(operation.seconds),
            );
            let mut reasons: Vec<(&str, usize)> = Vec::new();
            for point in &operation.points {
                let rule = point.reason.split(" (").next().unwrap_or(&point.reason);
                match reasons.iter_mut().find(|(known, _)| *known == rule) {
                    Some((_, points)) => *points += 1,
                    None => reasons.push((rule, 1)),
                }
            }
            reasons.sort_by_key(|(_, points)| std::cmp::Reverse(*points));
            for (reason, points) in reasons.iter().take(5) {
                out += &format!("  {} of {reason}\n", count(*points));
            }
            for command in operation.collect.iter().take(3) {
                out += &format!("  {command}\n");
            }
            if operation.collect.len() > 3 {
                out += &format!("  and {} more\n", plural(operation.collect.len() - 3, "command"));
            }
            if let Some(sweep) = &operation.sweep {
                let points = plural(sweep.points, "point");
                let time = time(sweep.seconds);
                out += &format!(
                    "  the collector cannot select points: it measures its whole sweep, like the {points} of \
                     this table, {time}\n"
                );
            }
        }
        for note in &self.notes {
            out += &format!("{note}\n");
        }
        let operations = plural(self.list.operations.len(), "table");
        out += &format!(
            "{} of {operations}, {}\n",
            plural(self.list.points(), "point"),
            time(self.list.seconds)
        );
        out
    }
}

/// Plans the points to measure again.
///
/// # Errors
///
/// Returns an error if there is no database, if the options name something unknown, or if a report
/// is of another state.
pub fn run(options: &PlanOptions, progress: &dyn Progress) -> Result<RerunPlan> {
    if let Occasion::Report(path, only) = &options.occasion {
        let reported = reported::read(path, only)?;
        let about = format!("rows named by {}", file_name(path));
        return of_report(options, reported, about);
    }
    let site = options.open()?;
    let mut notes = Vec::new();
    let (wishes, about) = match &options.occasion {
        Occasion::Holes => (
            holes::wishes(&site, options, progress)?,
            "keys that the nearest systems have and the table lacks".to_owned(),
        ),
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

/// Returns the last part of a path; the folder of a report is not part of a list that is kept.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Builds the list of the rows that a report names. They are rows of the database at the root, or
/// of single files.
fn of_report(
    options: &PlanOptions,
    mut reported: Vec<ReportedRow>,
    about: String,
) -> Result<RerunPlan> {
    let is_file = |row: &ReportedRow| options.reference.is_none() && Path::new(&row.path).is_file();
    let all_files = !reported.is_empty() && reported.iter().all(is_file);
    match options.open() {
        Ok(site) => {
            // Findings on tables of several files name the files. A torn row is in none of them.
            reported.retain_mut(|row| {
                let at = (row.path.as_str(), row.row);
                let Some((file, at)) = assembled_row(&site.catalog, site.source.as_ref(), at)
                else {
                    return !site.catalog.has_part(&row.path);
                };
                (row.path, row.row) = (file.entry.path.clone(), at);
                true
            });
            // A path that is in the database is a table of the database, even if a file of this
            // name is in the current folder.
            let paths: BTreeSet<&str> =
                site.catalog.tables.iter().map(|t| t.entry.path.as_str()).collect();
            match reported.iter().find(|row| !paths.contains(row.path.as_str())) {
                None => {
                    let file = |row: &ReportedRow| {
                        site.tables().find(|t| t.entry.path == row.path).cloned()
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

/// Builds the list of reported rows; rows for which `file` returns `None` are left out.
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

/// Returns the file of a row in a report on single files; `None` if the path does not name a table.
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

/// Renders a duration in seconds for people.
fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "time unknown".to_owned(),
        Some(s) if s < 120.0 => format!("about {s:.1} s"),
        Some(s) if s < 7200.0 => format!("about {:.0} min", s / 60.0),
        Some(s) => format!("about {:.1} h", s / 3600.0),
    }
}
