//! The names in rows that state where the rows were measured: device, framework and version.

mod framework;
mod version;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::expr::NULL_CODE;
use crate::base::words::{names, plural_verb};
use crate::checks::{CheckInputs, Input, RowContext};
use crate::database::table::Column;
use crate::findings::{EXAMPLES, Hit, Severity};

pub(crate) use self::framework::{DeviceNames, FrameworkNames};
pub(crate) use self::version::VersionNames;
pub(super) use self::version::same_version;

/// The largest number of names in a finding's evidence. A damaged column may have another name in each row.
const MOST_NAMES: usize = 1000;

/// Returns true if a framework's name is the backend's name, or if it contains the backend's name as one of its parts
/// between underscores, such as sglang in `wideep_sglang`.
pub(super) fn names_backend(framework: &str, backend: &str) -> bool {
    framework.eq_ignore_ascii_case(backend)
        || framework.split('_').any(|part| part.eq_ignore_ascii_case(backend))
}

/// A clause that names the backend of the directory: ` in a directory of vllm`.
pub(super) fn in_directory_of(backend: &str) -> String {
    format!(" in a directory of {backend}")
}

/// Returns the inputs of the checks on the origin of rows: device, framework and version.
fn origin() -> CheckInputs {
    CheckInputs::of(&[Input::Origin])
}

/// The names in a text column, each with its number of rows. `codes` contains each row's index in `names`. Rows without
/// a name are counted in `nulls`.
struct RowsByName<'a> {
    codes: &'a [u32],
    names: Vec<(&'a str, usize)>,
    nulls: usize,
}

impl<'a> RowsByName<'a> {
    fn of(rows: &RowContext<'a>, column: &str) -> Option<Self> {
        let Some(Column::Text { codes, dict, nulls }) = rows.column(column) else {
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
        let names = dict.iter().map(AsRef::as_ref).zip(counts).collect();
        Some(Self { codes, names, nulls: *nulls })
    }

    /// Creates the hit on the rows whose name is null or wrong; `None` without such rows. `wrong` returns true for a
    /// wrong name. `say` creates the message from the wrong names and the number of rows.
    fn hit<'v>(
        self,
        rows: &'v RowContext<'v>,
        column: &'static str,
        severity: Severity,
        wrong: impl Fn(&str) -> bool,
        say: impl Fn(&str, usize) -> String + 'v,
    ) -> Option<Hit<'v>>
    where
        'a: 'v,
    {
        let bad: Vec<bool> =
            self.names.iter().map(|(name, count)| *count > 0 && wrong(name)).collect();
        if self.nulls == 0 && !bad.contains(&true) {
            return None;
        }
        let is_bad = |row: &usize| match self.codes[*row] {
            NULL_CODE => true,
            code => bad[code as usize],
        };
        let all: Vec<usize> = (0..self.codes.len()).filter(is_bad).collect();
        Hit::rows(rows.file, all, severity, move |part| {
            let part = part.rows;
            let mut found = self.rows_by_name(part);
            let message = say(&names(found.keys().copied()), part.len());
            while found.len() > MOST_NAMES {
                found.pop_last();
            }
            let examples = rows.examples(&part[..part.len().min(EXAMPLES)], &[column]);
            let cause = format!("{column} {}", names(found.keys().copied()));
            let finding = rows.finding_as(severity, message).rows(part.len()).examples(examples);
            let found = serde_json::to_value(found).unwrap_or_default();
            Some(finding.evidence("cause", cause).evidence("found", found))
        })
    }

    /// Creates a warning on the rows with an unknown name; `None` without such rows. `is_new` returns true for an
    /// unknown name. In the message, the text `place` follows the names.
    fn novelty<'v>(
        &self,
        rows: &'v RowContext<'v>,
        column: &'static str,
        place: &str,
        is_new: impl Fn(&str) -> bool,
    ) -> Option<Hit<'v>> {
        let new: Vec<bool> =
            self.names.iter().map(|(name, count)| *count > 0 && is_new(name)).collect();
        let picked = self.names.iter().zip(&new).filter(|(_, new)| **new);
        let texts: BTreeSet<&str> = picked.map(|((name, _), _)| *name).collect();
        if texts.is_empty() {
            return None;
        }
        let what = format!("the {column} {}{place}", names(texts.iter().copied()));
        let has = |code: &u32| new.get(*code as usize) == Some(&true);
        let all: Vec<usize> = (0..self.codes.len()).filter(|row| has(&self.codes[*row])).collect();
        Hit::rows(rows.file, all, Severity::Warning, move |part| {
            let count = part.rows.len();
            let says = format!("{what}, which {},", plural_verb(count, "row", ["has", "have"]));
            let finding = rows.novelty(&what, &format!("{says} is")).rows(count);
            Some(finding.examples(rows.examples(part.shown(), &[column])))
        })
    }

    /// Counts the given rows by name.
    fn rows_by_name(&self, rows: &[usize]) -> BTreeMap<&'a str, usize> {
        // Names are few and rows many, so codes are counted.
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for row in rows {
            *counts.entry(self.codes[*row]).or_default() += 1;
        }
        counts.into_iter().map(|(code, count)| (self.name(code), count)).collect()
    }

    fn name(&self, code: u32) -> &'a str {
        if code == NULL_CODE { "(null)" } else { self.names[code as usize].0 }
    }
}
