//! Which injected fault a finding is attributed to.

use super::rounds::Injection;
use crate::findings::Finding;

/// Where a finding is, seen from an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingReach {
    /// In the fault's place: its table, directory, system, or what is served from there.
    Place,
    /// On another table, which the fault may reach since it serves it or has its name.
    Elsewhere,
}

/// Whether an injected fault and a finding are related in some way.
type Attribution<'a> = fn(&Injection<'a>, &Finding) -> bool;

/// The injection that a finding is attributed to: the nearest, the first of several as near.
pub(super) fn owner<'a>(
    injections: &[Injection<'a>],
    finding: &Finding,
) -> Option<(usize, FindingReach)> {
    let first =
        |is_related: Attribution<'a>| injections.iter().position(|i| is_related(i, finding));
    // A version that takes rows from a table that is gone says so, and no path is the donor's.
    if finding.table.is_none()
        && first(Injection::has_path_of).is_none()
        && let Some(at) = first(Injection::is_donor_of)
    {
        return Some((at, FindingReach::Elsewhere));
    }
    let nearest_first: [Attribution<'a>; 5] = [
        Injection::has_path_of,
        Injection::is_table_of,
        Injection::is_twin_of,
        Injection::is_system_of,
        Injection::is_backend_of,
    ];
    if let Some(at) = nearest_first.into_iter().find_map(first) {
        return Some((at, FindingReach::Place));
    }
    first(Injection::is_namesake_of).map(|at| (at, FindingReach::Elsewhere))
}

/// How an injected fault and a finding are related.
impl Injection<'_> {
    /// The finding is on a file that the fault changes, or on what that is found at.
    fn has_path_of(&self, finding: &Finding) -> bool {
        self.paths.contains(&finding.path)
    }

    /// The finding is on the table, whichever file holds it.
    fn is_table_of(&self, finding: &Finding) -> bool {
        finding.place.as_ref() == Some(&self.file.place)
            && finding.table.as_ref() == Some(&self.file.table)
    }

    /// The finding says that its table is like this one: of two tables that are alike, either may be
    /// reported.
    fn is_twin_of(&self, finding: &Finding) -> bool {
        finding.evidence.other.as_deref().is_some_and(|other| self.paths.contains(other))
    }

    /// The fault is in the YAML of the finding's system.
    fn is_system_of(&self, finding: &Finding) -> bool {
        let system = &self.file.place.system;
        let yaml = format!("/{system}.yaml");
        self.planted.changes.keys().any(|path| path.ends_with(&yaml))
            && finding.place.as_ref().is_some_and(|place| place.system == *system)
    }

    /// The finding is on a version of the backend as a whole: a model lacks what its version, or one
    /// that takes rows from it, lacks.
    fn is_backend_of(&self, finding: &Finding) -> bool {
        let own = &self.file.place;
        finding.table.is_none()
            && finding
                .place
                .as_ref()
                .is_some_and(|f| (&f.system, &f.backend) == (&own.system, &own.backend))
    }

    /// The finding is on a version that took rows from the table.
    fn is_donor_of(&self, finding: &Finding) -> bool {
        let part = format!("{} from {}", self.file.table, self.file.place.version);
        finding.parts.contains(&part)
    }

    /// The finding is on a table of the same name.
    fn is_namesake_of(&self, finding: &Finding) -> bool {
        finding.table.as_ref() == Some(&self.file.table)
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
