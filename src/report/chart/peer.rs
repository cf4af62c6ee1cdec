//! Finds the peer to draw with a table: a table with copied rows, the reference with the largest latency ratio in a
//! slice, or the reference that findings on points name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checks::compare::siblings::NEARBY;
use crate::database::catalog::{Place, TableFile};
use crate::database::served::TableIndex;
use crate::database::state::State;
use crate::database::table::{Table, TableScope};
use crate::findings::{Evidence, Finding, SliceEvidence};
use crate::specs::system::System;

/// A peer whose latencies a chart shows beside those of a table.
pub(super) struct Peer<'a> {
    /// The rows of the peer.
    table: Arc<Table>,
    place: &'a Place,
    system: Option<&'a System>,
    /// The name that distinguishes the peer from the table, such as `sglang 0.5.6`.
    pub name: String,
}

impl<'a> Peer<'a> {
    /// Finds the peer to draw with a table: a peer that one of the `findings` mentions, or else the reference with the
    /// path `nearest`. `None` if there is no such peer or its file cannot be read. References with implausible
    /// latencies are skipped.
    pub(crate) fn find(
        state: State<'a>,
        file: &TableFile,
        findings: &[&Finding],
        nearest: Option<&str>,
        is_plausible: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let named = |table: fn(&Evidence) -> Option<&String>| {
            state.catalog.table(findings.iter().find_map(|finding| table(&finding.evidence))?)
        };
        let is_plausible = |peer: &&TableFile| is_plausible(&peer.entry.path);
        let peer = named(|evidence| evidence.other.as_ref())
            .or_else(|| reference(state, file, findings).filter(is_plausible))
            .or_else(|| named(|evidence| evidence.reference.as_ref()).filter(is_plausible))
            .or_else(|| state.catalog.table(nearest?).filter(is_plausible))?;
        let table = state.table(peer).ok()?;
        let place = &peer.place;
        let system = state.catalog.system(&place.system, state.specs);
        let mut name = format!("{} {}", place.backend, place.version);
        if place.system != file.place.system {
            name = format!("{} {name}", place.system);
        }
        Some(Self { table: table.into(), place, system, name })
    }

    /// Returns a scope that evaluates the formulas of the table's spec on the peer's rows.
    pub(super) fn scope<'s>(&'s self, of: &TableScope<'s>) -> TableScope<'s> {
        TableScope::new(&self.table, of.spec, self.place, self.system, of.lookups)
    }
}

/// Returns the reference whose latencies differ most from the table's latencies. Only the slices that the findings name
/// are considered. A reference is the newest version of another backend, the previous version of the same backend, or
/// the same version of a nearby system.
fn reference<'a>(
    state: State<'a>,
    file: &TableFile,
    findings: &[&Finding],
) -> Option<&'a TableFile> {
    let slices = findings.iter().flat_map(|finding| &finding.evidence.slices);
    let farthest = slices.filter_map(farthest).max_by(|a, b| a.1.total_cmp(&b.1))?.0;
    let declared = BTreeMap::new();
    let shelf = TableIndex::new(state.catalog, &declared, state.specs);
    let Place { system, backend, version, .. } = &file.place;
    let edition = match farthest.as_str() {
        NEARBY => {
            let mut near = shelf.peers_of(file).1.into_iter();
            near.find_map(|(_, editions, _)| editions.get(version))
        }
        own if own == backend => {
            let editions = shelf.editions(file)?;
            let others = || editions.iter().filter(|edition| edition.version != version);
            editions.last_before(version).or_else(|| others().next())
        }
        other => shelf.editions_of(&file.table, other, system)?.iter().next_back(),
    };
    state.catalog.table(&edition?.files.first()?.entry.path)
}

/// Returns the name of the reference whose latency ratio in a slice is farthest from 1, and the absolute logarithm of
/// this ratio. `None` if the evidence of the slice has no ratios.
pub(super) fn farthest(evidence: &SliceEvidence) -> Option<(String, f64)> {
    let (_, figure) = &evidence.figure;
    let ratios = figure.as_object()?.iter();
    let far = ratios.filter_map(|(name, ratio)| Some((name.clone(), ratio.as_f64()?.ln().abs())));
    far.max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_drawn_with_the_peer_that_differs_most() {
        let ratios = serde_json::json!({"sglang": 1.2, "trtllm": 0.1, "other systems": 3.0});
        let of = |figure| SliceEvidence { slice: BTreeMap::new(), figure };
        assert_eq!(farthest(&of(("ratio_over".into(), ratios))).unwrap().0, "trtllm");
        assert_eq!(farthest(&of(("points".into(), 3.into()))), None);
    }
}
