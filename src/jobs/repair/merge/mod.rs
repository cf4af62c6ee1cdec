//! A run's rows, put into a table key by key: what was measured again takes the place of what was there,
//! and nothing else changes.
//!
//! A measurement is what agrees in every column that is not a measurement and does not say where a row comes
//! from (device, version, framework). The run's row takes the table's place where the policy says so. All
//! of it is made in memory, read back and compared row by row before a file changes; the record of the
//! merge names the table's digest before and after, so that it agrees with whichever of the two is there.

mod choose;
mod event;
mod ledger;
mod losses;
mod made;
mod objection;
mod proof;
mod shards;
mod stack;
mod text;

use std::path::PathBuf;

use self::event::{MergeEvent, with_event};
use self::ledger::{EarlierMerge, MergeRecord};
use self::made::Merged;
use self::objection::Objection;
use self::proof::JudgedMerge;
use self::shards::RunFile;
use self::stack::Stack;
use super::{DiskChange, RepairError, restate::Now};
use crate::base::dates::today;
use crate::base::error::{Error, Result};
use crate::base::exit::Exit;
use crate::base::files::write_all;
use crate::database::catalog::{Format, TableFile, place_of};
use crate::database::source::{Entry, EntryKind};
use crate::database::table::{Table, TableFault};
use crate::gpu::rerun::RerunList;
use crate::specs::Specs;

pub use choose::MergePolicy;

/// What to merge, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The table; of shards, the one that they become.
    pub table: PathBuf,
    /// Files of a run, and folders that hold some.
    pub with: Vec<PathBuf>,
    /// Which measurement stays.
    pub policy: MergePolicy,
    /// A rerun list: only its keys.
    pub only: Option<PathBuf>,
    /// Whether rows that the list does not name are left out, instead of refused.
    pub pick: bool,
    /// Whether keys may be added alone.
    pub append: bool,
    /// Columns that make no other measurement of a row, though they hold something else. None that a
    /// loader reads.
    pub ignore: Vec<String>,
    /// How many shards the run has, where their names do not say.
    pub shards: Option<usize>,
    /// Whether the run is merged though shards are lost.
    pub incomplete: bool,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// The record of the merge.
    pub ledger: PathBuf,
}

/// A merge that was made in memory.
#[derive(Debug)]
pub struct Merge {
    options: Options,
    run: Vec<RunFile>,
    objections: Vec<Objection>,
    /// None where there is an objection, or nothing to merge.
    merged: Option<Merged>,
    change: DiskChange,
    ledger: Option<MergeRecord>,
    /// What there is of an earlier merge that was stopped.
    standing: EarlierMerge,
    /// Whether a sidecar stands beside the table that says something of it.
    recorded: bool,
}

/// Makes the merge in memory; nothing is written.
///
/// # Errors
///
/// When the table or the run cannot be read, or the options name what is not there. What is wrong with the
/// run is an objection that [`Merge::text`] shows.
pub fn run(options: &Options) -> Result<Merge> {
    let specs = Specs::overlaid(options.rules.as_deref())?;
    let file = table_file(options, &specs)?;
    let (bytes, own) = own_rows(options, &file, &specs)?;
    let list = options.only.as_deref().map(RerunList::read).transpose()?;
    let run = shards::files(&options.with, &file.table)?;
    let mut merge = Merge {
        options: options.clone(),
        run,
        objections: Vec::new(),
        merged: None,
        change: DiskChange::default(),
        ledger: None,
        standing: EarlierMerge::read(&options.ledger, &options.table, &bytes)?,
        recorded: false,
    };
    let lost = shards::lost(&merge.run, options.shards).filter(|_| !options.incomplete);
    merge.objections.extend(lost.map(Objection::Lost));
    let stack = Stack::read(
        &file,
        own.as_ref(),
        &merge.run,
        &specs,
        options.incomplete,
        &mut merge.objections,
    );
    let Some(stack) = stack else { return Ok(merge) };
    let spec = file.spec(&specs, Some(&stack.table));
    if let Some(name) = options.ignore.iter().find(|name| spec.reads(name)) {
        merge.objections.push(Objection::Table(RepairError::Loaded(name.clone())));
        return Ok(merge);
    }
    if let Some(name) = options.ignore.iter().find(|name| stack.table.column(name).is_none()) {
        let known = stack.table.columns().map(|(name, _)| name);
        return Err(crate::base::error::unknown("column", name, known));
    }
    stack.check_origin(&file.place, &specs, &merge.run, &mut merge.objections);
    let judged = JudgedMerge::of(&stack, &file, &spec, &specs, options, list.as_ref());
    let judged = judged.map_err(|e| {
        Error::caused(file.entry.path.as_str(), "the formula is in rules/tables", e)
    })?;
    merge.objections.extend(judged.objections(&merge.run, options));
    if merge.objections.is_empty() {
        merge.finish(&file, &bytes, &stack, judged);
    }
    Ok(merge)
}

/// The table as a file of a database, by its path.
fn table_file(options: &Options, specs: &Specs) -> Result<TableFile> {
    let path = &options.table;
    let hint = "merge writes Parquet tables; `perfdb-gate convert` converts a text table";
    let (Some(stem), Some(format)) = (path.file_stem(), path.extension()) else {
        return Err(Error::new(format!("{} is not the file of a table", path.display()), hint));
    };
    if format != "parquet" {
        return Err(Error::new(format!("{} is not a Parquet file", path.display()), hint));
    }
    let table = stem.to_string_lossy().into_owned();
    let kind = EntryKind::Path(path.clone());
    let entry = Entry { path: path.display().to_string(), kind, size: 0 };
    let place = place_of(path, specs);
    Ok(TableFile { entry, place, table, format: Format::Parquet })
}

/// The table's bytes and rows; of one that is not there, nothing.
fn own_rows(
    options: &Options,
    file: &TableFile,
    specs: &Specs,
) -> Result<(Vec<u8>, Option<Table>)> {
    let path = &options.table;
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), None)),
        Err(e) => return Err(Error::caused(format!("cannot read {}", path.display()), "", e)),
    };
    match file.decode(specs, &bytes) {
        Ok(table) => Ok((bytes, Some(table))),
        Err(TableFault::Empty) => Ok((bytes, None)),
        Err(fault) => {
            let hint = "`perfdb-gate validate` shows what is wrong with it";
            Err(Error::new(format!("{}: {fault}", path.display()), hint).because(fault))
        }
    }
}

impl Merge {
    /// Makes the table's new bytes, proves what they change, and prepares record and sidecar.
    fn finish(&mut self, file: &TableFile, before: &[u8], stack: &Stack, judged: JudgedMerge) {
        let merged = match judged.merged(file, stack, &self.run) {
            Ok(merged) => merged,
            Err(why) => return self.objections.push(why),
        };
        if merged.changes() {
            let ledger = MergeRecord::new(&self.options, before, &merged, &self.run);
            let event = self.event(&merged, &ledger);
            match self.record(file, &merged, &event) {
                Err(why) => return self.objections.push(Objection::Table(why)),
                Ok(recorded) => self.recorded = recorded,
            }
            let sidecar = self.change.sidecars.iter().next();
            let ledger = ledger.with_sidecar(sidecar);
            let table = self.options.table.clone();
            self.change.files = vec![
                (self.options.ledger.clone(), ledger.text().into_bytes()),
                (table, merged.bytes.clone()),
            ];
            self.ledger = Some(ledger);
        }
        self.merged = Some(merged);
    }

    fn event(&self, merged: &Merged, ledger: &MergeRecord) -> MergeEvent {
        MergeEvent {
            table: merged.table.clone(),
            date: today().to_string(),
            said: format!(
                "merge of {} ({}): {}",
                text::run_names(&self.run),
                self.options.policy.name(),
                merged.counts()
            ),
            rows: merged.taken(),
            complete: merged.absent == 0 && shards::lost(&self.run, self.options.shards).is_none(),
            keys: ledger.digest_of_keys(),
            collector: self
                .run
                .iter()
                .find_map(|file| ledger::collector(&file.path, &merged.table)),
        }
    }

    /// Keeps the sidecar beside the table true and adds the merge to it, where it says something of the
    /// table.
    fn record(
        &mut self,
        file: &TableFile,
        merged: &Merged,
        event: &MergeEvent,
    ) -> Result<bool, RepairError> {
        let path = self.options.table.with_file_name("collection_meta.yaml");
        if !path.exists() {
            return Ok(false);
        }
        let now = Now { table: &file.table, rows: merged.rows as u64, bytes: &merged.bytes };
        self.change.restate(&self.options.table, &now)?;
        let text = match self.change.sidecars.get(&path) {
            Some(text) => text.clone(),
            None => std::fs::read_to_string(&path).map_err(super::SidecarError::from)?,
        };
        let Some(text) = with_event(&text, event)? else { return Ok(false) };
        self.change.sidecars.insert(path, text);
        Ok(true)
    }

    /// How the run ends: with findings where something speaks against it.
    pub fn exit(&self) -> Exit {
        match &self.merged {
            _ if !self.objections.is_empty() => Exit::Findings,
            None => Exit::Inconclusive,
            Some(merged) if merged.groups() == 0 => Exit::Inconclusive,
            Some(_) => Exit::Clean,
        }
    }

    /// Writes the record, then the table, then the sidecar; nothing where there is an objection or no
    /// change. What an earlier merge could not write any more, since it was stopped, is written too.
    ///
    /// # Errors
    ///
    /// When the record of another merge has the name of this one's, the table has changed since it was
    /// read, or a file cannot be written.
    pub fn write(self) -> Result<()> {
        if !self.objections.is_empty() {
            return Ok(());
        }
        if let EarlierMerge::WithoutSidecar { path, text } = &self.standing {
            return write_all(&[], &[(path.clone(), text.clone().into_bytes())]);
        }
        let Some(ledger) = &self.ledger else { return Ok(()) };
        self.standing.permits(ledger, &self.options.ledger)?;
        if ledger.table_changed(&self.options.table) {
            return Err(Error::new(
                format!("{} has changed since it was read", self.options.table.display()),
                "another program wrote the file: run the merge again",
            ));
        }
        self.change.make()
    }
}
