//! Slices that share their keys with no other table.

use super::{SlicesByName, UnitFactors, is_time};
use crate::base::words::{Figure, plural_verb};
use crate::checks::compare::sketch::{Sketch, slice_id, slice_words};
use crate::checks::rule_head::RuleHead;
use crate::database::table::number_json;
use crate::findings::{Finding, Severity, SliceEvidence};

impl UnitFactors {
    /// The finding on slices that share their keys with no other table, where their latencies are none that
    /// a kernel has.
    pub(super) fn alone(
        &self,
        rule: RuleHead<'_>,
        all: &SlicesByName<'_>,
        number: usize,
    ) -> Option<Finding> {
        let (file, sketch) = all.tables[number];
        let ends: Vec<(u16, f64)> = self
            .implausible_slices(sketch)
            .into_iter()
            .filter_map(|slice| Some((slice, self.implausible_end(sketch, slice)?)))
            .filter(|(slice, _)| !self.has_reference(all, number, *slice))
            .collect();
        let (worst, end) = *ends.first()?;
        let [least, most] = self.alone_ms;
        let worst = &sketch.slices[worst as usize];
        let of = if worst.is_empty() { "the table".into() } else { slice_words(worst) };
        let message = format!(
            "{} probably in another unit: 1 % of the latencies of {of} are below {} ms, where kernels \
             have {least} to {most} ms; no other table has these keys",
            plural_verb(ends.len(), "slice", ["is", "are"]),
            Figure(end),
        );
        let within = sketch.points.iter();
        let within = within.filter(|p| ends.iter().any(|(slice, _)| *slice == p.slice)).count();
        let rows = within as f64 / sketch.points.len().max(1) as f64 * sketch.rows as f64;
        let evidence = ends.iter().map(|(slice, end)| SliceEvidence {
            slice: sketch.slices[*slice as usize].clone(),
            figure: ("fastest_ms".into(), number_json(*end)),
        });
        let severity = rule.severity.at_most(Severity::Warning);
        let finding = Finding::on_table(rule.id, severity, file, message);
        let parts = ends.iter().map(|(slice, _)| slice_id(&sketch.slices[*slice as usize]));
        Some(finding.rows(rows.round() as usize).parts(parts).slices(evidence))
    }

    /// The slices of a table of which too many points are too fast, or too few fast enough: one look at each
    /// point, since nearly every table ends here.
    fn implausible_slices(&self, sketch: &Sketch) -> Vec<u16> {
        let [least, most] = self.alone_ms;
        let mut counts = vec![[0_usize; 3]; sketch.slices.len()];
        for point in sketch.points.iter().filter(|p| is_time(p)) {
            let [all, below, within] = &mut counts[point.slice as usize];
            *all += 1;
            *below += usize::from(point.latency < least);
            *within += usize::from(point.latency <= most);
        }
        let is_implausible = |[all, below, within]: [usize; 3]| {
            all >= self.alone_points && (below > all / 100 || within <= all / 100)
        };
        let numbered = counts.into_iter().enumerate().filter(|(_, counts)| is_implausible(*counts));
        numbered.map(|(slice, _)| slice as u16).collect()
    }

    /// Where the fastest hundredth of a slice ends, in ms, if that of no kernel does. Zeros are another
    /// rule's.
    pub(super) fn implausible_end(&self, sketch: &Sketch, slice: u16) -> Option<f64> {
        let own = || sketch.points.iter().filter(move |p| p.slice == slice && is_time(p));
        let [least, most] = self.alone_ms;
        let count = own().count();
        let below = own().filter(|p| p.latency < least).count();
        let within = own().filter(|p| p.latency <= most).count();
        let rank = count / 100;
        if count < self.alone_points || below <= rank && within > rank {
            return None;
        }
        let mut times: Vec<f64> = own().map(|p| p.latency).collect();
        times.sort_by(f64::total_cmp);
        times.get(rank).copied()
    }

    fn has_reference(&self, all: &SlicesByName<'_>, number: usize, slice: u16) -> bool {
        let own = all.tables[number].1;
        let mut others = all.tables.iter().enumerate().filter(|(i, _)| *i != number);
        others.any(|(_, (_, other))| self.log_ratio(own, slice, other).is_some())
    }
}
