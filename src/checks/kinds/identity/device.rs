//! Rows of another GPU than the system's.

use super::{RowsByName, origin};
use crate::base::words::plural_verb;
use crate::checks::judge::Judged;
use crate::checks::{CheckInputs, Judge, RowContext};
use crate::findings::Hits;

/// The check for rows that name another GPU than that of the system.
pub struct DeviceNames;

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
