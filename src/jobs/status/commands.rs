//! Suggests the commands to run before a collection is merged.

use std::collections::{BTreeMap, BTreeSet};

use super::entry::TableStatus;
use super::options::StatusOptions;
use crate::findings::quoted;
use crate::gpu::recipe::Recipes;

/// Returns the commands to run before the listed tables are merged.
pub(super) fn commands(
    options: &StatusOptions,
    system: &str,
    tables: &[TableStatus],
    recipes: &Recipes,
) -> Vec<String> {
    let mut backends: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for t in tables.iter().filter(|t| t.path.is_some()) {
        backends.entry(&t.backend).or_default().insert(&t.version);
    }
    let ledger = options.ledger.as_ref().map(|l| quoted(&l.display().to_string()));
    let ledger = ledger.map(|l| format!(" --ledger {l}")).unwrap_or_default();
    let mut commands = Vec::new();
    for (backend, versions) in &backends {
        let mut line = format!(
            "perfdb-gate validate --root . --system {} --backend {}",
            quoted(system),
            quoted(backend)
        );
        // If no version is given, all versions are judged.
        if !options.versions.is_empty() {
            versions.iter().for_each(|v| line += &format!(" --version {}", quoted(v)));
        }
        commands.push(line + &ledger);
    }
    commands.push(
        "perfdb-gate sanity --root . --base-ref origin/main --output-md-file comment.md".into(),
    );
    for t in tables.iter().filter(|t| t.path.is_some()) {
        let recipes = &recipes.recipes;
        if recipes.iter().any(|r| r.table == t.table && r.backend == t.backend) {
            commands.push(format!(
                "perfdb-gate remeasure --root . --system {} --backend {} --version {} --table {}",
                quoted(system),
                quoted(&t.backend),
                quoted(&t.version),
                quoted(&t.table)
            ));
        }
    }
    commands
}
