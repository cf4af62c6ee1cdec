//! Recognizes trace files by their names and their first lines.

use std::collections::BTreeSet;

use super::spec::{Files, TraceSpecs};
use crate::base::error::Reason;
use crate::database::source::{Entry, EntryKind, Source, pointer};

/// The maximum size of a card or config, in bytes.
const LARGEST_DOCUMENT: u64 = 1 << 20;
/// The maximum size of a metric file, in bytes.
const LARGEST_METRICS: u64 = 64 << 20;

/// The name of the folder that the user passed with the option `--traces`; `None` without this option. The name can be
/// empty. With the option, a matching file name is enough to identify a trace file. Without it, the file's content must
/// match too.
#[derive(Debug, Clone, Copy)]
pub struct TraceRequest<'a>(pub Option<&'a str>);

impl<'a> TraceRequest<'a> {
    /// Returns `name`, which is the name of a file's directory. If it is empty, returns the name of the folder that the
    /// user passed with `--traces`.
    pub(crate) fn dir_name<'d>(self, name: &'d str) -> &'d str
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
    /// A metric file. The text is the name of the spec's file in `rules/traces/`, without `.yaml`.
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

/// Splits a path into the path of the directory, the name of the directory, and the name of the file.
pub fn split(path: &str) -> (&str, &str, &str) {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    (dir, dir.rsplit('/').next().unwrap_or(dir), name)
}

/// Returns a file's name without `.yaml` or `.yml`. The double ending `.yaml.yaml` is removed as a whole.
pub(crate) fn stem(name: &str) -> &str {
    let name = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name);
    name.strip_suffix(".yaml").unwrap_or(name)
}

/// Returns true if the file's name is possible for a card, config or metric file.
pub(crate) fn could_be(entry: &Entry, specs: &TraceSpecs) -> bool {
    let (_, dir, name) = split(&entry.path);
    is_yaml(name) || specs.metrics.values().any(|m| m.files.matches(dir, name))
}

fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// Reads a file and recognizes its kind; `None` if it is not a trace file.
pub(crate) fn classify<'s>(
    source: &dyn Source,
    entry: &Entry,
    specs: &'s TraceSpecs,
    asked: TraceRequest<'_>,
) -> Option<TraceFile<'s>> {
    let (_, dir, name) = split(&entry.path);
    let dir = asked.dir_name(dir);
    let is_asked = asked.0.is_some();
    if let Some((stem, spec)) = specs.metrics.iter().find(|(_, spec)| spec.files.matches(dir, name))
    {
        // An unreadable file is classified by its name alone.
        let text = text(source, entry, LARGEST_METRICS);
        let fits = is_asked || text.as_ref().map_or(true, |t| begins_with(t, &spec.files));
        let kind = TraceKind::Metrics(stem);
        return fits.then(|| TraceFile { entry: entry.clone(), kind, template: false, text });
    }
    if !is_yaml(name) {
        return None;
    }
    let text = text(source, entry, LARGEST_DOCUMENT);
    let is_read = entry.size <= LARGEST_DOCUMENT && is_file(entry);
    let fits = |files: &Files| match &text {
        _ if !is_read => files.matches(dir, name),
        // An unreadable file is treated as an empty one: its name decides.
        text => is_document(files, dir, name, text.as_deref().unwrap_or_default(), is_asked),
    };
    let kinds = [(TraceKind::Card, &specs.card.files), (TraceKind::Config, &specs.config.files)];
    let (kind, files) = kinds.into_iter().find(|(_, files)| fits(files))?;
    let template = is_read && files.is_template(name);
    Some(TraceFile { entry: entry.clone(), kind, template, text })
}

/// Returns true for regular files.
pub(crate) fn is_file(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::Path(_) | EntryKind::Blob(_))
}

/// Returns true if a YAML file is a document of the kind that `files` describes: a card or a config. `is_asked` is true
/// if the user passed `--traces`.
fn is_document(files: &Files, dir: &str, name: &str, text: &str, is_asked: bool) -> bool {
    let starts = |mark: &String| text.lines().any(|l| l.starts_with(mark.as_str()));
    // Any indentation is accepted: the section may be indented by mistake.
    let within = |mark: &String| text.lines().any(|l| l.trim_start().starts_with(mark.as_str()));
    if files.not.iter().any(within) {
        return false;
    }
    let has = |mark: &&String| starts(mark) || (files.own.contains(mark) && within(mark));
    let has_two = files.marks.iter().filter(has).count() >= 2;
    let has_own = files.own.iter().any(within);
    let marked = has_two && (is_asked || has_own);
    // Many files are named after their folder, so a `{dir}` pattern does not count here.
    let named = files.matches_without_dir(name) && (has_own || has_two || text.trim().is_empty());
    marked || named || (is_asked && files.matches(dir, name))
}

/// Returns true if the start of a metric file contains one of the words in `files.marks`. Also returns true if the
/// start is blank or if `files.marks` is empty.
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
        let size = entry.size;
        return Err(format!("the file has {size} bytes, more than such a file can have").into());
    }
    let text = source.text(entry)?;
    if pointer(text.as_bytes()).is_some() {
        return Err("this is a git-LFS pointer: `git lfs pull` fetches the file".into());
    }
    Ok(text)
}

/// Returns the paths of directories that are named like a card or a metric file.
pub(crate) fn directories(files: &[Entry], specs: &TraceSpecs) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in files {
        for (at, _) in entry.path.match_indices('/') {
            let (_, dir, name) = split(&entry.path[..at]);
            let metrics = specs.metrics.values().any(|m| m.files.matches(dir, name));
            if metrics || is_yaml(name) && specs.card.files.matches(dir, name) {
                found.insert(entry.path[..at].to_owned());
            }
        }
    }
    found
}
