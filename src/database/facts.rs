//! What the judged tree says of itself beside its tables: the facts that win over those of `rules/`.

use std::cmp::Reverse;

use crate::base::reason::Reason;
use crate::database::catalog::Catalog;
use crate::database::served::ReuseManifest;
use crate::database::sidecar::Sidecars;
use crate::database::source::{Entry, NOT_FETCHED, Source, pointer};
use crate::specs::facts::{AttentionLanes, FactFile, Operations, Pins, QueryVersions, pins_of};
use crate::specs::{Specs, StatedFacts};

/// The name of the operation catalog among the facts.
const OPERATIONS: &str = "operation-catalog";

/// The names of those that decide which rows answer a query.
const REUSE_MANIFEST: &str = "reuse-manifest";
const QUERY_VERSIONS: &str = "query-versions";

/// Bytes of a file of facts, at most; the largest known has 300 kB.
const LARGEST: u64 = 16 << 20;

/// Where a fact is from, for a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is about: `operation-catalog`, or a list of `pins`.
    pub name: String,
    /// Whether the judged tree states it, or `rules/` stands in.
    pub from: FactOrigin,
    /// The file in the tree, where there is one.
    pub path: Option<String>,
    /// Why that file is not read, so that `rules/` stands in.
    pub problem: Option<String>,
}

/// Who states a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactOrigin {
    /// The judged tree.
    Tree,
    /// This program and its overlays.
    Rules,
}

impl FactOrigin {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Rules => "rules",
        }
    }
}

/// What a tree says of itself.
#[derive(Debug, Clone, Default)]
pub struct TreeFacts {
    tree: StatedFacts,
    /// What backends take from each other; none where nothing says.
    pub sharing: Option<ReuseManifest>,
    /// Where each fact is from, by name.
    pub origins: Vec<Fact>,
    /// The sidecars of its version directories.
    pub sidecars: Sidecars,
    /// The files that state facts.
    files: Vec<FactsFile>,
}

/// A file that states a fact.
#[derive(Debug, Clone)]
pub struct FactsFile {
    /// What it is about, as in [`Fact::name`].
    pub name: String,
    /// Where it is.
    pub entry: Entry,
    /// True for a file of the loader's code. The code may be rewritten, so a list that is missing from it is not an error.
    pub is_code: bool,
    /// Why it cannot be read.
    pub fault: Option<String>,
    /// The id of its bytes.
    id: Option<git2::Oid>,
}

impl TreeFacts {
    /// Reads the files that `rules/facts.yaml` names. One that cannot be read or parsed is reported in
    /// [`TreeFacts::origins`], and `rules/` stands in for it.
    pub fn read(source: &dyn Source, catalog: &Catalog, specs: &Specs) -> Self {
        let mut facts = Self { sidecars: Sidecars::read(source, catalog), ..Self::default() };
        let files = &specs.facts;
        let reader = FactReader { source, catalog };
        facts.tree.operations = facts.add(OPERATIONS, &files.operation_catalog, &reader, |text| {
            Operations::parse(text.as_bytes())
        });
        facts.sharing = facts.add(REUSE_MANIFEST, &files.reuse_manifest, &reader, |text| {
            ReuseManifest::parse(text.as_bytes())
        });
        facts.tree.query_versions =
            facts.add(QUERY_VERSIONS, &files.query_versions, &reader, QueryVersions::parse);
        facts.tree.lanes = facts.add(
            "attention-lanes",
            &files.attention_lanes.place(),
            &reader,
            AttentionLanes::parse,
        );
        for (list, pin) in &files.pins {
            let pins = facts.add(list, &pin.place(), &reader, |text| {
                pins_of(text, &pin.after)
                    .ok_or_else(|| format!("no numbers follow `{}`", pin.after).into())
            });
            facts.tree.pins.extend(pins.map(|pins| (list.clone(), pins)));
            facts.files.iter_mut().filter(|file| file.name == *list).for_each(|f| f.is_code = true);
        }
        let matrix = catalog.support.values().next().map(|entry| folder(&entry.path).to_owned());
        facts.origins.push(Fact::new("support-matrix", matrix, None));
        facts
    }

    /// Notes which facts, lists of pins among them, are in files that differ from another state's.
    pub fn since(mut self, base: &Self) -> Self {
        let is_same = |a: &FactsFile, b: &FactsFile| (&a.name, a.id) == (&b.name, b.id);
        let changed = self.files.iter().filter(|own| !base.files.iter().any(|b| is_same(own, b)));
        self.tree.unsettled = changed.map(|file| file.name.clone()).collect();
        self
    }

    /// The specs with these facts over them.
    pub fn over(&self, specs: &Specs) -> Specs {
        specs.with_facts(&self.tree)
    }

    /// Where the operation catalog is from.
    pub fn operation_catalog(&self) -> Option<&Fact> {
        self.origins.iter().find(|f| f.name == OPERATIONS)
    }

    /// A file that decides which rows answer a query and cannot be read, with the reason.
    pub fn unread_answers(&self) -> Option<(&str, &str)> {
        let decides = |fact: &&Fact| [REUSE_MANIFEST, QUERY_VERSIONS].contains(&fact.name.as_str());
        let mut deciding = self.origins.iter().filter(decides);
        deciding.find_map(|fact| Some((fact.path.as_deref()?, fact.problem.as_deref()?)))
    }

    /// The files that state facts; a support matrix is not one of them.
    pub fn files(&self) -> impl Iterator<Item = &FactsFile> {
        self.files.iter()
    }

    /// The operation catalog, where the tree has one that can be read.
    pub fn operations(&self) -> Option<&Operations> {
        self.tree.operations.as_ref()
    }

    /// Figures that the tree's code holds, by list, of the lists that it has.
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

/// Where the facts of several roots are from, the main one's first; what other roots do not state themselves
/// is left out.
pub fn origins<'a>(roots: impl IntoIterator<Item = &'a [Fact]>) -> Vec<Fact> {
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
    /// Where it is from, for people.
    pub fn said(&self) -> String {
        match (&self.path, &self.problem) {
            (Some(path), None) => path.clone(),
            (Some(path), Some(why)) => format!("rules/, because {path} cannot be read: {why}"),
            (None, _) => "rules/".to_owned(),
        }
    }

    fn new(name: &str, path: Option<String>, problem: Option<String>) -> Self {
        let stated = path.is_some() && problem.is_none();
        let from = if stated { FactOrigin::Tree } else { FactOrigin::Rules };
        Self { name: name.to_owned(), from, path, problem }
    }
}

/// Finds and reads files of facts.
struct FactReader<'a> {
    source: &'a dyn Source,
    catalog: &'a Catalog,
}

impl<'a> FactReader<'a> {
    /// The file of that name that is nearest to the systems.
    fn find(&self, file: &FactFile) -> Option<&'a Entry> {
        if file.file.is_empty() {
            return None;
        }
        let home = self.catalog.folder.as_str();
        let is_it = |e: &&Entry| {
            let above = e.path.strip_suffix(file.file.as_str());
            let ends_so = above.is_some_and(|above| above.is_empty() || above.ends_with('/'));
            ends_so && (!file.beside || folder(&e.path) == home)
        };
        let found = self.catalog.others.iter().filter(is_it);
        found.max_by_key(|e| (shared_folders(&e.path, home), Reverse(&e.path)))
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

/// The folder of a path, without a trailing slash.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// How many folders a path and another folder have in common, from the top.
fn shared_folders(path: &str, other: &str) -> usize {
    let (own, others) = (path.split('/'), other.split('/'));
    own.zip(others).take_while(|(a, b)| a == b).count()
}
