//! Finds the files of traces among others, by their names and by how they begin.

use std::collections::BTreeSet;

use super::spec::{Files, TraceSpecs};
use crate::base::reason::Reason;
use crate::database::source::{Entry, EntryKind, Source};

/// Larger than any card or config.
const LARGEST_DOCUMENT: u64 = 1 << 20;
/// Larger than any metric file.
const LARGEST_METRICS: u64 = 64 << 20;

/// Whether traces are asked for, and then the name of the folder, where that is part of them. Where
/// they are, a name that fits is enough; elsewhere what the file says must fit, too.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a>(pub Option<&'a str>);

impl<'a> Asked<'a> {
    /// The name of a directory, the folder's own for the one that has none.
    pub fn dir_name<'d>(self, name: &'d str) -> &'d str
    where
        'a: 'd,
    {
        if name.is_empty() { self.0.unwrap_or_default() } else { name }
    }
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind<'s> {
    /// A workload card.
    Card,
    /// An experiment config.
    Config,
    /// A metric file, by the name of its spec.
    Metrics(&'s str),
}

/// A file that is a trace's.
#[derive(Debug)]
pub struct TraceFile<'s> {
    pub entry: Entry,
    pub kind: TraceKind<'s>,
    /// Whether it is a template that people copy.
    pub template: bool,
    /// Its text, or why there is none.
    pub text: Result<String, Reason>,
}

/// The directory of a path, that directory's name and the file's own.
pub fn split(path: &str) -> (&str, &str, &str) {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    (dir, dir.rsplit('/').next().unwrap_or(dir), name)
}

/// A file's name without its ending.
pub fn stem(name: &str) -> &str {
    let name = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name);
    name.strip_suffix(".yaml").unwrap_or(name)
}

/// Whether a file could be a trace's by its name alone: only such files are opened.
pub fn could_be(entry: &Entry, specs: &TraceSpecs) -> bool {
    let (_, dir, name) = split(&entry.path);
    is_yaml(name) || specs.metrics.values().any(|m| m.files.fit(dir, name))
}

fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// The kind of a trace file; `None` for other files. Where traces are `asked` for, a name
/// that fits is enough; elsewhere the content must fit, too.
pub fn classify<'s>(
    source: &dyn Source,
    entry: &Entry,
    specs: &'s TraceSpecs,
    asked: Asked<'_>,
) -> Option<TraceFile<'s>> {
    let (_, dir, name) = split(&entry.path);
    let dir = asked.dir_name(dir);
    let metrics = specs.metrics.iter().find(|(_, spec)| spec.files.fit(dir, name));
    if let Some((stem, spec)) = metrics {
        metric_file(source, entry, asked, (stem, &spec.files))
    } else if is_yaml(name) {
        document(source, entry, asked, specs)
    } else {
        None
    }
}

/// A metric file, where its content allows it to be one. What cannot be read is classified by its name.
fn metric_file<'s>(
    source: &dyn Source,
    entry: &Entry,
    asked: Asked<'_>,
    (stem, files): (&'s str, &Files),
) -> Option<TraceFile<'s>> {
    let text = text(source, entry, LARGEST_METRICS);
    let fits = asked.0.is_some() || text.as_ref().map_or(true, |t| begins_with(t, files));
    let kind = TraceKind::Metrics(stem);
    fits.then(|| TraceFile { entry: entry.clone(), kind, template: false, text })
}

/// A card or config.
fn document<'s>(
    source: &dyn Source,
    entry: &Entry,
    asked: Asked<'_>,
    specs: &TraceSpecs,
) -> Option<TraceFile<'s>> {
    let (_, dir, name) = split(&entry.path);
    let dir = asked.dir_name(dir);
    let mut kinds =
        [(TraceKind::Card, &specs.card.files), (TraceKind::Config, &specs.config.files)]
            .into_iter();
    let is_file = matches!(entry.kind, EntryKind::Path(_) | EntryKind::Blob(_));
    if entry.size > LARGEST_DOCUMENT || !is_file {
        // It is not read, so its name alone decides.
        let (kind, _) = kinds.find(|(_, files)| files.fit(dir, name))?;
        let text = text(source, entry, LARGEST_DOCUMENT);
        return Some(TraceFile { entry: entry.clone(), kind, template: false, text });
    }
    let text = text(source, entry, LARGEST_DOCUMENT);
    // A text that cannot be read goes by its name, as an empty one does.
    let known = text.as_deref().unwrap_or_default();
    let (kind, files) =
        kinds.find(|(_, files)| is_document(files, dir, name, known, asked.0.is_some()))?;
    Some(TraceFile { entry: entry.clone(), kind, template: files.is_template(name), text })
}

/// Whether a document is of the kind that `files` describes, by its name and its marks.
fn is_document(files: &Files, dir: &str, name: &str, text: &str, asked: bool) -> bool {
    let Some(marks) = marks(text, files) else { return false };
    let marked = marks.count >= 2 && (asked || marks.own);
    // Many files are named after their folder, so only a name of the kind's own counts.
    let named = files.sure(name) && (marks.own || marks.count >= 2 || text.trim().is_empty());
    marked || named || (asked && files.fit(dir, name))
}

/// What shows a document's kind.
struct Marks {
    /// How many of the kind's marks it has.
    count: usize,
    /// Whether it has one that no other kind has.
    own: bool,
}

/// The marks of a kind in a document; `None` where it has one of another kind.
fn marks(text: &str, files: &Files) -> Option<Marks> {
    let begins = |mark: &String| text.lines().any(|l| l.starts_with(mark.as_str()));
    // At any depth: the section may be indented by mistake.
    let within = |mark: &String| text.lines().any(|l| l.trim_start().starts_with(mark.as_str()));
    if files.not.iter().any(within) {
        return None;
    }
    let has = |mark: &&String| begins(mark) || (files.own.contains(mark) && within(mark));
    Some(Marks { count: files.marks.iter().filter(has).count(), own: files.own.iter().any(within) })
}

/// Whether a metric file speaks of one of the marks where it begins; one that is empty is one.
fn begins_with(text: &str, files: &Files) -> bool {
    // A header, or what stands before the rows of a JSON file.
    const HEAD: usize = 64 << 10;
    let head = text.char_indices().nth(HEAD).map_or(text, |(at, _)| &text[..at]);
    let speaks = files.marks.iter().any(|m| head.contains(m.as_str()));
    head.trim().is_empty() || files.marks.is_empty() || speaks
}

fn text(source: &dyn Source, entry: &Entry, largest: u64) -> Result<String, Reason> {
    if entry.size > largest {
        return Err(
            format!("the file has {} bytes, more than such a file can have", entry.size).into()
        );
    }
    let text = source.text(entry)?;
    if crate::database::source::pointer(text.as_bytes()).is_some() {
        return Err("this is a git-LFS pointer: `git lfs pull` fetches the file".into());
    }
    Ok(text)
}

/// Directories that are named as a card or metric file is.
pub fn directories(files: &[Entry], specs: &TraceSpecs) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in files {
        for (at, _) in entry.path.match_indices('/') {
            let (_, dir, name) = split(&entry.path[..at]);
            let metrics = specs.metrics.values().any(|m| m.files.fit(dir, name));
            if metrics || is_yaml(name) && specs.card.files.fit(dir, name) {
                found.insert(entry.path[..at].to_owned());
            }
        }
    }
    found
}
