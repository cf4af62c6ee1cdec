//! Reads the fields of a card or config by its spec and lists the fields that are wrong by
//! themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Problem, ProblemKind};
use super::names::{columns, is_blank};
use super::spec::{DocumentSpec, Field, Presence};
use super::tree::{YamlNode, YamlValue};
use super::{Frame, TraceCell, TraceDocument, TraceFieldType, TraceFile, brief};
use crate::base::words::Figure;
use crate::findings::Severity;

struct Reader<'s, 'n> {
    /// The line number and the value of each field and section in the document, by dotted path.
    nodes: BTreeMap<String, (u64, &'n YamlNode)>,
    /// The paths of all fields in the spec, and of the sections that contain these fields.
    known: BTreeSet<&'s str>,
    /// The paths of sections that contain a required field.
    sections: BTreeSet<&'s str>,
    problems: Vec<Problem>,
    template: bool,
}

/// Reads the fields of a parsed document by its spec. Placeholders in a template are not reported.
pub(crate) fn read<'a>(
    file: &TraceFile<'_>,
    dir_name: &str,
    spec: &DocumentSpec,
    root: &YamlNode,
) -> TraceDocument<'a> {
    let mut reader = Reader::new(spec, root, file.template);
    let mut frame = Frame::new(1);
    let mut lines = BTreeMap::new();
    let mut defaulted = BTreeSet::new();
    for (path, field) in &spec.fields {
        let mut paths = std::iter::once(path).chain(field.also.iter().rev());
        let found = paths.find_map(|path| reader.nodes.get(path.as_str()).copied());
        let cells = match found {
            Some((line, node)) => reader.field(path, field, line, node),
            None => {
                reader.missing(path, field.need);
                Vec::new()
            }
        };
        for (name, mut cell) in columns(field, cells) {
            if let (TraceCell::Null, Some(value)) = (&cell, field.default) {
                defaulted.insert(name.clone());
                cell = TraceCell::Number(value);
            }
            // If several fields feed a column, the first with a value is used.
            if *frame.cell(&name, 0) == TraceCell::Null {
                lines.extend(found.map(|(line, _)| (name.clone(), line)));
                let is_text = matches!(field.kind, TraceFieldType::Text | TraceFieldType::Texts)
                    && field.column.as_ref() == Some(&name);
                frame.set(&name, vec![cell], is_text);
            }
        }
    }
    TraceDocument {
        path: file.entry.path.clone(),
        dir_name: dir_name.to_owned(),
        template: file.template,
        frame,
        lines,
        defaulted,
        problems: reader.problems,
    }
}

/// Returns the paths of all sections that contain a field, outermost first, and then the field's own path. For `a.b.c`,
/// these are `a`, `a.b` and `a.b.c`.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').map(|(at, _)| &path[..at]).chain([path])
}

/// Returns the path of the section that contains a field; empty at the top level.
fn section_of(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(section, _)| section)
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
    for (name, line, member) in node.members() {
        if depth >= DEEPEST || path.len() + name.len() >= LONGEST {
            continue;
        }
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        nodes.insert(path.clone(), (line, member));
        list(member, &path, nodes, depth + 1);
    }
}

impl<'s, 'n> Reader<'s, 'n> {
    fn new(spec: &'s DocumentSpec, root: &'n YamlNode, template: bool) -> Self {
        let mut nodes = BTreeMap::new();
        list(root, "", &mut nodes, 0);
        let paths = spec.fields.iter().flat_map(|(path, field)| field.also.iter().chain([path]));
        let known: BTreeSet<&str> = paths.flat_map(|path| prefixes(path)).collect();
        let required = spec.fields.iter().filter(|(_, field)| field.need == Presence::Must);
        let required: Vec<&str> = required.map(|(path, _)| path.as_str()).collect();
        let sections = required.iter().flat_map(|path| prefixes(path).filter(move |p| p != path));
        let sections: BTreeSet<&str> = sections.collect();
        // A field whose name occurs at several depths of the spec cannot be relocated by name.
        let is_unique = |path: &&str| known.iter().filter(|k| last(k) == last(path)).count() == 1;
        let fields = required.into_iter().filter(is_unique);
        let movable: Vec<&str> = sections.iter().copied().chain(fields).collect();
        let mut reader = Self { nodes, known, sections, problems: Vec::new(), template };
        reader.relocate(movable);
        reader
    }

    fn report(
        &mut self,
        kind: ProblemKind,
        severity: Severity,
        field: &str,
        line: Option<u64>,
        text: String,
    ) {
        self.problems.push(Problem { kind, severity, field: field.into(), line, text });
    }

    /// Reports required fields and sections that are in a wrong section of the document, and adds them to `nodes` at
    /// the right path.
    fn relocate(&mut self, mut movable: Vec<&str>) {
        let place = |path: &str| match section_of(path) {
            "" => "at the top level".to_owned(),
            section => format!("inside {section}"),
        };
        movable.sort_by_key(|path| path.matches('.').count());
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
            let (found, wanted) = (place(path), place(section));
            let text = format!("{} is {found}, but it belongs {wanted}", last(section));
            self.report(ProblemKind::Depth, Severity::Error, section, Some(*line), text);
            let moved = self.nodes.iter().filter_map(|(p, node)| {
                let rest = p.strip_prefix(path.as_str())?;
                let is_inside = rest.is_empty() || rest.starts_with('.');
                is_inside.then(|| (format!("{section}{rest}"), *node))
            });
            let moved: Vec<_> = moved.collect();
            self.nodes.extend(moved);
        }
    }

    /// Reports a field that the document lacks, with a severity that depends on `need`. Optional fields are not
    /// reported.
    fn missing(&mut self, path: &str, need: Presence) {
        let severity = match need {
            Presence::Must => Severity::Error,
            Presence::Should => Severity::Warning,
            Presence::May => return,
        };
        // A missing section is reported once, under its own name.
        let shown = prefixes(path).find(|p| !self.nodes.contains_key(*p)).unwrap_or(path);
        if self.problems.iter().any(|p| p.field == shown) {
            return;
        }
        let severity = if self.sections.contains(shown) { Severity::Error } else { severity };
        let name = last(shown).to_lowercase();
        let unknown = self.nodes.iter().filter(|(path, _)| {
            section_of(path) == section_of(shown) && !self.known.contains(path.as_str())
        });
        let likeness = |path: &str| strsim::jaro_winkler(&last(path).to_lowercase(), &name);
        let similar = unknown.map(|(path, (line, _))| (likeness(path), path, *line));
        let nearest = similar.filter(|(l, ..)| *l > 0.9).max_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let (line, hint) = match nearest {
            Some((_, path, line)) => {
                (Some(line), format!(" ({} is not a known field)", brief(last(path))))
            }
            None => (None, String::new()),
        };
        self.report(ProblemKind::Missing, severity, shown, line, format!("{shown}{hint}"));
    }

    /// Checks a field's value and returns the cells: one per item if the value is a list, otherwise one.
    fn field(&mut self, path: &str, field: &Field, line: u64, node: &YamlNode) -> Vec<TraceCell> {
        let items = match (&node.value, field.kind) {
            (
                YamlValue::List(items),
                TraceFieldType::Ints | TraceFieldType::Numbers | TraceFieldType::Texts,
            ) => &items[..],
            _ => std::slice::from_ref(node),
        };
        items.iter().map(|item| self.item(path, field, line, item)).collect()
    }

    fn item(&mut self, path: &str, field: &Field, line: u64, node: &YamlNode) -> TraceCell {
        // The parser may give a scalar the line of a block below its key.
        let line = Some(if node.line > 0 { node.line.max(line) } else { line });
        let cell = match (field.kind, &node.value) {
            (_, YamlValue::Null) => {
                self.unfilled(path, field, line, "");
                return TraceCell::Null;
            }
            (_, YamlValue::Text(text)) if is_blank(text) => {
                self.unfilled(path, field, line, text);
                return TraceCell::Null;
            }
            (TraceFieldType::Int | TraceFieldType::Ints, YamlValue::Number(n))
                if n.fract() == 0.0 && n.abs() < 1e15 =>
            {
                TraceCell::Number(*n)
            }
            (TraceFieldType::Number | TraceFieldType::Numbers, YamlValue::Number(n))
                if n.is_finite() =>
            {
                TraceCell::Number(*n)
            }
            (TraceFieldType::Bool, YamlValue::Bool(b)) => TraceCell::Number(f64::from(*b)),
            (TraceFieldType::Text | TraceFieldType::Texts, YamlValue::Text(t)) => {
                TraceCell::Text(t.as_str().into())
            }
            // YAML reads a version such as 2.24 as a number.
            (TraceFieldType::Text | TraceFieldType::Texts, YamlValue::Number(n)) => {
                TraceCell::Text(n.to_string().into())
            }
            (TraceFieldType::Map, YamlValue::Map(_)) => TraceCell::Null,
            (kind, _) => {
                let text = format!("{path} is {}, but must be {}", node.shown(), kind.described());
                self.report(ProblemKind::Type, Severity::Error, path, line, text);
                return TraceCell::Null;
            }
        };
        if let (TraceCell::Number(n), Some(least)) = (&cell, field.least)
            && *n < least
        {
            let text = format!("{path} is {}, but must be at least {least}", Figure(*n));
            self.report(ProblemKind::Value, Severity::Error, path, line, text);
            return TraceCell::Null;
        }
        if let Some(text) = cell.text()
            && !field.one_of.is_empty()
            && !field.one_of.iter().any(|known| known == text)
        {
            let all = field.one_of.join(", ");
            let text = format!("{path} is '{}', but must be one of {all}", brief(text));
            let severity = field.other.unwrap_or(Severity::Error);
            self.report(ProblemKind::Value, severity, path, line, text);
        }
        cell
    }

    /// Reports a value that is empty or a placeholder.
    fn unfilled(&mut self, path: &str, field: &Field, line: Option<u64>, text: &str) {
        let is_placeholder = !text.trim().is_empty();
        let is_number = matches!(
            field.kind,
            TraceFieldType::Int
                | TraceFieldType::Number
                | TraceFieldType::Ints
                | TraceFieldType::Numbers
        );
        // A placeholder for a number is always reported, an empty value only if the field is
        // expected.
        if self.template || field.need == Presence::May && !(is_number && is_placeholder) {
            return;
        }
        let text =
            if is_placeholder { format!("{path} ('{}')", brief(text)) } else { path.to_owned() };
        self.report(ProblemKind::Unfilled, Severity::Warning, path, line, text);
    }
}
