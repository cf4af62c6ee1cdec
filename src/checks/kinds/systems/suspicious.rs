//! System YAMLs whose figures are not plausible.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::known::{KnownFigures, plain};
use crate::base::error::nearest;
use crate::base::expr::{Expr, Scope};
use crate::base::relation::{Rounded, RowRelation};
use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead, SystemContext};
use crate::specs::system::System;

/// The comparisons of a system's figures: with each other, with known systems and with the system's own tables.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureChecks {
    relations: Vec<FigureRelation>,
    /// Figures that must not decrease along a given list of systems.
    rising: Vec<RisingFigure>,
    /// The backend to which each version field of the YAML belongs, by the field's name.
    versions: BTreeMap<String, String>,
    known: KnownFigures,
}

/// A relation between figures of one machine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Relation")]
struct FigureRelation {
    holds: Expr,
    /// The sentence of a finding if the relation does not hold.
    says: String,
}

/// A figure, and a list of systems in which the figure does not decrease from one system to the next.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RisingFigure {
    figure: String,
    systems: Vec<String>,
}

/// A system's figures, which formulas can read.
struct Figures<'a>(&'a System);

impl Scope for Figures<'_> {
    fn field(&self, path: &str) -> Option<f64> {
        self.0.figure(path)
    }
}

impl Judge for FigureChecks {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Systems])
    }

    /// Reports figures that contradict each other, a known system or the system's own tables.
    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::System(at) = item else { return Found::new() };
        let Ok(system) = &at.file.system else {
            return Vec::new();
        };
        let mut odd = Vec::new();
        for relation in &self.relations {
            let formulas = RowRelation { holds: Some(&relation.holds), ..RowRelation::default() };
            let broken = formulas.broken_rows(&Figures(system), &Rounded::default());
            if broken.is_ok_and(|rows| !rows.is_empty()) {
                odd.push(format!("{} (expected {})", relation.says, relation.holds));
            }
        }
        odd.extend(self.known.outliers(system, at));
        odd.extend(self.rising.iter().flat_map(|rising| rising.broken(system, at)));
        odd.extend(
            self.versions.iter().filter_map(|(field, b)| without_data(field, b, system, at)),
        );
        let found = rule.all_on_path(&at.file.path, odd);
        found.into_iter().chain(misnamed(rule, system, at)).collect()
    }
}

/// Findings on GPU and node figures with names that no known system has.
fn misnamed(rule: RuleHead<'_>, system: &System, at: &SystemContext<'_>) -> Found {
    let own = |name: &&String| name.starts_with("gpu.") || name.starts_with("node.");
    let known: BTreeSet<&str> = at
        .specs
        .systems
        .values()
        .flat_map(|system| system.figures.keys())
        .filter(own)
        .map(String::as_str)
        .collect();
    let names = system.figures.keys().filter(own);
    let unknown = names.filter(|name| !known.contains(name.as_str()));
    let finding = |name: &String| {
        let unused = known.iter().copied().filter(|known| system.figure(known).is_none());
        let near = nearest(name, unused).map(|near| format!("; did you mean {near}?"));
        let near = near.unwrap_or_default();
        let said = at.specs.shipped.not_known();
        let message = format!("{name} is not the name of a figure{near}; it is {said}");
        let finding = rule.on_path(&at.file.path, message).parts([name.clone()]);
        finding.unknown(&format!("the figure {name}"))
    };
    unknown.map(finding).collect()
}

impl RisingFigure {
    /// Compares a system's figure with the figures of the other systems in the list. Returns a clause for each later
    /// system with a smaller figure, and for each earlier system with a larger figure.
    fn broken(&self, system: &System, at: &SystemContext<'_>) -> Vec<String> {
        let Some(own) = self.systems.iter().position(|name| *name == system.name) else {
            return Vec::new();
        };
        let Some(value) = system.figure(&self.figure) else { return Vec::new() };
        let mut broken = Vec::new();
        for (place, name) in self.systems.iter().enumerate().filter(|(place, _)| *place != own) {
            let other = at.catalog.systems.get(name).and_then(|file| file.system.as_ref().ok());
            let Some(other) = other.and_then(|other| other.figure(&self.figure)) else { continue };
            let (side, is_broken) =
                if place > own { ("above", value > other) } else { ("below", value < other) };
            if is_broken {
                let (figure, value, other) = (&self.figure, plain(value), plain(other));
                broken.push(format!("{figure} is {value}, {side} the {other} of {name}"));
            }
        }
        broken
    }
}

/// Returns a clause if a field of the YAML names a backend version for which the system has no tables, although it has
/// tables of other versions of the backend; `None` otherwise.
fn without_data(
    field: &str,
    backend: &str,
    system: &System,
    at: &SystemContext<'_>,
) -> Option<String> {
    let text = system.texts.get(field).cloned();
    let version = text.or_else(|| system.figure(field).map(|figure| figure.to_string()))?;
    let dirs = at.catalog.dirs.values().filter(|dir| !dir.tables.is_empty());
    let own = dirs.filter(|dir| dir.place.system == system.name && dir.place.backend == backend);
    let versions: BTreeSet<&str> = own.map(|dir| dir.place.version.as_str()).collect();
    if versions.is_empty() || versions.contains(version.as_str()) {
        return None;
    }
    let versions: Vec<&str> = versions.into_iter().collect();
    let found = versions.join(", ");
    Some(format!(
        "{field} is {version}, but the {backend} tables are of {found}, so the planner finds none of them"
    ))
}
