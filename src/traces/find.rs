//! Recognizes trace files by their names and their first lines.

use std::collections::BTreeSet;

use super::spec::{Files, TraceSpecs};
use crate::base::reason::Reason;
use crate::database::source::{Entry, EntryKind, Source};

/// The size limit of a card or config, in bytes.
const LARGEST_DOCUMENT: u64 = 1 << 20;
/// The size limit of a metric file, in bytes.
const LARGEST_METRICS: u64 = 64 << 20;

/// `Some` if the user asked for traces (`--traces`); then a matching file name is enough. With
/// `None` the file's content must match, too. The text is the name of the folder itself, or empty
/// if that name carries no meaning.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a>(pub Option<&'a str>);

impl<'a> Asked<'a> {
    /// Returns a directory's `name`, or the name of the requested folder if `name` is empty.
    pub fn dir_name<'d>(self, name: &'d str) -> &'d str
    where
        'a: 'd,
    {
        if name.is_empty() { self.0.unwrap_or_default() } else { name }
    }
}

/// The kind of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind<'s> {
    /// A workload card.
    Card,
    /// An experiment config.
    Config,
    /// A metric file, with the stem of its spec's file name.
    Metrics(&'s str),
}

/// A recognized trace file.
#[derive(Debug)]
pub struct TraceFile<'s> {
    pub entry: Entry,
    pub kind: TraceKind<'s>,
    /// True if the file is a template that people copy and fill in.
    pub template: bool,
    /// The file's text, or the reason why it cannot be read.
    pub text: Result<String, Reason>,
}

/// Splits a path into its directory, that directory's own name, and the file's name.
pub fn split(path: &str) -> (&str, &str, &str) {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    (dir, dir.rsplit('/').next().unwrap_or(dir), name)
}

/// Returns a file's name without `.yaml` or `.yml`; `.yaml.yaml` is removed as a whole.
pub fn stem(name: &str) -> &str {
    let name = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name);
    name.strip_suffix(".yaml").unwrap_or(name)
}

/// Returns true if a file's name alone could be a trace file's. Only such files are opened.
pub fn could_be(entry: &Entry, specs: &TraceSpecs) -> bool {
    let (_, dir, name) = split(&entry.path);
    is_yaml(name) || specs.metrics.values().any(|m| m.files.fit(dir, name))
}

fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// Reads a file and recognizes its kind; `None` if it is not a trace file.
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

/// Returns a metric file whose content matches its name. An unreadable file is classified by its
/// name alone.
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

/// Returns a card or config; `None` for other YAML files.
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
        // The file is not read, so its name alone decides.
        let (kind, _) = kinds.find(|(_, files)| files.fit(dir, name))?;
        let text = text(source, entry, LARGEST_DOCUMENT);
        return Some(TraceFile { entry: entry.clone(), kind, template: false, text });
    }
    let text = text(source, entry, LARGEST_DOCUMENT);
    // An unreadable file is treated as an empty one: its name decides.
    let known = text.as_deref().unwrap_or_default();
    let (kind, files) =
        kinds.find(|(_, files)| is_document(files, dir, name, known, asked.0.is_some()))?;
    Some(TraceFile { entry: entry.clone(), kind, template: files.is_template(name), text })
}

/// Returns true if a document's name and marks match the kind that `files` describes.
fn is_document(files: &Files, dir: &str, name: &str, text: &str, asked: bool) -> bool {
    let Some(marks) = marks(text, files) else { return false };
    let marked = marks.count >= 2 && (asked || marks.own);
    // Many files are named after their folder, so a `{dir}` pattern does not count here.
    let named = files.sure(name) && (marks.own || marks.count >= 2 || text.trim().is_empty());
    marked || named || (asked && files.fit(dir, name))
}

/// The marks of one kind that were found in a document.
struct Marks {
    /// The number of different marks found.
    count: usize,
    /// True if a mark was found that no other kind of document has.
    own: bool,
}

/// Counts the marks of a kind in a document; `None` if it has a mark of another kind.
fn marks(text: &str, files: &Files) -> Option<Marks> {
    let begins = |mark: &String| text.lines().any(|l| l.starts_with(mark.as_str()));
    // Any indentation is accepted: the section may be indented by mistake.
    let within = |mark: &String| text.lines().any(|l| l.trim_start().starts_with(mark.as_str()));
    if files.not.iter().any(within) {
        return None;
    }
    let has = |mark: &&String| begins(mark) || (files.own.contains(mark) && within(mark));
    Some(Marks { count: files.marks.iter().filter(has).count(), own: files.own.iter().any(within) })
}

/// Returns true if the start of a metric file is blank or contains one of the kind's marks, or if
/// the kind has no marks.
fn begins_with(text: &str, files: &Files) -> bool {
    // The number of characters searched: a CSV header, or the members before the rows of a JSON
    // file.
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

/// Returns the paths of directories that have the name of a card or metric file.
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
