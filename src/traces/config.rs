//! Compares an experiment's config with its file name and with the card generated from it.

use super::findings::{Findings, at};
use super::names::experiment_id;
use super::spec::TraceSpecs;
use super::tree::brief;
use super::{Read, split};
use crate::checks::kinds::traces::TraceCheck;
use crate::findings::Severity;

/// Reports configs that contradict their file name, their `output_dir` or their card.
pub(super) fn check(
    configs: &[Read<'_>],
    cards: &[Read<'_>],
    specs: &TraceSpecs,
    findings: &mut Findings<'_>,
) {
    for config in configs {
        ids(config, findings);
    }
    for card in cards.iter().filter(|c| !c.template) {
        let Some(link) = links(card, configs) else { continue };
        let differ = |config: &Read<'_>| differences(config, card, &specs.config.agrees);
        // If several configs may belong to the card, the one with the fewest differences is
        // compared.
        let closest = link.configs.iter().map(|c| (differ(c), *c));
        let Some((differences, config)) = closest.min_by_key(|(d, _)| d.len()) else { continue };
        if differences.is_empty() {
            continue;
        }
        let said: Vec<String> = differences
            .iter()
            .map(|d| {
                format!(
                    "{} is {} in the config{} and {} in the card",
                    d.column,
                    d.here,
                    at(d.line),
                    d.there
                )
            })
            .collect();
        let message = format!(
            "the config contradicts the card {} ({}): {}",
            card.path,
            link.how,
            said.join("; ")
        );
        let severity = if link.certain { None } else { Some(Severity::Warning) };
        let check = TraceCheck::ConfigContradiction;
        if let Some(finding) = findings.finding(check, severity, &config.path, message) {
            let line = differences.iter().find_map(|d| d.line);
            let mut finding = finding.at_line(line).parts(differences.iter().map(|d| d.column));
            finding.slice.insert("card".into(), card.path.as_str().into());
            findings.all.push(finding);
        }
    }
}

/// Compares `experiment_id` in a config with the ids in the config's file name and in `output_dir`.
fn ids(config: &Read<'_>, findings: &mut Findings<'_>) {
    let Some(id) = config.text("experiment_id") else { return };
    // A value that is a whole name without an id part cannot be compared.
    let Some(own) = experiment_id(id) else { return };
    let output = config.text("output_dir").map(last).unwrap_or_default();
    for (what, name) in [("its name", config.stem()), ("output_dir", output)] {
        let Some(other) = experiment_id(name).filter(|other| *other != own) else { continue };
        let line = config.doc.lines.get("experiment_id").copied();
        let (other, own) = (brief(other), brief(own));
        let message = format!("{what} says {other}, but experiment_id says {own}");
        let of = format!("id: {what}");
        findings.say_of(TraceCheck::ConfigContradiction, None, &config.path, &of, line, message);
    }
}

/// The configs that a card may have been generated from.
struct Link<'c, 'a> {
    configs: Vec<&'c Read<'a>>,
    /// The reason why the configs belong to the card, as shown in findings.
    how: &'static str,
    certain: bool,
}

fn links<'c, 'a>(card: &Read<'_>, configs: &'c [Read<'a>]) -> Option<Link<'c, 'a>> {
    let link = |how, certain, is: &dyn Fn(&Read<'_>) -> bool| {
        let configs: Vec<&Read<'a>> = configs.iter().filter(|c| is(c)).collect();
        (!configs.is_empty()).then_some(Link { configs, how, certain })
    };
    let dir = card.dir();
    let plan = ["tp", "pp", "dp_replicate", "dp_shard", "ep"];
    let written = |c: &Read<'_>| {
        c.text("output_dir").map(last).is_some_and(|o| !o.is_empty() && o == card.dir_name())
    };
    let of_one_model = |c: &Read<'_>| {
        let same = |name| c.text(name).is_some() && c.text(name) == card.text(name);
        same("description") && same_model(c, card)
    };
    link("beside it", true, &|c| c.dir() == dir && c.stem() == "config")
        .or_else(|| link("in its output_dir", true, &written))
        // The card generator copies the description from the config.
        .or_else(|| {
            let alike = |c: &Read<'_>| {
                of_one_model(c) && plan.iter().all(|p| c.number(p) == card.number(p))
            };
            link("with the same description, model and plan", true, &alike)
        })
        .or_else(|| link("with the same description and model", false, &of_one_model))
}

struct Difference<'c> {
    column: &'c str,
    here: String,
    line: Option<u64>,
    there: String,
}

fn differences<'c>(
    config: &Read<'_>,
    card: &Read<'_>,
    columns: &'c [String],
) -> Vec<Difference<'c>> {
    let mut all = Vec::new();
    for column in columns {
        let here = config.doc.frame.cell(column, 0);
        let there = card.doc.frame.cell(column, 0);
        let unknown = |c: &super::frame::TraceCell| *c == super::frame::TraceCell::Null;
        if unknown(here) || unknown(there) || here == there {
            continue;
        }
        all.push(Difference {
            column,
            here: here.to_string(),
            line: config.doc.lines.get(column).copied(),
            there: there.to_string(),
        });
    }
    all
}

/// Returns true if a config and a card name the same model. Only the last part of the model's path
/// is compared, ignoring case.
fn same_model(config: &Read<'_>, card: &Read<'_>) -> bool {
    let name = |read: &Read<'_>| read.text("model").map(|m| last(m).to_lowercase());
    name(config).is_some() && name(config) == name(card)
}

fn last(path: &str) -> &str {
    split(path.trim_end_matches('/')).2
}
