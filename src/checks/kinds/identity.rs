//! What rows say of where they were measured: device, framework, version.

use std::collections::BTreeMap;
use std::str::FromStr;

use globset::GlobMatcher;
use pep440_rs::Version;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::NULL_CODE;
use crate::base::glob::{Of, matcher};
use crate::base::words::{names, plural};
use crate::checks::RowContext;
use crate::database::table::Column;
use crate::findings::{EXAMPLES, Finding, Half, Severity};

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

fn matchers(globs: &[String]) -> Vec<GlobMatcher> {
    globs.iter().filter_map(|g| matcher(g, Of::Names).ok()).collect()
}

/// Rows of another GPU than the system's.
pub fn device(rows: &RowContext<'_>) -> Vec<Finding> {
    let system = rows.at.system.filter(|s| !s.devices.is_empty());
    let (Some(system), Some(named)) = (system, Named::of(rows, "device")) else {
        return Vec::new();
    };
    let wanted = system.devices.join(" or ");
    named.findings(
        rows,
        "device",
        rows.rule.severity,
        |name| !system.is_device(name),
        |names, n| format!("{} measured on {names}, the system is {wanted}", plural(n, "row")),
    )
}

/// Names that rows of a backend's directory may carry, whatever their case; a backend that is not
/// listed goes by its own name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameworkNames {
    backends: BTreeMap<String, Vec<String>>,
}

impl FrameworkNames {
    /// Rows of another framework than the directory's.
    pub fn check(&self, rows: &RowContext<'_>) -> Vec<Finding> {
        let Some(named) = Named::of(rows, "framework") else { return Vec::new() };
        let backend = &rows.at.file.place.backend;
        let own = [backend.clone()];
        let known = self.backends.get(backend).map_or(&own[..], Vec::as_slice);
        named.findings(
            rows,
            "framework",
            rows.rule.severity,
            |name| !known.iter().any(|k| k.eq_ignore_ascii_case(name)),
            |names, n| format!("{} of {names} in a directory of {backend}", plural(n, "row")),
        )
    }
}

/// How rows may spell a version.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionNames {
    /// Names that state no version on purpose: the rows are a kernel's, not a framework's.
    versionless: Vec<String>,
    /// Globs of builds that lost their version, such as those of a clone without tags.
    untagged: Vec<String>,
}

impl VersionNames {
    /// Rows of another version than the directory's.
    pub fn check(&self, rows: &RowContext<'_>) -> Vec<Finding> {
        let Some(named) = Named::of(rows, "version") else { return Vec::new() };
        let dir = rows.at.file.place.version.as_str();
        let untagged = matchers(&self.untagged);
        let fits =
            |name: &str| self.versionless.iter().any(|v| v == name) || same_version(name, dir);
        let lost = |name: &str| untagged.iter().any(|g| g.is_match(name));

        let mut released: Vec<Version> = named
            .names
            .iter()
            .filter(|(name, _)| !lost(name))
            .filter_map(|(name, _)| Version::from_str(name).ok())
            .filter(|v| v.dev().is_none())
            .map(Version::without_local)
            .collect();
        released.sort();
        released.dedup();
        // A candidate of a release that is there too is that release, earlier.
        let finals: Vec<Version> = released.iter().filter(|v| v.pre().is_none()).cloned().collect();
        released.retain(|v| v.pre().is_none() || finals.iter().all(|f| f.release() != v.release()));
        let others = named.names.iter().filter(|(n, _)| !fits(n) && !lost(n)).count();
        let own = named.names.iter().any(|(n, _)| fits(n));

        // Two releases in one table cannot both be what it is served as. Rows that are all of one
        // other version may only be misfiled; a build without tags says nothing by itself.
        let (severity, why) = match (others > 0 || named.nulls > 0, released.len()) {
            (true, 2..) => (Severity::Error, "; two released versions are mixed"),
            (true, _) => (Severity::Warning, ""),
            (false, _) if own => {
                (Severity::Warning, "; builds are mixed, and these state no version")
            }
            (false, _) => (Severity::Info, "; a build without tags states no version"),
        };
        named.findings(
            rows,
            "version",
            severity,
            |name| !fits(name),
            |names, n| {
                format!("{} of version {names} in the directory of {dir}{why}", plural(n, "row"))
            },
        )
    }
}

/// Whether a row's version is the directory's: the same release, its build, or a development build
/// that followed it (`0.14.1.dev1` is built after 0.14.0, before 0.14.1).
pub(super) fn same_version(row: &str, dir: &str) -> bool {
    if row == dir || row.strip_prefix(dir).is_some_and(|rest| rest.starts_with(['+', '-'])) {
        return true;
    }
    let (Ok(row), Ok(dir)) = (Version::from_str(row), Version::from_str(dir)) else {
        return false;
    };
    if row.clone().without_local() == dir.clone().without_local() {
        return true;
    }
    if row.dev().is_none() {
        return false;
    }
    if row.release() == dir.release() {
        return row.pre() == dir.pre();
    }
    // After a release the next one is built; before it, candidates are.
    let mut next = dir.release().to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    dir.pre().is_none() && row.release() == next
}

#[cfg(test)]
mod tests {
    use super::same_version;

    #[test]
    fn builds_of_a_version_are_that_version() {
        for (row, dir, same) in [
            ("0.24.0", "0.24.0", true),
            ("0.24.0+cu130", "0.24.0", true),
            ("2021.17.2-5", "2021.17.2", true),
            ("0.14.1.dev1+gd68209402", "0.14.0", true),
            ("0.20.1.dev3+g20dc1caee.d20260430", "0.20.0", true),
            ("0.1.dev19262+gb6bbf29dd.d20260727", "0.1.dev19262", true),
            ("1.3.0rc20.dev2+gabc", "1.3.0rc20", true),
            ("1.3.1.dev5+gabc", "1.3.0rc20", false),
            ("0.19.1", "0.19.0", false),
            ("0.5.10rc0", "0.5.10", false),
            ("2.29.2", "2.26.2", false),
            ("kernel-level", "0.5.14", false),
        ] {
            assert_eq!(same_version(row, dir), same, "{row} in {dir}");
        }
    }
}
