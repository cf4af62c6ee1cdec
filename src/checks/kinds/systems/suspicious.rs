//! System YAML whose figures do not fit.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::{Expr, Lookup, Scope, Value};
use crate::checks::context::{Item, SystemContext};
use crate::checks::inputs::CheckInputs;
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;
use crate::specs::system::System;

/// Figures of one system against each other and the nearest systems.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plausible {
    relations: Vec<FigureRelation>,
    /// Figures that systems of one generation share within `factor`.
    alike: Vec<String>,
    /// How far a figure may stand from every system of its generation.
    factor: f64,
    /// How far a known system's figure may stand from what is known of it.
    own_factor: f64,
}

/// What holds between figures of one machine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Relation")]
struct FigureRelation {
    holds: Expr,
    /// What it means when it does not.
    says: String,
}

/// A system's figures as formulas see them.
struct Figures<'a>(&'a System);

impl Scope for Figures<'_> {
    fn rows(&self) -> usize {
        1
    }
    fn column(&self, _: &str) -> Option<Value<'_>> {
        None
    }
    fn field(&self, path: &str) -> Option<f64> {
        self.0.figure(path)
    }
    fn lookup(&self, _: &Lookup, _: &str) -> Option<f64> {
        None
    }
}

impl Judge for Plausible {
    fn needs(&self) -> CheckInputs {
        CheckInputs { systems: true, ..CheckInputs::default() }
    }

    /// Figures that contradict each other, or that no system of the generation comes near.
    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::System(at) = item else { return Found::new() };
        let Ok(system) = &at.file.system else {
            return Vec::new();
        };
        let mut odd = Vec::new();
        for relation in &self.relations {
            // A relation between figures that are not all given says nothing.
            let given = relation.holds.fields().iter().all(|f| system.figure(f).is_some());
            let holds = || relation.holds.mask(&Figures(system)).is_ok_and(|m| m.get(0));
            if given && !holds() {
                odd.push(format!("{} (expected {})", relation.says, relation.holds));
            }
        }
        for path in &self.alike {
            odd.extend(self.outlier(path, system, at));
        }
        if odd.is_empty() {
            return Vec::new();
        }
        vec![rule.on_path(&at.file.path, odd.join("; ")).parts(odd)]
    }
}

impl Plausible {
    fn outlier(&self, path: &str, system: &System, at: &SystemContext<'_>) -> Option<String> {
        let value = system.figure(path).filter(|v| *v > 0.0)?;
        let figure = |peer: &System| peer.figure(path).filter(|v| *v > 0.0);
        let away = |figure: f64| (value / figure).max(figure / value);
        if let Some(known) = at.specs.systems.get(&system.name).and_then(figure) {
            let says = format!(
                "{path} is {}, but {} is known to have {}",
                plain(value),
                system.name,
                plain(known)
            );
            return (away(known) > self.own_factor).then_some(says);
        }
        let near = |peer: &&System| peer.generation() == system.generation();
        let peers = at.specs.systems.values().filter(near);
        let figures: Vec<(&str, f64)> =
            peers.filter_map(|p| Some((p.name.as_str(), figure(p)?))).collect();
        let is_far = |(_, figure): &(&str, f64)| away(*figure) > self.factor;
        if figures.is_empty() || system.generation().is_none() || !figures.iter().all(is_far) {
            return None;
        }
        let others: Vec<String> =
            figures.iter().map(|(name, figure)| format!("{name} {}", plain(*figure))).collect();
        Some(format!(
            "{path} is {}, but the nearest known systems have {}",
            plain(value),
            others.join(", ")
        ))
    }
}

/// A figure for people: counts as they are, rates by their power of ten.
fn plain(figure: f64) -> String {
    if figure < 1e5 { figure.to_string() } else { format!("{figure:e}") }
}
