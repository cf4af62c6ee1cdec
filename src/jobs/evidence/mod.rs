//! The evidence that a change of collectors, pins or cases owes: what the repository's own policy requires for each
//! framework and family, and whether the change has it.

mod collectors;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use self::collectors::{CollectorFiles, FamilyCollectors, POLICY};
use crate::base::error::Result;
use crate::base::exit::Exit;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, TableFile, VersionDir};
use crate::database::facts::TreeFacts;
use crate::database::source::{self, Source};
use crate::database::state::{ReadState, State};
use crate::jobs::DocumentFormat;
use crate::report::document::{Document, DocumentTable};
use crate::report::evidence::{Evidence, EvidenceDue, EvidenceReason};

/// The repository's policy of evidence.
#[derive(Deserialize)]
struct Policy {
    rules: BTreeMap<String, PolicyRule>,
    system_generations: BTreeMap<String, Vec<String>>,
    evidence_systems: BTreeMap<String, String>,
}

/// What the policy requires for a reason.
#[derive(Deserialize)]
struct PolicyRule {
    requirement: String,
}

/// Determines the evidence that a change owes by the policy of its base; `None` if the base has no policy.
///
/// Upstream, a changed table alone makes nothing due: a pinned runtime, the code of a collector or its cases do.
pub(crate) fn due(base: State<'_>, head: State<'_>) -> Option<Evidence> {
    let before = CollectorFiles::find(base.source, &base.catalog.others)?;
    let due = CollectorFiles::find(head.source, &head.catalog.others)
        .ok_or_else(|| format!("the head has no {POLICY}, or several"))
        .and_then(|after| Change { base, head }.due(&before, &after));
    Some(match due {
        Ok(due) => Evidence { due, failed: None },
        Err(why) => Evidence { due: Vec::new(), failed: Some(why) },
    })
}

/// Determines the evidence that the change from a base to a commit, or to the files on disk, owes.
///
/// # Errors
///
/// If there is no database, or no such commit.
pub fn run(options: &EvidenceOptions) -> Result<Option<Evidence>> {
    let head = source::open(&options.root, options.head.as_deref())?;
    let base = head.base(&options.base)?;
    let specs = Settings::read(base.as_ref(), None, None)?.specs;
    let read = |source: &dyn Source| -> Result<ReadState> {
        let catalog = Catalog::walk(source, &specs)?;
        let facts = TreeFacts::read(source, &catalog, &specs);
        Ok(ReadState::new(catalog, facts, &specs))
    };
    let (before, after) = (read(base.as_ref())?, read(head.as_ref())?);
    Ok(due(before.of(base.as_ref()), after.of(head.as_ref())))
}

/// Renders the evidence that a change owes.
pub fn render(evidence: Option<&Evidence>, format: DocumentFormat) -> String {
    let headline = || match evidence {
        None => format!("the base has no {POLICY}, so it requires no evidence"),
        Some(evidence) => evidence.line().unwrap_or_else(|| "no evidence is due".to_owned()),
    };
    let document = || {
        let mut document = Document::new("Evidence that the change owes");
        document.paragraph(headline());
        let heads = ["framework", "family", "reason", "requirement", "present", "missing"];
        let rows = evidence.into_iter().flat_map(|evidence| &evidence.due).map(|due| {
            let [framework, family, requirement] =
                [&due.framework, &due.family, &due.requirement].map(Clone::clone);
            let reason = due.reason.name().to_owned();
            let sides = [&due.present, &due.missing].map(|side| side.join(", "));
            [framework, family, reason, requirement].into_iter().chain(sides).collect()
        });
        document.table("", DocumentTable::new(&heads, [], rows));
        document
    };
    let json = || serde_json::to_string_pretty(&evidence).unwrap_or_default();
    format.render(headline, document, json)
}

/// Returns the exit code: inconclusive if the evidence cannot be determined.
pub fn exit(evidence: Option<&Evidence>) -> Exit {
    let is_known = evidence.is_none_or(|evidence| evidence.failed.is_none());
    if is_known { Exit::Clean } else { Exit::Inconclusive }
}

/// The options of `status --evidence`.
#[derive(Debug, Default, Clone)]
pub struct EvidenceOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch to merge into; the head is compared with their merge base.
    pub base: String,
    /// The commit to judge; `None` judges the files on disk.
    pub head: Option<String>,
}

/// The two states of a change.
#[derive(Clone, Copy)]
struct Change<'a> {
    base: State<'a>,
    head: State<'a>,
}

impl Change<'_> {
    fn due(
        self,
        before: &CollectorFiles<'_>,
        after: &CollectorFiles<'_>,
    ) -> Result<Vec<EvidenceDue>, String> {
        let policy: Policy = before.yaml(POLICY)?;
        let (before, after) = (collectors::read(before)?, collectors::read(after)?);
        let none = FamilyCollectors::default();
        let mut found = Vec::new();
        for pair in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let (was, is) = (before.get(pair).unwrap_or(&none), after.get(pair).unwrap_or(&none));
            let differs = [was.pin != is.pin, was.code != is.code, was.cases != is.cases];
            let reasons = EvidenceReason::ALL.into_iter().zip(differs);
            for (reason, _) in reasons.filter(|(_, differs)| *differs) {
                let rule = policy.rules.get(reason.name());
                let none = || format!("{POLICY} has no rule for {}", reason.name());
                let rule = rule.ok_or_else(none)?;
                let [present, missing] = self.evidence(&policy, reason, &pair.1, [was, is])?;
                found.push(EvidenceDue {
                    framework: pair.0.clone(),
                    family: pair.1.clone(),
                    reason,
                    requirement: rule.requirement.clone(),
                    present,
                    missing,
                });
            }
        }
        Ok(found)
    }

    /// Returns the evidence that the change has and that it lacks, as system and table.
    fn evidence(
        self,
        policy: &Policy,
        reason: EvidenceReason,
        family: &str,
        [was, is]: [&FamilyCollectors; 2],
    ) -> Result<[Vec<String>; 2], String> {
        let backend = if was.backend.is_empty() { &is.backend } else { &was.backend };
        let tables: BTreeSet<&String> = was.tables.union(&is.tables).collect();
        let is_of_pair = |file: &&TableFile| {
            let place = &file.place;
            place.family.as_deref() == Some(family)
                && place.backend == *backend
                && tables.contains(&file.table)
        };
        let held: BTreeSet<(&str, &str)> = self
            .base
            .catalog
            .tables
            .iter()
            .filter(is_of_pair)
            .map(|file| (file.place.system.as_str(), file.table.as_str()))
            .collect();
        let now: Vec<&TableFile> = self.head.catalog.tables.iter().filter(is_of_pair).collect();
        let has = |place: (&str, &str), is_evidence: &dyn Fn(&TableFile) -> bool| {
            let is_there =
                |file: &&&TableFile| (file.place.system.as_str(), file.table.as_str()) == place;
            now.iter().filter(is_there).any(|file| is_evidence(file))
        };
        let mut sides = [Vec::new(), Vec::new()];
        let add =
            |sides: &mut [Vec<String>; 2], (system, table): (&str, &str), is_present: bool| {
                sides[usize::from(!is_present)].push(format!("{system} {table}"));
            };
        match reason {
            // Data of the pinned version on every system, or declared reuse. A framework that is gone owes nothing.
            EvidenceReason::PinVersion => {
                let Some(pin) = &is.pin else { return Ok(sides) };
                let same_version = was.pin.as_ref().is_some_and(|p| p.version == pin.version);
                for place in held {
                    let is_fresh = |file: &TableFile| {
                        file.place.version == pin.version
                            && (!same_version || self.is_changed(file))
                    };
                    let reused = self.reuses(place, (family, backend), &pin.version);
                    add(&mut sides, place, reused || has(place, &is_fresh));
                }
            }
            // Tables before and after on one system of each generation.
            EvidenceReason::CollectorCode => {
                let mut systems: BTreeSet<&str> = BTreeSet::new();
                for (system, _) in &held {
                    systems.insert(policy.representative(system)?);
                }
                let of_pair: BTreeSet<&str> = held.iter().map(|(_, table)| *table).collect();
                for system in systems {
                    for table in &of_pair {
                        let place = (system, *table);
                        add(&mut sides, place, has(place, &|file| self.is_changed(file)));
                    }
                }
            }
            // New cases are collected wherever the table is; a case that was removed needs none.
            EvidenceReason::CasePlan => {
                for place in held {
                    add(&mut sides, place, has(place, &|file| self.is_changed(file)));
                }
            }
        }
        Ok(sides)
    }

    /// Returns true if the change adds or changes a table of the head.
    fn is_changed(self, file: &TableFile) -> bool {
        let was = self.base.catalog.table(&file.entry.path);
        was.is_none_or(|was| self.base.source.id(&was.entry) != self.head.source.id(&file.entry))
    }

    /// Returns true if the head declares reuse of a table for a version.
    fn reuses(
        self,
        (system, table): (&str, &str),
        (family, backend): (&str, &str),
        version: &str,
    ) -> bool {
        let is_of_pair = |dir: &VersionDir| {
            let place = &dir.place;
            place.system == system
                && place.family.as_deref() == Some(family)
                && place.backend == backend
                && place.version == version
        };
        let dirs = self.head.catalog.dirs.iter().filter(|(_, dir)| is_of_pair(dir));
        let reuse = &self.head.facts.sidecars.reuse;
        let mut declared = dirs.filter_map(|(path, _)| reuse.get(path)?.as_ref().ok());
        declared.any(|reuse| reuse.reuse.iter().any(|donor| donor.table == table))
    }
}

impl Policy {
    /// Returns the system that stands for the generation of a system.
    fn representative(&self, system: &str) -> Result<&str, String> {
        let lists = |(_, systems): &(&String, &Vec<String>)| systems.iter().any(|s| s == system);
        let generation = self.system_generations.iter().find(lists);
        let (generation, _) =
            generation.ok_or_else(|| format!("{POLICY} lists {system} in no generation"))?;
        let system = self.evidence_systems.get(generation);
        let none = || format!("{POLICY} names no system for the generation {generation}");
        system.map(String::as_str).ok_or_else(none)
    }
}
