//! Plans points to measure again: a rerun list from a report or from missing keys.
//!
//! Every wish names a row of a table: of the table to complete, or of another table that has the
//! missing row. The list copies the columns of these rows. A collector, `measure` and `remeasure`
//! can run it, and `merge --only` compares a run with it.

mod cost;
mod holes;
mod options;
mod reported;
mod wish;

use std::collections::BTreeSet;

use crate::base::error::{Exit, Result, unknown};
use crate::base::progress::Progress;
use crate::base::words::{count, plural};
use crate::findings::assembled_row;
use crate::gpu::rerun::RerunList;
use crate::jobs::site::Site;

use self::cost::Collectors;
pub use self::options::{Occasion, PlanOptions};
use self::reported::ReportedRow;
use self::wish::{GatheredPoints, PlannedRow, gather};

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

    /// Renders the plan for people: the tables with reasons and commands, then the notes, then the total number of
    /// points and their measuring time.
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
/// Returns an error if there is no database, if the options name something unknown, or if a report was made for another
/// state of the database.
pub fn run(options: &PlanOptions, progress: &dyn Progress) -> Result<RerunPlan> {
    let mut unnamed = 0;
    let (about, site, wishes) = match &options.occasion.from {
        Some(path) => {
            let reported;
            (reported, unnamed) = reported::read(path, &options.only)?;
            let site = options.open()?;
            // The folder of a report is not part of a list that is kept.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let wishes = of_report(&site, reported)?;
            (format!("rows named by {name}"), site, wishes)
        }
        None => {
            let site = options.open()?;
            let wishes = holes::wishes(&site, options, progress)?;
            let about = "keys that the nearest systems have and the table lacks".to_owned();
            (about, site, wishes)
        }
    };
    let collectors = Collectors::read(&site.specs().library)?;
    let gathered = gather(wishes, site.source.as_ref(), site.specs(), &collectors)?;
    let mut plan = finish(about, gathered, collectors.overlay);
    if unnamed > 0 {
        let rows = plural(unnamed, "further row");
        plan.notes.push(format!(
            "the report only counts {rows} of its findings; `validate --rows` lists all"
        ));
    }
    Ok(plan)
}

/// Returns the rows of the database that a report names.
fn of_report(site: &Site, mut reported: Vec<ReportedRow>) -> Result<Vec<PlannedRow>> {
    // Findings on tables of several files name the files. A torn row is in none of them.
    reported.retain_mut(|row| {
        let at = (row.path.as_str(), row.row);
        let Some((file, at)) = assembled_row(&site.catalog, site.source.as_ref(), at) else {
            return !site.catalog.has_part(&row.path);
        };
        (row.path, row.row) = (file.entry.path.clone(), at);
        true
    });
    let paths: BTreeSet<&str> = site.catalog.tables.iter().map(|t| t.entry.path.as_str()).collect();
    if let Some(row) = reported.iter().find(|row| !paths.contains(row.path.as_str())) {
        return Err(unknown("table", &row.path, paths));
    }
    let wish = |row: ReportedRow| {
        let file = site.tables().find(|t| t.entry.path == row.path)?.clone();
        let place = file.place.clone();
        Some(PlannedRow { place, file, row: row.row, key: row.key, reason: row.reason })
    };
    Ok(reported.into_iter().filter_map(wish).collect())
}

/// Creates the rerun plan from the gathered points. Adds notes on the rows and points that were left out. `overlay`
/// names the user's file with collector settings, if there is one; a note then warns that the commands come from this
/// file.
fn finish(mut about: String, gathered: GatheredPoints, overlay: Option<String>) -> RerunPlan {
    let mut notes = Vec::new();
    let has_commands = gathered.operations.iter().any(|o| !o.collect.is_empty());
    if let Some(file) = overlay.filter(|_| has_commands) {
        let note = format!("{file} states the commands: read them before you run them");
        about += &format!("; {note}");
        notes.push(note);
    }
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
