//! Fields of YAML that two programs read: Python with PyYAML (YAML 1.1), and the planner's core with serde_yaml 0.9
//! (YAML 1.2). A value that they read differently, or that one refuses, is a defect of the file.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use serde::Deserialize;

use super::node::{Content, Document, Node};
use super::reading::{self, Reading};
use crate::base::reason::Reason;

/// The fields of a file that the loaders read.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderFields {
    /// True if the planner's core reads the file, not Python alone.
    #[serde(default)]
    core: bool,
    /// The types by dotted path, where `*` is any key or item. A question mark after the path allows null.
    #[serde(default)]
    fields: BTreeMap<String, FieldType>,
}

/// The type that the loaders need of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FieldType {
    F64,
    U64,
    U32,
    Text,
    /// A text that the core reads before it knows which type it needs.
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

/// A value that the loaders refuse or read differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The field's dotted path; empty if the whole file is refused.
    pub path: String,
    /// The reason, for people.
    why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.path, self.why)
    }
}

/// The readers' names in messages.
const PYTHON: &str = "PyYAML (YAML 1.1)";
const CORE: &str = "the planner's core (YAML 1.2)";

/// Characters that end a line in YAML 1.1 alone.
const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

impl LoaderFields {
    /// Returns the values of a YAML text that its loaders refuse or read differently, in the order of the text.
    pub fn refusals(&self, text: &str) -> Vec<Refusal> {
        let mut document = Document::read(text);
        let tab = document.tab(text).map(|line| {
            format!("{PYTHON} refuses the tab between words in line {line}; write a space")
        });
        if text.match_indices(BREAKS).any(|(at, _)| !document.is_quoted(at)) {
            document = Document::read(&text.replace(BREAKS, "\n"));
        }
        let broken = document.is_malformed.then(|| {
            "U+0085, U+2028 or U+2029 ends a line for the loaders, so that they refuse it".into()
        });
        let directives = || text.lines().take_while(|l| l.is_empty() || l.starts_with(['%', '#']));
        let known = ["%YAML 1.1", "%YAML 1.2", "%TAG ", "#"];
        let is_foreign =
            |l: &&str| !l.is_empty() && !known.iter().any(|known| l.starts_with(known));
        let foreign = directives().find(is_foreign).map(|l| format!("{CORE} refuses {l}"));
        let first = text.strip_prefix('\u{feff}').and_then(|text| text.lines().next());
        let mark = first.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mark = mark.map(|_| format!("{CORE} refuses the byte order mark"));
        let of_core = [foreign, mark].into_iter().flatten().filter(|_| self.core);
        let whole_file = [tab, broken].into_iter().flatten().chain(of_core);
        let whole_file = whole_file.map(|why| Refusal { path: String::new(), why });
        let mut found: Vec<Refusal> = whole_file.collect();
        if let Some(top) = &document.top {
            self.walk(&mut Vec::new(), top, &mut found);
        }
        found
    }

    /// Returns what was read from a text.
    ///
    /// # Errors
    ///
    /// One line, if it could not be read, or a loader refuses or misreads it.
    pub fn checked<T>(&self, text: &str, read: Result<T, Reason>) -> Result<T, Reason> {
        let read = read?;
        let refusals: Vec<String> = self.refusals(text).iter().map(ToString::to_string).collect();
        if refusals.is_empty() { Ok(read) } else { Err(refusals.join("; ").into()) }
    }

    fn walk(&self, path: &mut Vec<String>, node: &Node, found: &mut Vec<Refusal>) {
        // A file of nothing but faults needs no more of them.
        const MOST: usize = 20;
        if found.len() >= MOST {
            return;
        }
        let field = self.field(path);
        let fault = |(field, may_be_null): (FieldType, bool)| {
            let is_null = may_be_null && python(node) == Reading::Nothing;
            field.fault(node, self.core).filter(|_| !is_null)
        };
        let why = unreadable(node).or_else(|| fault(field?));
        found.extend(why.map(|why| Refusal { path: shown(path), why }));
        let mut enter = |name: String, child: &Node| {
            path.push(name);
            self.walk(path, child, found);
            path.pop();
        };
        match &node.content {
            Content::Scalar(..) => {}
            Content::List(items) => {
                items.iter().enumerate().for_each(|(i, item)| enter(format!("[{i}]"), item));
            }
            Content::Map(pairs) => {
                pairs.iter().for_each(|(key, value)| enter(name(key), value));
                self.merged(path, pairs, found);
            }
        }
    }

    /// Adds the fields that PyYAML takes from a merge key (`<<`), which the core ignores.
    fn merged(&self, path: &[String], pairs: &[(Rc<Node>, Rc<Node>)], found: &mut Vec<Refusal>) {
        let merges = pairs.iter().filter(|(key, _)| self.core && name(key) == "<<");
        let maps = merges.flat_map(|(_, value)| match &value.content {
            Content::List(maps) => maps.as_slice(),
            _ => std::slice::from_ref(value),
        });
        let keys = maps.flat_map(|map| match &map.content {
            Content::Map(further) => further.as_slice(),
            _ => &[],
        });
        for key in keys.map(|(key, _)| name(key)) {
            let path = [path, std::slice::from_ref(&key)].concat();
            if self.field(&path).is_some() && !pairs.iter().any(|(own, _)| name(own) == key) {
                let why = format!("{CORE} ignores merge keys (<<), from which {PYTHON} takes it");
                found.push(Refusal { path: shown(&path), why });
            }
        }
    }

    /// Returns the type of a field, and true if it may be null.
    fn field(&self, path: &[String]) -> Option<(FieldType, bool)> {
        self.fields.iter().find_map(|(pattern, field)| {
            let parts = pattern.trim_end_matches('?').split('.');
            let is_at = parts.clone().count() == path.len()
                && parts.zip(path).all(|(part, name)| part == "*" || part == name);
            is_at.then_some((*field, pattern.ends_with('?')))
        })
    }
}

impl FieldType {
    /// Words the reason why the loaders refuse a node or read it differently.
    fn fault(self, node: &Node, core: bool) -> Option<String> {
        let needs = self.needs();
        let (text, is_plain) = match &node.content {
            Content::Scalar(text, is_plain) => (text, *is_plain && node.tag.is_none()),
            Content::Map(pairs) => {
                let of_keys = match self {
                    Self::Map => return None,
                    Self::NumberMap => Self::U32,
                    Self::TextMap => Self::Text,
                    _ => return Some(format!("it is a map, but {needs} is needed")),
                };
                return pairs
                    .iter()
                    .find_map(|(key, _)| of_keys.fault(key, core))
                    .map(|why| format!("key {why}"));
            }
            Content::List(_) => return Some(format!("it is a list, but {needs} is needed")),
        };
        let readings = (python(node), if core { self.core(node) } else { python(node) });
        if self.accepts(readings) {
            return None;
        }
        let hint = self.spelling(text, is_plain).map(|hint| format!("; write {hint}"));
        let hint = hint.unwrap_or_default();
        let why = match readings {
            (python, read) if python == read => {
                let readers = if core { format!("{PYTHON} and {CORE}") } else { PYTHON.to_owned() };
                format!("is {python} for {readers}, but {needs} is needed")
            }
            (python, Reading::Refused) => {
                format!("is {python} for {PYTHON}, but {CORE} needs {needs}")
            }
            (python, core) => format!("is {python} for {PYTHON} and {core} for {CORE}"),
        };
        Some(format!("{text} {why}{hint}"))
    }

    fn accepts(self, (python, core): (Reading, Reading)) -> bool {
        let numbers = python.number().zip(core.number());
        let most = if self == Self::U32 { u32::MAX.into() } else { u64::MAX.into() };
        match self {
            Self::F64 => numbers.is_some_and(|(a, b)| a == b || a.is_nan() && b.is_nan()),
            Self::U64 | Self::U32 => match python {
                Reading::Whole(number) => python == core && (0..=most).contains(&number),
                _ => false,
            },
            Self::Text | Self::Untyped => (python, core) == (Reading::Text, Reading::Text),
            Self::Map | Self::NumberMap | Self::TextMap => false,
        }
    }

    fn needs(self) -> &'static str {
        match self {
            Self::F64 => "a number",
            Self::U64 => "a whole number that is not negative",
            Self::U32 => "a whole number from 0 to 4294967295",
            Self::Text | Self::Untyped => "text",
            Self::Map | Self::TextMap => "a map",
            Self::NumberMap => "a map whose keys are whole numbers",
        }
    }

    /// Returns the value of a scalar for the core, which knows the type that it needs.
    fn core(self, node: &Node) -> Reading {
        let Content::Scalar(text, true) = &node.content else { return Reading::Text };
        let untyped = match node.tag.as_deref() {
            None | Some("tag:yaml.org,2002:int" | "tag:yaml.org,2002:float") => reading::core(text),
            Some(_) => Reading::Text,
        };
        match self {
            Self::F64 if untyped != Reading::Nothing => {
                reading::core_float(text).map_or(Reading::Refused, Reading::Fraction)
            }
            Self::Text => Reading::Text,
            _ => untyped,
        }
    }

    /// Returns a spelling that both loaders read alike, if it is clear which value is meant.
    fn spelling(self, text: &str, is_plain: bool) -> Option<String> {
        let hint = if matches!(self, Self::Text | Self::Untyped) {
            let is_clear = is_plain && !text.is_empty() && !text.contains('\'');
            return is_clear.then(|| format!("'{text}'"));
        } else {
            let core = reading::core_float(text).or(reading::core(text).number());
            let python = reading::python(text).number();
            let number = python.or(core).filter(|n| python.or(Some(*n)) == core.or(Some(*n)))?;
            let has_exponent = self == Self::F64 && text.contains(['e', 'E']);
            let is_long = has_exponent || number.abs() >= 1e15;
            if is_long { exponential(number) } else { number.to_string() }
        };
        let node = Node::plain(&hint);
        self.accepts((python(&node), self.core(&node))).then_some(hint)
    }
}

/// Spells a number with the point and the signed exponent that YAML 1.1 needs: `8.64e+11`.
fn exponential(number: f64) -> String {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

/// Words the reason why PyYAML refuses a node, and with it the whole file.
fn unreadable(node: &Node) -> Option<String> {
    const KNOWN: &str = "null bool int float binary timestamp omap pairs set str seq map";
    let line = node.line;
    let known = |tag: &str| {
        tag.strip_prefix("tag:yaml.org,2002:")
            .is_some_and(|name| KNOWN.split(' ').any(|known| known == name))
    };
    if let Some(tag) = node.tag.as_deref().filter(|tag| !known(tag)) {
        return Some(format!("{PYTHON} refuses the tag {tag} in line {line}"));
    }
    let Content::Scalar(text, _) = &node.content else { return None };
    (python(node) == Reading::Refused)
        .then(|| format!("{PYTHON} refuses {text} in line {line}; quote it if it is text"))
}

/// Returns the value of a scalar for PyYAML.
fn python(node: &Node) -> Reading {
    let Content::Scalar(text, is_plain) = &node.content else { return Reading::Refused };
    match node.tag.as_deref().map(|tag| tag.strip_prefix("tag:yaml.org,2002:").unwrap_or("")) {
        None if *is_plain => reading::python(text),
        Some("int") => reading::python_int(text),
        Some("float") => reading::python_float(text),
        Some("null") => Reading::Nothing,
        Some("") => Reading::Refused,
        Some(_) | None => Reading::Text,
    }
}

/// The name of a key; empty if it is not a text.
fn name(key: &Node) -> String {
    match &key.content {
        Content::Scalar(text, _) => text.clone(),
        Content::List(_) | Content::Map(_) => String::new(),
    }
}

fn shown(path: &[String]) -> String {
    path.join(".").replace(".[", "[")
}
