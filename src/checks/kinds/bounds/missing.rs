//! Rows that a bound cannot judge, since the system does not state a figure that the bound's formula reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::expr::{ExprError, Lookup, Scope, Vals, Value};
use crate::base::words::{names, plural};
use crate::checks::{Judged, RowContext};
use crate::database::table::Column;
use crate::findings::{Hits, Severity};
use crate::specs::Bound;
use crate::specs::system::{L2_CACHE, System};

/// The values that a bound's formula reads, with 1 in place of figures that the system does not state. If the formula
/// has no value for a row even so, the bound does not apply to the row.
struct FilledScope<'a> {
    scope: &'a dyn Scope,
    /// The dotted path of the one figure that gets the value 1; `None` to give this value to all unstated figures.
    only: Option<&'a str>,
}

impl Scope for FilledScope<'_> {
    fn rows(&self) -> usize {
        self.scope.rows()
    }
    fn column(&self, name: &str) -> Option<Value<'_>> {
        self.scope.column(name)
    }
    fn field(&self, path: &str) -> Option<f64> {
        let is_filled = self.only.is_none_or(|only| only == path);
        self.scope.field(path).or(is_filled.then_some(1.0))
    }
    fn lookup(&self, function: &Lookup, text: &str) -> Option<f64> {
        Some(self.scope.lookup(function, text).unwrap_or(1.0))
    }
}

/// The rows that a bound cannot judge because one figure is missing.
#[derive(Default)]
struct UnjudgedRows {
    rows: Vec<usize>,
    /// The dtypes of the rows, if the missing figure is the rate of a dtype; empty otherwise.
    dtypes: BTreeSet<String>,
}

/// The rows that a bound cannot judge, grouped by the missing figure. The map's keys are the figures' dotted paths.
type ByFigure = BTreeMap<String, UnjudgedRows>;

/// Returns one hit for each bound that cannot judge some rows because the system does not state a figure. The hit is an
/// info if only the cache size is missing, otherwise a warning.
pub(super) fn hits<'v>(rows: &'v RowContext<'v>) -> Judged<'v> {
    let Some(system) = rows.system() else { return Ok(Hits::new()) };
    let mut hits = Hits::new();
    for bound in &rows.spec.bounds {
        let mut missing = without_figure(rows, bound, system)?;
        let mut severity = rows.rule.severity.at_most(Severity::Warning);
        if missing.is_empty() && bound.working_set.is_some() && system.figure(L2_CACHE).is_none() {
            let all = UnjudgedRows { rows: (0..rows.count).collect(), ..Default::default() };
            missing.insert(L2_CACHE.to_owned(), all);
            severity = Severity::Info;
        }
        let all: Vec<usize> = missing.values().flat_map(|m| &m.rows).copied().collect();
        let message = move |own: &[usize]| message(rows, bound, &missing, own);
        hits.extend(rows.hit(severity, all, ["latency"], message));
    }
    Ok(hits)
}

/// Finds the rows for which a bound's formula has no value since the system does not state a figure.
fn without_figure(
    rows: &RowContext<'_>,
    bound: &Bound,
    system: &System,
) -> Result<ByFigure, ExprError> {
    let mut missing = ByFigure::new();
    let lookups = bound.seconds.lookups();
    let rates = lookups.into_iter().filter(|(lookup, _)| **lookup == Lookup::Flops);
    let rates: Vec<UnstatedRates<'_>> =
        rates.filter_map(|(_, column)| UnstatedRates::of(rows, system, column)).collect();
    let fields: Vec<&str> =
        bound.seconds.fields().into_iter().filter(|f| system.figure(f).is_none()).collect();
    if fields.is_empty() && rates.is_empty() {
        return Ok(missing);
    }
    for (start, part) in rows.scope().parts() {
        let seconds = bound.seconds.numbers(&part)?;
        if (0..part.rows()).all(|i| !seconds.get(i).is_nan()) {
            continue;
        }
        let all = FilledScope { scope: &part, only: None };
        let filled = bound.seconds.numbers(&all)?;
        let fills: Vec<FilledScope<'_>> =
            fields.iter().map(|field| FilledScope { scope: &part, only: Some(*field) }).collect();
        let alone: Vec<Vals<'_, f64>> =
            fills.iter().map(|fill| bound.seconds.numbers(fill)).collect::<Result<_, _>>()?;
        let is_unjudged = |i: &usize| seconds.get(*i).is_nan() && !filled.get(*i).is_nan();
        for row in (0..part.rows()).filter(is_unjudged).map(|i| start + i) {
            let rate = rates.iter().find_map(|rates| rates.of_row(row));
            // A formula may use one figure instead of another (a rack's for a node's). The missing figure is the one
            // whose value alone suffices.
            let helps = alone.iter().position(|with| !with.get(row - start).is_nan());
            let field = fields.get(helps.unwrap_or(0)).copied();
            let Some(figure) = rate.map(|(figure, _)| figure).or(field) else {
                continue;
            };
            let unjudged = missing.entry(figure.to_owned()).or_default();
            unjudged.rows.push(row);
            unjudged.dtypes.extend(rate.map(|(_, dtype)| dtype.to_owned()));
        }
    }
    Ok(missing)
}

/// The dtypes of a text column for which the system does not state a peak rate in FLOP/s.
struct UnstatedRates<'a> {
    codes: &'a [u32],
    /// For each dictionary code of the column: the name of the missing figure, and the dtype. `None` if the system
    /// states the dtype's rate.
    by_code: Vec<Option<(&'a str, &'a str)>>,
}

impl<'a> UnstatedRates<'a> {
    /// Returns the dtypes of a text column whose rates are missing; `None` if the system states all rates.
    fn of(rows: &RowContext<'a>, system: &System, column: &str) -> Option<Self> {
        let Some(Column::Text { codes, dict, .. }) = rows.column(column) else {
            return None;
        };
        let unstated = |dtype: &'a str| Some((missing_rate(rows, system, dtype)?, dtype));
        let by_code: Vec<_> = dict.iter().map(|dtype| unstated(dtype)).collect();
        by_code.iter().any(Option::is_some).then_some(Self { codes, by_code })
    }

    fn of_row(&self, row: usize) -> Option<(&'a str, &'a str)> {
        self.by_code.get(self.codes[row] as usize).copied().flatten()
    }
}

/// Returns the name of the figure that should state a dtype's rate. Returns `None` if the system states the rate, or if
/// no figure exists for the dtype.
fn missing_rate<'a>(rows: &RowContext<'a>, system: &System, dtype: &str) -> Option<&'a str> {
    let figure = rows.specs.lookups.rate(dtype)?;
    system.figure(figure).is_none_or(|rate| rate <= 0.0).then_some(figure)
}

/// Returns a message that says how many of the rows in `own` the bound cannot judge, and why.
fn message(rows: &RowContext<'_>, bound: &Bound, missing: &ByFigure, own: &[usize]) -> String {
    let system = &rows.file.place.system;
    let mut says = Vec::new();
    for (figure, unjudged) in missing {
        let n = unjudged.rows.iter().filter(|row| own.binary_search(row).is_ok()).count();
        if n == 0 {
            continue;
        }
        let dtypes = names(unjudged.dtypes.iter().map(String::as_str));
        let of = if unjudged.dtypes.is_empty() { String::new() } else { format!(" of {dtypes}") };
        let (count, verb) = (plural(n, "row"), if n == 1 { "is" } else { "are" });
        let time = resource(bound);
        says.push(format!(
            "{count}{of} {verb} not compared with the time that {time}: {system} states no {figure}"
        ));
    }
    says.join("; ")
}

/// Returns the words that follow "the time that" in messages about a bound, such as
/// `reading its data takes at the memory bandwidth`.
pub(super) fn resource(bound: &Bound) -> &str {
    match bound.name.as_str() {
        "math" => "the arithmetic takes at the peak rate",
        "math-in-attn-dtype" => {
            "the arithmetic takes at the peak rate of attn_dtype (a kernel that computes in the cache's fp8 may be faster)"
        }
        "math-in-mla-dtype" => {
            "the arithmetic takes at the peak rate of mla_dtype (a kernel that computes in the cache's fp8 may be faster)"
        }
        "network" => "sending what leaves its node or rack takes at the network card's bandwidth",
        "memory" => "reading its data takes at the memory bandwidth",
        "link" => "moving its data takes at the link's bandwidth",
        other => other,
    }
}
