//! The injected fault that a finding is attributed to.

use super::injection::Injection;
use crate::findings::Finding;

/// Where a finding is, seen from an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingReach {
    /// In the fault's place: its table, directory or system, or a table served from there.
    Place,
    /// On another table, which the fault may reach since it serves it or has its name.
    Elsewhere,
}

/// The injection that a finding is attributed to: the nearest, the first of several as near.
pub(super) fn owner(
    injections: &[Injection<'_>],
    finding: &Finding,
) -> Option<(usize, FindingReach)> {
    let distances = injections.iter().enumerate();
    let distances =
        distances.filter_map(|(at, injection)| Some((injection.distance(finding)?, at)));
    let (distance, at) = distances.min()?;
    // A version that took rows from a table that is gone, or a table of the same name.
    let is_elsewhere = matches!(distance, Distance::Donor | Distance::Namesake);
    Some((at, if is_elsewhere { FindingReach::Elsewhere } else { FindingReach::Place }))
}

/// The relation of an injected fault and a finding, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// The finding is on a file that the fault changes, or where that is found.
    Path,
    /// The finding is on a version that took rows from the table.
    Donor,
    /// The finding is on the table, whichever file holds it.
    Table,
    /// The finding names the table as the other one of two that are alike.
    Twin,
    /// The fault is in the YAML of the finding's system.
    System,
    /// The finding is on a version of the backend as a whole: a model lacks rows.
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

    /// Whether the fault is to be found by the rule of a finding.
    pub(super) fn finds(&self, finding: &Finding) -> bool {
        self.variant.fault.finds.contains(&finding.rule)
    }

    /// Whether the finding names the slice that the fault changes, where both name slices.
    pub(super) fn is_of_slice(&self, finding: &Finding) -> bool {
        let named = &finding.evidence.slices;
        let Some(slice) = self.planted.slice.as_ref().filter(|_| !named.is_empty()) else {
            return true;
        };
        named.iter().any(|named| named.slice == *slice)
    }
}
