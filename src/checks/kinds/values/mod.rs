//! Cells by themselves: measurements that are not numbers, zero or negative, keys out of range.

mod dtypes;
mod key_range;
mod not_finite;
mod not_positive;
mod whole_table;

use std::collections::BTreeMap;

pub(crate) use self::key_range::KeyRange;
pub(crate) use self::not_finite::NotFinite;
pub(crate) use self::not_positive::NotPositive;
use crate::base::words::plural;
use crate::checks::context::RowContext;
use crate::findings::{Finding, Hit, HitPart, Severity};

/// The wrong rows of a table, grouped by fault.
#[derive(Default)]
struct WrongRowsByFault {
    kinds: BTreeMap<String, WrongRows>,
    columns: Vec<String>,
}

/// Rows with one kind of fault.
#[derive(Default)]
struct WrongRows {
    /// A clause that describes the fault. The message continues it with "in 3 rows".
    says: String,
    rows: Vec<usize>,
}

impl WrongRowsByFault {
    /// Adds a row to the fault "`column` is `why`"; does nothing if `why` is `None`.
    fn add(&mut self, column: &str, row: usize, why: Option<&str>) {
        let Some(why) = why else { return };
        self.add_kind(&format!("{column} {why}"), &format!("{column} is {why}"), column, row);
    }

    /// Adds a row to the fault `kind`, which the clause `says` describes.
    fn add_kind(&mut self, kind: &str, says: &str, column: &str, row: usize) {
        let wrong = self.kinds.entry(kind.to_owned()).or_default();
        says.clone_into(&mut wrong.says);
        wrong.rows.push(row);
        if self.columns.last().is_none_or(|c| c != column) {
            self.columns.push(column.to_owned());
        }
    }

    /// Returns one warning for each fault, such as an unknown dtype. The message ends with the text `then`, followed by
    /// `not known to perfdb-gate …`, since this program's facts may be outdated. `what` returns the name of the unknown
    /// thing, such as the dtype.
    fn novelties<'v>(
        self,
        rows: &'v RowContext<'v>,
        what: fn(&str, &RowContext<'_>) -> String,
        then: &'static str,
    ) -> impl Iterator<Item = Hit<'v>> {
        let Self { kinds, columns } = self;
        kinds.into_iter().filter_map(move |(kind, wrong)| {
            let severity = rows.rule.severity.at_most(Severity::Warning);
            let what = what(&kind, rows);
            let one = Self { kinds: [(kind, wrong)].into(), columns: columns.clone() };
            let all = one.kinds.values().flat_map(|wrong| &wrong.rows).copied().collect::<Vec<_>>();
            Hit::rows(rows.file, all, severity, move |part| {
                let mut finding = one.finding(rows, severity, part).unknown(&what);
                finding.message += &format!("{then} {}", rows.specs.shipped.not_known());
                Some(finding)
            })
        })
    }

    fn hit<'v>(self, rows: &'v RowContext<'v>, severity: Severity) -> Option<Hit<'v>> {
        let all: Vec<usize> = self.kinds.values().flat_map(|wrong| &wrong.rows).copied().collect();
        Hit::rows(rows.file, all, severity, move |part| Some(self.finding(rows, severity, part)))
    }

    fn finding(&self, rows: &RowContext<'_>, severity: Severity, part: &HitPart<'_>) -> Finding {
        let rows_of = |wrong: &WrongRows| wrong.rows.iter().filter(|r| part.has(**r)).count();
        let kinds: BTreeMap<&str, usize> = self
            .kinds
            .iter()
            .map(|(kind, wrong)| (kind.as_str(), rows_of(wrong)))
            .filter(|(_, rows)| *rows > 0)
            .collect();
        let named = kinds
            .iter()
            .map(|(kind, rows)| format!("{} in {}", self.kinds[*kind].says, plural(*rows, "row")));
        let message = named.collect::<Vec<_>>().join("; ");
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let evidence = serde_json::to_value(&kinds).unwrap_or_default();
        let finding = rows
            .finding_as(severity, message)
            .rows(part.rows.len())
            .examples(rows.examples(part.shown(), &columns));
        finding.evidence("rows_by_kind", evidence)
    }
}
