//! A state under judgement, with what rules read of it other than tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::scope::StateScope;
use super::table::{DecodedTable, in_context};
use crate::base::expr::ExprError;
use crate::checks::compare::sketch::{Slice, SliceNumbers};
use crate::checks::context::{FoundTable, ReportContext, Reread, Serving};
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::rule::Rules;
use crate::database::catalog::TableFile;
use crate::database::collection_report::CollectionReport;
use crate::database::selection::Selected;
use crate::database::served::TableIndex;
use crate::database::source::Entry;
use crate::database::state::State;
use crate::database::support::{self, Matrices};
use crate::database::table::{Column, Keys, ReadsRecord, TableScope, Wanted};
use crate::findings::{Finding, Hit, RowStates, Severity};

/// A state that is judged, such as the head of a pull request, with data about it that rules need.
pub(super) struct JudgedState<'a> {
    pub state: State<'a>,
    pub selected: &'a Selected,
    /// The state's tables by backend, system and version.
    pub shelf: TableIndex<'a>,
    /// Paths of the tables whose sketches keep key values, so that findings can name the keys that other tables lack.
    pub named: BTreeSet<&'a str>,
    /// The support matrices of the state's systems.
    pub support: Matrices,
    /// All known rules, whether they run or not.
    all_rules: &'a Rules,
    /// The result of [`JudgedState::count_origin_mismatches`] for each table, by the table's path. It is cached because
    /// counting decodes the table again.
    origin_mismatches: Mutex<BTreeMap<String, usize>>,
}

impl<'a> JudgedState<'a> {
    pub(crate) fn new(scope: StateScope<'a>, needs: CheckInputs, all_rules: &'a Rules) -> Self {
        let StateScope { state, selected, .. } = scope;
        let shelf = TableIndex::new(state.catalog, &state.facts.sidecars.reuse, state.specs);
        let named =
            if needs.has(Input::Keys) { shelf.references(state.specs) } else { BTreeSet::new() };
        let support = if needs.has(Input::SupportMatrices) {
            support::read(state.source, state.catalog)
        } else {
            Matrices::default()
        };
        let origin_mismatches = Mutex::default();
        Self { state, selected, shelf, named, support, all_rules, origin_mismatches }
    }

    /// Counts the rules about the columns device, framework and version that report a warning or an error on a table.
    fn count_origin_mismatches(&self, file: &TableFile) -> Result<usize, ExprError> {
        let side = DecodedTable::read(self.state, file, false, Wanted::All);
        in_context(&[side], |contexts| {
            let (mut ways, record) = (0, ReadsRecord::default());
            for rule in self.all_rules.all().filter(|rule| rule.check.needs().has(Input::Origin)) {
                let Some(rows) = rule.rows(&contexts[0], &record) else { continue };
                let hits = rule.check.judge().table(&rows)?.into_iter();
                let mut found = hits.flat_map(|hit| Hit::settle(hit, &RowStates::unjudged()));
                ways += usize::from(found.any(|finding| finding.severity != Severity::Info));
            }
            Ok(ways)
        })
    }

    /// Returns whether the loader adds rows of other files to a table, and whether queries can ask for the table's
    /// version.
    pub(crate) fn serving(&self, file: &TableFile) -> Serving {
        let (spec, place) = (self.state.specs.tables.get(&file.table), &file.place);
        let served = spec.map(|spec| self.shelf.sources(place, &spec.name, spec.filling));
        Serving {
            is_filled: served.is_some_and(|served| served.files().count() > 1),
            is_reached: self.shelf.is_reached(&place.system, &place.backend, &place.version),
        }
    }

    /// The names of the GPUs in the rows of a system's smallest readable table.
    pub(crate) fn devices_of(&self, system: &str) -> Vec<String> {
        const MOST_TABLES: usize = 3;
        let tables = self.state.catalog.tables.iter();
        let mut tables: Vec<&TableFile> =
            tables.filter(|file| file.place.system == system).collect();
        tables.sort_by_key(|file| (file.entry.size, &file.entry.path));
        let wanted = BTreeSet::from(["device"]);
        let devices =
            |file: &&TableFile| match self.state.columns(file, &wanted).ok()?.column("device")? {
                Column::Text { dict, .. } => Some(dict.iter().map(ToString::to_string).collect()),
                Column::Int { .. }
                | Column::Float { .. }
                | Column::Bool { .. }
                | Column::Other(_) => None,
            };
        tables.iter().take(MOST_TABLES).find_map(devices).unwrap_or_default()
    }

    /// Reads a collection report, and the tables that it names.
    pub(crate) fn report(&self, entry: &'a Entry) -> ReportContext<'a> {
        let report = CollectionReport::read(self.state.source, entry);
        let mut tables = BTreeMap::new();
        for name in report.iter().flat_map(|report| report.tables.keys()) {
            let file = report.as_ref().ok().and_then(|r| r.table(name, self.state.catalog));
            let Some(file) = file else { continue };
            let nothing = BTreeSet::new();
            let side = DecodedTable::read(self.state, file, true, Wanted::Named(&nothing));
            let rows = side.table().ok().map(|table| table.rows as u64);
            // The digest of a git-LFS pointer says nothing about the table.
            let sha256 = side.digest.clone().filter(|_| rows.is_some());
            tables.insert(name.clone(), FoundTable { rows, sha256 });
        }
        ReportContext { entry, report, tables }
    }

    /// Adds the git object id of an unreadable file to the findings on that file. If the pull request replaces the file
    /// by another unreadable one, the findings then count as new.
    pub(crate) fn name_bytes(&self, entry: &Entry, findings: &mut [Finding]) {
        let Some(id) = self.state.source.id(entry) else { return };
        for finding in findings.iter_mut().filter(|finding| finding.path == entry.path) {
            finding.parts.insert(id.to_string());
        }
    }
}

impl Reread for JudgedState<'_> {
    fn origin_mismatches(&self, file: &TableFile) -> usize {
        let path = file.entry.path.as_str();
        let known = || self.origin_mismatches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ways) = known().get(path).copied() {
            return ways;
        }
        // A formula that fails was reported when the table was judged by itself.
        let ways = self.count_origin_mismatches(file).unwrap_or_default();
        known().insert(path.to_owned(), ways);
        ways
    }

    fn over_bound(&self, file: &TableFile) -> BTreeMap<Slice, f64> {
        let side = DecodedTable::read(self.state, file, false, Wanted::All);
        let least = in_context(&[side], |contexts| match (contexts[0].keys, contexts[0].scope) {
            (Some(keys), Some(scope)) => least_over_bound(keys, scope),
            _ => Ok(BTreeMap::new()),
        });
        // A formula that fails was reported when the table was judged by itself.
        least.unwrap_or_default()
    }
}

/// Returns the smallest ratio of a latency to its bound in each slice. A row with several bounds is compared with the
/// longest one. Slices without a bound are left out.
///
/// # Errors
///
/// If a formula of the table's spec cannot be evaluated.
fn least_over_bound(
    keys: &Keys<'_>,
    scope: &TableScope<'_>,
) -> Result<BTreeMap<Slice, f64>, ExprError> {
    let spec = scope.spec;
    let Some(latency) = spec.latency.first().filter(|_| !spec.bounds.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let mut slices = SliceNumbers::default();
    let mut least: Vec<f64> = Vec::new();
    let measured = latency.value.numbers(scope)?;
    let loaded = spec.filter.as_ref().map(|filter| filter.mask(scope)).transpose()?;
    for (row, bound) in scope.longest_bounds()?.into_iter().enumerate() {
        let is_loaded = loaded.as_ref().is_none_or(|loaded| loaded.get(row));
        let ratio = measured.get(row) / bound;
        if is_loaded && bound > 0.0 && ratio > 0.0 {
            let slice = slices.number(keys, row) as usize;
            least.resize(least.len().max(slice + 1), f64::INFINITY);
            least[slice] = least[slice].min(ratio);
        }
    }
    Ok(slices.all.into_iter().zip(least).collect())
}
