//! Tables of which no sidecar says where they come from.

use crate::base::words::plural;
use crate::checks::DirContext;
use crate::checks::judge::{CheckInputs, Found, Judge};
use crate::checks::rule::Rule;
use crate::findings::Finding;

/// Tables of the family layout without a word on where they come from.
pub struct SidecarMissing;

impl Judge for SidecarMissing {
    fn needs(&self) -> CheckInputs {
        CheckInputs { version_dirs: true, ..CheckInputs::default() }
    }

    fn dir(&self, rule: &Rule, at: &DirContext<'_>) -> Found {
        let dir = at.dir;
        // The flat layout had no sidecars.
        if dir.place.family.is_none() || dir.tables.is_empty() {
            return Vec::new();
        }
        let Some(meta) = at.meta else {
            let message =
                format!("{} without a collection_meta.yaml", plural(dir.tables.len(), "table"));
            let finding = Finding::on_path(&rule.id, rule.severity, &dir.path, message);
            let tables = dir.tables.iter().map(|i| &at.catalog.tables[*i].table);
            return vec![finding.at(&dir.place).parts(tables)];
        };
        let Ok(meta) = meta else { return Vec::new() };
        let files = dir.tables.iter().map(|i| &at.catalog.tables[*i]);
        files
            .filter(|file| !meta.tables.contains_key(&file.table))
            .map(|file| {
                let message = "its directory's collection_meta.yaml does not mention it";
                Finding::on_table(&rule.id, rule.severity, file, message)
            })
            .collect()
    }
}
