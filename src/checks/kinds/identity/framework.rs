//! Rows of another framework than the directory's, or of another device than the system's.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{RowsByName, in_directory_of, names_backend, origin};
use crate::base::words::plural_verb;
use crate::checks::{CheckInputs, Judge, Judged, RowContext};
use crate::findings::Hits;

/// The framework names that rows in a backend's directory may have, ignoring case. A backend that is not listed has
/// only its own name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameworkNames {
    backends: BTreeMap<String, Vec<String>>,
    /// The backends that are libraries, such as NCCL; rows of any framework may measure them.
    libraries: Vec<String>,
}

impl Judge for FrameworkNames {
    fn needs(&self) -> CheckInputs {
        origin()
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let Some(named) = RowsByName::of(rows, "framework") else { return Ok(Hits::new()) };
        let backend = &rows.file.place.backend;
        let own = [backend.clone()];
        let known = self.backends.get(backend).map_or(&own[..], Vec::as_slice);
        let is_other = |name: &str| {
            !names_backend(name, backend) && !known.iter().any(|k| k.eq_ignore_ascii_case(name))
        };
        let of_other = |name: &str| {
            self.backends.iter().any(|(other, names)| {
                names_backend(name, other) || names.iter().any(|n| n.eq_ignore_ascii_case(name))
            })
        };
        // Only the directory of a framework contradicts the name of another one.
        let is_framework = self.backends.contains_key(backend) && !self.libraries.contains(backend);
        let is_wrong = |name: &str| is_other(name) && is_framework && of_other(name);
        let place = if is_framework { String::new() } else { in_directory_of(backend) };
        let is_new = |name: &str| is_other(name) && !is_wrong(name);
        let new = named.novelty(rows, "framework", &place, is_new);
        let say = move |names: &str, n| {
            let rows = plural_verb(n, "row", ["names", "name"]);
            format!("{rows} {names} as framework, but the directory is of {backend}")
        };
        let hit = named.hit(rows, "framework", rows.rule.severity, is_wrong, say);
        Ok(hit.into_iter().chain(new).collect())
    }
}

/// The check for rows that name another GPU than that of the system.
pub(crate) struct DeviceNames;

impl Judge for DeviceNames {
    fn needs(&self) -> CheckInputs {
        origin()
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let system = rows.system().filter(|system| !system.devices.is_empty());
        let (Some(system), Some(named)) = (system, RowsByName::of(rows, "device")) else {
            return Ok(Hits::new());
        };
        let wanted = system.devices.join(" or ");
        let is_own = system.device_matcher();
        let say = move |names: &str, n| {
            let rows = plural_verb(n, "row", ["was", "were"]);
            format!("{rows} measured on {names}, but the system has {wanted}")
        };
        let is_known =
            |name: &str| rows.specs.systems.values().any(|system| system.is_device(name));
        let new = named.novelty(rows, "device", "", |name| !is_own(name) && !is_known(name));
        let hit = named.hit(
            rows,
            "device",
            rows.rule.severity,
            |name| !is_own(name) && is_known(name),
            say,
        );
        Ok(hit.into_iter().chain(new).collect())
    }
}
