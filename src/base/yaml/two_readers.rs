//! Fields of YAML that two programs read: Python with PyYAML (YAML 1.1), and the planner's core with serde_yaml 0.9
//! (YAML 1.2). A value that they read differently, or that one refuses, is a defect of the file.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::node::{NodeKind, WrittenDocument, WrittenNode};
use super::reading::{
    BASE_60, CORE, CORE_FLOAT, NOTHING, PYTHON, REFUSED, Reading, TEXT, fraction,
};
use crate::base::error::Reason;

/// The fields that the loaders read from a YAML file, with their types.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderFields {
    /// True if the planner's core (serde_yaml) reads the file, too; false if only Python reads it.
    #[serde(default)]
    core: bool,
    /// The type of each field, by the field's dotted path. In a path, `*` stands for any key or list item, and a
    /// question mark at the end means that the field may be null.
    #[serde(default)]
    fields: BTreeMap<String, LoaderFieldType>,
}

/// The type that a field must have for the loaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LoaderFieldType {
    F64,
    /// A float that only the planner's core uses. PyYAML may read it as another value.
    #[serde(rename = "core f64")]
    CoreF64,
    U64,
    U32,
    Text,
    /// A text that serde_yaml parses without knowing that it must be a text. Without quotes, `1.5` becomes a number.
    #[serde(rename = "untyped text")]
    Untyped,
    Map,
    /// A map whose keys are numbers.
    #[serde(rename = "u32 map")]
    NumberMap,
    /// A map whose keys are texts.
    #[serde(rename = "text map")]
    TextMap,
}

/// A value of a YAML file that a loader rejects, or that two loaders read as different values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisreadValue {
    /// The field's dotted path; empty if the whole file is refused.
    pub path: String,
    /// The reason why the value is a defect, as text for a message.
    why: String,
}

impl fmt::Display for MisreadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.path, self.why)
    }
}

/// PyYAML's name in messages.
const BY_PYTHON: &str = "PyYAML (YAML 1.1)";
const BY_CORE: &str = "the planner's core (YAML 1.2)";

/// Characters that end a line in YAML 1.1 but not in YAML 1.2.
const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

impl LoaderFields {
    /// Returns the values of a YAML text that a loader rejects, or that two loaders read as different values. Problems
    /// of the whole file come first.
    pub(crate) fn refusals(&self, text: &str) -> Vec<MisreadValue> {
        let mut document = WrittenDocument::read(text);
        let bare = document.bare(text);
        if bare.contains(BREAKS) {
            document = WrittenDocument::read(&text.replace(BREAKS, "\n"));
        }
        let mut whole_file = Vec::new();
        whole_file.extend(tab(&bare).map(|line| {
            format!("{BY_PYTHON} refuses the tab between words in line {line}; write a space")
        }));
        whole_file.extend(document.is_malformed.then(|| {
            "U+0085, U+2028 or U+2029 ends a line for the loaders, so that they refuse it".into()
        }));
        if self.core {
            let foreign = foreign_directive(text).map(|line| format!("{BY_CORE} refuses {line}"));
            whole_file.extend(foreign);
            let marked = text.strip_prefix('\u{feff}');
            let is_refused = marked.is_some_and(|text| !text.starts_with(['#', '\n', '\r']));
            whole_file.extend(is_refused.then(|| format!("{BY_CORE} refuses the byte order mark")));
        }
        let whole_file =
            whole_file.into_iter().map(|why| MisreadValue { path: String::new(), why });
        let mut found: Vec<MisreadValue> = whole_file.collect();
        if let Some(top) = &document.top {
            self.walk(&mut Vec::new(), top, &mut found);
        }
        found
    }

    /// Returns the parsed value in `read` if no loader rejects or misreads the `text`.
    ///
    /// # Errors
    ///
    /// One line: the error in `read`, or the values that a loader rejects or misreads.
    pub(crate) fn checked<T>(&self, text: &str, read: Result<T, Reason>) -> Result<T, Reason> {
        let read = read?;
        let refusals: Vec<String> = self.refusals(text).iter().map(ToString::to_string).collect();
        if refusals.is_empty() { Ok(read) } else { Err(refusals.join("; ").into()) }
    }

    fn walk(&self, path: &mut Vec<String>, node: &WrittenNode, found: &mut Vec<MisreadValue>) {
        // Further refusals of one file are not worth the memory.
        const MOST: usize = 20;
        if found.len() >= MOST {
            return;
        }
        let why = unreadable(node).or_else(|| {
            let (field, may_be_null) = self.field(path)?;
            let is_fine = may_be_null && python(node) == NOTHING;
            field.fault(node, self.core).filter(|_| !is_fine)
        });
        found.extend(why.map(|why| MisreadValue { path: shown(path), why }));
        for (key, value) in &node.children {
            path.push(key.text.clone());
            self.walk(path, value, found);
            path.pop();
        }
        if self.core {
            self.merged(path, node, found);
        }
    }

    /// Adds to `found` the fields that only PyYAML reads, because they come from merge keys (`<<`) of the node. The
    /// planner's core ignores merge keys.
    fn merged(&self, path: &[String], node: &WrittenNode, found: &mut Vec<MisreadValue>) {
        let merges = node.children.iter().filter(|(key, _)| key.text == "<<");
        let keys = merges.flat_map(|(_, value)| match value.kind {
            NodeKind::List => value.children.iter().flat_map(|(_, map)| &map.children).collect(),
            _ => value.children.iter().collect::<Vec<_>>(),
        });
        for (key, _) in keys {
            let path = [path, std::slice::from_ref(&key.text)].concat();
            let is_own = node.children.iter().any(|(own, _)| own.text == key.text);
            if self.field(&path).is_some() && !is_own {
                let why =
                    format!("{BY_CORE} ignores merge keys (<<), from which {BY_PYTHON} takes it");
                found.push(MisreadValue { path: shown(&path), why });
            }
        }
    }

    /// Returns the type of the field at a path, and true if the field may be null; `None` if no loader reads the field.
    fn field(&self, path: &[String]) -> Option<(LoaderFieldType, bool)> {
        let is_at = |pattern: &str| {
            let parts = pattern.trim_end_matches('?').split('.');
            parts.clone().count() == path.len()
                && parts.zip(path).all(|(part, name)| part == "*" || part == name)
        };
        let (pattern, field) = self.fields.iter().find(|(pattern, _)| is_at(pattern))?;
        Some((*field, pattern.ends_with('?')))
    }
}

impl LoaderFieldType {
    /// Returns the reason why a loader rejects a node, or why the loaders read it as different values; `None` if they
    /// agree. `core` is true if the planner's core reads the file, too.
    fn fault(self, node: &WrittenNode, core: bool) -> Option<String> {
        let needs = self.needs();
        let keys = match (node.kind, self) {
            (NodeKind::Plain | NodeKind::Quoted, _) => return self.misread(node, core),
            (NodeKind::Map, Self::Map) => return None,
            (NodeKind::Map, Self::NumberMap) => Self::U32,
            (NodeKind::Map, Self::TextMap) => Self::Text,
            (NodeKind::Map, _) => return Some(format!("it is a map, but {needs} is needed")),
            (NodeKind::List, _) => return Some(format!("it is a list, but {needs} is needed")),
        };
        let why = node.children.iter().find_map(|(key, _)| keys.fault(key, core))?;
        Some(format!("key {why}"))
    }

    /// Returns the reason why a loader rejects a scalar, or why the loaders read it as different values; `None` if they
    /// agree.
    fn misread(self, node: &WrittenNode, core: bool) -> Option<String> {
        let (text, needs) = (&node.text, self.needs());
        let read = if core { self.core(node) } else { python(node) };
        let readings = (if self == Self::CoreF64 { read } else { python(node) }, read);
        if self.accepts(readings) {
            return None;
        }
        let readers = match (core, self) {
            (_, Self::CoreF64) => BY_CORE.to_owned(),
            (true, _) => format!("{BY_PYTHON} and {BY_CORE}"),
            (false, _) => BY_PYTHON.to_owned(),
        };
        let why = match readings {
            (python, read) if python == read => {
                format!("{python} for {readers}, but {needs} is needed")
            }
            (python, TEXT) if self == Self::F64 => {
                format!("{python} for {BY_PYTHON}, but {BY_CORE} needs {needs}")
            }
            (python, core) => format!("{python} for {BY_PYTHON} and {core} for {BY_CORE}"),
        };
        let hint = self.spelling(node).map(|hint| format!("; write {hint}")).unwrap_or_default();
        Some(format!("{text} is {why}{hint}"))
    }

    fn accepts(self, (python, core): (Reading, Reading)) -> bool {
        match (self, python) {
            (Self::F64 | Self::CoreF64, _) => {
                python.number().zip(core.number()).is_some_and(|(a, b)| a == b || a.is_nan())
            }
            (Self::U64, Reading::Whole(number)) => python == core && u64::try_from(number).is_ok(),
            (Self::U32, Reading::Whole(number)) => python == core && u32::try_from(number).is_ok(),
            (Self::Text | Self::Untyped, _) => python == TEXT && core == TEXT,
            _ => false,
        }
    }

    fn needs(self) -> &'static str {
        match self {
            Self::F64 | Self::CoreF64 => "a number",
            Self::U64 => "a whole number that is not negative",
            Self::U32 => "a whole number from 0 to 4294967295",
            Self::Text | Self::Untyped => "text",
            Self::Map | Self::TextMap => "a map",
            Self::NumberMap => "a map whose keys are whole numbers",
        }
    }

    /// Returns the value that the planner's core (serde_yaml) gives to a scalar of this type.
    fn core(self, node: &WrittenNode) -> Reading {
        match (self, node.tag.as_str()) {
            _ if node.kind != NodeKind::Plain => TEXT,
            (Self::F64 | Self::CoreF64, _) => CORE_FLOAT.read(&node.text),
            (Self::Text, _) => TEXT,
            (_, "" | "!!int" | "!!float") => CORE.read(&node.text),
            _ => TEXT,
        }
    }

    /// Returns a spelling of the scalar that both loaders read as the same value; `None` if the intended value is not
    /// clear.
    fn spelling(self, node: &WrittenNode) -> Option<String> {
        let text = &node.text;
        if matches!(self, Self::Text | Self::Untyped) {
            let is_plain = node.kind == NodeKind::Plain && node.tag.is_empty();
            let is_clear = is_plain && !text.is_empty() && !text.contains('\'');
            return is_clear.then(|| format!("'{text}'"));
        }
        let python = PYTHON.read(text).number();
        let core = CORE_FLOAT.read(text).number().or(CORE.read(text).number());
        let number = python.or(core).filter(|n| [python, core].iter().flatten().all(|m| m == n))?;
        let has_exponent = self == Self::F64 && text.contains(['e', 'E']);
        let hint = if has_exponent || number.abs() >= 1e15 {
            exponential(number)
        } else {
            number.to_string()
        };
        let both = (PYTHON.read(&hint), self.core(&WrittenNode::plain(hint.clone())));
        self.accepts(both).then_some(hint)
    }
}

/// Spells a number with the point and the signed exponent that YAML 1.1 needs: `8.64e+11`.
fn exponential(number: f64) -> String {
    let text = format!("{number:e}").replace('e', "e+").replace("e+-", "e-");
    if text.contains('.') { text } else { text.replace('e', ".0e") }
}

/// Returns the reason why PyYAML refuses a node; `None` if it accepts the node. If PyYAML refuses a node, it cannot
/// load the file.
fn unreadable(node: &WrittenNode) -> Option<String> {
    const TAGS: &str =
        " !!null !!bool !!int !!float !!binary !!timestamp !!omap !!pairs !!set !!str !!seq !!map";
    let WrittenNode { text, tag, line, .. } = node;
    if !TAGS.split(' ').any(|known| known == tag) {
        return Some(format!("{BY_PYTHON} refuses the tag {tag} in line {line}"));
    }
    (python(node) == REFUSED)
        .then(|| format!("{BY_PYTHON} refuses {text} in line {line}; quote it if it is text"))
}

/// Returns PyYAML's reading of a node. Lists and maps are read as text.
fn python(node: &WrittenNode) -> Reading {
    match (node.tag.as_str(), node.kind, PYTHON.read(&node.text)) {
        ("", NodeKind::Plain, read)
        | ("!!int", _, read @ (Reading::Whole(_) | BASE_60))
        | ("!!float", _, read @ BASE_60) => read,
        ("!!int", ..) => REFUSED,
        ("!!float", ..) => fraction(&node.text),
        ("!!null", ..) => NOTHING,
        _ => TEXT,
    }
}

/// Returns the line number, counted from 1, of the first tab that is not in a comment; `None` without such a tab.
/// `bare` is the text of a YAML file in which quoted characters are replaced by `_`.
fn tab(bare: &str) -> Option<usize> {
    let lines = bare.replace("\r\n", "\n").replace('\r', "\n");
    let has_tab =
        |line: &str| format!(" {line}").split(" #").next().is_some_and(|l| l.contains('\t'));
    lines.lines().position(has_tab).map(|at| at + 1)
}

/// Returns the first directive that serde_yaml does not know, such as `%YAML 1.3`, at the start of a text; `None` if
/// there is none.
fn foreign_directive(text: &str) -> Option<&str> {
    let known = ["%YAML 1.1", "%YAML 1.2", "%TAG "];
    let mut head = text.lines().take_while(|l| l.is_empty() || l.starts_with(['%', '#']));
    head.find(|line| line.starts_with('%') && !known.iter().any(|k| line.starts_with(k)))
}

fn shown(path: &[String]) -> String {
    path.join(".").replace(".[", "[")
}
