//! The spec of a card or config.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::relation::{DerivedColumn, Relation, Thresholds, check, reads};
use super::{Files, Presence, TraceFieldType};
use crate::base::error::Reason;
use crate::base::expr::Expr;
use crate::base::yaml;
use crate::findings::Severity;

/// The spec of cards or of configs, which are YAML documents with known fields.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentSpec {
    /// The file names and contents by which documents of this kind are recognised.
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
    /// Labels such as `tp` that can occur in the names of a document's directory and file. The number after a label
    /// must agree with the document.
    #[serde(default)]
    pub names: Vec<NamePart>,
    /// The names of columns that must have equal values in a config and in the card generated from it. Empty in the
    /// spec of cards.
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
    /// The name of the column in which formulas read the field's value; `None` if formulas do not read it. A list of
    /// numbers has several columns, such as `bandwidth_1` and `bandwidth_2` for the name `bandwidth`.
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
    /// The severity of the finding on a text that is not in `one_of`; `None` for an error.
    #[serde(default)]
    pub other: Option<Severity>,
    /// Columns for a number in the field's text, by the prefix before the number. For example, `{cuda_: cuda}` reads
    /// 12.4 from `cuda_12.4` into the column `cuda`.
    #[serde(default)]
    pub number_after: BTreeMap<String, String>,
    /// Columns for a number in the field's text, by the word after the number. For example, `{GPU: gpus}` reads 4 from
    /// `on 4 GPUs` into the column `gpus`.
    #[serde(default)]
    pub number_before: BTreeMap<String, String>,
}

/// A label in names of directories and files, such as `tp` in `llama-tp4`, and the formulas for the number after it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamePart {
    pub labels: Vec<String>,
    /// Formulas over the document's columns. The number after the label must equal the result of at least one of them.
    pub is: Vec<Expr>,
}

/// The maximum number of columns for a field that is a list of numbers.
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
