//! Rows of another GPU than the system's.

use super::{Named, origin};
use crate::base::expr::ExprError;
use crate::base::words::plural_verb;
use crate::checks::RowContext;
use crate::checks::judge::{CheckInputs, Found, Judge};
use crate::findings::Reads;
use crate::specs::TableSpec;

/// Rows name a GPU that is not the system's.
pub struct DeviceNames;

impl Judge for DeviceNames {
    fn reads(&self, _: &TableSpec) -> Reads {
        Reads::columns(["device"]).and_devices()
    }

    fn needs(&self) -> CheckInputs {
        origin()
    }

    fn table(&self, rows: &RowContext<'_>) -> Result<Found, ExprError> {
        let devices = rows.devices().filter(|(_, devices)| !devices.is_empty());
        let (Some((system, devices)), Some(named)) = (devices, Named::of(rows, "device")) else {
            return Ok(Found::new());
        };
        let wanted = devices.join(" or ");
        let is_own = system.device_matcher();
        Ok(named.findings(
            rows,
            "device",
            rows.rule.severity,
            |name| !is_own(name),
            |names, n| {
                format!(
                    "{} measured on {names}, but the system has {wanted}",
                    plural_verb(n, "row", ["was", "were"])
                )
            },
        ))
    }
}
