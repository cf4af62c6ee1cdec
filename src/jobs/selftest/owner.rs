//! Attributes findings to planted faults.

use super::injection::Injection;
use crate::findings::Finding;

/// The place of a finding relative to a planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingReach {
    /// The fault's own place: its table, directory or system, or a table served from there.
    Place,
    /// Another table that the fault may affect, because it is served from the fault's table or has
    /// the same name.
    Elsewhere,
}

/// Returns the index of the injection to which a finding is attributed: the nearest one, and the
/// first of equally near ones.
pub(super) fn owner(
    injections: &[Injection<'_>],
    finding: &Finding,
) -> Option<(usize, FindingReach)> {
    let distances = injections.iter().enumerate();
    let distances =
        distances.filter_map(|(at, injection)| Some((injection.distance(finding)?, at)));
    let (distance, at) = distances.min()?;
    // The finding is on a version that took rows from the missing table, or on a table of the same
    // name.
    let is_elsewhere = matches!(distance, Distance::Donor | Distance::Namesake);
    Some((at, if is_elsewhere { FindingReach::Elsewhere } else { FindingReach::Place }))
}

/// The relation of a planted fault to a finding, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
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

impl Injection<'_> {
    fn distance(&self, finding: &Finding) -> Option<Distance> {
        let (own, table) = (&self.file.place, &self.file.table);
        let place = finding.place.as_ref();
        let is_named = finding.table.as_ref() == Some(table);
        let donated = format!("{table} from {}", own.version);
        let yaml = format!("/{}.yaml", own.system);
        let relations = [
            (Distance::Path, self.paths.contains(&finding.path)),
            (Distance::Donor, finding.table.is_none() && finding.parts.contains(&donated)),
            (Distance::Table, is_named && place == Some(own)),
            (
                Distance::Twin,
                finding.evidence.other.as_deref().is_some_and(|other| self.paths.contains(other)),
            ),
            (
                Distance::System,
                self.planted.changes.keys().any(|path| path.ends_with(&yaml))
                    && place.is_some_and(|place| place.system == own.system),
            ),
            (
                Distance::Backend,
                finding.table.is_none()
                    && place
                        .is_some_and(|f| (&f.system, &f.backend) == (&own.system, &own.backend)),
            ),
            (Distance::Namesake, is_named),
        ];
        relations.into_iter().find(|(_, holds)| *holds).map(|(distance, _)| distance)
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
