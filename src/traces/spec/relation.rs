//! What must hold in a row, and the figures that it uses.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_yaml::Spanned;

use crate::base::expr::Expr;
use crate::base::reason::Reason;
use crate::findings::Severity;

/// A column worked out from others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    pub name: String,
    pub is: Expr,
}

/// A figure that relations read, and where it comes from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    pub value: f64,
    pub from: String,
}

/// Which rule reports that a relation does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finds {
    Contradiction,
    Implausible,
}

/// What must hold in every row in which all that it reads is known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    pub id: Spanned<String>,
    pub finds: Finds,
    /// How bad it is; as bad as the rule without one.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// Rows it is about; all without one.
    #[serde(default, rename = "where")]
    pub filter: Option<Expr>,
    #[serde(default)]
    pub holds: Option<Expr>,
    /// Two values that are equal, except for the part `within` of the larger.
    #[serde(default)]
    pub equal: Option<(Expr, Expr)>,
    #[serde(default)]
    pub within: f64,
    /// What is wrong where it does not hold; `{column}` stands for a value.
    pub says: String,
    /// Columns to show beside those that it reads.
    #[serde(default)]
    pub show: Vec<String>,
}

impl Relation {
    /// Its formulas, the filter too.
    pub fn formulas(&self) -> impl Iterator<Item = &Expr> {
        self.filter.iter().chain(self.demands())
    }

    /// The machine's figures that it reads.
    pub fn figures(&self) -> BTreeSet<&str> {
        let fields = self.formulas().flat_map(|e| e.fields());
        fields.filter(|f| !f.starts_with("threshold.")).collect()
    }

    /// The thresholds that it reads.
    pub fn thresholds(&self) -> BTreeSet<&str> {
        let fields = self.formulas().flat_map(|e| e.fields());
        fields.filter_map(|f| f.strip_prefix("threshold.")).collect()
    }

    /// What must hold.
    pub fn demands(&self) -> impl Iterator<Item = &Expr> {
        self.holds.iter().chain(self.equal.iter().flat_map(|(a, b)| [a, b]))
    }
}

/// Refuses formulas that read what is not there: they would never find anything.
pub(super) fn check(
    known: &mut BTreeSet<String>,
    derive: &[Derived],
    thresholds: &BTreeMap<String, Threshold>,
    relations: &[Relation],
) -> Result<(), Reason> {
    for derived in derive {
        reads(&derived.is, known, thresholds)?;
        known.insert(derived.name.clone());
    }
    let mut ids = BTreeSet::new();
    for relation in relations {
        let bad = |why: Reason| {
            let (id, line) = (&relation.id.value, relation.id.referenced.line());
            Reason::from(format!("relation {id}, line {line}: {why}"))
        };
        if !ids.insert(relation.id.value.as_str()) {
            return Err(bad("two relations have this id".into()));
        }
        if relation.holds.is_some() == relation.equal.is_some() {
            return Err(bad("it needs exactly one of `holds` and `equal`".into()));
        }
        for formula in relation.formulas() {
            reads(formula, known, thresholds).map_err(bad)?;
        }
        if let Some(name) = relation.show.iter().find(|n| !known.contains(*n)) {
            return Err(bad(format!("it shows {name}, which is not a column").into()));
        }
    }
    Ok(())
}

/// Refuses a formula that reads what is not there.
pub(super) fn reads(
    formula: &Expr,
    known: &BTreeSet<String>,
    thresholds: &BTreeMap<String, Threshold>,
) -> Result<(), Reason> {
    // Columns of a row's card are those of another file.
    let unknown = |c: &&str| !known.contains(*c) && !c.starts_with("card_");
    if let Some(column) = formula.columns().into_iter().find(unknown) {
        return Err(format!("`{formula}` reads {column}, which is not a column").into());
    }
    let missing = |f: &&str| {
        let name = f.strip_prefix("threshold.");
        name.map_or(!f.starts_with("gpu.") && !f.starts_with("node."), |n| {
            !thresholds.contains_key(n)
        })
    };
    match formula.fields().into_iter().find(missing) {
        Some(field) => {
            Err(format!("`{formula}` reads {field}, which is not a threshold or figure").into())
        }
        None => Ok(()),
    }
}
