//! Tables that lie where no loader looks for them.

use crate::checks::judge::Judge;
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::source::{Entry, EntryKind};
use crate::findings::Finding;
use crate::specs::TableSpec;

/// The table lies where no loader looks for it.
pub struct Placement;

impl Judge for Placement {
    /// A table under a family that is not its own.
    fn placement(&self, rule: &Rule, file: &TableFile, spec: &TableSpec) -> Option<Finding> {
        let found = file.place.family.as_deref()?;
        if spec.inferred || found == spec.family {
            return None;
        }
        let message =
            format!("{} belongs under {}/, it lies under {found}/", spec.name, spec.family);
        let finding = Finding::on_table(&rule.id, rule.severity, file, message)
            .parts([found])
            .evidence("family", found)
            .evidence("own_family", spec.family.as_str());
        Some(finding)
    }

    /// A table too deep or too shallow below its system's data.
    fn stray(&self, rule: &Rule, entry: &Entry) -> Option<Finding> {
        if let EntryKind::Link(_) = entry.kind {
            return None;
        }
        let message =
            "it lies at a depth where no loader looks: <family>/<backend>/<version>/<table>";
        Some(Finding::on_path(&rule.id, rule.severity, &entry.path, message))
    }
}
