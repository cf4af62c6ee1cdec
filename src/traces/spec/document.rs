//! The spec of a card or config.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::relation::{DerivedColumn, Relation, Thresholds, check, reads};
use super::{Files, Presence, TraceFieldType};
use crate::base::error::Reason;
use crate::base::expr::Expr;
use crate::base::yaml;
use crate::findings::Severity;

/// The spec of a YAML document with fields at known depths.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentSpec {
    /// The names and marks by which such documents are distinguished from other files.
    pub files: Files,
    /// The document's fields, by dotted path.
    pub fields: BTreeMap<String, Field>,
    /// The columns computed from the fields. A formula can read columns that were derived before.
    #[serde(default)]
    pub derive: Vec<DerivedColumn>,
    /// Numbers that relations read as `threshold.NAME`, by name.
    #[serde(default)]
    pub thresholds: Thresholds,
    /// Conditions that the fields must fulfil.
    #[serde(default)]
    pub relations: Vec<Relation>,
    /// Labels in the name of the document's directory, each with the values that the label's number must equal.
    #[serde(default)]
    pub names: Vec<NamePart>,
    /// Columns in which a config and the card generated from it must agree; empty for cards.
    #[serde(default)]
    pub agrees: Vec<String>,
}

/// The spec of a document's field.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Field {
    #[serde(rename = "type")]
    pub kind: TraceFieldType,
    #[serde(default)]
    pub need: Presence,
    /// The field's column in formulas; `None` if formulas do not read the field. A list of numbers fills the columns
    /// NAME_1, NAME_2 and so on, where NAME is this name.
    #[serde(default, rename = "as")]
    pub column: Option<String>,
    /// Other paths at which older documents have the field.
    #[serde(default)]
    pub also: Vec<String>,
    /// The value that formulas read if the field is missing.
    #[serde(default)]
    pub default: Option<f64>,
    /// The smallest allowed number; `None` for no limit.
    #[serde(default)]
    pub least: Option<f64>,
    /// The allowed texts; empty if all texts are allowed.
    #[serde(default)]
    pub one_of: Vec<String>,
    /// The severity of a text that is not allowed; `None` for an error.
    #[serde(default)]
    pub other: Option<Severity>,
    /// Columns that receive the number after a prefix in the field's text, by prefix: `{cuda_: cuda}`.
    #[serde(default)]
    pub number_after: BTreeMap<String, String>,
    /// Columns that receive the number before a word in the field's text, by word: `{GPU: gpus}`.
    #[serde(default)]
    pub number_before: BTreeMap<String, String>,
}

/// A label in names, such as `tp` in `…-tp4-…`, and the values that the label's number may have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamePart {
    pub labels: Vec<String>,
    /// Formulas over the document's columns. The number after the label must equal the value of one of them.
    pub is: Vec<Expr>,
}

/// The maximum number of values of a list that formulas can read.
pub(crate) const LISTED: usize = 4;

impl DocumentSpec {
    /// Returns the names of the columns that the fields fill.
    pub(crate) fn columns(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::from(["directory".to_owned()]);
        for field in self.fields.values() {
            names.extend(field.number_after.values().cloned());
            names.extend(field.number_before.values().cloned());
            match (&field.column, field.kind) {
                (Some(name), TraceFieldType::Numbers) => {
                    names.extend((1..=LISTED).map(|i| format!("{name}_{i}")));
                }
                (Some(name), _) => drop(names.insert(name.clone())),
                (None, _) => {}
            }
        }
        names
    }

    /// Parses and checks a spec.
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        let mut spec: Self = yaml::parse(text)?;
        spec.files.compile()?;
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), Reason> {
        let mut known = self.columns();
        check(&mut known, &self.derive, &self.thresholds, &self.relations)?;
        let parts = self.names.iter().flat_map(|p| &p.is);
        parts.into_iter().try_for_each(|e| reads(e, &known, &self.thresholds))?;
        match self.agrees.iter().find(|name| !known.contains(*name)) {
            Some(name) => Err(format!("agrees: {name} is not a column of its fields").into()),
            None => Ok(()),
        }
    }
}
