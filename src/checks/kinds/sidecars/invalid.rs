//! Sidecars that cannot be read.

use super::seal;
use crate::base::expr::ExprError;
use crate::checks::judge::{CheckInputs, Found, Judge};
use crate::checks::rule::Rule;
use crate::checks::{DirContext, RowContext};
use crate::findings::{Finding, Hits, wholes};

/// A `collection_meta.yaml` that cannot be read as one.
pub struct SidecarInvalid;

impl Judge for SidecarInvalid {
    fn needs(&self) -> CheckInputs {
        CheckInputs { version_dirs: true, ..CheckInputs::default() }
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Result<Hits<'v>, ExprError> {
        Ok(wholes(seal::invalid(rows)))
    }

    fn dir(&self, rule: &Rule, at: &DirContext<'_>) -> Found {
        let (Some(Err(why)), Some(entry)) = (at.meta, &at.dir.meta) else {
            return Vec::new();
        };
        vec![
            Finding::on_path(&rule.id, rule.severity, &entry.path, why.to_string())
                .at(&at.dir.place),
        ]
    }
}
