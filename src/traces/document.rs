//! A card or config: its fields by the spec, and what is wrong with them one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::field::{columns, is_blank};
use super::frame::{Frame, TraceCell};
use super::spec::{DocumentSpec, Field, FieldType, Presence};
use super::tree::{YamlNode, YamlValue, brief};
use crate::base::words::Figure;
use crate::findings::Severity;

/// What kind of fault a field has; those of one kind and severity are reported together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// It is not there.
    Missing,
    /// It stands at another depth.
    Depth,
    /// It holds something of another type.
    Type,
    /// It holds a value that it cannot have.
    Value,
    /// Nothing is filled in.
    Unfilled,
}

impl ProblemKind {
    /// Its name in findings.
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

/// A fault of a field.
#[derive(Debug)]
pub struct Problem {
    pub fault: ProblemKind,
    pub severity: Severity,
    /// The field's path.
    pub field: String,
    pub line: Option<u64>,
    pub text: String,
}

/// A document that was read.
#[derive(Debug)]
pub struct Document<'a> {
    /// One row.
    pub frame: Frame<'a>,
    /// Where columns come from.
    pub lines: BTreeMap<String, u64>,
    /// Columns that the document does not state.
    pub defaulted: BTreeSet<String>,
    pub problems: Vec<Problem>,
}

struct Reader<'s, 'n> {
    /// Every map and value, by path.
    nodes: BTreeMap<String, (u64, &'n YamlNode)>,
    /// Paths that the spec knows, those above a field too.
    known: BTreeSet<&'s str>,
    /// Paths above a field that must be there.
    sections: BTreeSet<&'s str>,
    problems: Vec<Problem>,
    template: bool,
}

/// Reads a document by its spec; of a template, what is not filled in is not reported.
pub fn read<'a>(spec: &DocumentSpec, root: &YamlNode, template: bool) -> Document<'a> {
    let mut nodes = BTreeMap::new();
    list(root, "", &mut nodes, 0);
    let all = spec.fields.iter().flat_map(|(path, f)| f.also.iter().chain([path]));
    let known: BTreeSet<&str> = all.flat_map(|path| prefixes(path)).collect();
    let must =
        || spec.fields.iter().filter(|(_, f)| f.need == Presence::Must).map(|(path, _)| path);
    let sections: BTreeSet<&str> =
        must().flat_map(|path| prefixes(path).filter(move |p| p != path)).collect();
    // A name that stands at several depths tells nothing of where it belongs.
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
            // What several fields may tell is told by the first that does.
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

/// Every path above and of a field.
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
    // Deeper than any field, and longer: a name above many others is kept with each of them.
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

    /// Puts sections and fields that stand at another depth where they belong, so that what they
    /// hold is judged and not missed once more.
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
        // Of a section that is missing, or is none, its first field tells.
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

    /// Judges a field's value; what formulas read of it.
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
        // A scalar's line may be that of a block below its key.
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
            // A version such as 2.24 reads like a number.
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
        // A text where a number belongs is one; nothing at all is fine where nothing need be.
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
