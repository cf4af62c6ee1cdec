//! The fields of a sidecar of schema 2, whose loader refuses a sidecar with any other.

use serde_json::{Map, Value};

use crate::base::error::nearest;
use crate::base::reason::Reason;

/// The fields of a mapping.
struct Fields {
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

const RUNTIME: Fields = Fields {
    required: &["framework", "version"],
    optional: &["image", "image_variant", "image_digest"],
};

const TABLE: Fields = Fields { required: &["rows", "status", "collections"], optional: &[] };

const EVENT: Fields = Fields {
    required: &[
        "collector_ref",
        "collector_hash",
        "case_plan_hash",
        "collected_at",
        "rows",
        "status",
    ],
    optional: &["source_campaign_rows", "source_campaign_status", "runtime"],
};

/// Checks the names of the fields of a sidecar of schema 2, and that the required ones are not empty. The error names the
/// first field that its loader refuses.
pub(super) fn check(sidecar: &Value) -> Result<(), Reason> {
    RUNTIME.check("runtime", sidecar.get("runtime"))?;
    let tables = sidecar.get("tables").and_then(Value::as_object);
    for (name, table) in tables.into_iter().flatten() {
        let place = format!("tables.{name}");
        TABLE.check(&place, Some(table))?;
        let events = table.get("collections").and_then(Value::as_array);
        let events = events.filter(|events| !events.is_empty());
        for (i, event) in
            events.ok_or_else(|| format!("{place}.collections is empty"))?.iter().enumerate()
        {
            let place = format!("{place}.collections[{i}]");
            EVENT.check(&place, Some(event))?;
            if let Some(runtime) = event.get("runtime") {
                RUNTIME.check(&format!("{place}.runtime"), Some(runtime))?;
            }
        }
    }
    Ok(())
}

impl Fields {
    fn check(&self, place: &str, found: Option<&Value>) -> Result<(), Reason> {
        let nothing = Map::new();
        let found = found.and_then(Value::as_object).unwrap_or(&nothing);
        let is_missing = |name: &&&str| match found.get(**name) {
            None | Some(Value::Null) => true,
            Some(value) => value.as_str().is_some_and(|text| text.trim().is_empty()),
        };
        if let Some(name) = self.required.iter().find(is_missing) {
            return Err(format!("{place}.{name} is missing").into());
        }
        let known = || self.required.iter().chain(self.optional).copied();
        let Some(name) = found.keys().find(|name| known().all(|known| known != name.as_str()))
        else {
            return Ok(());
        };
        let unused = known().filter(|known| !found.contains_key(*known));
        let near = nearest(name, unused).map(|near| format!("; did you mean {near}?"));
        let near = near.unwrap_or_default();
        Err(format!("the loader of schema 2 refuses the field {place}.{name}{near}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = "collector_ref: a, collector_hash: b, case_plan_hash: c, collected_at: d, rows: 1, status: complete";

    fn checked(runtime: &str, event: &str) -> String {
        let text = format!(
            "runtime: {{framework: vllm, version: '1'{runtime}}}\ntables:\n  t: {{rows: 1, status: complete, collections: [{{{event}}}]}}"
        );
        let sidecar: Value = crate::base::yaml::parse(&text).unwrap();
        check(&sidecar).map_or_else(|why| why.to_string(), |()| String::new())
    }

    #[test]
    fn the_first_field_that_is_missing_or_unknown_is_named() {
        assert_eq!(checked("", EVENT), "");
        assert_eq!(
            checked(", source_commit: x", EVENT),
            "the loader of schema 2 refuses the field runtime.source_commit"
        );
        let unsaid = EVENT.replace("case_plan_hash: c", "case_plan_hash: ''");
        assert_eq!(checked("", &unsaid), "tables.t.collections[0].case_plan_hash is missing");
        assert_eq!(
            checked(", image_digets: x", EVENT),
            "the loader of schema 2 refuses the field runtime.image_digets; did you mean image_digest?"
        );
        assert_eq!(
            checked("", &format!("{EVENT}, classified_failures: 2")),
            "the loader of schema 2 refuses the field tables.t.collections[0].classified_failures"
        );
    }
}
