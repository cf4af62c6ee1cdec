//! The form of a card or config.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::relation::{Derived, Relation, Threshold, check, reads};
use super::{FieldType, Files, Presence};
use crate::base::expr::Expr;
use crate::base::reason::Reason;
use crate::findings::Severity;

/// A YAML document with fields at known depths.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentSpec {
    /// How it is distinguished from other files.
    pub files: Files,
    /// By dotted path.
    pub fields: BTreeMap<String, Field>,
    /// Further columns, each from those before.
    #[serde(default)]
    pub derive: Vec<Derived>,
    /// Figures that relations read as `threshold.NAME`.
    #[serde(default)]
    pub thresholds: BTreeMap<String, Threshold>,
    /// What must hold between the fields.
    #[serde(default)]
    pub relations: Vec<Relation>,
    /// What the name of its directory may say of it.
    #[serde(default)]
    pub names: Vec<NamePart>,
    /// Of a config: columns that the card generated from it has too, with the same values.
    #[serde(default)]
    pub agrees: Vec<String>,
}

/// A field of a document.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    #[serde(rename = "type")]
    pub kind: FieldType,
    #[serde(default)]
    pub need: Presence,
    /// Its column in formulas; a list of numbers has NAME_1, NAME_2 and so on.
    #[serde(default, rename = "as")]
    pub column: Option<String>,
    /// Other paths at which older documents have it.
    #[serde(default)]
    pub also: Vec<String>,
    /// Its value in formulas where it is missing.
    #[serde(default)]
    pub default: Option<f64>,
    /// The least that it can be.
    #[serde(default)]
    pub least: Option<f64>,
    /// What it can be.
    #[serde(default)]
    pub one_of: Vec<String>,
    /// How bad another value is.
    #[serde(default)]
    pub other: Option<Severity>,
    /// Of a text: a column for the number that follows a prefix, `{cuda_: cuda}`.
    #[serde(default)]
    pub number_after: BTreeMap<String, String>,
    /// Of a text: a column for the number before a word, `{GPU: gpus}`.
    #[serde(default)]
    pub number_before: BTreeMap<String, String>,
}

/// A label in names, such as the `tp` of `…-tp4-…`, and what it says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamePart {
    pub labels: Vec<String>,
    /// What the number after the label is; one of several will do.
    pub is: Vec<Expr>,
}

/// Values of a list of numbers that formulas can read.
pub const LISTED: usize = 4;

impl DocumentSpec {
    /// Columns that its fields give.
    pub fn columns(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::from(["directory".to_owned()]);
        for field in self.fields.values() {
            names.extend(field.number_after.values().cloned());
            names.extend(field.number_before.values().cloned());
            match (&field.column, field.kind) {
                (Some(name), FieldType::Numbers) => {
                    names.extend((1..=LISTED).map(|i| format!("{name}_{i}")));
                }
                (Some(name), _) => drop(names.insert(name.clone())),
                (None, _) => {}
            }
        }
        names
    }

    pub(super) fn check(&self) -> Result<(), Reason> {
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
