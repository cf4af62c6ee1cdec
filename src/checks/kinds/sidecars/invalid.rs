//! Sidecars that cannot be read.

use super::{profile, report, seal};
use crate::checks::context::{Item, RowContext};
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge, Judged};
use crate::checks::rule_head::RuleHead;
use crate::findings::wholes;

/// A `collection_meta.yaml` that cannot be read as one.
pub struct SidecarInvalid;

impl Judge for SidecarInvalid {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(wholes(seal::invalid(rows)))
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        if let Item::Report(at) = item {
            return report::unreadable(rule, at);
        }
        if let Item::Profile(at) = item {
            return profile::unreadable(rule, at);
        }
        let Item::Dir(at) = item else { return Found::new() };
        let (Some(Err(why)), Some(entry)) = (at.meta, &at.dir.meta) else {
            return Vec::new();
        };
        vec![rule.on_path(&entry.path, why.to_string()).at(&at.dir.place)]
    }
}
