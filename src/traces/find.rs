//! Tells traces from other files, by name and by what they begin with.

use std::collections::BTreeSet;

use super::spec::{DocumentSpec, Files, TraceSpecs};
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
pub enum Kind<'s> {
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
    pub kind: Kind<'s>,
    /// Whether it is a template that people copy.
    pub template: bool,
    /// Its text, or why there is none.
    pub text: Result<String, String>,
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

/// What a file is; none where it is no trace's. Where traces are `asked` for, a name that fits is
/// enough; elsewhere what the file says must fit, too.
pub fn classify<'s>(
    source: &dyn Source,
    entry: &Entry,
    specs: &'s TraceSpecs,
    asked: Asked<'_>,
) -> Option<TraceFile<'s>> {
    let (_, dir, name) = split(&entry.path);
    let dir = asked.dir_name(dir);
    let asked = asked.0.is_some();
    let file =
        |kind, template, text| Some(TraceFile { entry: entry.clone(), kind, template, text });
    let metrics = specs.metrics.iter().find(|(_, spec)| spec.files.fit(dir, name));
    if let Some((stem, spec)) = metrics {
        let text = text(source, entry, LARGEST_METRICS);
        let known = asked || text.as_ref().map_or(true, |t| begins_with(t, &spec.files));
        return if known { file(Kind::Metrics(stem), false, text) } else { None };
    }
    if !is_yaml(name) {
        return None;
    }
    let kinds = [(Kind::Card, &specs.card), (Kind::Config, &specs.config)];
    let named = |spec: &DocumentSpec| spec.files.fit(dir, name);
    // Of a file that cannot be read, the name alone tells.
    if entry.size > LARGEST_DOCUMENT
        || !matches!(entry.kind, EntryKind::Path(_) | EntryKind::Blob(_))
    {
        let (kind, _) = kinds.into_iter().find(|(_, spec)| named(spec))?;
        return file(kind, false, text(source, entry, LARGEST_DOCUMENT));
    }
    let text = text(source, entry, LARGEST_DOCUMENT);
    for (kind, spec) in kinds {
        let Some(marks) = text.as_ref().map_or(Some(Marks::default()), |t| marks(t, &spec.files))
        else {
            continue;
        };
        let blank = text.as_ref().map_or(true, |t| t.trim().is_empty());
        // Many a file is named as its folder is.
        let sure = spec.files.sure(name) && (marks.own || marks.count >= 2 || blank);
        let marked = marks.count >= 2 && (asked || marks.own);
        if marked || sure || asked && named(spec) {
            return file(kind, spec.files.is_template(name), text);
        }
    }
    None
}

/// What tells a document's kind.
#[derive(Default)]
struct Marks {
    /// How many of the marks there are.
    count: usize,
    /// Whether one is there that no other kind has.
    own: bool,
}

/// The marks in a document; none where it is one of another kind.
fn marks(text: &str, files: &Files) -> Option<Marks> {
    let begins = |mark: &String| text.lines().any(|l| l.starts_with(mark.as_str()));
    // At any depth, as it may stand at a wrong one.
    let within = |mark: &String| text.lines().any(|l| l.trim_start().starts_with(mark.as_str()));
    let own = |mark: &String| files.own.contains(mark) && within(mark);
    let other = files.not.iter().any(within);
    (!other).then(|| Marks {
        count: files.marks.iter().filter(|m| begins(m) || own(m)).count(),
        own: files.own.iter().any(within),
    })
}

/// Whether a metric file speaks of one of the marks where it begins; one that is empty is one.
fn begins_with(text: &str, files: &Files) -> bool {
    // A header, or what stands before the rows of a JSON file.
    const HEAD: usize = 64 << 10;
    let head = text.char_indices().nth(HEAD).map_or(text, |(at, _)| &text[..at]);
    let speaks = files.marks.iter().any(|m| head.contains(m.as_str()));
    head.trim().is_empty() || files.marks.is_empty() || speaks
}

fn text(source: &dyn Source, entry: &Entry, largest: u64) -> Result<String, String> {
    if entry.size > largest {
        return Err(format!("{} bytes are more than such a file has", entry.size));
    }
    let bytes = source.read(entry)?;
    if crate::database::source::pointer(&bytes).is_some() {
        return Err("a git-LFS pointer, not the file: `git lfs pull` brings it".into());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
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
