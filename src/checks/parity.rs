//! Far fewer keys than the nearest systems or versions have, of what the loader would serve.

use std::str::FromStr;

use pep440_rs::Version;
use serde::Deserialize;

use super::{NeighbourContext, count, plural};
use crate::catalog::TableFile;
use crate::finding::{Finding, Severity};
use crate::spec::Rule;

/// Shares of the reference's rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Below it, rows are missing.
    few: f64,
    /// Below it and with nothing to fill it, the table is a stub, which is an error.
    stub: f64,
}

impl Shares {
    /// A table far smaller than every system of its generation has it.
    pub fn check(&self, rule: &Rule, at: &NeighbourContext<'_>) -> Option<Finding> {
        let own = at.sketches.keys(&at.file.entry.path);
        if own == 0 {
            return None;
        }
        let references = references(at);
        // Every reference must be far larger: one that is as small says that the sweep is.
        let (nearest, least) = references.iter().min_by_key(|(_, rows)| *rows)?;
        let served = own + fill(at);
        if served as f64 >= self.few * *least as f64 {
            return None;
        }
        let stub = served == own && (own as f64) < self.stub * *least as f64;
        let severity = if stub { Severity::Error } else { rule.severity };
        let names: Vec<String> =
            references.iter().map(|(name, rows)| format!("{name} {}", count(*rows))).collect();
        let message = format!(
            "{} would be served, {nearest} has {} ({})",
            plural(served, "key"),
            count(*least),
            names.join(", ")
        );
        Some(
            Finding::on_table(&rule.id, severity, at.file, message)
                .rows(own)
                .evidence("own_keys", own)
                .evidence("served_keys", served)
                .evidence("reference_keys", *least),
        )
    }
}

fn same_kind(at: &NeighbourContext<'_>, other: &TableFile) -> bool {
    other.table == at.file.table && other.place.backend == at.file.place.backend
}

/// Keys of the other systems of the generation, the same version of the same backend; where there is
/// none, of the other versions, for tables that those do not fill.
fn references(at: &NeighbourContext<'_>) -> Vec<(String, usize)> {
    let generation = |name: &str| {
        let system = at.catalog.systems.get(name)?.system.as_ref().ok()?;
        system.generation().map(str::to_owned)
    };
    let place = &at.file.place;
    let own = generation(&place.system);
    let nearby = |t: &&TableFile| {
        t.place.version == place.version
            && t.place.system != place.system
            && own.is_some()
            && generation(&t.place.system) == own
    };
    let earlier_or_later =
        |t: &&TableFile| t.place.system == place.system && t.place.version != place.version;
    let keys = |t: &TableFile| at.sketches.keys(&t.entry.path);
    let alike = || at.catalog.tables.iter().filter(|t| same_kind(at, t) && keys(t) > 0);
    let systems: Vec<_> =
        alike().filter(nearby).map(|t| (t.place.system.clone(), keys(t))).collect();
    if !systems.is_empty() || at.spec.shared {
        return systems;
    }
    alike().filter(earlier_or_later).map(|t| (t.place.version.clone(), keys(t))).collect()
}

/// Keys that declared donors and earlier versions can add: a sum, so that no hole is claimed that
/// they might fill.
fn fill(at: &NeighbourContext<'_>) -> usize {
    if !at.spec.shared {
        return 0;
    }
    let place = &at.file.place;
    let own = Version::from_str(&place.version).ok();
    let earlier = |v: &str| {
        Version::from_str(v).ok().is_some_and(|v| own.as_ref().is_some_and(|own| v < *own))
    };
    at.catalog
        .tables
        .iter()
        .filter(|t| {
            same_kind(at, t) && t.place.system == place.system && t.place.version != place.version
        })
        .filter(|t| earlier(&t.place.version) || at.donors.contains(&t.place.version))
        .map(|t| at.sketches.keys(&t.entry.path))
        .sum()
}
