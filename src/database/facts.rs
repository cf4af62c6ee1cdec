//! Facts that the judged tree states beside its tables; they override those of `rules/`.

use std::cmp::Reverse;

use crate::base::error::Reason;
use crate::database::catalog::Catalog;
use crate::database::served::ReuseManifest;
use crate::database::sidecar::Sidecars;
use crate::database::source::{Entry, NOT_FETCHED, Source, pointer};
use crate::specs::facts::{
    AttentionLanes, FactFile, KernelSources, Operations, Pins, QueryVersions, pins_of,
};
use crate::specs::{Specs, StatedFacts};

/// The name of the operation catalog in reports of facts.
const OPERATIONS: &str = "operation-catalog";

/// The name of the fact that states which rows backends share. This fact and the query versions decide which rows
/// answer a query.
const REUSE_MANIFEST: &str = "reuse-manifest";
const QUERY_VERSIONS: &str = "query-versions";

/// The maximal size of a file of facts in bytes; the largest known has 300 kB.
const LARGEST: u64 = 16 << 20;

/// The origin of a fact, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The name of the fact, such as `operation-catalog` or the name of a list of pins.
    pub name: String,
    /// The origin of the value in use: the judged tree, or `rules/` as a fallback.
    pub from: FactOrigin,
    /// The year and month of the value in `rules/`; `None` if the tree's value is used.
    pub date: Option<String>,
    /// The file in the tree, if it exists.
    pub path: Option<String>,
    /// The reason why the file is not used, so that `rules/` applies; `None` if there is no problem.
    pub problem: Option<String>,
}

/// The source that states a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum FactOrigin {
    /// The judged work tree or commit.
    Tree,
    /// This program's own `rules/`, with overlays.
    Rules,
}

/// The facts that a tree states.
#[derive(Debug, Clone, Default)]
pub struct TreeFacts {
    tree: StatedFacts,
    /// The manifest of the rows that backends share; `None` if the tree does not contain one.
    pub sharing: Option<ReuseManifest>,
    /// The origin of each fact of the tree.
    pub origins: Vec<Fact>,
    /// The sidecars of the tree's version directories.
    pub sidecars: Sidecars,
    /// The files that state facts.
    files: Vec<FactsFile>,
}

/// A file that states a fact.
#[derive(Debug, Clone)]
pub(crate) struct FactsFile {
    /// The name of the fact, as in [`Fact::name`].
    pub name: String,
    /// The file's location.
    pub entry: Entry,
    /// True for a file of the loader's code. The code may be rewritten, so a list that is missing from it is
    /// not an error.
    pub is_code: bool,
    /// The reason why the file cannot be read; `None` if it can.
    pub fault: Option<String>,
    /// The git object id of the file's bytes; `None` if the bytes are unavailable.
    id: Option<git2::Oid>,
}

impl TreeFacts {
    /// Reads the files that `rules/facts.yaml` names. A file that cannot be read or parsed is reported in
    /// [`TreeFacts::origins`], and `rules/` applies instead.
    pub fn read(source: &dyn Source, catalog: &Catalog, specs: &Specs) -> Self {
        let loader = &specs.loader.yaml;
        let sidecars = Sidecars::read(source, catalog, loader);
        let mut facts = Self { sidecars, ..Self::default() };
        let files = &specs.facts;
        let reader = FactReader { source, catalog };
        facts.tree.operations = facts.add(OPERATIONS, &files.operation_catalog, &reader, |text| {
            Operations::parse(text.as_bytes())
        });
        facts.sharing = facts.add(REUSE_MANIFEST, &files.reuse_manifest, &reader, |text| {
            ReuseManifest::parse(text.as_bytes())
        });
        facts.tree.query_versions =
            facts.add(QUERY_VERSIONS, &files.query_versions, &reader, |text| {
                loader.query_versions.checked(text, QueryVersions::parse(text))
            });
        facts.tree.lanes =
            facts.add("attention-lanes", &files.attention_lanes.place(), &reader, |text| {
                loader.attention_lanes.checked(text, AttentionLanes::parse(text))
            });
        // A tree without this file does not list choices of kernels either, so that no default is needed.
        if reader.find(&files.kernel_sources).is_some() {
            facts.tree.kernel_sources =
                facts.add("kernel-sources", &files.kernel_sources, &reader, KernelSources::parse);
        }
        for (list, pin) in &files.pins {
            let pins = facts.add(list, &pin.place(), &reader, |text| {
                pins_of(text, &pin.after)
                    .ok_or_else(|| format!("no numbers follow `{}`", pin.after).into())
            });
            facts.tree.pins.extend(pins.map(|pins| (list.clone(), pins)));
            facts.files.iter_mut().filter(|file| file.name == *list).for_each(|f| f.is_code = true);
        }
        let matrix = catalog.support.values().next().map(|entry| entry.folder().to_owned());
        facts.origins.push(Fact::new("support-matrix", matrix, None));
        for fact in facts.origins.iter_mut().filter(|fact| fact.from == FactOrigin::Rules) {
            fact.date = Some(specs.shipped.date().to_owned());
        }
        facts
    }

    /// Records the facts (including lists of pins) whose files differ from those of another state.
    pub(crate) fn since(mut self, base: &Self) -> Self {
        let is_same = |a: &FactsFile, b: &FactsFile| (&a.name, a.id) == (&b.name, b.id);
        let changed = self.files.iter().filter(|own| !base.files.iter().any(|b| is_same(own, b)));
        self.tree.unsettled = changed.map(|file| file.name.clone()).collect();
        self
    }

    /// Returns the specs, overridden by these facts.
    pub(crate) fn over(&self, specs: &Specs) -> Specs {
        specs.with_facts(&self.tree)
    }

    /// Returns the origin of the operation catalog; `None` if it is not among the facts.
    pub fn operation_catalog(&self) -> Option<&Fact> {
        self.origins.iter().find(|f| f.name == OPERATIONS)
    }

    /// Returns the path of a file that decides which rows answer a query but cannot be read, with the reason; `None`
    /// if all of them can be read.
    pub(crate) fn unread_answers(&self) -> Option<(&str, &str)> {
        let decides = |fact: &&Fact| [REUSE_MANIFEST, QUERY_VERSIONS].contains(&fact.name.as_str());
        let mut deciding = self.origins.iter().filter(decides);
        deciding.find_map(|fact| Some((fact.path.as_deref()?, fact.problem.as_deref()?)))
    }

    /// Returns the files that state facts, without support matrices.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FactsFile> {
        self.files.iter()
    }

    /// Returns the tree's operation catalog, if there is one that can be read.
    pub fn operations(&self) -> Option<&Operations> {
        self.tree.operations.as_ref()
    }

    /// Returns the values that are pinned in the tree's loader code, by name of the list.
    pub fn pins(&self) -> impl Iterator<Item = (&str, &Pins)> {
        self.tree.pins.iter().map(|(list, pins)| (list.as_str(), pins))
    }

    fn add<T>(
        &mut self,
        name: &str,
        file: &FactFile,
        reader: &FactReader<'_>,
        parse: impl Fn(&str) -> Result<T, Reason>,
    ) -> Option<T> {
        let Some(entry) = reader.find(file) else {
            self.origins.push(Fact::new(name, None, None));
            return None;
        };
        let read = reader.text(entry).and_then(|text| parse(&text));
        let fault = read.as_ref().err().map(ToString::to_string);
        self.origins.push(Fact::new(name, Some(entry.path.clone()), fault.clone()));
        self.files.push(FactsFile {
            name: name.to_owned(),
            entry: entry.clone(),
            is_code: false,
            fault,
            id: reader.source.id(entry),
        });
        read.ok()
    }
}

/// Merges the origins of facts of several roots. The main root comes first; other roots contribute only facts
/// that they state themselves.
pub(crate) fn origins<'a>(roots: impl IntoIterator<Item = &'a [Fact]>) -> Vec<Fact> {
    let mut all: Vec<Fact> = Vec::new();
    for (number, facts) in roots.into_iter().enumerate() {
        for fact in facts {
            if number == 0 || fact.path.is_some() && !all.contains(fact) {
                all.push(fact.clone());
            }
        }
    }
    all
}

impl Fact {
    /// Describes the origin of the fact for people.
    pub fn describe(&self) -> String {
        match (&self.path, &self.problem) {
            (Some(path), None) => path.clone(),
            (Some(path), Some(why)) => format!("rules/, because {path} cannot be read: {why}"),
            (None, _) => "rules/".to_owned(),
        }
    }

    fn new(name: &str, path: Option<String>, problem: Option<String>) -> Self {
        let stated = path.is_some() && problem.is_none();
        let from = if stated { FactOrigin::Tree } else { FactOrigin::Rules };
        Self { name: name.to_owned(), from, date: None, path, problem }
    }
}

/// A finder and reader of files of facts.
struct FactReader<'a> {
    source: &'a dyn Source,
    catalog: &'a Catalog,
}

impl<'a> FactReader<'a> {
    /// Returns the file of that name whose folder is closest to the systems' folder; `None` if no file has the name.
    fn find(&self, file: &FactFile) -> Option<&'a Entry> {
        if file.file.is_empty() {
            return None;
        }
        let home = self.catalog.folder.as_str();
        let named = |name: &str| {
            let is_named = |e: &&Entry| {
                let above = e.path.strip_suffix(name);
                let ends_so = above.is_some_and(|above| above.is_empty() || above.ends_with('/'));
                ends_so && (!file.beside || e.folder() == home)
            };
            let found = self.catalog.outside_files.iter().filter(is_named);
            found.max_by_key(|e| (shared_folders(&e.path, home), Reverse(&e.path)))
        };
        named(&file.file).or_else(|| named(file.formerly.as_deref()?))
    }

    fn text(&self, entry: &Entry) -> Result<String, Reason> {
        if let Some(why) = entry.kind.leads_away() {
            return Err(format!("it is {why}").into());
        }
        if entry.size > LARGEST {
            return Err(format!("it has {} bytes, more than {LARGEST}", entry.size).into());
        }
        let text = self.source.text(entry)?;
        if pointer(text.as_bytes()).is_some() { Err(NOT_FETCHED.into()) } else { Ok(text) }
    }
}

/// Counts the leading folders that a path shares with another.
fn shared_folders(path: &str, other: &str) -> usize {
    let (own, others) = (path.split('/'), other.split('/'));
    own.zip(others).take_while(|(a, b)| a == b).count()
}
