//! The origin that rows state: device, framework, version.

mod version;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::NULL_CODE;
use crate::base::words::{names, plural_verb};
use crate::checks::context::RowContext;
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Judge, Judged};
use crate::database::table::Column;
use crate::findings::{EXAMPLES, Hit, Hits, Reads, Severity};
use crate::specs::TableSpec;

pub use self::version::VersionNames;
pub(super) use self::version::same_version;

/// Names that a finding's evidence counts the rows of; a damaged column may hold another in each row.
const MOST_NAMES: usize = 1000;

/// Returns the inputs of the checks on origins.
fn origin() -> CheckInputs {
    CheckInputs::of(&[Input::Origin])
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
        let names = dict.iter().map(AsRef::as_ref).zip(counts).collect();
        Some(Self { codes, names, nulls: *nulls })
    }

    /// The rows whose names `wrong` picks, if there are any.
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
        Hit::rows(rows.at.file, all, severity, move |part| {
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

    /// Counts some rows by name.
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

/// Rows name a GPU that is not the system's.
pub struct DeviceNames;

impl Judge for DeviceNames {
    fn reads(&self, _: &TableSpec) -> Reads {
        Reads::columns(["device"]).and_devices()
    }

    fn needs(&self) -> CheckInputs {
        origin()
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let devices = rows.devices().filter(|(_, devices)| !devices.is_empty());
        let (Some((system, devices)), Some(named)) = (devices, Named::of(rows, "device")) else {
            return Ok(Hits::new());
        };
        let wanted = devices.join(" or ");
        let is_own = system.device_matcher();
        let say = move |names: &str, n| {
            let rows = plural_verb(n, "row", ["was", "were"]);
            format!("{rows} measured on {names}, but the system has {wanted}")
        };
        let hit = named.hit(rows, "device", rows.rule.severity, |name| !is_own(name), say);
        Ok(hit.into_iter().collect())
    }
}

/// Names that rows of a backend's directory may carry, whatever their case; a backend that is not
/// listed is known by its own name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameworkNames {
    backends: BTreeMap<String, Vec<String>>,
}

impl Judge for FrameworkNames {
    fn reads(&self, _: &TableSpec) -> Reads {
        Reads::columns(["framework"])
    }

    fn needs(&self) -> CheckInputs {
        origin()
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let Some(named) = Named::of(rows, "framework") else { return Ok(Hits::new()) };
        let backend = &rows.at.file.place.backend;
        let own = [backend.clone()];
        let known = self.backends.get(backend).map_or(&own[..], Vec::as_slice);
        let is_other = |name: &str| !known.iter().any(|k| k.eq_ignore_ascii_case(name));
        let say = move |names: &str, n| {
            let rows = plural_verb(n, "row", ["names", "name"]);
            format!("{rows} {names} as framework, but the directory is of {backend}")
        };
        let hit = named.hit(rows, "framework", rows.rule.severity, is_other, say);
        Ok(hit.into_iter().collect())
    }
}
