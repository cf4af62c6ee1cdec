//! Builds the explorer page of a table, with its earlier state, its peers and its findings.
//!
//! The page marks the findings that `validate` reports for the same state.

mod peers;

use std::path::PathBuf;

use self::peers::{ChosenPeers, peers};
use crate::base::error::{Error, Result};
use crate::base::escape::file_stem;
use crate::base::expr::Expr;
use crate::base::progress::Progress;
use crate::base::words::{names, plural_verb};
use crate::checks::settings::RuleSelection;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::selection::Selection;
use crate::database::served::TableIndex;
use crate::database::source::Source;
use crate::database::state::State;
use crate::database::table::Table;
use crate::findings::Finding;
use crate::jobs::rows::read_table;
use crate::jobs::states_in_words;
use crate::jobs::validate::{self, JudgedData, ValidateOptions};
use crate::report::chart;
use crate::report::explore::{Exploration, ExploredSide, ExplorerPage, SideKind};

/// The options of `explore`.
#[derive(Debug, Default, Clone, clap::Args)]
#[command(next_help_heading = "What to show")]
pub struct ExploreOptions {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Show a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", alias = "head-ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Also draw the table as it was at the merge base with this branch.
    #[arg(long = "base-ref", value_name = "REF")]
    pub base: Option<String>,
    /// The system.
    #[arg(long, value_name = "NAME")]
    pub system: String,
    /// The table, with or without `_perf`.
    #[arg(long, value_name = "NAME")]
    pub table: String,
    /// The backend; without it, the one whose table is the largest.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// The version; without it, the one that queries read.
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
    /// Only these rows: "gemm_dtype = 'fp8' AND n = 4096".
    #[arg(long = "where", value_name = "EXPR")]
    pub filter: Option<String>,
    /// Other versions, backends and systems to draw beside it, at most.
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub peers: usize,
    /// The layout of the database, e.g. `public`, instead of the one that its files show.
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
}

/// The page that shows the charts of one table.
#[derive(Debug)]
pub struct ExploredTable {
    /// The default file name of the page, without extension.
    pub name: String,
    /// The content of the page.
    pub page: ExplorerPage,
}

/// Builds the explorer page of a table.
///
/// # Errors
///
/// Returns an error if the table does not exist, cannot be read, or has nothing to draw.
pub fn run(options: &ExploreOptions, progress: &dyn Progress) -> Result<ExploredTable> {
    let judged = ValidateOptions {
        root: options.root.clone(),
        reference: options.reference.clone(),
        selection: Selection {
            systems: vec![options.system.clone()],
            backends: options.backend.iter().cloned().collect(),
            versions: options.version.iter().cloned().collect(),
            tables: vec![options.table.clone()],
            layout: options.layout.clone(),
        },
        rules: RuleSelection { folder: options.rules.clone(), ..RuleSelection::default() },
        ..ValidateOptions::default()
    };
    validate::judged(&judged, progress, |data| explored(options, data)).map(|(_, page)| page)
}

fn explored(options: &ExploreOptions, data: &JudgedData<'_>) -> Result<ExploredTable> {
    let state = data.state;
    let reuse = std::collections::BTreeMap::new();
    let shelf = TableIndex::new(state.catalog, &reuse, state.specs);
    let file = chosen(options, data, &shelf)?;
    let filter = options.filter.as_deref().map(filter).transpose()?;
    let table = read_table(state.source, file, state.specs)?;
    let mut notes = Vec::new();
    let own: Vec<&Finding> = data.findings.iter().filter(|f| f.path == file.entry.path).collect();
    let findings: Vec<&Finding> = own.iter().copied().filter(|f| f.counts()).collect();
    if findings.len() < own.len() {
        notes.push(format!(
            "{} waived or in the baseline, and therefore not marked.",
            plural_verb(own.len() - findings.len(), "finding", ["is", "are"])
        ));
    }
    let base =
        options.base.as_deref().map(|base| BaseTable::open(base, state, file)).transpose()?;
    if let (Some(name), Some(BaseTable { file: None, .. })) = (&options.base, &base) {
        notes.push(format!("{name} does not have this table."));
    }

    let place = &file.place;
    let name = format!("{} {}", place.backend, place.version);
    let spec = file.spec(state.specs, Some(&table));
    let mut sides = vec![side(state, SideKind::Head, name, file, table)];
    let before = base.as_ref().and_then(|base| Some((base, base.file.as_ref()?)));
    if let Some((base, before)) = before {
        let table = read_table(base.commit.as_ref(), before, state.specs)?;
        let id: String = base.commit.commit().unwrap_or_default().chars().take(9).collect();
        sides.push(side(state, SideKind::Base, format!("before, at {id}"), before, table));
    }
    let ChosenPeers { files, left_out } = peers(&shelf, state.catalog, file, options.peers);
    if !left_out.is_empty() {
        let left_out = names(left_out.iter().map(String::as_str));
        notes.push(format!("Peers that are not drawn: {left_out} (--peers draws more)."));
    }
    for (name, peer) in files {
        match read_table(state.source, peer, state.specs) {
            Ok(table) => sides.push(side(state, SideKind::Peer, name, peer, table)),
            Err(why) => notes.push(format!("A peer cannot be drawn: {}.", why.message)),
        }
    }
    let charts = chart::read(&state.specs.library)?;
    let plain = chart::ChartSpec::default();
    let before = base.as_ref().map(|base| base.commit.as_ref());
    let exploration = Exploration {
        states: states_in_words(&options.root, before, state.source),
        sides,
        spec: &spec,
        chart: charts.get(&file.table).unwrap_or(&plain),
        lookups: &state.specs.lookups,
        findings: &findings,
        filter: filter.as_ref(),
        notes,
    };
    let name = [&place.system, &place.backend, &place.version, &file.table];
    Ok(ExploredTable { name: file_stem(&name.map(String::as_str), "-"), page: exploration.page()? })
}

fn filter(text: &str) -> Result<Expr> {
    text.parse().map_err(|e| {
        let hint = "--where takes a condition on a table's columns: \"n = 4096 AND m <= 256\"";
        Error::caused("--where is not a formula", hint, e)
    })
}

/// Returns the table that the options select. If the options name no version, takes the version that queries read. If
/// they name several versions, takes the newest one. If several backends have the table, takes the one with the largest
/// table file.
///
/// # Errors
///
/// If no table is selected, or if the selected tables have different names or systems.
fn chosen<'a>(
    options: &ExploreOptions,
    data: &JudgedData<'a>,
    shelf: &TableIndex<'a>,
) -> Result<&'a TableFile> {
    let mut best: Option<&TableFile> = None;
    for file in data.tables() {
        let Some(editions) = shelf.editions(file) else { continue };
        let edition = if options.version.is_none() {
            shelf.current(&file.place.system, editions)
        } else {
            editions.iter().rev().find(|edition| data.selected.place(&edition.files[0].place))
        };
        let Some(own) = edition.and_then(|edition| edition.files.first().copied()) else {
            continue;
        };
        if best.is_none_or(|best| own.entry.size > best.entry.size) {
            best = Some(own);
        }
    }
    let Some(best) = best else {
        return Err(Error::new("no table is selected", "`perfdb-gate status` lists the tables"));
    };
    let other = data
        .tables()
        .find(|file| (&file.place.system, &file.table) != (&best.place.system, &best.table));
    match other {
        None => Ok(best),
        Some(other) => Err(Error::new(
            format!(
                "several tables are selected: {} on {} and {} on {}",
                best.table, best.place.system, other.table, other.place.system
            ),
            "a page shows one table of one system: select it with --system and --table",
        )),
    }
}

fn side<'a>(
    state: State<'a>,
    kind: SideKind,
    name: String,
    file: &'a TableFile,
    table: Table,
) -> ExploredSide<'a> {
    let system = state.catalog.system(&file.place.system, state.specs);
    ExploredSide { kind, name, table: table.into(), place: &file.place, system }
}

/// The table as it was at the merge base with a branch.
struct BaseTable {
    commit: Box<dyn Source>,
    /// The table's file; `None` if the table does not exist at the merge base.
    file: Option<TableFile>,
}

impl BaseTable {
    /// Finds a table at the merge base with a branch, by its path. If the merge base has no such path, finds the table
    /// of the same system, backend, version and name.
    fn open(base: &str, state: State<'_>, file: &TableFile) -> Result<Self> {
        let commit = state.source.base(base)?;
        let catalog = Catalog::walk(commit.as_ref(), state.specs)?;
        let at_path = catalog.table(&file.entry.path);
        let at_place = || catalog.tables.iter().find(|t| t.identity() == file.identity());
        let file = at_path.or_else(at_place).cloned();
        Ok(Self { commit, file })
    }
}
