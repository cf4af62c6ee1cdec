//! Axes that are exchanged: one holds the sizes that another has in every other table, and the other way
//! round.
//!
//! Each row is then at a key that nobody asks for, or at that of another measurement.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::upper_median;
use crate::base::words::plural;
use crate::checks::compare::sketch::Sketch;
use crate::checks::context::CrossContext;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::findings::Finding;

/// When two axes are exchanged.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisExchange {
    /// How much more of the sizes agree the other way round, in the middle of the references.
    gain: f64,
    /// Share of the sizes from which on a reference agrees as it is, and nothing is exchanged.
    agrees: f64,
    /// Tables of the name that must be there to compare with.
    references: usize,
}

/// Two axes of a table.
type AxisPair<'a> = (&'a str, &'a str);

impl AxisExchange {
    /// The finding on a table of which two axes are exchanged.
    pub fn finding(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Option<Finding> {
        let own = at.sketches.by_path.get(&file.entry.path).filter(|s| s.axes.len() > 1)?;
        let is_reference = |other: &TableFile| {
            let (a, b) = (&other.place, &file.place);
            (&a.system, &a.backend, &a.version) != (&b.system, &b.backend, &b.version)
        };
        // Those of the backend agree most, and one that agrees ends the search.
        let (kin, backend) = (at.kin, &file.place.backend);
        let own_backend = kin.by_backend.get(backend.as_str()).into_iter().flatten();
        let others = kin.tables.iter().filter(|(other, _)| other.place.backend != *backend);
        let all = own_backend.chain(others);
        let references = all.filter(|(other, _)| is_reference(other)).map(|(_, sketch)| *sketch);
        let names: Vec<&str> = own.axes.keys().map(String::as_str).collect();
        for (i, a) in names.iter().enumerate() {
            for b in &names[i + 1..] {
                if let Some(count) = self.exchanged((a, b), own, references.clone()) {
                    return Some(finding(rule, file, (a, b), own, count));
                }
            }
        }
        None
    }

    /// How many references say that two axes are exchanged, where they do.
    fn exchanged<'s>(
        &self,
        (a, b): AxisPair<'_>,
        own: &Sketch,
        references: impl Iterator<Item = &'s Sketch>,
    ) -> Option<usize> {
        let (own_a, own_b) = (&own.axes[a], &own.axes[b]);
        if own_a == own_b {
            return None;
        }
        let mut gains = Vec::new();
        for reference in references {
            let (Some(a), Some(b)) = (reference.axes.get(a), reference.axes.get(b)) else {
                continue;
            };
            let straight = (common(own_a, a) + common(own_b, b)) / 2.0;
            if straight >= self.agrees {
                return None;
            }
            gains.push((common(own_a, b) + common(own_b, a)) / 2.0 - straight);
        }
        let enough = gains.len() >= self.references && upper_median(&mut gains) >= self.gain;
        enough.then_some(gains.len())
    }
}

/// The share of the values of two axes that both have.
fn common(a: &BTreeSet<i64>, b: &BTreeSet<i64>) -> f64 {
    let both = a.intersection(b).count();
    both as f64 / (a.len() + b.len() - both).max(1) as f64
}

fn finding(
    rule: RuleHead<'_>,
    file: &TableFile,
    (a, b): AxisPair<'_>,
    own: &Sketch,
    references: usize,
) -> Finding {
    let shown = |axis: &str| {
        let first = own.axes[axis].iter().take(5).map(i64::to_string);
        first.collect::<Vec<_>>().join(", ")
    };
    let message = format!(
        "columns '{a}' and '{b}' seem to be exchanged: '{a}' is {}, … and '{b}' is {}, …, the other way round than in {}",
        shown(a),
        shown(b),
        plural(references, "other table"),
    );
    let mut finding = rule.on_table(file, message).rows(own.rows);
    finding.slice.insert("axis".into(), format!("{a}, {b}").into());
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic: a table with some sizes.
    fn sketch(isl: &[i64], batch: &[i64]) -> Sketch {
        let axis = |name: &str, sizes: &[i64]| (name.to_owned(), sizes.iter().copied().collect());
        Sketch { axes: [axis("isl", isl), axis("batch", batch)].into(), ..Sketch::default() }
    }

    #[test]
    fn axes_are_exchanged_where_every_reference_has_them_the_other_way_round() {
        let (long, short) = (&[1024, 2048, 4096, 8192][..], &[1, 2, 4, 8, 16][..]);
        let rule = AxisExchange { gain: 0.1, agrees: 0.8, references: 2 };
        let (right, wrong) = (sketch(long, short), sketch(short, long));
        let verdict = |own: &Sketch, references: &[&Sketch]| {
            rule.exchanged(("batch", "isl"), own, references.iter().copied())
        };
        assert_eq!(verdict(&wrong, &[&right, &right]), Some(2));
        assert_eq!(verdict(&right, &[&right, &right]), None);
        assert_eq!(verdict(&wrong, &[&right, &wrong]), None, "one is alike");
        assert_eq!(verdict(&wrong, &[&right]), None, "one reference");
    }
}
