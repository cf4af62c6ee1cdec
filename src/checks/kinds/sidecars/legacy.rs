//! Marker files from before sidecars.

use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead};

/// The check for marker files of the old scheme in a layout that has sidecars.
pub struct LegacyMarker;

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
