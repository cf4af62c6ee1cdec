//! Describes the sources of a report's facts, and the tables that belong to no root.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::escape::clean;
use crate::base::words::{names, plural};
use crate::database::facts::{Fact, FactOrigin};

/// A fact by which tables are judged, such as the operation catalog, and where it comes from.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonFact<'a> {
    name: &'a str,
    /// The source of the fact: `tree` for a file in the judged commit or folder; `rules` for the rules that are
    /// embedded in this program or that the user adds.
    from: &'static str,
    path: Option<&'a str>,
    /// The reason why the file at `path` cannot be read; absent if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

impl<'a> JsonFact<'a> {
    fn of(fact: &'a Fact) -> Self {
        Self {
            name: &fact.name,
            from: fact.from.into_str(),
            path: fact.path.as_deref(),
            problem: fact.problem.as_deref(),
        }
    }
}

/// Lists the facts, such as the operation catalog, for the JSON report. Each fact is listed with its source. Empty if
/// the judged tree has no file that states facts.
pub(super) fn json(all: &[Fact]) -> Vec<JsonFact<'_>> {
    if all.iter().all(|fact| fact.path.is_none()) {
        return Vec::new();
    }
    all.iter().map(JsonFact::of).collect()
}

/// Describes the tables that were not checked because they belong to no database root; `None` without such tables.
pub(super) fn outside(paths: &[String]) -> Option<String> {
    let [verb, was] = match paths.len() {
        0 => return None,
        1 => ["does", "was"],
        _ => ["do", "were"],
    };
    let named = names(paths.iter().map(String::as_str));
    Some(clean(&format!(
        "{} {verb} not belong to any root and {was} not checked ({named})",
        plural(paths.len(), "table")
    )))
}

/// Returns a sentence that states for each fact, such as the operation catalog, whether it comes from the judged tree
/// or from `rules/`. `None` if the judged tree has no file that states facts.
pub(super) fn facts(all: &[Fact]) -> Option<String> {
    all.iter().find(|f| f.path.is_some())?;
    let date = all.iter().find_map(|fact| fact.date.as_deref()).unwrap_or_default();
    let from = |origin: FactOrigin| {
        let names = all.iter().filter(|f| f.from == origin).map(|f| f.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut said = match (from(FactOrigin::Tree), from(FactOrigin::Rules)) {
        (tree, rules) if rules.is_empty() => format!("{tree} from the checked tree"),
        (tree, rules) if tree.is_empty() => format!("{rules} from rules/ of {date}"),
        (tree, rules) => format!("{tree} from the checked tree; {rules} from rules/ of {date}"),
    };
    for why in all.iter().filter_map(unread) {
        said += &format!("; {why}");
    }
    Some(said)
}

/// Describes why a file of facts in the judged tree could not be read. `None` if the file was read or does not exist.
pub(super) fn unread(fact: &Fact) -> Option<String> {
    let (path, why) = fact.path.as_ref().zip(fact.problem.as_ref())?;
    Some(clean(&format!("{path} cannot be read ({why}), so rules/ is used instead")))
}
