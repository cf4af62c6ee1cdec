//! Tables that lie where no loader looks for them.

use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::findings::Finding;
use crate::specs::TableSpec;

/// A table under a family that is not its own.
pub fn check(rule: &Rule, file: &TableFile, spec: &TableSpec) -> Option<Finding> {
    let found = file.place.family.as_deref()?;
    (!spec.inferred && found != spec.family).then(|| {
        let message =
            format!("{} belongs under {}/, it lies under {found}/", spec.name, spec.family);
        Finding::on_table(&rule.id, rule.severity, file, message)
            .parts([found])
            .evidence("family", found)
            .evidence("own_family", spec.family.as_str())
    })
}

/// A table too deep or too shallow below its system's data.
pub fn stray(rule: &Rule, path: &str) -> Finding {
    let message = "it lies at a depth where no loader looks: <family>/<backend>/<version>/<table>";
    Finding::on_path(&rule.id, rule.severity, path, message)
}
