//! Compares an experiment's config with its file name and with the card generated from it.

use super::findings::at;
use super::names::experiment_id;
use super::{Findings, TraceCell, TraceDocument, TraceSpecs, brief, split};
use crate::checks::kinds::traces::TraceCheck;
use crate::findings::Severity;

/// Reports configs that contradict their file name, their `output_dir`, or the workload card that was generated from
/// the config.
pub(crate) fn check(
    configs: &[TraceDocument<'_>],
    cards: &[TraceDocument<'_>],
    specs: &TraceSpecs,
    findings: &mut Findings<'_>,
) {
    for config in configs {
        check_ids(config, findings);
    }
    for card in cards.iter().filter(|c| !c.template) {
        let Some(link) = links(card, configs) else { continue };
        // If several configs may belong to the card, the one with the fewest differences is
        // compared.
        let compared = link.configs.iter().map(|c| (differences(c, card, &specs.config.agrees), c));
        let closest = compared.min_by_key(|(differences, _)| differences.len());
        let Some((differences, config)) = closest.filter(|(d, _)| !d.is_empty()) else { continue };
        let texts: Vec<&str> = differences.iter().map(|d| d.text.as_str()).collect();
        let (path, how, texts) = (&card.path, link.how, texts.join("; "));
        let message = format!("the config contradicts the card {path} ({how}): {texts}");
        let severity = if link.is_certain { None } else { Some(Severity::Warning) };
        let check = TraceCheck::ConfigContradiction;
        if let Some(finding) = findings.finding(check, severity, &config.path, message) {
            let line = differences.iter().find_map(|d| d.line);
            let mut finding = finding.at_line(line).parts(differences.iter().map(|d| d.column));
            finding.slice.insert("card".into(), card.path.as_str().into());
            findings.all.push(finding);
        }
    }
}

/// Reports a config whose `experiment_id` differs from the id in the config's file name or in `output_dir`.
fn check_ids(config: &TraceDocument<'_>, findings: &mut Findings<'_>) {
    let Some(id) = config.text("experiment_id") else { return };
    // A value that is a whole name without an id part cannot be compared.
    let Some(own) = experiment_id(id) else { return };
    let output = config.text("output_dir").map(last).unwrap_or_default();
    for (what, name) in [("its name", config.stem()), ("output_dir", output)] {
        let Some(other) = experiment_id(name).filter(|other| *other != own) else { continue };
        let line = config.lines.get("experiment_id").copied();
        let (other, own) = (brief(other), brief(own));
        let message = format!("{what} says {other}, but experiment_id says {own}");
        let of = format!("id: {what}");
        findings.add_about(TraceCheck::ConfigContradiction, None, &config.path, &of, line, message);
    }
}

/// The configs from which a workload card may have been generated, and the reason for this assumption.
struct Link<'c, 'a> {
    configs: Vec<&'c TraceDocument<'a>>,
    /// The reason why the configs are assumed to belong to the card, as shown in findings.
    how: &'static str,
    is_certain: bool,
}

/// A function that returns true if a card may have been generated from the given config.
type Matches<'m> = &'m dyn Fn(&TraceDocument<'_>) -> bool;

fn links<'c, 'a>(
    card: &TraceDocument<'_>,
    configs: &'c [TraceDocument<'a>],
) -> Option<Link<'c, 'a>> {
    let is_beside = |c: &TraceDocument<'_>| c.dir() == card.dir() && c.stem() == "config";
    let writes_card = |c: &TraceDocument<'_>| {
        c.text("output_dir").map(last).is_some_and(|o| !o.is_empty() && o == card.dir_name)
    };
    // The card generator copies the description from the config.
    let is_described = |c: &TraceDocument<'_>| {
        let description = c.text("description");
        description.is_some() && description == card.text("description") && same_model(c, card)
    };
    let has_plan = |c: &TraceDocument<'_>| {
        let plan = ["tp", "pp", "dp_replicate", "dp_shard", "ep"];
        is_described(c) && plan.iter().all(|p| c.number(p) == card.number(p))
    };
    let rules: [(&str, bool, Matches<'_>); 4] = [
        ("beside it", true, &is_beside),
        ("in its output_dir", true, &writes_card),
        ("with the same description, model and plan", true, &has_plan),
        ("with the same description and model", false, &is_described),
    ];
    rules.into_iter().find_map(|(how, is_certain, matches)| {
        let configs: Vec<_> = configs.iter().filter(|c| matches(c)).collect();
        (!configs.is_empty()).then_some(Link { configs, how, is_certain })
    })
}

/// A column that has different values in a config and in a workload card.
struct Difference<'c> {
    column: &'c str,
    /// The line of the field in the config; `None` if the config does not state the field.
    line: Option<u64>,
    text: String,
}

fn differences<'c>(
    config: &TraceDocument<'_>,
    card: &TraceDocument<'_>,
    columns: &'c [String],
) -> Vec<Difference<'c>> {
    let difference = |column: &'c String| {
        let (here, there) = (config.frame.cell(column, 0), card.frame.cell(column, 0));
        let line = config.lines.get(column).copied();
        let text = format!("{column} is {here} in the config{} and {there} in the card", at(line));
        let is_known = *here != TraceCell::Null && *there != TraceCell::Null;
        (is_known && here != there).then_some(Difference { column, line, text })
    };
    columns.iter().filter_map(difference).collect()
}

/// Returns true if a config and a card name the same model. Only the last part of the model's path
/// is compared, ignoring case.
fn same_model(config: &TraceDocument<'_>, card: &TraceDocument<'_>) -> bool {
    let name = |read: &TraceDocument<'_>| read.text("model").map(|m| last(m).to_lowercase());
    name(config).is_some() && name(config) == name(card)
}

fn last(path: &str) -> &str {
    split(path.trim_end_matches('/')).2
}
