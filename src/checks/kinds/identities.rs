//! Values of a row that contradict each other: a rate and its time, a minimum and a median.

use std::borrow::Cow;

use crate::base::expr::{Expr, ExprError, Scope, Value};
use crate::base::relation::{Rounded, RowRelation};
use crate::base::stats::half_unit;
use crate::base::words::{Figure, plural, plural_verb};
use crate::checks::{Judge, Judged, RowContext};
use crate::database::table::number_json;
use crate::findings::{EXAMPLES, Example, Finding, Hit, HitPart, Severity};
use crate::specs::{ColumnKind, Identity};

/// The maximum relative difference that rounding explains, such as that of 32-bit numbers.
const FLOAT_NOISE: f64 = 1e-6;

/// The check for values of a row that contradict each other.
pub(crate) struct IdentityCheck;

/// A row whose values do not fulfil an equation or a condition of the table's spec (an identity).
#[derive(Clone, Copy)]
struct BrokenRow {
    row: usize,
    /// The value that the equation gives, computed from the other columns; NaN if the identity is a condition.
    expected: f64,
    /// The factor, 1 or more, between the row's value and the expected value; NaN if the identity is a condition.
    factor: f64,
}

/// The rows that contradict an identity, the worst first.
struct Contradictions<'a> {
    identity: &'a Identity,
    rows: Vec<BrokenRow>,
}

impl Judge for IdentityCheck {
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let (mut wrong, mut zero) = (Vec::new(), Vec::new());
        for identity in &rows.spec.identities {
            // A column that the table lacks is unknown in every row.
            if identity.derived().is_some_and(|name| rows.column(name).is_none()) {
                continue;
            }
            let broken = contradictions(rows, identity)?;
            // A rate of 0 with a positive time was not measured.
            let (zeros, others): (Vec<_>, Vec<_>) =
                broken.into_iter().partition(|row| row.factor.is_infinite() && row.expected > 0.0);
            wrong.push(Contradictions { identity, rows: others });
            zero.push(Contradictions { identity, rows: zeros });
        }
        let warning = rows.rule.severity.at_most(Severity::Warning);
        let graded = [(wrong, rows.rule.severity), (zero, warning)].into_iter();
        Ok(graded.filter_map(|(found, severity)| hit(rows, found, severity)).collect())
    }
}

/// Returns the rows that contradict an identity, the worst first.
fn contradictions(rows: &RowContext<'_>, identity: &Identity) -> Result<Vec<BrokenRow>, ExprError> {
    let scope = rows.scope();
    let mut rounded = Rounded::default();
    for name in identity.formulas().flat_map(Expr::columns) {
        let is_whole = rows.spec.kind(name) == Some(ColumnKind::Int);
        if let (Some(Value::Number(numbers)), false) = (scope.column(name), is_whole) {
            let values: Vec<f64> = (0..scope.rows()).map(|row| numbers.get(row)).collect();
            rounded.half_units.insert(name, Cow::Owned(written_halves(&values)));
        }
    }
    let mut relation = RowRelation {
        filter: identity.filter.as_ref(),
        holds: identity.holds.as_ref(),
        equal: identity.column.as_ref().zip(identity.is.as_ref()),
        within: identity.within.max(FLOAT_NOISE),
        ..RowRelation::default()
    };
    let mut broken = relation.broken_rows(scope, &rounded)?;
    for unit in &identity.units {
        if broken.is_empty() {
            break;
        }
        relation.scale = Some(*unit);
        let still = relation.broken_rows(scope, &rounded)?;
        broken.retain(|row| still.binary_search(row).is_ok());
    }
    let Some((given, expected)) = relation.equal else {
        let row = |row| BrokenRow { row, expected: f64::NAN, factor: f64::NAN };
        return Ok(broken.into_iter().map(row).collect());
    };
    let (given, expected) = (given.numbers(scope)?, expected.numbers(scope)?);
    let units = || [1.0].into_iter().chain(identity.units.iter().copied());
    let contradiction = |row: usize| {
        let (given, expected) = (given.get(row), expected.get(row));
        // The unit in which the value fits best is the one that was meant.
        let factors = units().map(|unit| {
            let ratio = given * unit / expected;
            if ratio < 1.0 { ratio.recip() } else { ratio }
        });
        BrokenRow { row, expected, factor: factors.fold(f64::INFINITY, f64::min) }
    };
    let computed = |found: &BrokenRow| found.expected.is_finite();
    let mut found: Vec<_> = broken.into_iter().map(contradiction).filter(computed).collect();
    found.sort_by(|a, b| b.factor.total_cmp(&a.factor).then(a.row.cmp(&b.row)));
    Ok(found)
}

/// Returns the maximum rounding error of each value: half a unit of its last decimal digit. A zero has no digits, so it
/// gets the smallest error of the nonzero values.
fn written_halves(values: &[f64]) -> Vec<f64> {
    let nonzero = values.iter().filter(|value| **value != 0.0 && value.is_finite());
    let least = nonzero.map(|value| half_unit(*value)).fold(f64::INFINITY, f64::min);
    let of_zero = if least.is_finite() { least } else { half_unit(0.0) };
    values.iter().map(|value| if *value == 0.0 { of_zero } else { half_unit(*value) }).collect()
}

/// Creates the hit on all rows that contradict one of the identities.
fn hit<'v>(
    rows: &'v RowContext<'v>,
    found: Vec<Contradictions<'v>>,
    severity: Severity,
) -> Option<Hit<'v>> {
    let all: Vec<usize> = found.iter().flat_map(|f| &f.rows).map(|f| f.row).collect();
    Hit::rows(rows.file, all, severity, move |part| finding(rows, &found, severity, part))
}

/// Creates the finding on the rows in `part`. The message describes one identity after the other.
fn finding(
    rows: &RowContext<'_>,
    found: &[Contradictions<'_>],
    severity: Severity,
    part: &HitPart<'_>,
) -> Option<Finding> {
    let within: Vec<Contradictions<'_>> = found
        .iter()
        .map(|found| Contradictions {
            identity: found.identity,
            rows: found.rows.iter().copied().filter(|found| part.has(found.row)).collect(),
        })
        .filter(|found| !found.rows.is_empty())
        .collect();
    let said: Vec<String> = within.iter().map(Contradictions::message).collect();
    let each = EXAMPLES.div_ceil(within.len().max(1));
    let examples = within.iter().flat_map(|found| found.examples(rows, each)).take(EXAMPLES);
    let counts: serde_json::Map<String, serde_json::Value> =
        within.iter().map(|found| (found.formula(), found.rows.len().into())).collect();
    let finding = rows.finding_as(severity, said.join("; ")).rows(part.rows.len());
    Some(finding.examples(examples.collect()).evidence("rows_by_identity", counts))
}

impl Contradictions<'_> {
    /// Returns the identity as one formula.
    fn formula(&self) -> String {
        let Identity { column, is, holds, .. } = self.identity;
        match (column, is, holds) {
            (Some(column), Some(is), _) => format!("{column} = {is}"),
            (_, _, Some(holds)) => holds.to_string(),
            _ => String::new(),
        }
    }

    fn message(&self) -> String {
        let (count, formula) = (plural(self.rows.len(), "row"), self.formula());
        let contradict = plural_verb(self.rows.len(), "row", ["contradicts", "contradict"]);
        let worst = self.rows.first().map_or(f64::NAN, |worst| worst.factor);
        match self.identity.derived() {
            Some(name) if worst.is_infinite() => {
                format!("{name} is 0 in {count}, although `{formula}` gives a value")
            }
            Some(_) if worst < 2.0 => {
                let percent = Figure((worst - 1.0) * 100.0);
                format!("{contradict} `{formula}`, by up to {percent:.1} %")
            }
            Some(_) => {
                format!("{contradict} `{formula}`, by a factor of up to {:.1}", Figure(worst))
            }
            None => format!("{contradict} `{formula}`"),
        }
    }

    fn examples(&self, rows: &RowContext<'_>, most: usize) -> Vec<Example> {
        let shown: Vec<usize> = self.rows.iter().take(most).map(|found| found.row).collect();
        let formulas = self.identity.formulas();
        let read: Vec<&str> = formulas.flat_map(Expr::columns).collect();
        let measured = |name: &&str| {
            self.identity.derived() == Some(*name)
                || matches!(rows.spec.kind(name), Some(ColumnKind::Measure(_) | ColumnKind::Number))
        };
        let mut names: Vec<&str> = read.into_iter().filter(measured).collect();
        names.dedup();
        let mut examples = rows.examples(&shown, &names);
        for (example, found) in examples.iter_mut().zip(&self.rows) {
            if found.expected.is_finite() {
                example.values.push(("expected".into(), number_json(found.expected)));
            }
        }
        examples
    }
}
