//! Axes that stand one beside the others: the values that a table sweeps are, less or plus one, those that
//! every other backend sweeps.
//!
//! A decode of a cache of 3 tokens is the fourth token's. Collectors that write 4 for it put each
//! measurement one step from where the loader looks for it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::words::names;
use crate::checks::compare::sketch::Sketched;
use crate::checks::context::CrossContext;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::findings::Finding;

/// When an axis is shifted.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisShift {
    /// Distinct values that an axis must have.
    values: usize,
    /// Share of them that other backends must have one beside.
    matched: f64,
    /// How much greater that share must be than the share that they have as it is.
    gain: f64,
    /// Other backends that must say so, and none must not.
    backends: usize,
}

/// A backend with its tables of a name.
type TablesOfBackend<'a> = (&'a str, &'a [Sketched<'a>]);

impl AxisShift {
    /// A finding for each axis of a table that is shifted against every other backend.
    pub fn findings(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Vec<Finding> {
        let Some(own) = at.sketches.by_path.get(&file.entry.path) else { return Vec::new() };
        let by_backend = &at.kin.by_backend;
        let own_backend = file.place.backend.as_str();
        let others = by_backend.iter().filter(|(backend, _)| **backend != own_backend);
        let others = others.map(|(backend, tables)| (*backend, &tables[..]));
        if others.clone().count() < self.backends {
            return Vec::new();
        }
        let axes = own.axes.iter().filter(|(_, values)| values.len() >= self.values);
        axes.filter_map(|(axis, values)| {
            let by =
                [1, -1].into_iter().find(|by| self.shifted(axis, values, *by, others.clone()))?;
            Some(finding(rule, file, axis, values, by, others.clone()))
        })
        .collect()
    }

    fn shifted<'o>(
        &self,
        axis: &str,
        values: &BTreeSet<i64>,
        by: i64,
        mut others: impl Iterator<Item = TablesOfBackend<'o>>,
    ) -> bool {
        others.all(|(_, tables)| {
            let share = |by| {
                let shares =
                    tables.iter().filter_map(|(_, s)| Some(had(values, by, s.axes.get(axis)?)));
                shares.fold(0.0, f64::max)
            };
            let beside = share(by);
            beside >= self.matched && beside >= share(0) + self.gain
        })
    }
}

/// What share of some values, less `by`, others have.
fn had(values: &BTreeSet<i64>, by: i64, others: &BTreeSet<i64>) -> f64 {
    let had = values.iter().filter(|v| others.contains(&v.saturating_sub(by))).count();
    had as f64 / values.len().max(1) as f64
}

fn finding<'o>(
    rule: RuleHead<'_>,
    file: &TableFile,
    axis: &str,
    values: &BTreeSet<i64>,
    by: i64,
    others: impl Iterator<Item = TablesOfBackend<'o>>,
) -> Finding {
    let shown = |by: i64| {
        let first: Vec<String> = values.iter().take(5).map(|v| (v - by).to_string()).collect();
        first.join(", ")
    };
    let side = if by > 0 { "above" } else { "below" };
    let others: Vec<&str> = others.map(|(backend, _)| backend).collect();
    let backends = names(others.iter().copied());
    let message = format!(
        "column '{axis}' is {}, …, where {backends} {have} {}, …: each value is one {side} that of every other backend",
        shown(0),
        shown(by),
        have = if others.len() == 1 { "has" } else { "have" },
    );
    let mut finding = rule.on_table(file, message);
    finding.slice.insert("axis".into(), axis.into());
    finding.evidence("shift", by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_values_beside_others() {
        let set = |values: &[i64]| values.iter().copied().collect::<BTreeSet<i64>>();
        let (own, other) = (set(&[1, 4, 8, 16, 32]), set(&[0, 3, 7, 15, 31, 63]));
        assert_eq!((had(&own, 1, &other), had(&own, 0, &other)), (1.0, 0.0));
        assert_eq!(had(&other, -1, &own), 5.0 / 6.0);
    }
}
