//! Reads the fields of a card or config by its spec and lists the fields that are wrong by
//! themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::field::{columns, is_blank};
use super::frame::{Frame, TraceCell};
use super::spec::{DocumentSpec, Field, FieldType, Presence};
use super::tree::{YamlNode, YamlValue, brief};
use crate::base::words::Figure;
use crate::findings::Severity;

/// The kind of a field's problem. All problems of a document with the same kind and severity become
/// one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The field is missing.
    Missing,
    /// The field is at another depth of the document.
    Depth,
    /// The value has another type.
    Type,
    /// The value is out of range or not one of the allowed values.
    Value,
    /// The value is empty or a placeholder such as `TBD`.
    Unfilled,
}

impl ProblemKind {
    /// The kind's name in findings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Depth => "depth",
            Self::Type => "type",
            Self::Value => "value",
            Self::Unfilled => "unfilled",
        }
    }
}

/// A problem of one field.
#[derive(Debug)]
pub struct Problem {
    pub fault: ProblemKind,
    pub severity: Severity,
    /// The field's dotted path.
    pub field: String,
    pub line: Option<u64>,
    pub text: String,
}

/// A card or config that was read.
#[derive(Debug)]
pub struct Document<'a> {
    /// The document's columns, as a frame of one row.
    pub frame: Frame<'a>,
    /// The line of each column's field, by column name.
    pub lines: BTreeMap<String, u64>,
    /// Columns that have the spec's default because the document does not state them.
    pub defaulted: BTreeSet<String>,
    pub problems: Vec<Problem>,
}

struct Reader<'s, 'n> {
    /// The line and node of every map and value of the document, by dotted path.
    nodes: BTreeMap<String, (u64, &'n YamlNode)>,
    /// The paths of all fields in the spec and of the sections above them.
    known: BTreeSet<&'s str>,
    /// The paths of sections that contain a required field.
    sections: BTreeSet<&'s str>,
    problems: Vec<Problem>,
    template: bool,
}

/// Reads a document by its spec. Placeholders in a `template` are not reported.
pub fn read<'a>(spec: &DocumentSpec, root: &YamlNode, template: bool) -> Document<'a> {
    let mut nodes = BTreeMap::new();
    list(root, "", &mut nodes, 0);
    let all = spec.fields.iter().flat_map(|(path, f)| f.also.iter().chain([path]));
    let known: BTreeSet<&str> = all.flat_map(|path| prefixes(path)).collect();
    let must =
        || spec.fields.iter().filter(|(_, f)| f.need == Presence::Must).map(|(path, _)| path);
    let sections: BTreeSet<&str> =
        must().flat_map(|path| prefixes(path).filter(move |p| p != path)).collect();
    // A field whose name occurs at several depths of the spec cannot be relocated by name.
    let alone = |path: &&str| known.iter().filter(|k| last(k) == last(path)).count() == 1;
    let fields = must().map(String::as_str).filter(alone);
    let movable: Vec<&str> = sections.iter().copied().chain(fields).collect();
    let mut reader =
        Reader { nodes, known: known.clone(), sections, problems: Vec::new(), template };
    reader.relocate(movable);
    let mut frame = Frame::new(1);
    let mut lines = BTreeMap::new();
    let mut defaulted = BTreeSet::new();
    for (path, field) in &spec.fields {
        let found = field.also.iter().chain([path]).rev();
        let found = found.filter_map(|p| reader.nodes.get(p.as_str()).copied()).next();
        let cells = match found {
            Some((line, node)) => reader.field(path, field, line, node),
            None => reader.missing(path, field),
        };
        for (name, cell) in columns(field, cells) {
            let cell = match (cell, field.default) {
                (TraceCell::Null, Some(value)) => {
                    defaulted.insert(name.clone());
                    TraceCell::Number(value)
                }
                (cell, _) => cell,
            };
            // If several fields feed a column, the first with a value is used.
            if *frame.cell(&name, 0) == TraceCell::Null {
                lines.extend(found.map(|(line, _)| (name.clone(), line)));
                let is_text = matches!(field.kind, FieldType::Text | FieldType::Texts)
                    && field.column.as_ref() == Some(&name);
                frame.set(&name, vec![cell], is_text);
            }
        }
    }
    Document { frame, lines, defaulted, problems: reader.problems }
}

/// Returns the dotted path of every section above a field, then the field's own path.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').map(|(at, _)| &path[..at]).chain([path])
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn list<'n>(
    node: &'n YamlNode,
    path: &str,
    nodes: &mut BTreeMap<String, (u64, &'n YamlNode)>,
    depth: usize,
) {
    // Limits beyond any field of a spec. A long name is repeated in the path of every node below
    // it, so a hostile document could fill the memory without them.
    const DEEPEST: usize = 12;
    const LONGEST: usize = 256;
    let inside =
        |(name, ..): &(&str, u64, &YamlNode)| depth < DEEPEST && path.len() + name.len() < LONGEST;
    for (name, line, member) in node.members().filter(inside) {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        nodes.insert(path.clone(), (line, member));
        list(member, &path, nodes, depth + 1);
    }
}

impl<'s> Reader<'s, '_> {
    fn say(
        &mut self,
        fault: ProblemKind,
        severity: Severity,
        field: &str,
        line: u64,
        text: String,
    ) {
        let problem = Problem { fault, severity, field: field.into(), line: Some(line), text };
        self.problems.push(problem);
    }

    /// Moves sections and fields found at the wrong depth to the right one, so that their contents
    /// are checked and not reported as missing too.
    fn relocate(&mut self, mut movable: Vec<&str>) {
        movable.sort_by_key(|s| s.matches('.').count());
        for section in movable {
            if self.nodes.contains_key(section) {
                continue;
            }
            let elsewhere = self.nodes.iter().filter(|(path, _)| {
                last(path) == last(section) && !self.known.contains(path.as_str())
            });
            let elsewhere: Vec<(String, u64)> =
                elsewhere.map(|(path, (line, _))| (path.clone(), *line)).collect();
            let [(path, line)] = &elsewhere[..] else { continue };
            let below = |path: &str| match path.rsplit_once('.') {
                Some((above, _)) => format!("inside {above}"),
                None => "at the top level".to_owned(),
            };
            let text =
                format!("{} is {}, but it belongs {}", last(section), below(path), below(section));
            let (path, line) = (path.clone(), *line);
            self.say(ProblemKind::Depth, Severity::Error, section, line, text);
            let inside = format!("{path}.");
            let moved: Vec<_> = self
                .nodes
                .iter()
                .filter(|(p, _)| **p == path || p.starts_with(&inside))
                .map(|(p, node)| (format!("{section}{}", &p[path.len()..]), *node))
                .collect();
            self.nodes.extend(moved);
        }
    }

    fn missing(&mut self, path: &str, field: &Field) -> Vec<TraceCell> {
        let severity = match field.need {
            Presence::Must => Severity::Error,
            Presence::Should => Severity::Warning,
            Presence::May => return Vec::new(),
        };
        // A missing section is reported once, under its own name.
        let shown = match prefixes(path).find(|p| !self.nodes.contains_key(*p)) {
            Some(section) if section != path => section,
            _ => path,
        };
        if self.problems.iter().any(|p| p.field == shown) {
            return Vec::new();
        }
        let severity = if self.sections.contains(shown) { Severity::Error } else { severity };
        let above = shown.rsplit_once('.').map_or("", |(above, _)| above);
        let inside = format!("{above}.");
        let sibling = |p: &&String| match above {
            "" => !p.contains('.'),
            _ => p.strip_prefix(&inside).is_some_and(|rest| !rest.contains('.')),
        };
        let name = last(shown);
        let like = |p: &str| strsim::jaro_winkler(&last(p).to_lowercase(), &name.to_lowercase());
        let near = self.nodes.keys().filter(sibling).filter(|p| !self.known.contains(p.as_str()));
        let near = near.map(|p| (like(p), p)).filter(|(l, _)| *l > 0.9);
        let near = near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, p)| p.clone());
        let (line, hint) = match near {
            Some(p) => {
                (Some(self.nodes[&p].0), format!(" ({} is not a known field)", brief(last(&p))))
            }
            None => (None, String::new()),
        };
        let text = format!("{shown}{hint}");
        let fault = ProblemKind::Missing;
        self.problems.push(Problem { fault, severity, field: shown.into(), line, text });
        Vec::new()
    }

    /// Checks a field's value and returns its cells: one per item of a list, else one.
    fn field(&mut self, path: &str, field: &Field, line: u64, node: &YamlNode) -> Vec<TraceCell> {
        let items: Vec<&YamlNode> = match (&node.value, field.kind) {
            (YamlValue::List(items), FieldType::Ints | FieldType::Numbers | FieldType::Texts) => {
                items.iter().collect()
            }
            _ => vec![node],
        };
        items.into_iter().map(|item| self.item(path, field, line, item)).collect()
    }

    fn item(&mut self, path: &str, field: &Field, line: u64, node: &YamlNode) -> TraceCell {
        // The parser may give a scalar the line of a block below its key.
        let line = if node.line > 0 { node.line.max(line) } else { line };
        let blank = match &node.value {
            YamlValue::Null => true,
            YamlValue::Text(text) => is_blank(text),
            _ => false,
        };
        if blank {
            self.unfilled(path, field, line, node);
            return TraceCell::Null;
        }
        let whole = |n: f64| n.fract() == 0.0 && n.abs() < 1e15;
        let (cell, wanted) = match (field.kind, &node.value) {
            (FieldType::Int | FieldType::Ints, YamlValue::Number(n)) if whole(*n) => {
                (TraceCell::Number(*n), "")
            }
            (FieldType::Number | FieldType::Numbers, YamlValue::Number(n)) if n.is_finite() => {
                (TraceCell::Number(*n), "")
            }
            (FieldType::Bool, YamlValue::Bool(b)) => (TraceCell::Number(f64::from(*b)), ""),
            (FieldType::Text | FieldType::Texts, YamlValue::Text(t)) => {
                (TraceCell::Text(t.as_str().into()), "")
            }
            // YAML reads a version such as 2.24 as a number.
            (FieldType::Text | FieldType::Texts, YamlValue::Number(n)) => {
                (TraceCell::Text(n.to_string().into()), "")
            }
            (FieldType::Map, YamlValue::Map(_)) => (TraceCell::Null, ""),
            (FieldType::Int | FieldType::Ints, _) => (TraceCell::Null, "a whole number"),
            (FieldType::Number | FieldType::Numbers, _) => (TraceCell::Null, "a number"),
            (FieldType::Bool, _) => (TraceCell::Null, "true or false"),
            (FieldType::Text | FieldType::Texts, _) => (TraceCell::Null, "a text"),
            (FieldType::Map, _) => (TraceCell::Null, "a map"),
        };
        if !wanted.is_empty() {
            let text = format!("{path} is {}, but must be {wanted}", node.shown());
            self.say(ProblemKind::Type, Severity::Error, path, line, text);
            return TraceCell::Null;
        }
        if let (TraceCell::Number(n), Some(least)) = (&cell, field.least)
            && *n < least
        {
            let text = format!("{path} is {}, but must be at least {least}", Figure(*n));
            self.say(ProblemKind::Value, Severity::Error, path, line, text);
            return TraceCell::Null;
        }
        if let Some(text) = cell.text()
            && !field.one_of.is_empty()
            && !field.one_of.iter().any(|known| known == text)
        {
            let all = field.one_of.join(", ");
            let text = format!("{path} is '{}', but must be one of {all}", brief(text));
            self.say(ProblemKind::Value, field.other.unwrap_or(Severity::Error), path, line, text);
        }
        cell
    }

    fn unfilled(&mut self, path: &str, field: &Field, line: u64, node: &YamlNode) {
        let numeric = matches!(
            field.kind,
            FieldType::Int | FieldType::Number | FieldType::Ints | FieldType::Numbers
        );
        // A placeholder for a number is always reported, an empty value only if the field is
        // expected.
        let text_for_number =
            numeric && matches!(&node.value, YamlValue::Text(t) if !t.trim().is_empty());
        if self.template || !(text_for_number || field.need != Presence::May) {
            return;
        }
        let text = match &node.value {
            YamlValue::Text(t) if !t.trim().is_empty() => format!("{path} ('{}')", brief(t)),
            _ => path.to_owned(),
        };
        self.say(ProblemKind::Unfilled, Severity::Warning, path, line, text);
    }
}
