//! The first job: is this data right?

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tracing::debug;

use crate::catalog::{Catalog, TableFile, VersionDir};
use crate::checks::{Brings, Check, CrossContext, DirContext, SystemContext, TableContext};
use crate::digest::sha256;
use crate::error::{Error, Result, unknown};
use crate::expr::{ExprError, Scope};
use crate::finding::{Finding, Severity, Sink};
use crate::ledger::Ledger;
use crate::parallel;
use crate::report::Report;
use crate::selection::{Selected, Selection};
use crate::served::Shelf;
use crate::settings::Settings;
use crate::sidecar::{Meta, Reuse};
use crate::sketch::{Sketch, Sketches};
use crate::source::{self, Entry, Source};
use crate::spec::{Rule, Specs};
use crate::support;
use crate::system::System;
use crate::table::{Fault, Keys, TableScope};

/// What to judge, and by which rules.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The folder or repository.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// Which part of the database.
    pub selection: Selection,
    /// Only what changed since the merge base with this commit.
    pub since: Option<String>,
    /// Rules to run; all when empty.
    pub only: Vec<String>,
    /// Rules not to run.
    pub skip: Vec<String>,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// A baseline instead of the judged repository's own.
    pub baseline: Option<PathBuf>,
    /// A collector's log directory, whose classified failures explain what is missing.
    pub ledger: Option<PathBuf>,
    /// Threads; 0 for as many as the machine has cores.
    pub threads: usize,
}

/// Is told how far a run is.
pub trait Progress: Sync {
    /// `done` of `total` tables are judged.
    fn tables(&self, done: usize, total: usize);
}

/// Judges a perf database.
///
/// # Errors
///
/// When nothing can be judged: no database, an unknown name, an unreadable repository. Whatever is
/// wrong with the data is a finding in the report.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Report> {
    judged(options, progress, |_| Ok(())).map(|(report, ())| report)
}

/// What a report was made from.
pub(crate) struct Looked<'a> {
    /// The database, and what of it was judged.
    pub job: &'a Job<'a>,
    /// Of the tables judged and of those they were compared with.
    pub sketches: &'a Sketches,
    /// What was found, in the report's order.
    pub findings: &'a [Finding],
}

/// Judges a perf database, and lets `look` see what the report was made from.
///
/// # Errors
///
/// Those of [`run`] and of `look`.
pub(crate) fn judged<R>(
    options: &Options,
    progress: &dyn Progress,
    look: impl FnOnce(&Looked<'_>) -> Result<R>,
) -> Result<(Report, R)> {
    let start = Instant::now();
    let source = source::open(&options.root, options.reference.as_deref())?;
    // What a branch brings must not change how it is judged.
    let base = options.since.as_deref().map(|since| source.base(since)).transpose()?;
    let judges: &dyn Source = base.as_ref().map_or(source.as_ref(), |base| base);
    let settings = Settings::read(judges, options.rules.as_deref(), options.baseline.as_deref())?;
    let specs = &settings.specs;
    let catalog = Catalog::read(source.as_ref(), specs)?;
    debug!(
        systems = catalog.systems.len(),
        tables = catalog.tables.len(),
        overlays = settings.overlays.len(),
        root = ?options.root,
        "listed"
    );
    let changed = options.since.as_deref().map(|since| source.changed_since(since)).transpose()?;
    let ledger = options.ledger.as_deref().map(Ledger::read).transpose()?;
    let selected = options.selection.resolve(&catalog, changed)?;
    // A log does not say on which machine it was written.
    let machines = catalog.systems.keys().filter(|s| selected.system(s)).count();
    if ledger.is_some() && machines > 1 {
        return Err(Error::new(
            format!("--ledger holds for one system, and {machines} are judged"),
            "name the system of the log with --system",
        ));
    }
    let job = Job {
        source: source.as_ref(),
        selected,
        rules: chosen_rules(specs, &options.only, &options.skip, &|c| !c.judges_traces())?,
        catalog: &catalog,
        specs,
        threads: parallel::threads(options.threads),
        ledger: ledger.as_ref(),
        brings: None,
    };
    let tables = job.judged_tables();
    let judgement = job.run(&tables, &tables, Sketches::default(), progress)?;
    let mut sink = Sink::default();
    sink.extend(judgement.findings);
    // A run over a part of the database, or by some rules, cannot tell what a waiver is for.
    let whole = options.since.is_none() && options.only.is_empty() && options.skip.is_empty();
    settings.conclude(&mut sink, &job.rules, whole && options.selection.is_all())?;
    let (findings, counts) = sink.finish();
    let seen = Looked { job: &job, sketches: &judgement.sketches, findings: &findings };
    let seen = look(&seen)?;
    // All rules on no table at all is no judgement, though a system's YAML was read.
    let asked = options.since.is_none() && options.only.is_empty();
    let files = if tables.is_empty() && asked { 0 } else { judgement.files };
    let report = Report {
        command: "validate",
        rules: job.rules,
        overlays: settings.overlays.clone(),
        tables: tables.len() as u64,
        files,
        rows: judgement.rows,
        findings,
        counts,
        diff: None,
        remeasured: None,
        elapsed: start.elapsed(),
        drawn: None,
    };
    Ok((report, seen))
}

/// The rules to run: all whose checks are `of` this run, or `only` some, but for those to `skip`.
///
/// # Errors
///
/// When a name is no rule's, or no rule is left.
pub(crate) fn chosen_rules(
    specs: &Specs,
    only: &[String],
    skip: &[String],
    of: &dyn Fn(&Check) -> bool,
) -> Result<Vec<Arc<Rule>>> {
    let known = || specs.rules.keys().map(String::as_str);
    if let Some(name) = only.iter().chain(skip).find(|n| !specs.rules.contains_key(*n)) {
        return Err(unknown("rule", name, known()));
    }
    let chosen = |id: &String| (only.is_empty() || only.contains(id)) && !skip.contains(id);
    let chosen: Vec<_> = specs.rules.iter().filter(|(id, _)| chosen(id)).map(|(_, r)| r).collect();
    let rules: Vec<_> = chosen.iter().filter(|r| of(&r.check)).map(|r| (*r).clone()).collect();
    if rules.is_empty() {
        let hint = match chosen.is_empty() {
            true => "--skip leaves out what --only asks for",
            false => "rules on traces run with --traces DIR, and no others do",
        };
        return Err(Error::new("no rule is left to run", hint));
    }
    Ok(rules)
}

/// A state of a database under judgement; how, is the same for every job.
pub(crate) struct Job<'a> {
    /// Where its bytes are.
    pub source: &'a dyn Source,
    /// What it holds.
    pub catalog: &'a Catalog,
    /// Which part of it is judged.
    pub selected: Selected,
    /// By what.
    pub rules: Vec<Arc<Rule>>,
    /// What is known of tables.
    pub specs: &'a Specs,
    /// Threads.
    pub threads: usize,
    /// What a collector failed at, where its log was given.
    pub ledger: Option<&'a Ledger>,
    /// What a pull request brings to it, where one is judged.
    pub brings: Option<&'a Brings>,
}

/// What judging a state leaves.
pub(crate) struct Judgement {
    /// In no order.
    pub findings: Vec<Finding>,
    /// Sidecars and system YAML judged.
    pub files: u64,
    /// Rows of the tables judged.
    pub rows: u64,
    /// Of the tables judged and of those they were compared with.
    pub sketches: Sketches,
}

/// The parsed sidecars of every version directory, by path.
pub(crate) struct Sidecars {
    /// `collection_meta.yaml`.
    pub meta: BTreeMap<String, Result<Meta, String>>,
    /// `reuse.yaml`.
    pub reuse: BTreeMap<String, Result<Reuse, String>>,
}

/// What judging a table leaves; one that cannot be read has no sketch.
struct Judged {
    sketch: Option<Sketch>,
    /// Which of the rows that default models ask for it has.
    held: Vec<bool>,
    findings: Vec<Finding>,
}

impl Job<'_> {
    /// Judges the tables `alone` by themselves and those `against` others by what those have, as
    /// indices into the catalog; then the sidecars, systems and strays selected. Of tables that are
    /// not `alone`, sketches that are `known` are not taken again.
    pub fn run(
        &self,
        alone: &[usize],
        against: &[usize],
        known: Sketches,
        progress: &dyn Progress,
    ) -> Result<Judgement> {
        let sidecars = self.sidecars();
        let path = |index: usize| self.catalog.tables[index].entry.path.as_str();
        let shelf = Shelf::new(self.catalog, &sidecars.reuse);
        let named = self.rules.iter().any(|r| r.check.names_keys());
        let named = if named { shelf.references(self.specs) } else { BTreeSet::new() };
        let mut neighbours = self.neighbours(alone, against);
        // A sketch of another state serves unless it lacks what this one asks of it.
        let serves = |path: &str, sketch: &Sketch| {
            !named.contains(path) || sketch.points.is_empty() || sketch.coverage.is_taken()
        };
        neighbours.retain(|i| !known.by_path.get(path(*i)).is_some_and(|s| serves(path(*i), s)));

        let done = AtomicUsize::new(0);
        let items: Vec<(usize, bool)> = alone
            .iter()
            .map(|i| (*i, true))
            .chain(neighbours.iter().map(|i| (*i, false)))
            .collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        let size = |i: &usize| self.catalog.tables[items[*i].0].entry.size;
        order.sort_by_key(|i| (std::cmp::Reverse(size(i)), *i));
        let judged = parallel::map(&items, &order, self.threads, |(index, judge)| {
            let file = &self.catalog.tables[*index];
            let rules = if *judge { &self.rules[..] } else { &[] };
            let named = named.contains(file.entry.path.as_str());
            let start = Instant::now();
            let judged = self.table(file, &sidecars, rules, named);
            let rows = judged.as_ref().ok().and_then(|j| Some(j.sketch.as_ref()?.rows));
            debug!(path = ?file.entry.path, rows, judge, took = ?start.elapsed(), "read");
            if !judge {
                return judged;
            }
            progress.tables(done.fetch_add(1, Ordering::Relaxed) + 1, alone.len());
            judged
        });

        let mut findings = Vec::new();
        let mut sketches = known;
        let mut rows = 0;
        for ((index, judge), judged) in items.iter().zip(judged) {
            let judged = judged?;
            findings.extend(judged.findings);
            let Some(sketch) = judged.sketch else { continue };
            if *judge {
                rows += sketch.rows as u64;
            }
            sketches.by_path.insert(path(*index).to_owned(), sketch);
            sketches.held.insert(path(*index).to_owned(), judged.held);
        }
        let (support, sharing) = match self.rules.iter().any(|r| r.check.reads_support()) {
            true => support::read(self.source, self.catalog),
            false => Default::default(),
        };
        let cross = CrossContext {
            catalog: self.catalog,
            support: &support,
            sharing: sharing.as_ref(),
            sketches: &sketches,
            shelf: &shelf,
            meta: &sidecars.meta,
            ledger: self.ledger,
            judged: &against.iter().map(|i| path(*i)).collect(),
            foreign: &|file| self.foreign(file, &sidecars),
            age: &|a, b| self.source.age(&a.entry, &b.entry),
            levels: Default::default(),
            specs: self.specs,
            brings: self.brings,
        };
        let order: Vec<usize> = (0..self.rules.len()).collect();
        let found = parallel::map(&self.rules, &order, self.threads, |rule| {
            let start = Instant::now();
            let found = rule.check.cross(rule, &cross);
            debug!(rule = rule.id, took = ?start.elapsed(), "held tables against each other");
            found.map_err(|e| {
                let hint = "the formula is in rules/limits.yaml";
                Error::new(format!("cannot judge by {}: {e}", rule.id), hint)
            })
        });
        for found in found {
            findings.extend(found?);
        }
        let files = self.dirs(&sidecars, &mut findings) + self.systems(&mut findings);
        findings.extend(self.strays());
        Ok(Judgement { findings, files, rows, sketches })
    }

    /// The tables selected, as indices into the catalog.
    pub fn judged_tables(&self) -> Vec<usize> {
        // A sidecar speaks of its tables and a system of its rows, so a change of it is one of theirs.
        let meta = |t: &TableFile| self.catalog.dir_of(t).and_then(|d| d.meta.as_ref());
        let system = |t: &TableFile| self.catalog.systems.get(&t.place.system);
        let judged = |t: &TableFile| {
            self.selected.table(&t.place, &t.table)
                && (self.selected.changed(&t.entry.path)
                    || meta(t).is_some_and(|m| self.selected.changed(&m.path))
                    || system(t).is_some_and(|s| self.selected.changed(&s.yaml)))
        };
        (0..self.catalog.tables.len()).filter(|i| judged(&self.catalog.tables[*i])).collect()
    }

    /// Tables that are not judged `alone` but that those `against` others are compared with: the
    /// same table elsewhere.
    fn neighbours(&self, alone: &[usize], against: &[usize]) -> Vec<usize> {
        let name = |i: &usize| self.catalog.tables[*i].table.as_str();
        let wanted: BTreeSet<&str> = against.iter().map(name).collect();
        let judged: BTreeSet<usize> = alone.iter().copied().collect();
        let others = (0..self.catalog.tables.len()).filter(|i| !judged.contains(i));
        others.filter(|i| wanted.contains(name(i))).collect()
    }

    fn text(&self, entry: &Entry) -> Result<String, String> {
        let bytes = self.source.read(entry)?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    }

    /// Reads the sidecars of all version directories.
    pub fn sidecars(&self) -> Sidecars {
        let mut sidecars = Sidecars { meta: BTreeMap::new(), reuse: BTreeMap::new() };
        for (path, dir) in &self.catalog.dirs {
            if let Some(entry) = &dir.meta {
                let meta = self.text(entry).and_then(|t| Meta::parse(&t));
                sidecars.meta.insert(path.clone(), meta);
            }
            if let Some(entry) = &dir.reuse {
                let reuse = self.text(entry).and_then(|t| Reuse::parse(&t));
                sidecars.reuse.insert(path.clone(), reuse);
            }
        }
        sidecars
    }

    /// From what factor on points that stand out are kept, where a rule looks at them.
    fn apart(&self) -> Option<f64> {
        self.rules.iter().filter_map(|r| r.check.apart()).reduce(f64::min)
    }

    fn system(&self, name: &str) -> Option<&System> {
        let file = self.catalog.systems.get(name)?;
        // Rows of a system whose YAML is broken are still judged by what is known of it.
        file.system.as_ref().ok().or_else(|| self.specs.systems.get(name))
    }

    /// Whether a rule asks what default models find.
    fn plans(&self) -> bool {
        self.rules.iter().any(|r| r.check.plans())
    }

    /// Rows of a table that was not sketched; none where it cannot be read.
    pub fn rows(&self, file: &TableFile) -> Option<usize> {
        let bytes = self.source.read(&file.entry).ok()?;
        Some(self.specs.decode(file, &bytes).ok()?.rows)
    }

    /// Judges a table by some rules, and takes its sketch to compare others with, its keys `named`
    /// where they are told of others.
    fn table(
        &self,
        file: &TableFile,
        sidecars: &Sidecars,
        rules: &[Arc<Rule>],
        named: bool,
    ) -> Result<Judged> {
        let work = || self.judge_table(file, sidecars, rules, named);
        // A fault of ours must not pass for a verdict on the data.
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(judged)) => Ok(judged),
            Ok(Err(e)) => Err(Error::new(
                format!("cannot judge {}: {e}", file.entry.path),
                "the formula is in rules/tables; `perfdb-gate rules` lists the rules",
            )),
            Err(_) => Err(Error::new(
                format!("perfdb-gate failed while judging {}", file.entry.path),
                "please report it with that file",
            )),
        }
    }

    fn judge_table(
        &self,
        file: &TableFile,
        sidecars: &Sidecars,
        rules: &[Arc<Rule>],
        named: bool,
    ) -> Result<Judged, ExprError> {
        let meta = self
            .catalog
            .dir_of(file)
            .and_then(|d| sidecars.meta.get(&d.path))
            .and_then(|m| m.as_ref().ok());
        let stated = meta.and_then(|m| m.tables.get(&file.table)).and_then(|t| t.sha256.as_ref());
        let mut digest = None;
        let table = match self.source.read(&file.entry) {
            Err(why) => Err(Fault::Unreadable(why)),
            Ok(bytes) => {
                digest = stated.map(|_| sha256(&bytes));
                self.specs.decode(file, &bytes)
            }
        };
        let spec = self.specs.table(file, table.as_ref().ok());
        let place = &file.place;
        let system = self.system(&place.system);
        let lookups = &self.specs.lookups;
        let scope =
            table.as_ref().ok().map(|table| TableScope::new(table, &spec, place, system, lookups));
        let keys = match &scope {
            Some(scope) if !spec.key.is_empty() => Some(Keys::new(&spec.key, scope)?),
            _ => None,
        };
        let sketch = match (&scope, &keys) {
            (Some(scope), Some(keys)) => Some(Sketch::of(keys, scope, self.apart(), named)?),
            (Some(scope), None) => Some(Sketch { rows: scope.rows(), ..Sketch::default() }),
            (None, _) => None,
        };
        let held = match &scope {
            Some(scope) if self.plans() => self.specs.workflows.held(&file.table, scope)?,
            _ => Vec::new(),
        };
        let context = TableContext {
            file,
            spec: &spec,
            table: table.as_ref(),
            system,
            keys: keys.as_ref(),
            specs: self.specs,
            digest: digest.as_deref(),
            meta,
            brought: self.brings.and_then(|b| b.of(file)),
        };
        let mut findings = Vec::new();
        for rule in rules {
            findings.extend(rule.check.table(rule, &context)?);
            findings.extend(rule.check.placement(rule, file, &spec));
        }
        Ok(Judged { sketch, held, findings })
    }

    /// In how many ways a table's rows name another origin than its place.
    fn foreign(&self, file: &TableFile, sidecars: &Sidecars) -> usize {
        let rules: Vec<_> =
            self.specs.rules.values().filter(|r| r.check.tells_origin()).cloned().collect();
        let told = |f: &&Finding| f.severity != Severity::Info;
        self.table(file, sidecars, &rules, false)
            .map_or(0, |judged| judged.findings.iter().filter(told).count())
    }

    /// Judges version directories; counts the sidecars among them.
    fn dirs(&self, sidecars: &Sidecars, findings: &mut Vec<Finding>) -> u64 {
        let mut files = 0;
        for dir in self.catalog.dirs.values() {
            let within = dir.meta.iter().chain(&dir.reuse).chain(&dir.markers);
            if !self.selected.place(&dir.place) || !self.touched(dir, sidecars) || !self.wanted(dir)
            {
                continue;
            }
            if self.rules.iter().any(|r| r.check.judges_dirs()) {
                files += within.count() as u64;
            }
            let context = DirContext {
                dir,
                catalog: self.catalog,
                specs: self.specs,
                meta: sidecars.meta.get(&dir.path),
                reuse: sidecars.reuse.get(&dir.path),
            };
            for rule in &self.rules {
                let of_selected = |f: &Finding| {
                    f.table.as_ref().is_none_or(|t| self.selected.table(&dir.place, t))
                };
                findings.extend(rule.check.dir(rule, &context).into_iter().filter(of_selected));
            }
        }
        files
    }

    /// Whether a directory changed, or one that it takes rows from.
    fn touched(&self, dir: &VersionDir, sidecars: &Sidecars) -> bool {
        let parent = dir.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let reuse = sidecars.reuse.get(&dir.path).and_then(|r| r.as_ref().ok());
        let mut donors =
            reuse.iter().flat_map(|r| &r.reuse).map(|d| format!("{parent}/{}", d.from_version));
        self.selected.touched(&dir.path) || donors.any(|donor| self.selected.touched(&donor))
    }

    /// Whether a directory holds a selected table, or no table is selected by name.
    fn wanted(&self, dir: &VersionDir) -> bool {
        let selected = |i: &usize| self.selected.table(&dir.place, &self.catalog.tables[*i].table);
        self.selected.whole_dirs() || dir.tables.iter().any(selected)
    }

    /// Judges systems; counts them.
    fn systems(&self, findings: &mut Vec<Finding>) -> u64 {
        let mut files = 0;
        for file in self.catalog.systems.values() {
            if !self.selected.system(&file.name) || !self.selected.changed(&file.yaml) {
                continue;
            }
            files += u64::from(self.rules.iter().any(|r| r.check.judges_systems()));
            let context = SystemContext { file, catalog: self.catalog, specs: self.specs };
            for rule in &self.rules {
                findings.extend(rule.check.system(rule, &context));
            }
        }
        files
    }

    fn strays(&self) -> Vec<Finding> {
        let judged = |(entry, system): &&(Entry, String)| {
            self.selected.system(system) && self.selected.changed(&entry.path)
        };
        let strays = self.catalog.strays.iter().filter(judged);
        strays.flat_map(|(e, _)| self.rules.iter().filter_map(|r| r.check.stray(r, e))).collect()
    }
}
