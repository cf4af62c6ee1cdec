//! Cards and configs that were read, and the problems of their fields.

use std::collections::{BTreeMap, BTreeSet};

use super::find::{TraceFile, split, stem};
use super::frame::Frame;
use super::tree::YamlNode;
use crate::base::error::Reason;
use crate::findings::Severity;

/// The kind of a problem in a field of a workload card or config. Problems of a document with the same kind and
/// severity are reported as one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// A field that the spec requires or recommends is missing.
    Missing,
    /// The field is in another section of the document than the spec states.
    Depth,
    /// The value has another type than the spec states.
    Type,
    /// The value is out of range or not one of the allowed values.
    Value,
    /// The value is empty or a placeholder such as `TBD`.
    Unfilled,
}

impl ProblemKind {
    /// Returns the kind's name in findings.
    pub(crate) fn name(self) -> &'static str {
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
pub struct Problem {
    pub kind: ProblemKind,
    pub severity: Severity,
    /// The field's dotted path.
    pub field: String,
    pub line: Option<u64>,
    pub text: String,
}

/// A parsed workload card or experiment config, with the problems of its fields.
pub struct TraceDocument<'a> {
    pub path: String,
    /// The name of the directory that contains the file.
    pub dir_name: String,
    pub template: bool,
    /// The document's values as a frame with one row.
    pub frame: Frame<'a>,
    /// The line number of the field from which a column was filled, by the column's name.
    pub lines: BTreeMap<String, u64>,
    /// The columns that contain the spec's default because the document does not state a value.
    pub defaulted: BTreeSet<String>,
    pub problems: Vec<Problem>,
}

impl TraceDocument<'_> {
    pub(crate) fn dir(&self) -> &str {
        split(&self.path).0
    }

    pub(crate) fn stem(&self) -> &str {
        stem(split(&self.path).2)
    }

    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        self.frame.cell(column, 0).number()
    }

    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        self.frame.cell(column, 0).text()
    }
}

/// Parses a card or config into a map of fields.
pub(crate) fn parse(file: &TraceFile<'_>) -> Result<YamlNode, Reason> {
    let text = file.text.as_ref().map_err(Clone::clone)?;
    if text.trim().is_empty() {
        return Err("the file is empty".into());
    }
    let root = YamlNode::parse(text)?;
    if root.members().next().is_none() {
        return Err("the file is not a map of fields".into());
    }
    Ok(root)
}
