//! The spec of relations between the values of a row, and of the thresholds that they use.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_yaml::Spanned;

use crate::base::error::Reason;
use crate::base::expr::Expr;
use crate::base::relation::{RowRelation, Sentence};
use crate::findings::Severity;

/// A column that is computed from other columns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DerivedColumn {
    pub name: String,
    pub is: Expr,
}

/// A number with which relations compare values, and the source of the number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    pub value: f64,
    pub from: String,
}

/// The numbers that relations read as `threshold.NAME`, by name.
pub(crate) type Thresholds = BTreeMap<String, Threshold>;

/// The kind of problem that a broken relation shows: a contradiction or an implausible value. The kind determines which
/// rule reports the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationRule {
    Contradiction,
    Implausible,
}

/// A condition on the values of a row. A row is judged only if all values that the condition reads are known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    pub id: Spanned<String>,
    pub finds: RelationRule,
    /// The severity of the finding; `None` for the severity of the rule.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// The condition that selects rows; `None` for all rows.
    #[serde(default, rename = "where")]
    pub filter: Option<Expr>,
    #[serde(default)]
    pub holds: Option<Expr>,
    /// Two formulas whose values must be equal. They may differ by at most the fraction `within` of the larger value.
    /// `None` if the relation is a condition in `holds`.
    #[serde(default)]
    pub equal: Option<(Expr, Expr)>,
    #[serde(default)]
    pub within: f64,
    /// The message about rows that break the relation. In it, `{column}` is replaced by the value of this column in the
    /// first such row.
    pub says: Sentence,
    /// Additional columns that an example of a broken row shows. The columns that the formulas read are always shown.
    #[serde(default)]
    pub show: Vec<String>,
}

impl Relation {
    /// Returns the relation's formulas, including the filter.
    pub(crate) fn formulas(&self) -> impl Iterator<Item = &Expr> {
        let equal = self.equal.iter().flat_map(|(a, b)| [a, b]);
        self.filter.iter().chain(&self.holds).chain(equal)
    }

    /// Returns true if the relation's formulas read properties of the row's system, such as `gpu.mem_bw`.
    pub(crate) fn reads_figures(&self) -> bool {
        self.formulas().flat_map(Expr::fields).any(|field| !field.starts_with("threshold."))
    }

    /// Returns the names of the thresholds that the relation's formulas read, without the prefix `threshold.`.
    pub(crate) fn thresholds(&self) -> BTreeSet<&str> {
        let fields = self.formulas().flat_map(Expr::fields);
        fields.filter_map(|field| field.strip_prefix("threshold.")).collect()
    }

    /// Returns the relation as a [`RowRelation`], which can be evaluated.
    pub(crate) fn formulas_of(&self) -> RowRelation<'_> {
        RowRelation {
            filter: self.filter.as_ref(),
            holds: self.holds.as_ref(),
            equal: self.equal.as_ref().map(|(left, right)| (left, right)),
            within: self.within,
            ..RowRelation::default()
        }
    }
}

/// Checks the derived columns and the relations of a spec. Returns an error, for example, if a formula reads an unknown
/// column. Adds the names of the derived columns to `known`.
pub(crate) fn check(
    known: &mut BTreeSet<String>,
    derive: &[DerivedColumn],
    thresholds: &Thresholds,
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
        let is_known = |name: &&str| known.contains(*name) || name.starts_with("card_");
        let said = relation.says.names().filter(|name| !name.starts_with("threshold."));
        let mut shown = relation.show.iter().map(String::as_str).chain(said);
        if let Some(name) = shown.find(|name| !is_known(name)) {
            return Err(bad(format!("it shows {name}, which is not a column").into()));
        }
    }
    Ok(())
}

/// Returns an error if a formula reads an unknown column, an unknown threshold, or a dotted name that starts with
/// neither `threshold.`, `gpu.` nor `node.`.
pub(crate) fn reads(
    formula: &Expr,
    known: &BTreeSet<String>,
    thresholds: &Thresholds,
) -> Result<(), Reason> {
    // A `card_` column comes from the row's card, which has another spec.
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
