//! Rows of another version than the directory's.

use std::collections::BTreeSet;
use std::str::FromStr;

use globset::GlobMatcher;
use pep440_rs::Version;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{RowsByName, origin};
use crate::base::glob::{GlobScope, matcher};
use crate::base::words::plural_verb;
use crate::checks::{CheckInputs, Judge, Judged, RowContext};
use crate::findings::{Hit, Severity};

/// Version texts in rows that need not equal the directory's version.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionNames {
    /// Values of the version column that intentionally do not state a version, because the rows measure a kernel and
    /// not a framework.
    versionless: Vec<String>,
    /// Globs of the version texts of builds that do not know their version, such as builds of a git clone without tags.
    untagged: Vec<String>,
}

impl VersionNames {
    fn hit<'v>(&'v self, rows: &'v RowContext<'v>) -> Option<Hit<'v>> {
        let named = RowsByName::of(rows, "version")?;
        let dir = rows.file.place.version.as_str();
        let fits =
            |name: &str| self.versionless.iter().any(|v| v == name) || same_version(name, dir);
        // Nearly every table ends here, and compiling globs takes longer than the rest.
        if named.nulls == 0 && named.names.iter().all(|(name, rows)| *rows == 0 || fits(name)) {
            return None;
        }
        let untagged = matchers(&self.untagged);
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
        // A release candidate counts as its release if that is in the table, too.
        let finals: BTreeSet<Vec<u64>> =
            released.iter().filter(|v| v.pre().is_none()).map(|v| v.release().to_vec()).collect();
        released.retain(|v| v.pre().is_none() || !finals.contains(v.release()));
        let others = named.names.iter().filter(|(n, _)| !fits(n) && !lost(n)).count();
        let own = named.names.iter().any(|(n, _)| fits(n));

        // A table with two releases is certainly wrong for one of them. If all rows have the same other version, the
        // table may only be in the wrong directory. A build without tags says nothing by itself.
        let (severity, why) = match (others > 0 || named.nulls > 0, released.len()) {
            (true, 2..) => (Severity::Error, "; the table mixes two released versions"),
            (true, _) => (Severity::Warning, ""),
            (false, _) if own => {
                (Severity::Warning, "; the table mixes builds, and these do not state a version")
            }
            (false, _) => (Severity::Info, "; a build without git tags does not state its version"),
        };
        let say = move |names: &str, n| {
            let rows = plural_verb(n, "row", ["names", "name"]);
            format!("{rows} version {names}, but the directory is {dir}{why}")
        };
        named.hit(rows, "version", severity, |name| !fits(name), say)
    }
}

impl Judge for VersionNames {
    fn needs(&self) -> CheckInputs {
        origin()
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(self.hit(rows).into_iter().collect())
    }
}

fn matchers(globs: &[String]) -> Vec<GlobMatcher> {
    globs.iter().filter_map(|g| matcher(g, GlobScope::Names).ok()).collect()
}

/// The least number of hexadecimal digits that identify a commit.
const SHORT_COMMIT: usize = 7;

/// Returns true if a row's version belongs to the directory's version: the same release, a build of it, or a later
/// development build. For example, `0.14.1.dev1` belongs to 0.14.0, since it is built after 0.14.0 and before 0.14.1.
pub(in crate::checks::kinds) fn same_version(row: &str, dir: &str) -> bool {
    if row == dir || row.strip_prefix(dir).is_some_and(|rest| rest.starts_with(['+', '-'])) {
        return true;
    }
    // In the directory of a commit's build, rows name the commit after a version number that increases.
    if let Some(commit) = dir.strip_prefix("dev-").and_then(|commit| commit.get(..SHORT_COMMIT)) {
        return row.contains(commit);
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
    // A development build after a release has the number of the next release.
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
    fn local_builds_of_a_version_count_as_that_version() {
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
            (
                "0.5.18+nvinternal.rubin.0.8full.66997102",
                "0.5.18+nvinternal.rubin.0.8full.66997102",
                true,
            ),
            ("dev-1aa0e962b206102b", "dev-1aa0e962b206102b", true),
            ("0.5.19.dev7+g1aa0e962b", "dev-1aa0e962b206102b", true),
            ("0.5.19", "dev-1aa0e962b206102b", false),
        ] {
            assert_eq!(same_version(row, dir), same, "{row} in {dir}");
        }
    }
}
