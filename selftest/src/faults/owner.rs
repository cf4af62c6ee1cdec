//! Attributes findings to planted faults.

use super::injection::Injection;
use perfdb_gate::findings::Finding;

/// Returns the index of the injection to which a finding is attributed, with their relation: the
/// nearest injection, and the first of equally near ones.
pub(super) fn owner(
    injections: &[Injection<'_>],
    finding: &Finding,
) -> Option<(usize, FaultRelation)> {
    let relations = injections.iter().map(|injection| injection.relation(finding));
    let nearest = relations.enumerate().filter_map(|(at, relation)| Some((relation?, at))).min();
    nearest.map(|(relation, at)| (at, relation))
}

/// The relation of a planted fault to a finding, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultRelation {
    /// The finding is on a path of the injection.
    Path,
    /// The finding is on a version that took rows from the table.
    Donor,
    /// The finding is on the table, in whichever file.
    Table,
    /// The finding names the table as the other of two tables that are alike.
    Twin,
    /// The fault is in the YAML of the finding's system.
    System,
    /// The finding is on a whole version of the backend, for example because a model lacks rows.
    Backend,
    /// The finding is on a table of the same name.
    Namesake,
}

impl FaultRelation {
    /// Returns true if the finding is on another table that the fault may affect, because that table
    /// takes rows from the fault's table or has the same name.
    pub(super) fn is_elsewhere(self) -> bool {
        matches!(self, Self::Donor | Self::Namesake)
    }
}

impl Injection<'_> {
    /// Returns the relation to a finding; `None` if the fault cannot cause the finding.
    fn relation(&self, finding: &Finding) -> Option<FaultRelation> {
        let (own, table) = (&self.file.place, &self.file.table);
        let place = finding.place.as_ref();
        let is_named = finding.table.as_ref() == Some(table);
        let is_whole = finding.table.is_none();
        let is_twin = finding.evidence.other.as_ref().is_some_and(|o| self.paths.contains(o));
        let is_of_system = place.is_some_and(|place| place.system == own.system);
        let is_of_backend = is_of_system && place.is_some_and(|p| p.backend == own.backend);
        let donated = format!("{table} from {}", own.version);
        let yaml = format!("/{}.yaml", own.system);
        let changes_yaml = self.planted.changes.keys().any(|path| path.ends_with(&yaml));
        let relations = [
            (FaultRelation::Path, self.paths.contains(&finding.path)),
            (FaultRelation::Donor, is_whole && finding.parts.contains(&donated)),
            (FaultRelation::Table, is_named && place == Some(own)),
            (FaultRelation::Twin, is_twin),
            (FaultRelation::System, changes_yaml && is_of_system),
            (FaultRelation::Backend, is_whole && is_of_backend),
            (FaultRelation::Namesake, is_named),
        ];
        relations.into_iter().find(|(_, applies)| *applies).map(|(relation, _)| relation)
    }

    /// Returns true if the fault should be found by the finding's rule.
    pub(super) fn finds(&self, finding: &Finding) -> bool {
        self.variant.fault.finds.contains(&finding.rule)
    }

    /// Returns true if the finding names the slice that the fault changes, or if one of them names
    /// no slice.
    pub(super) fn is_of_slice(&self, finding: &Finding) -> bool {
        let named = &finding.evidence.slices;
        let Some(slice) = self.planted.slice.as_ref().filter(|_| !named.is_empty()) else {
            return true;
        };
        named.iter().any(|named| named.slice == *slice)
    }
}
