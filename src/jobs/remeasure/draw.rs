//! The options of `remeasure`, the selection of its tables, and the draw of their rows.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use pep440_rs::Version;

use crate::base::error::{Error, Result, unknown};
use crate::base::expr::{Expr, ExprError};
use crate::base::interrupt::minutes;
use crate::base::words::plural;
use crate::database::catalog::TableFile;
use crate::database::selection::Selection;
use crate::database::sidecar::Meta;
use crate::database::table::{Keys, TableScope};
use crate::gpu::device::{About, Device, Point, SAMPLES};
use crate::gpu::draw::{DrawRules, Drawn, draw};
use crate::gpu::origin::origin;
use crate::gpu::outcome::Sample;
use crate::gpu::points::{MeasurablePoints, Methods};
use crate::gpu::replay::Replay;
use crate::gpu::rerun::RerunList;
use crate::gpu::work::Work;
use crate::jobs::rows::read_table;
use crate::jobs::site::Site;

/// The options of `remeasure`.
// A display order above 100 puts an option after the output options of the command line.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct RemeasureOptions {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to measure")]
    pub root: PathBuf,
    /// Read the tables of a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to measure")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub selection: Selection,
    /// Only these rows: "gemm_dtype = 'bfloat16' AND m <= 256", or an exact key.
    #[arg(long = "where", value_name = "EXPR", help_heading = "What to measure")]
    pub filter: Option<String>,
    /// Measure the points of a rerun list instead of a random sample; `plan` writes such lists.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sample", "seed"], help_heading = "What to measure")]
    pub points: Option<PathBuf>,
    /// Points per table, sampled from strata of slice and latency.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = "What to measure")]
    pub sample: u32,
    /// Seed of the random draw.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "What to measure")]
    pub seed: u64,
    /// Also measure power, one second per point, where the row has a power.
    #[arg(long, help_heading = "How to measure")]
    pub power: bool,
    /// Stop after this many minutes. The tables that are finished are judged.
    #[arg(long, value_name = "N", value_parser = minutes, help_heading = "How to measure")]
    pub minutes: Option<Duration>,
    /// Tables that are not judged, 20 points each, by which the card's own speed is estimated; 0
    /// judges as if the card had none.
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "How to measure")]
    pub controls: usize,
    /// Estimate the card's own speed only by tables that did not change since this commit.
    #[arg(long, value_name = "REF", help_heading = "How to measure")]
    pub base_ref: Option<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR", help_heading = "How to measure")]
    pub rules: Option<PathBuf>,
    /// Write all replies to a file, as JSON lines, which `--replay` judges again.
    #[arg(long, value_name = "FILE", display_order = 101, help_heading = "Output")]
    pub log: Option<PathBuf>,
    /// The folder of the collectors; `None` if points are measured without collectors.
    #[arg(skip)]
    pub collectors: Option<PathBuf>,
}

/// A run of `remeasure`: the open database and the options.
pub(super) struct Remeasurement<'a> {
    pub site: &'a Site,
    pub methods: Methods,
    pub options: &'a RemeasureOptions,
    /// The rerun list whose points are measured; `None` to draw a sample.
    pub list: Option<RerunList>,
    /// The log whose replies are judged again; `None` to measure. The log also contains the replies about control
    /// tables.
    pub replay: Option<&'a Replay>,
    /// Number of judged tables. They are measured first; all tables after them are control tables.
    pub judged: usize,
    /// Number of points of all tables, control tables included.
    pub total: usize,
    /// Paths of the selected tables without any point to measure.
    pub unmeasured: Vec<String>,
    /// Sentences about the measurement of power.
    pub notes: Vec<String>,
    pub start: Instant,
}

impl RemeasureOptions {
    /// Opens the database.
    pub(super) fn site(&self) -> Result<Site> {
        let (reference, rules) = (self.reference.as_deref(), self.rules.as_deref());
        Site::open(&self.root, reference, rules, &self.selection)
    }

    /// Parses the condition of `--where`.
    pub(super) fn filter(&self) -> Result<Option<Expr>> {
        let Some(text) = &self.filter else { return Ok(None) };
        let bad = |e: ExprError| {
            let hint = "an example: --where \"gemm_dtype = 'bfloat16' AND m <= 256\"";
            Error::caused("--where", hint, e)
        };
        text.parse().map(Some).map_err(bad)
    }

    /// Checks the options that need no device, so that a mistake is reported before a GPU is opened.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no database, if the options name something unknown, or if the rerun list cannot be
    /// read.
    pub fn check(&self) -> Result<()> {
        self.points.as_deref().map(RerunList::read).transpose()?;
        self.filter()?;
        let source = self.site()?.source;
        self.base_ref.as_ref().map_or(Ok(()), |base| source.changed_since(base).map(drop))
    }
}

impl<'a> Remeasurement<'a> {
    /// Prepares a run. The run measures the points of a rerun list, measures a random sample of points, or judges the
    /// replies of the log `replay` again.
    pub(super) fn new(
        site: &'a Site,
        options: &'a RemeasureOptions,
        replay: Option<&'a Replay>,
    ) -> Result<Self> {
        let list = options.points.as_deref().map(RerunList::read).transpose()?;
        let methods = Methods::read(&site.specs().library, options.collectors.is_some())?;
        let (unmeasured, notes, start) = (Vec::new(), Vec::new(), Instant::now());
        let (judged, total) = (0, 0);
        Ok(Self { site, methods, options, list, replay, judged, total, unmeasured, notes, start })
    }

    /// Returns the tables to judge: tables that the options select and that belong to the device's system.
    pub(super) fn tables(&self, about: &About) -> Result<Vec<&'a TableFile>> {
        let mut files: Vec<&'a TableFile> = self.site.tables().collect();
        if let Some(list) = &self.list {
            files.retain(|t| list.of(&t.place, &t.table).is_some());
            if files.is_empty() {
                return Err(Error::new(
                    "the list has no points of the selected tables",
                    "--root must name the database that the list was written for",
                ));
            }
        }
        if let Some(replay) = self.replay {
            files.retain(|file| !replay.of(file).is_empty());
        }
        let named = files.first().map(|file| file.place.system.clone());
        files.retain(|t| self.is_here(t, about));
        match (files.first(), named) {
            (None, Some(system)) => Err(Error::new(
                format!("the device is {}, but the tables are of {system}", about.name),
                "measure on a machine of that system; its YAML lists its devices",
            )),
            _ => self.methods.of_framework(files, about),
        }
    }

    /// Returns true if the device belongs to a table's system.
    fn is_here(&self, file: &TableFile, about: &About) -> bool {
        let system = self.site.catalog.system(&file.place.system, self.site.specs());
        // For a log without a device, the device's name is that of a system.
        system.is_some_and(|s| s.is_device(&about.name)) || about.name == file.place.system
    }

    /// Returns the tables that can serve as control tables. Control tables show whether this GPU is generally faster or
    /// slower than the GPU of the recorded times. They belong to the system of the judged tables, but are not judged.
    /// Of several versions of a table, only the newest is returned. Tables with the name of a judged table come first.
    pub(super) fn controls(
        &self,
        judged: &[&'a TableFile],
        about: &About,
    ) -> Result<Vec<&'a TableFile>> {
        if let Some(replay) = self.replay {
            let is_judged = |t: &TableFile| judged.iter().any(|j| j.entry.path == t.entry.path);
            let other = |t: &&TableFile| replay.names(t) && !is_judged(t);
            return Ok(self.site.catalog.tables.iter().filter(other).collect());
        }
        let source = self.site.source.as_ref();
        let changed = self.options.base_ref.as_ref().map(|base| source.changed_since(base));
        let changed: BTreeSet<String> = changed.transpose()?.into_iter().flatten().collect();
        let taken = |t: &TableFile| {
            judged.iter().any(|j| (&j.table, &j.place.backend) == (&t.table, &t.place.backend))
        };
        let other = |t: &&TableFile| {
            judged.iter().any(|j| j.place.system == t.place.system)
                && self.is_here(t, about)
                && !taken(t)
                && !changed.contains(&t.entry.path)
        };
        let mut files: Vec<&TableFile> = self.site.catalog.tables.iter().filter(other).collect();
        let named = |t: &TableFile| judged.iter().any(|j| j.table == t.table);
        files.sort_by_cached_key(|t| {
            let newest = Version::from_str(&t.place.version).ok();
            (!named(t), &t.table, &t.place.backend, Reverse(newest))
        });
        let mut files = self.methods.of_framework(files, about).unwrap_or_default();
        files.dedup_by_key(|t| (&t.table, &t.place.backend));
        Ok(files)
    }

    /// Chooses which points of a table to measure. The result has no points if the device can measure none of the
    /// table's rows.
    pub(super) fn draw(
        &self,
        file: &TableFile,
        filter: Option<&Expr>,
        rules: DrawRules<'_>,
        device: &dyn Device,
    ) -> Result<Drawn> {
        let (path, specs) = (&file.entry.path, self.site.specs());
        let table = read_table(self.site.source.as_ref(), file, specs)?;
        let spec = file.spec(specs, Some(&table));
        let system = self.site.catalog.system(&file.place.system, specs);
        let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
        if let Some(filter) = filter {
            let has = |name: &&str| *name == "system" || table.column(name).is_some();
            if let Some(name) = filter.columns().into_iter().find(|c| !has(c)) {
                return Err(unknown("column", name, table.columns().map(|(n, _)| n)));
            }
        }
        let bad =
            |e: ExprError| Error::caused(path.as_str(), "the formula is in rules/ or --where", e);
        let points = MeasurablePoints::of(file, &scope, filter, &self.methods).map_err(bad)?;
        let (mut rows, mut rules) = (points.rows(), rules);
        let list = self.list.as_ref().filter(|_| rules.dtypes.is_none());
        if let Some(operation) = list.and_then(|l| l.of(&file.place, &file.table)) {
            let listed = operation.keys(&spec, specs).map_err(bad)?;
            let keys = Keys::new(&spec.key, &scope).map_err(bad)?;
            rows.retain(|row| listed.contains(&keys.hashes()[*row]));
            // All points of a list are measured.
            rules.count = rows.len();
        }
        let replies = self.replay.map(|replay| replay.rows(file, &points));
        if let Some(replies) = &replies {
            rows.retain(|row| replies.contains_key(&(*row as u64)));
            rules.count = rows.len();
        }
        let mut drawn = draw(file, &points, rows, rules, (device, &specs.noise));
        for (point, _) in &mut drawn.points {
            point.reply = replies.as_ref().and_then(|replies| replies.get(&point.row).copied());
        }
        Ok(drawn)
    }

    /// Returns one sentence per table: how long the measurement of power takes, or that no chosen row has a recorded
    /// power. Returns nothing unless power is measured.
    pub(super) fn power(&self, drawn: &[Drawn]) -> Vec<String> {
        let timed = |w: &Work| f64::from(SAMPLES * w.runs) * w.copies as f64 / 1e3;
        let seconds = |p: &Point| 1.0 + p.work.as_ref().map_or(0.0, timed) * p.recorded_ms;
        let said = |d: &Drawn| {
            let points = d.points.iter().map(|(point, _)| point).filter(|p| p.power);
            let (count, path) = (points.clone().count(), &d.file.entry.path);
            match points.map(seconds).sum::<f64>() {
                seconds if count > 0 => {
                    format!("--power: {} of {path} take {seconds:.0} s", plural(count, "point"))
                }
                _ => format!("--power: no drawn row of {path} has a recorded power"),
            }
        };
        drawn.iter().filter(|_| self.options.power).map(said).collect()
    }

    /// Returns a sentence that states whether the collector changed since it measured the table. `None` if the points
    /// were measured without a collector.
    pub(super) fn origin(&self, sample: &Sample) -> Option<String> {
        let folder = self.options.collectors.as_deref()?;
        let module = sample.points.iter().find_map(|p| p.point.call.as_ref())?.module.clone();
        let dir = self.site.catalog.dir_of(&sample.file);
        let meta = dir.and_then(|dir| dir.meta.as_ref());
        let text = meta.and_then(|entry| self.site.source.text(entry).ok());
        let meta = text.and_then(|text| Meta::parse(&text).ok());
        let table = meta.as_ref().and_then(|meta| meta.tables.get(&sample.file.table));
        Some(origin(table.and_then(|t| t.collector_ref()), folder, &module))
    }
}
