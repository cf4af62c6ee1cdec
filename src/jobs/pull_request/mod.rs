//! Opens the two states of a pull request, in the one way that all jobs share.

mod roots;
mod settings;

use std::path::Path;

pub(crate) use self::roots::{Root, partners};
pub(crate) use self::settings::SettingsChange;
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::Input;
use crate::checks::frame::{ChangeScope, Judgement, StateScope, Terms, judge};
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::diff::{ChangedFacts, Details, Diff, FileDiff, VersionChanges, files, pairs};
use crate::database::selection::Selection;
use crate::database::source::{self, Commit, Source};
use crate::database::state::{ReadState, State};
use crate::traces::TraceSpecs;

/// The base and the head of a pull request, with the settings by which both are judged. The facts about tables and
/// systems are read from each of the two states separately.
pub(crate) struct PullRequest {
    base: Box<dyn Source>,
    head: Box<dyn Source>,
    /// The settings at the tip of the base branch.
    pub settings: Settings,
    /// The roots of the database: folders with systems and tables. Each [`Root`] contains the root's state before and
    /// after the change. The main root comes first.
    pub roots: Vec<Root>,
    /// The settings files that the pull request changes. These changes apply to later runs, not to this run.
    pub settings_change: SettingsChange,
    /// The specs by which trace files are checked; `None` if the pull request cannot have changed a trace file.
    pub traces: Option<TraceSpecs>,
}

impl PullRequest {
    /// Opens the head (the files on disk if `None`) and its merge base with the branch `base`.
    ///
    /// # Errors
    ///
    /// If there is no repository or no such commit, or the settings cannot be read.
    pub(crate) fn open(
        root: &Path,
        base: &str,
        head: Option<&str>,
        rules: Option<&Path>,
        layout: Option<&str>,
    ) -> Result<Self> {
        let head = source::open(root, head)?;
        let merge_base = head.base(base)?;
        // Settings come from the tip of the base: a pull request cannot change how it is judged, and a
        // waiver that the base withdrew meanwhile is void.
        let (tip, base) = (Commit::open_base(root, base)?, merge_base);
        let (files, settings) =
            rayon::join(|| (base.files(), head.files()), || Settings::read(&tip, rules, None));
        let mut settings = settings?;
        let (base_files, head_files) = (files.0?, files.1?);
        let settings_change = SettingsChange::between(base.as_ref(), head.as_ref())?;
        let shown = if base_files.is_empty() { &head_files } else { &base_files };
        settings.choose_layout(layout, shown)?;
        let specs = &settings.specs;
        let (before, after) = rayon::join(
            || Catalog::roots(base.as_ref(), base_files, specs),
            || Catalog::roots(head.as_ref(), head_files, specs),
        );
        // Traces are among the files that are not tables. Most pull requests change none of these
        // files.
        let others = |roots: &[Catalog]| roots.first().map(|root| root.outside_files.clone());
        let have_traces = others(&before) != others(&after) || TraceSpecs::are_overlaid(specs);
        let (traces, roots) = rayon::join(
            || have_traces.then(|| TraceSpecs::read(specs)).transpose(),
            || Root::all((base.as_ref(), before), (head.as_ref(), after), specs),
        );
        let traces = traces?;
        Ok(Self { base, head, settings, roots, settings_change, traces })
    }

    /// Returns the sources of the base and of the head.
    pub(crate) fn sources(&self) -> (&dyn Source, &dyn Source) {
        (self.base.as_ref(), self.head.as_ref())
    }

    /// Returns the states of the main root before and after the change.
    pub(crate) fn main_states(&self) -> (State<'_>, State<'_>) {
        let (base, head) = self.sources();
        self.roots[0].states(base, head)
    }

    /// Returns true if no root has a system.
    pub(crate) fn is_empty(&self) -> bool {
        self.roots.iter().all(Root::is_empty)
    }

    /// Compares the states of the main root, without any rule.
    ///
    /// # Errors
    ///
    /// If a changed table cannot be compared.
    pub(crate) fn diff(&self, progress: &dyn Progress) -> Result<Diff> {
        let (base, head) = self.main_states();
        let files = files(base, head);
        let terms = Terms { rules: &[], all_rules: &self.settings.rules, ledger: None };
        let judged = judge_change((base, head), &files, None, terms, progress)?;
        let versions = VersionChanges::between(base, head);
        Ok(Diff { tables: judged.diff, files, versions, ..Diff::default() })
    }
}

/// Judges a head against its base. Judges only tables that changed, and tables whose sidecar, system or other facts
/// changed.
pub(crate) fn judge_change<'a>(
    (base, head): (State<'a>, State<'a>),
    files: &[FileDiff],
    details: Option<&'a Details>,
    terms: Terms<'a>,
    progress: &dyn Progress,
) -> Result<Judgement> {
    let facts = ChangedFacts::between(base, head, files);
    let mut changed: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let pairs = pairs(base, head);
    for pair in &pairs {
        let sides = pair.base.into_iter().chain(pair.head);
        changed.extend(sides.map(|file| file.entry.path.clone()));
    }
    let selected =
        |state: State<'_>| Selection::default().resolve(state.catalog, Some(changed.clone()));
    let (of_base, of_head) = (selected(base)?, selected(head)?);
    let asks = terms.rules.iter().any(|rule| rule.check.needs().has(Input::Excused));
    let states_otherwise =
        facts.are_any() || base.facts.sidecars.reuse != head.facts.sidecars.reuse;
    let hidden_by_facts = (asks && states_otherwise).then(|| ReadState::head_by_base(base, head));
    let hidden_by_facts = hidden_by_facts.as_ref().map(|state| state.of(head.source));
    let is_known_otherwise =
        |file: &TableFile| facts.are_of_table(file) || facts.are_of_system(&file.place.system);
    let base = StateScope::new(base, &of_base, is_known_otherwise);
    let head = StateScope::new(head, &of_head, is_known_otherwise);
    judge(
        head,
        Some(ChangeScope { base, pairs, facts, head_by_base: hidden_by_facts, details }),
        terms,
        progress,
    )
}
