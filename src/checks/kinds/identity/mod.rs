//! What rows say of where they were measured: device, framework, version.

mod device;
mod framework;
mod version;

use std::collections::BTreeMap;

pub use self::device::Device;
pub use self::framework::FrameworkNames;
pub use self::version::VersionNames;
pub(super) use self::version::same_version;
use crate::base::expr::NULL_CODE;
use crate::base::words::names;
use crate::checks::RowContext;
use crate::checks::judge::Inputs;
use crate::database::table::Column;
use crate::findings::{EXAMPLES, Finding, Half, Severity};

/// What the checks here look at.
fn origin() -> Inputs {
    Inputs { origin: true, ..Inputs::default() }
}

/// Rows by the name that a text column gives them, null ones apart.
struct Named<'a> {
    codes: &'a [u32],
    names: Vec<(&'a str, usize)>,
    nulls: usize,
}

impl<'a> Named<'a> {
    fn of(rows: &RowContext<'a>, column: &str) -> Option<Self> {
        let Some(Column::Text { codes, dict, nulls }) = rows.table.column(column) else {
            return None;
        };
        let mut counts = vec![0; dict.len()];
        match (&mut counts[..], *nulls) {
            // Nearly every table has one name in each of these columns.
            ([one], 0) => *one = codes.len(),
            (counts, _) => {
                codes.iter().filter(|c| **c != NULL_CODE).for_each(|c| counts[*c as usize] += 1);
            }
        }
        let names = dict.iter().map(|t| t.as_ref()).zip(counts).collect();
        Some(Self { codes, names, nulls: *nulls })
    }

    /// The findings on the rows whose names `wrong` picks, if there are any.
    fn findings(
        &self,
        rows: &RowContext<'_>,
        column: &str,
        severity: Severity,
        wrong: impl Fn(&str) -> bool,
        say: impl Fn(&str, usize) -> String,
    ) -> Vec<Finding> {
        let bad: Vec<bool> =
            self.names.iter().map(|(name, count)| *count > 0 && wrong(name)).collect();
        if self.nulls == 0 && !bad.contains(&true) {
            return Vec::new();
        }
        let is_bad = |row: &usize| match self.codes[*row] {
            NULL_CODE => true,
            code => bad[code as usize],
        };
        let all: Vec<usize> = (0..self.codes.len()).filter(is_bad).collect();
        let half = |half: Half<'_>| {
            let part = half.of(&all);
            if part.is_empty() {
                return None;
            }
            let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
            part.iter().for_each(|row| *counts.entry(self.codes[*row]).or_default() += 1);
            let name = |code: u32| match code {
                NULL_CODE => "(null)",
                code => self.names[code as usize].0,
            };
            let found: BTreeMap<&str, usize> =
                counts.into_iter().map(|(code, count)| (name(code), count)).collect();
            let message = say(&names(found.keys().copied()), part.len());
            let examples = rows.examples(&part[..part.len().min(EXAMPLES)], &[column]);
            let finding = rows.finding_as(severity, message).rows(part.len()).examples(examples);
            let found = serde_json::to_value(found).unwrap_or_default();
            Some(finding.half(&half, all.len()).evidence("found", found))
        };
        rows.halves().filter_map(half).collect()
    }
}
