//! Marker files that sidecars replaced.

use crate::checks::DirContext;
use crate::checks::judge::{CheckInputs, Found, Judge};
use crate::checks::rule::Rule;
use crate::findings::Finding;

/// Markers of the scheme before sidecars, in the layout that has sidecars.
pub struct LegacyMarker;

impl Judge for LegacyMarker {
    fn needs(&self) -> CheckInputs {
        CheckInputs { version_dirs: true, ..CheckInputs::default() }
    }

    fn dir(&self, rule: &Rule, at: &DirContext<'_>) -> Found {
        if at.dir.place.family.is_none() {
            return Vec::new();
        }
        let message = "this marker file belongs to a scheme that collection_meta.yaml replaced";
        let finding =
            |path: &str| Finding::on_path(&rule.id, rule.severity, path, message).at(&at.dir.place);
        at.dir.markers.iter().map(|m| finding(&m.path)).collect()
    }
}
