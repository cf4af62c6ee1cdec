//! Sidecars that cannot be read, or that differ from what the loader is known to read.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{profile, report, seal};
use crate::checks::context::{Item, RowContext};
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge, Judged};
use crate::checks::rule_head::RuleHead;
use crate::database::sidecar::Meta;
use crate::findings::{Severity, wholes};

/// The fields and values of a `collection_meta.yaml` that the loader is known to read. A newer loader may read others,
/// so that a difference is not an error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownSidecar {
    /// The version of the loader that these values are from, and its date.
    source: String,
    schema_versions: Vec<i64>,
    provenances: Vec<String>,
    statuses: Vec<String>,
    /// The fields of `runtime`, in schema 2.
    runtime: Fields,
    /// The fields of a table, in schema 2.
    table: Fields,
    /// The fields of a collection event, in schema 2.
    event: Fields,
}

/// The known fields of a mapping.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    required: Vec<String>,
    #[serde(default)]
    optional: Vec<String>,
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
        let finding = match meta {
            Err(why) => Some(rule.on_path(&entry.path, why.to_string())),
            Ok(meta) => {
                let rule = RuleHead { severity: rule.severity.at_most(Severity::Warning), ..rule };
                rule.all_on_path(&entry.path, self.unknown_in(meta)).map(|mut finding| {
                    finding.message +=
                        &format!("; perfdb-gate knows the loader of {}", self.source);
                    finding
                })
            }
        };
        finding.map(|finding| finding.at(&at.dir.place)).into_iter().collect()
    }
}

impl KnownSidecar {
    /// Words what a sidecar has or lacks that the loader is not known to read.
    fn unknown_in(&self, meta: &Meta) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut add = |name: &str, value: &str, known: &[String]| {
            if !known.iter().any(|known| known == value) {
                wrong.push(format!("{name} is '{value}', not {}", known.join(" or ")));
            }
        };
        let schemas: Vec<String> = self.schema_versions.iter().map(ToString::to_string).collect();
        add("schema_version", &meta.schema_version.to_string(), &schemas);
        if let Some(provenance) = &meta.provenance {
            add("provenance", provenance, &self.provenances);
        }
        for (name, table) in &meta.tables {
            add(&format!("tables.{name}.status"), &table.status, &self.statuses);
            for (i, event) in table.collections.iter().enumerate() {
                let place = format!("tables.{name}.collections[{i}].status");
                add(&place, &event.status, &self.statuses);
            }
        }
        if meta.schema_version == 1 {
            let early = meta.tables.iter().filter(|(_, table)| !table.collections.is_empty());
            wrong.extend(
                early.map(|(name, _)| format!("tables.{name}.collections needs schema_version 2")),
            );
        }
        if meta.schema_version == 2 {
            self.add_fields(&meta.fields, &mut wrong);
        }
        wrong
    }

    fn add_fields(&self, sidecar: &Value, wrong: &mut Vec<String>) {
        wrong.extend(self.runtime.differences("runtime", sidecar.get("runtime")));
        let tables = sidecar.get("tables").and_then(Value::as_object);
        for (name, table) in tables.into_iter().flatten() {
            let place = format!("tables.{name}");
            wrong.extend(self.table.differences(&place, Some(table)));
            let events = table.get("collections").and_then(Value::as_array);
            for (i, event) in events.into_iter().flatten().enumerate() {
                let place = format!("{place}.collections[{i}]");
                wrong.extend(self.event.differences(&place, Some(event)));
                if let Some(runtime) = event.get("runtime") {
                    wrong.extend(
                        self.runtime.differences(&format!("{place}.runtime"), Some(runtime)),
                    );
                }
            }
        }
    }
}

impl Fields {
    /// Words the required fields that are missing or empty, and fields that look like a misspelt known one. Other
    /// unknown fields are part of a newer schema.
    fn differences(&self, place: &str, found: Option<&Value>) -> Vec<String> {
        let nothing = Map::new();
        let found = found.and_then(Value::as_object).unwrap_or(&nothing);
        let is_missing = |name: &&String| match found.get(*name) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.trim().is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            Some(_) => false,
        };
        let missing = self.required.iter().filter(is_missing);
        let mut wrong: Vec<String> =
            missing.map(|name| format!("{place}.{name} is missing")).collect();
        let known: Vec<&String> = self.required.iter().chain(&self.optional).collect();
        let unused = known.iter().filter(|known| !found.contains_key(known.as_str()));
        let unused: Vec<&&String> = unused.collect();
        for name in found.keys().filter(|name| !known.contains(name)) {
            let meant = unused.iter().find(|known| is_misspelt(name, known));
            wrong.extend(
                meant.map(|meant| format!("{place}.{name} is not read; did you mean {meant}?")),
            );
        }
        wrong
    }
}

/// Returns true if a name looks like another one with a typing error.
fn is_misspelt(name: &str, known: &str) -> bool {
    const MOST_EDITS: usize = 2;
    known.len() > 2 * MOST_EDITS && strsim::damerau_levenshtein(name, known) <= MOST_EDITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_and_a_misspelt_field_are_named_and_a_new_one_is_carried() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let fields =
            Fields { required: names(&["framework"]), optional: names(&["image", "image_digest"]) };
        let differences = |found: Value| fields.differences("runtime", Some(&found)).join("; ");
        let found = serde_json::json!({"framework": "vllm", "source_commit": "x", "abi": {}});
        assert_eq!(differences(found), "");
        let found = serde_json::json!({"framework": " ", "image_digets": "x"});
        assert_eq!(
            differences(found),
            "runtime.framework is missing; runtime.image_digets is not read; did you mean image_digest?"
        );
    }
}
