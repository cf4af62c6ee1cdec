//! System YAML: what its loader requires, and figures that cannot be or do not fit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::{Expr, Lookup, Scope, Value};
use crate::checks::SystemContext;
use crate::checks::rule::Rule;
use crate::database::catalog::SystemFile;
use crate::findings::Finding;
use crate::specs::system::System;

/// Fields of a system YAML.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// Texts the loader requires.
    texts: Vec<String>,
    /// Figures by dotted path.
    figures: BTreeMap<String, Range>,
}

/// Where a figure of a real machine lies.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Range {
    /// Least and most, in SI units.
    range: [f64; 2],
    unit: String,
    /// Whether the loader requires it.
    #[serde(default)]
    required: bool,
}

impl Schema {
    /// A YAML that cannot be read, lacks what the loader requires, or has figures out of range.
    pub fn check(&self, rule: &Rule, at: &SystemContext<'_>) -> Vec<Finding> {
        let finding =
            |message: String| Finding::on_path(&rule.id, rule.severity, &at.file.path, message);
        let system = match &at.file.system {
            Ok(system) => system,
            Err(why) => return vec![finding(why.to_string())],
        };
        let mut wrong = Vec::new();
        for name in self.texts.iter().filter(|t| !system.texts.contains_key(*t)) {
            wrong.push(format!("{name} is missing"));
        }
        for (path, field) in &self.figures {
            match system.figure(path) {
                Some(value) => wrong.extend(field.judge(path, value)),
                None if system.texts.contains_key(path) => {
                    wrong.push(format!("{path} is text, not a number"))
                }
                None if field.required => wrong.push(format!("{path} is missing")),
                None => {}
            }
        }
        let data_dir = &at.file.data_dir;
        let shares = |s: &&SystemFile| s.data_dir == *data_dir && s.name != at.file.name;
        if let Some(other) = at.catalog.systems.values().find(shares) {
            wrong.push(format!("its data_dir is that of {} too", other.name));
        }
        if wrong.is_empty() { Vec::new() } else { vec![finding(wrong.join("; ")).parts(wrong)] }
    }
}

impl Range {
    fn judge(&self, path: &str, value: f64) -> Option<String> {
        let [least, most] = self.range;
        if (least..=most).contains(&value) {
            return None;
        }
        let unit = &self.unit;
        // The usual slip: a datasheet's GB/s or TFLOP/s written where bytes or FLOP a second are meant.
        let slips = [(1e9, "10^9"), (1e12, "10^12"), (1e3, "10^3"), (1e-3, "10^-3")];
        let slip = slips.iter().find(|(factor, _)| (least..=most).contains(&(value * factor)));
        let guess =
            slip.map(|(_, name)| format!(", it seems to be off by {name}")).unwrap_or_default();
        Some(format!("{path} is {value} {unit}, no machine's{guess}"))
    }
}

/// Figures of one system against each other and the nearest systems.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plausible {
    relations: Vec<Relation>,
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
struct Relation {
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
    fn lookup(&self, _: Lookup, _: &str) -> Option<f64> {
        None
    }
}

impl Plausible {
    /// Figures that contradict each other, or that no system of the generation comes near.
    pub fn check(&self, rule: &Rule, at: &SystemContext<'_>) -> Vec<Finding> {
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
            odd.extend(self.stands_apart(path, system, at));
        }
        if odd.is_empty() {
            return Vec::new();
        }
        vec![Finding::on_path(&rule.id, rule.severity, &at.file.path, odd.join("; ")).parts(odd)]
    }

    fn stands_apart(&self, path: &str, system: &System, at: &SystemContext<'_>) -> Option<String> {
        let value = system.figure(path).filter(|v| *v > 0.0)?;
        let figure = |peer: &System| peer.figure(path).filter(|v| *v > 0.0);
        let away = |figure: f64| (value / figure).max(figure / value);
        if let Some(known) = at.specs.systems.get(&system.name).and_then(figure) {
            let says = format!(
                "{path} is {}, {} is known to have {}",
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
        let apart = |(_, figure): &(&str, f64)| away(*figure) > self.factor;
        if figures.is_empty() || system.generation().is_none() || !figures.iter().all(apart) {
            return None;
        }
        let others: Vec<String> =
            figures.iter().map(|(name, figure)| format!("{name} {}", plain(*figure))).collect();
        Some(format!(
            "{path} is {}, the nearest known systems have {}",
            plain(value),
            others.join(", ")
        ))
    }
}

/// A figure for people: counts as they are, rates by their power of ten.
fn plain(figure: f64) -> String {
    if figure < 1e5 { figure.to_string() } else { format!("{figure:e}") }
}
