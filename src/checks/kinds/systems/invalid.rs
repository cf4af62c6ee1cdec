//! System YAML that its loader refuses.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::words::Figure;
use crate::checks::{CheckInputs, Found, Input, Item, Judge, RuleHead};

/// The fields that a system YAML must or may have.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Schema")]
pub struct SystemFields {
    /// Dotted paths of the text fields that the loader requires.
    texts: Vec<String>,
    /// The plausible range of each figure, by the figure's dotted path.
    figures: BTreeMap<String, FigureRange>,
}

/// The range of a figure on real machines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Range")]
struct FigureRange {
    /// The minimum and the maximum of the figure, in SI units.
    range: [f64; 2],
    unit: String,
    /// True if the loader requires the figure.
    #[serde(default)]
    required: bool,
}

impl Judge for SystemFields {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Systems])
    }

    /// Reports a YAML that cannot be read, lacks a field that the loader requires, or has figures out of range.
    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::System(at) = item else { return Found::new() };
        let system = match &at.file.system {
            Ok(system) => system,
            Err(why) => return vec![rule.on_path(&at.file.path, why.to_string())],
        };
        let mut wrong: Vec<String> = at.file.unread.iter().cloned().collect();
        wrong.extend(at.file.refused.iter().map(ToString::to_string));
        let is_refused = |path: &str| at.file.refused.iter().any(|refusal| refusal.path == path);
        let texts = self.texts.iter().filter(|name| !is_refused(name));
        for name in texts.filter(|name| !system.texts.contains_key(*name)) {
            wrong.push(format!("{name} is missing"));
        }
        for (path, field) in self.figures.iter().filter(|(path, _)| !is_refused(path)) {
            match system.figure(path) {
                Some(value) => wrong.extend(field.judge(path, value)),
                None if system.texts.contains_key(path) => {
                    wrong.push(format!("{path} is text, not a number"));
                }
                None if field.required => wrong.push(format!("{path} is missing")),
                None => {}
            }
        }
        let sharers = at.by_data_dir.get(at.file.data_dir.as_str()).into_iter().flatten();
        if let Some(other) = sharers.into_iter().find(|name| **name != at.file.name) {
            wrong.push(format!("{other} has the same data_dir"));
        }
        rule.all_on_path(&at.file.path, wrong).into_iter().collect()
    }
}

impl FigureRange {
    fn judge(&self, path: &str, value: f64) -> Option<String> {
        let [least, most] = self.range;
        if (least..=most).contains(&value) {
            return None;
        }
        let unit = &self.unit;
        // The usual mistake is a data sheet's GB/s or TFLOP/s instead of bytes or FLOP per second.
        let slips = [(1e9, "10^9"), (1e12, "10^12"), (1e3, "10^3"), (1e-3, "10^-3")];
        let slip = slips.iter().find(|(factor, _)| (least..=most).contains(&(value * factor)));
        let guess =
            slip.map(|(_, name)| format!(" (it seems to be off by {name})")).unwrap_or_default();
        Some(format!("{path} is {} {unit}, which no machine has{guess}", Figure(value)))
    }
}
