//! Sidecars that cannot be read, or that differ from what the loader is known to read.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{profile, report, seal};
use crate::base::words::names;
use crate::checks::{CheckInputs, Found, Input, Item, Judge, Judged, RowContext, RuleHead};
use crate::database::sidecar::Meta;
use crate::findings::{Finding, Severity, wholes};

/// The fields and values of a `collection_meta.yaml` that one version of the loader reads. A newer loader may read
/// more, so an unknown field or value is not an error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownSidecar {
    /// The version and the date of the loader from which the lists of fields and values are taken.
    source: String,
    schema_versions: Vec<i64>,
    provenances: Vec<String>,
    statuses: Vec<String>,
    /// The fields that schema 2 requires of a table.
    table: Vec<String>,
    /// The fields that schema 2 requires of a collection event.
    event: Vec<String>,
}

impl Judge for KnownSidecar {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::VersionDirs])
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(wholes(seal::invalid(rows)))
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        if let Item::Report(at) = item {
            return report::unreadable(rule, at);
        }
        if let Item::Profile(at) = item {
            return profile::unreadable(rule, at);
        }
        let Item::Dir(at) = item else { return Found::new() };
        let (Some(meta), Some(entry)) = (at.meta, &at.dir.meta) else { return Found::new() };
        let found = match meta {
            Err(why) => vec![rule.on_path(&entry.path, why.to_string())],
            Ok(meta) => {
                let rule = RuleHead { severity: rule.severity.at_most(Severity::Warning), ..rule };
                let finding = |(what, says): (String, Vec<String>)| {
                    let finding = rule.all_on_path(&entry.path, says)?;
                    let message = format!(
                        "{}; perfdb-gate knows the loader of {}",
                        finding.message, self.source
                    );
                    Some(Finding { message, ..finding }.unknown(&what))
                };
                self.unknown_in(meta).into_iter().filter_map(finding).collect()
            }
        };
        found.into_iter().map(|finding| finding.at(&at.dir.place)).collect()
    }
}

impl KnownSidecar {
    /// Returns clauses on the unknown values of a sidecar and on its missing required fields. The clauses are grouped
    /// by the name of the fault, such as `the status 'done' of a sidecar`.
    fn unknown_in(&self, meta: &Meta) -> BTreeMap<String, Vec<String>> {
        let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut add = |name: &str, place: &str, value: &str, known: &[String]| {
            if !known.iter().any(|known| known == value) {
                let says = format!("{place}{name} is '{value}', not {}", known.join(" or "));
                wrong.entry(format!("the {name} '{value}' of a sidecar")).or_default().push(says);
            }
        };
        let schemas: Vec<String> = self.schema_versions.iter().map(ToString::to_string).collect();
        add("schema_version", "", &meta.schema_version.to_string(), &schemas);
        if let Some(provenance) = &meta.provenance {
            add("provenance", "", provenance, &self.provenances);
        }
        for (name, table) in &meta.tables {
            add("status", &format!("tables.{name}."), &table.status, &self.statuses);
            for (i, event) in table.collections.iter().enumerate() {
                let place = format!("tables.{name}.collections[{i}].");
                add("status", &place, &event.status, &self.statuses);
            }
        }
        if meta.schema_version == 2 {
            let missing = self.missing_in(&meta.fields);
            let fields: BTreeSet<&str> = missing.iter().map(|(field, _)| &**field).collect();
            let what = format!("a sidecar without {}", names(fields.into_iter()));
            wrong.insert(what, missing.into_iter().map(|(_, says)| says).collect());
        }
        wrong
    }

    /// Returns the fields that schema 2 requires but a sidecar lacks, each with a clause for the message.
    fn missing_in(&self, sidecar: &Value) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        let tables = sidecar.get("tables").and_then(Value::as_object);
        for (name, table) in tables.into_iter().flatten() {
            let place = format!("tables.{name}");
            wrong.extend(missing(&self.table, &place, table));
            let events = table.get("collections").and_then(Value::as_array);
            for (i, event) in events.into_iter().flatten().enumerate() {
                wrong.extend(missing(&self.event, &format!("{place}.collections[{i}]"), event));
            }
        }
        wrong
    }
}

/// Returns the required fields that are missing or empty in a mapping, each with a clause for the message. `place` is
/// the mapping's path in the sidecar.
fn missing(required: &[String], place: &str, found: &Value) -> Vec<(String, String)> {
    let is_missing = |name: &&String| match found.get(name.as_str()) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    };
    let said = |name: &String| (name.clone(), format!("{place}.{name} is missing"));
    required.iter().filter(is_missing).map(said).collect()
}
