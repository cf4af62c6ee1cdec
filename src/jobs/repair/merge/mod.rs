//! Merges the rows of a run into a table key by key: new measurements replace old ones, and nothing
//! else changes.
//!
//! Two rows are measurements of the same kind if they agree in every column that is neither
//! measured nor an origin (device, version, framework). The policy decides which measurement stays.
//! The new table is made in memory, read back and compared row by row before a file changes.

mod checks;
mod event;
mod groups;
mod made;
mod options;
mod record;
mod shards;
mod stack;
mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;

use self::event::{MergeEvent, with_event};
use self::groups::StackRows;
use self::made::MergedTable;
use self::options::{ListComparison, MergeFailure, refuse};
pub use self::options::{MergeOptions, MergePolicy};
use self::shards::RunFile;
use self::stack::Stack;
use super::RepairError;
use super::restate::{TableContent, with_row_count_and_digest};
use crate::base::dates::today;
use crate::base::digest::sha256;
use crate::base::error::{Error, Exit, Result, unknown};
use crate::base::tree_files::TreeFiles;
use crate::base::words::plural_verb;
use crate::database::catalog::{Format, TableFile};
use crate::database::table::{Table, TableFault, TableScope};
use crate::gpu::rerun::RerunList;
use crate::jobs::rows::{LoadedRows, loose_table, misfit, unreadable};
use crate::specs::{Specs, TableSpec};

/// A merge that is ready to be written, or the reason why it was refused.
#[derive(Debug)]
pub struct Merge {
    tree: TreeFiles,
    options: MergeOptions,
    run: Vec<RunFile>,
    outcome: Result<PreparedMerge, String>,
}

/// The result of a merge in memory: what to report, and the files to write.
#[derive(Debug, Default)]
struct PreparedMerge {
    /// Sentences about the merge for people.
    facts: Vec<String>,
    /// True if the run has no measurements.
    is_empty: bool,
    /// The record of the merge, one JSON object per line.
    record: String,
    /// The sidecar and the table, in the order of writing; empty if the table does not change.
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Makes the merge in memory; nothing is written.
///
/// # Errors
///
/// Returns an error if the table or the run cannot be read, or if the options name something
/// unknown. A refused merge is not an error: [`Merge::text`] gives the reason.
pub fn run(options: &MergeOptions) -> Result<Merge> {
    let specs = Specs::overlaid(options.rules.as_deref())?;
    let file = table_file(options, &specs)?;
    let tree = TreeFiles::at(options.table.parent().unwrap_or(&options.table))?;
    tree.lock()?;
    let (bytes, own) = own_rows(&tree, options, &file, &specs)?;
    let run = shards::files(&options.with, &file.table)?;
    let outcome = match prepared((&tree, options), &file, &run, &specs, (&bytes, own)) {
        Ok(prepared) => Ok(prepared),
        Err(MergeFailure::Refused(why)) => Err(why),
        Err(MergeFailure::Failed(error)) => return Err(error),
    };
    Ok(Merge { tree, options: options.clone(), run, outcome })
}

/// Returns the table that the options name, as a file of a database. The table's name, system, backend and version come
/// from the file's path.
fn table_file(options: &MergeOptions, specs: &Specs) -> Result<TableFile> {
    let file = loose_table(&options.table, specs).filter(|file| file.format == Format::Parquet);
    file.ok_or_else(|| {
        Error::new(
            format!("{} is not a Parquet file", options.table.display()),
            "merge writes Parquet tables; `perfdb-gate convert` converts a text table",
        )
    })
}

/// Reads the bytes and rows of the table that receives the merge. If this table does not exist yet, the bytes are empty
/// and the rows are `None`.
fn own_rows(
    tree: &TreeFiles,
    options: &MergeOptions,
    file: &TableFile,
    specs: &Specs,
) -> Result<(Vec<u8>, Option<Table>)> {
    let Some(bytes) = tree.read(&options.table)? else { return Ok((Vec::new(), None)) };
    match file.decode(specs, &bytes) {
        Ok(table) => Ok((bytes, Some(table))),
        Err(TableFault::Empty) => Ok((bytes, None)),
        Err(fault) => Err(unreadable(file, &fault)),
    }
}

/// Merges the run into the table in memory, checks that no other row changes, and prepares the files to write.
fn prepared(
    (tree, options): (&TreeFiles, &MergeOptions),
    file: &TableFile,
    run: &[RunFile],
    specs: &Specs,
    (bytes, own): (&[u8], Option<Table>),
) -> Result<PreparedMerge, MergeFailure> {
    let lost = shards::lost(run, options.shards);
    if let Some(lost) = lost.as_ref().filter(|_| !options.incomplete) {
        return refuse(lost);
    }
    let before = sha256(bytes);
    let Some(stack) = Stack::read(file, own, run, specs, options.incomplete)? else {
        let facts = vec!["all files of the run are empty".to_owned()];
        return Ok(PreparedMerge { facts, is_empty: true, ..PreparedMerge::default() });
    };
    let spec = file.spec(specs, Some(&stack.table));
    for name in &options.ignore {
        if spec.reads(name) {
            return refuse(RepairError::Loaded(name.clone()));
        }
        if stack.table.column(name).is_none() {
            return Err(unknown("column", name, stack.table.columns().map(|(name, _)| name)).into());
        }
    }
    stack.check_origin(&file.place, specs)?;
    let system = specs.systems.get(&file.place.system);
    let scope = TableScope::new(&stack.table, &spec, &file.place, system, &specs.lookups);
    let loaded = LoadedRows::new(&scope).map_err(|e| misfit(file, e))?;
    let mut rows = StackRows { stack: &stack, loaded, groups: Vec::new() };
    let listed = listed(options, file, &rows, specs, &spec)?;
    let counts = |row: usize| !listed.left_out.contains(&row);
    rows.group(&options.ignore, options.policy, counts);
    if !spec.latency.is_empty() {
        checks::check_times(&rows, !spec.zero.is_empty(), counts)?;
    }
    checks::check_losses(&rows)?;
    checks::check_new(&rows, options)?;
    checks::check_conflicts(&rows, &options.ignore)?;
    let merged = MergedTable::make(&rows)?;
    let (mut record, mut files) = (String::new(), Vec::new());
    if merged.taken().next().is_some() {
        record = record::record(options, run, &before, &rows, &merged);
        let event = MergeEvent {
            table: file.table.clone(),
            date: today().to_string(),
            sentence: format!(
                "merge of {} ({}): {}",
                text::run_names(run),
                options.policy.into_str(),
                merged.counts
            ),
            rows: merged.taken().count(),
            complete: listed.absent == 0 && lost.is_none(),
            keys: record::digest_of_keys(&rows, &merged),
            collector: run.iter().find_map(|f| record::collector(&f.path, &file.table)),
        };
        files.extend(sidecar(tree, options, &event, &merged).map_err(MergeFailure::refused)?);
    }
    let facts = text::facts(options, &rows, &listed, &merged);
    if !record.is_empty() {
        files.push((options.table.clone(), merged.bytes));
    }
    Ok(PreparedMerge { facts, is_empty: rows.groups.is_empty(), record, files })
}

/// Compares the keys of the run with the rerun list of the option `--only`. Without this option, the result is empty.
/// Refuses the merge if the run has keys that are not in the list, unless the option `--pick` is given.
fn listed(
    options: &MergeOptions,
    file: &TableFile,
    rows: &StackRows<'_>,
    specs: &Specs,
    spec: &TableSpec,
) -> Result<ListComparison, MergeFailure> {
    let Some(path) = &options.only else { return Ok(ListComparison::default()) };
    let list = RerunList::read(path)?;
    let operation = list.of(&file.place, &file.table);
    let keys = operation.map(|o| o.keys(spec, specs)).transpose().map_err(|e| misfit(file, e))?;
    let keys = keys.unwrap_or_default();
    let run = rows.stack.own..rows.stack.table.rows;
    let (measured, left_out): (BTreeSet<usize>, BTreeSet<usize>) =
        run.partition(|row| keys.contains(&rows.loaded.keys.hashes()[*row]));
    if let Some(first) = left_out.first().filter(|_| !options.pick) {
        return refuse(format!(
            "{} not in {}, for example {}; --pick leaves them out",
            plural_verb(left_out.len(), "row", ["is", "are"]),
            path.display(),
            rows.key_text(*first)
        ));
    }
    let measured: BTreeSet<u64> =
        measured.iter().map(|row| rows.loaded.keys.hashes()[*row]).collect();
    Ok(ListComparison { absent: keys.difference(&measured).count(), left_out })
}

/// Updates the table's sidecar with the new row count, the new digest and the merge; `None` if
/// there is no sidecar or it does not mention the table.
fn sidecar(
    tree: &TreeFiles,
    options: &MergeOptions,
    event: &MergeEvent,
    merged: &MergedTable,
) -> Result<Option<(PathBuf, Vec<u8>)>, RepairError> {
    let path = options.table.with_file_name("collection_meta.yaml");
    let text = tree.text(&path).map_err(super::SidecarError::from)?;
    let Some(text) = text else { return Ok(None) };
    let now = TableContent { table: &event.table, rows: merged.rows as u64, bytes: &merged.bytes };
    let text = with_row_count_and_digest(&text, &now)?.unwrap_or(text);
    Ok(with_event(&text, event)?.map(|text| (path, text.into_bytes())))
}

impl Merge {
    /// Renders the report for people; `written` is true if the merge was written.
    pub fn text(&self, written: bool) -> String {
        let path = self.options.table.display();
        let mut lines = vec![format!("with {}", text::run_names(&self.run))];
        match &self.outcome {
            Err(why) => lines.extend([format!("not merged: {why}"), "nothing was written".into()]),
            Ok(prepared) => {
                lines.extend(prepared.facts.iter().cloned());
                lines.push(match prepared.files.len() {
                    0 => "nothing to write".to_owned(),
                    _ if !written => {
                        "dry run: nothing was written; add --write to merge".to_owned()
                    }
                    files => {
                        let beside = if files > 1 { ", and in the sidecar" } else { "" };
                        format!("merged; recorded in {}{beside}", self.options.ledger.display())
                    }
                });
            }
        }
        let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("{path}\n{lines}")
    }

    /// Returns the exit code: findings if the merge is refused, inconclusive if the run is empty.
    pub fn exit(&self) -> Exit {
        match &self.outcome {
            Err(_) => Exit::Findings,
            Ok(prepared) if prepared.is_empty => Exit::Inconclusive,
            Ok(_) => Exit::Clean,
        }
    }

    /// Writes the record, then the sidecar, then the table; nothing if the merge is refused or
    /// changes nothing. Running the same command again completes an interrupted merge.
    ///
    /// # Errors
    ///
    /// Returns an error if another merge's record exists at the same path, if the table has changed
    /// since it was read, or if a file cannot be written.
    pub fn write(self) -> Result<()> {
        let Ok(PreparedMerge { record, files, .. }) = self.outcome else { return Ok(()) };
        if files.is_empty() {
            return Ok(());
        }
        record::check_free(&self.options.ledger, record.as_bytes())?;
        self.tree.write(Some((&self.options.ledger, record.as_bytes())), &files)
    }
}
