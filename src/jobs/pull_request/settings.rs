//! Changes of a pull request to the files that decide how later pull requests are judged.

use std::sync::Arc;

use crate::base::error::Result;
use crate::checks::Check;
use crate::checks::rule::Rule;
use crate::checks::settings::Settings;
use crate::database::catalog::Role;
use crate::database::diff::{FileDiff, Status, changed_paths};
use crate::database::source::Source;
use crate::findings::Finding;
use crate::traces::TraceSpecs;

/// The changed settings of a repository.
#[derive(Debug, Default)]
pub(crate) struct SettingsChange {
    /// The changed settings files: files below `.perfdb-gate/`, and `.gitattributes`.
    pub files: Vec<FileDiff>,
    /// The reason why later runs cannot read the settings; `None` if they can.
    fault: Option<String>,
}

impl SettingsChange {
    /// Compares the settings of two states. If they differ, checks that later runs can read the head's settings.
    ///
    /// # Errors
    ///
    /// If the files of a state cannot be listed.
    pub(super) fn between(base: &dyn Source, head: &dyn Source) -> Result<Self> {
        let (before, after) = (Settings::ids(base)?, Settings::ids(head)?);
        let file = |(path, status): (&String, Status)| FileDiff {
            path: path.clone(),
            status,
            role: Role::Settings,
            changes: Vec::new(),
        };
        let files: Vec<FileDiff> =
            changed_paths(&before, &after, |a, b| a == b).map(file).collect();
        let read = || {
            let settings = Settings::read(head, None, None)?;
            TraceSpecs::read(&settings.specs).map(|_| ())
        };
        let fault = (!files.is_empty()).then(read).and_then(Result::err);
        Ok(Self { files, fault: fault.map(|error| error.message) })
    }

    /// Returns a finding if later runs cannot read the settings; `None` if they can.
    pub(crate) fn finding(&self, rules: &[Arc<Rule>]) -> Option<Finding> {
        let rule = rules.iter().find(|rule| matches!(rule.check, Check::FactsInvalid))?;
        let why = self.fault.as_ref()?;
        let named = self.files.iter().find(|file| why.starts_with(&file.path));
        let path = &named.or(self.files.first())?.path;
        let message = format!("once merged, every later run ends with an error: {why}");
        Some(Finding::on_path(&rule.id, rule.severity, path, message).about_change())
    }
}
