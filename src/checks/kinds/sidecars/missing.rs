//! Tables without a sidecar that states their origin, and the markers that older databases have in its place.

use super::seal;
use crate::base::words::plural_verb;
use crate::checks::{CheckInputs, Found, Input, Item, Judge, Judged, RowContext, RuleHead};
use crate::findings::wholes;

/// The check for tables of the family layout without a sidecar that states their origin.
pub(crate) struct SidecarMissing;

impl Judge for SidecarMissing {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(wholes(seal::missing(rows)))
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Dir(at) = item else { return Found::new() };
        let dir = at.dir;
        // The flat layout had no sidecars.
        if dir.place.family.is_none() || dir.tables.is_empty() {
            return Vec::new();
        }
        let is_sealed =
            |table: &String| at.specs.tables.get(table).is_some_and(|s| s.seal.is_some());
        let files = dir.tables.iter().map(|i| &at.catalog.tables[*i]);
        let files: Vec<_> = files.filter(|file| !is_sealed(&file.table)).collect();
        let Some(meta) = at.meta else {
            if files.is_empty() {
                return Vec::new();
            }
            let message = format!(
                "{} no collection_meta.yaml",
                plural_verb(files.len(), "table", ["has", "have"])
            );
            let finding = rule.on_path(&dir.path, message);
            return vec![finding.at(&dir.place).parts(files.iter().map(|file| &file.table))];
        };
        let Ok(meta) = meta else { return Vec::new() };
        files
            .into_iter()
            .filter(|file| !meta.tables.contains_key(&file.table))
            .map(|file| {
                let message = "the collection_meta.yaml of the directory does not list this table";
                rule.on_table(file, message)
            })
            .collect()
    }
}

/// The check for marker files of the old scheme in a layout that has sidecars.
pub(crate) struct LegacyMarker;

impl Judge for LegacyMarker {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Dir(at) = item else { return Found::new() };
        if at.dir.place.family.is_none() {
            return Vec::new();
        }
        let message = "this marker file belongs to a scheme that collection_meta.yaml replaced";
        let finding = |path: &str| rule.on_path(path, message).at(&at.dir.place);
        at.dir.markers.iter().map(|m| finding(&m.path)).collect()
    }
}
