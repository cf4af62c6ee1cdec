//! Default models that the newest version of a backend cannot plan with what its loader serves.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::error::Result;
use crate::base::words::{names, plural};
use crate::checks::context::{CrossContext, WholeContext};
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::{Place, TableFile};
use crate::database::served::{Channel, ReuseManifest, SystemShelf, TableSource};
use crate::findings::{Finding, Severity};
use crate::planner::{
    BackendPlan, KeySource, Lack, MachineFigures, ModelList, Models, ServedKeys, TableName,
    library_sources,
};
use crate::specs::system::System;

/// Default models that cannot be planned.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DefaultModels")]
pub struct DefaultModels {
    /// Groups of tables by which a backend says what it runs: a model is planned where of each group of
    /// which its operations read a table, one that they read has a file.
    #[schemars(with = "Vec<Vec<String>>")]
    claims: Vec<Vec<TableName>>,
}

impl Judge for DefaultModels {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Peers, Input::Plans])
    }

    /// One finding for the newest version of each backend that cannot plan some model.
    fn whole(&self, rule: RuleHead<'_>, whole: &WholeContext<'_>) -> Result<Found> {
        let at = &whole.tables;
        if !self.may_be_claimed(at) {
            return Ok(Found::new());
        }
        let models = whole.models.get()?;
        let nothing_lent = ReuseManifest::default();
        let lent = at.state.facts.sharing.as_ref().unwrap_or(&nothing_lent);
        let found: Vec<_> =
            newest(at, lent).par_iter().map(|newest| newest.finding(rule, self, &models)).collect();
        Ok(found.into_iter().flatten().collect())
    }
}

impl DefaultModels {
    /// Returns false if no table of the database can claim a model. Each embedded model reads a table that claims it
    /// (`tests/it/workflow_incomplete.rs`); models of an overlay may not.
    fn may_be_claimed(&self, at: &CrossContext<'_>) -> bool {
        let claiming: BTreeSet<&str> = self.claims.iter().flatten().map(|t| t.stem()).collect();
        !at.state.specs.library.is_embedded()
            || at.tables.iter().any(|file| claiming.contains(file.table.as_str()))
    }
}

/// A backend of a system at its newest version.
struct Newest<'a> {
    at: &'a CrossContext<'a>,
    /// Place of one of its tables.
    place: &'a Place,
    system: &'a System,
    machine: MachineFigures,
    shelf: &'a SystemShelf<'a>,
    /// The tables that backends take from each other.
    lent: &'a ReuseManifest,
}

/// The version of each backend of each system that counts, where all of it is judged: of a part nothing can
/// be said to be missing. It is the current one of queries where the database names one that holds
/// tables, else the newest.
fn newest<'a>(at: &'a CrossContext<'a>, lent: &'a ReuseManifest) -> Vec<Newest<'a>> {
    // Whether the version is the current one of queries, then how late it is.
    type Rank = (bool, Version);
    let mut found: BTreeMap<(&str, &str), (Rank, Vec<&TableFile>)> = BTreeMap::new();
    for file in &at.state.catalog.tables {
        let Ok(version) = Version::from_str(&file.place.version) else { continue };
        let slots = at.shelf.slots(&file.place.system, &file.place.backend);
        let is_current = slots.is_some_and(|s| s.current == file.place.version);
        let version = (is_current, version);
        let slot = found.entry((&file.place.system, &file.place.backend));
        let (known, files) = slot.or_insert_with(|| (version.clone(), Vec::new()));
        if version > *known {
            (*known, *files) = (version, vec![file]);
        } else if version == *known {
            files.push(file);
        }
    }
    found.into_values().filter_map(|(_, files)| Newest::new(at, lent, &files)).collect()
}

impl<'a> Newest<'a> {
    /// Creates the view of a version; `None` if not all of it is judged or its system is not known.
    fn new(
        at: &'a CrossContext<'a>,
        lent: &'a ReuseManifest,
        files: &[&'a TableFile],
    ) -> Option<Self> {
        let place = &files.first()?.place;
        let system = at.state.catalog.systems.get(&place.system)?.system.as_ref().ok()?;
        let machine = MachineFigures::new(system).ok()?;
        let shelf = at.shelf.loader(&place.system)?;
        // Of the tables of other systems no slices are taken.
        let whole = match at.history {
            None => files.iter().all(|f| at.judged(f)),
            // A pull request touches a backend by one of its tables, gone ones too.
            Some(history) => {
                history.backends.contains(&(place.system.clone(), place.backend.clone()))
            }
        };
        whole.then_some(Self { at, place, system, machine, shelf, lent })
    }

    fn finding(
        &self,
        rule: RuleHead<'_>,
        check: &DefaultModels,
        models: &Models,
    ) -> Option<Finding> {
        let served = self.keys(|table| self.sources(table));
        let lists = models.lists.iter();
        let judged: Vec<(&str, Vec<Lack>)> = lists
            .filter_map(|list| Some((list.id.as_str(), self.lacks(list, check, &served)?)))
            .collect();
        // What one model lacks first, others often do, too.
        let mut firsts: Vec<(&Lack, Vec<&str>)> = Vec::new();
        for (name, lacks) in &judged {
            let Some(first) = lacks.first() else { continue };
            match firsts.iter_mut().find(|(known, _)| known.why == first.why) {
                Some((_, models)) => models.push(name),
                None => firsts.push((first, vec![name])),
            }
        }
        if firsts.is_empty() {
            return None;
        }
        let others = self.other_versions();
        let told: Vec<String> = firsts
            .iter()
            .map(|(lack, models)| {
                let elsewhere = self.elsewhere(lack, &others);
                format!("{} ({}{elsewhere})", names(models.iter().copied()), lack.why)
            })
            .collect();
        let short: usize = firsts.iter().map(|(_, models)| models.len()).sum();
        let message = format!(
            "{short} of {} cannot be fully predicted: {}",
            plural(judged.len(), "default model"),
            told.join("; ")
        );
        let all: BTreeMap<&str, Vec<&str>> = judged
            .iter()
            .filter(|(_, lacks)| !lacks.is_empty())
            .map(|(name, lacks)| (*name, lacks.iter().map(|l| l.why.as_str()).collect()))
            .collect();
        let (place, path) = self.home();
        // What never could be planned here, and a version that is only being brought, wait for more.
        let was_served = |lack: &Lack| others.iter().any(|(_, keys)| lack.is_met_by(keys));
        let could_be = judged.iter().flat_map(|(_, lacks)| lacks).any(was_served);
        let severity = if could_be && !self.is_brought() {
            rule.severity
        } else {
            rule.severity.at_most(Severity::Info)
        };
        let (backend, version) = (&self.place.backend, &self.place.version);
        let causes: Vec<&str> = firsts.iter().map(|(lack, _)| lack.why.as_str()).collect();
        let cause = format!("{backend} {version}: {}", causes.join("; "));
        let finding = Finding::on_path(rule.id, severity, &path, message).evidence("cause", cause);
        let parts =
            all.iter().flat_map(|(model, lacks)| lacks.iter().map(move |l| format!("{model} {l}")));
        Some(finding.at(&place).parts(parts).evidence("lacks", serde_json::json!(all)))
    }

    /// Returns what a model lacks over all layouts, each thing once; `None` if it is not judged, because the backend claims
    /// no such model, or the machine does not multiply its weights or hold them in any layout.
    fn lacks(
        &self,
        list: &ModelList,
        check: &DefaultModels,
        served: &ServedKeys<'_>,
    ) -> Option<Vec<Lack>> {
        let plan = list.plan(&self.place.backend)?;
        if !list.runs_on(&self.machine) || !self.claims(list, check) {
            return None;
        }
        let mut found: Option<Vec<Lack>> = None;
        for lacks in self.lacks_by_layout(list, plan, served) {
            let all = found.get_or_insert_default();
            for lack in lacks {
                if all.iter().all(|known| known.why != lack.why) {
                    all.push(lack);
                }
            }
        }
        found
    }

    /// Returns what each layout lacks, of the layouts that the machine can hold.
    fn lacks_by_layout<'l>(
        &self,
        list: &'l ModelList,
        plan: &'l BackendPlan,
        served: &'l ServedKeys<'_>,
    ) -> impl Iterator<Item = Vec<Lack>> + use<'l, '_> {
        let memory = self.system.figure("gpu.mem_capacity").unwrap_or(f64::INFINITY);
        let layouts = plan.layouts.iter().filter(move |layout| layout.weight_bytes() <= memory);
        layouts.filter_map(|layout| list.resolve(plan, layout, served).ops.lacks(served).ok())
    }

    /// Returns true if the backend says by its tables that it runs such a model.
    fn claims(&self, list: &ModelList, check: &DefaultModels) -> bool {
        let mut reads = BTreeSet::new();
        list.tables(&self.place.backend, &mut reads);
        let is_own = |source: &TableSource<'_>| source.channel != Channel::OtherBackend;
        let has = |table: &TableName| self.sources(*table).iter().any(is_own);
        check.claims.iter().all(|group| {
            let mut read = group.iter().filter(|table| reads.contains(table)).peekable();
            read.peek().is_none() || read.any(has)
        })
    }

    /// The slices of the files that `sources` gives for a table; those of libraries are the machine's.
    fn keys(&self, sources: impl Fn(TableName) -> Vec<TableSource<'a>>) -> ServedKeys<'_> {
        let sketches = self.at.sketches;
        ServedKeys::new(&self.machine, &sketches.names, |table| {
            let files = library_sources(self.shelf, &self.machine, table);
            let files = files.unwrap_or_else(|| sources(table));
            let key_source = |TableSource { file, kernels, .. }| KeySource {
                keys: sketches.slices.get(&file.entry.path).map(AsRef::as_ref),
                kernels,
            };
            files.into_iter().map(key_source).collect()
        })
    }

    /// Returns the files that the loader reads for a table: the version's own, declared donors, earlier versions, and those
    /// that other backends lend.
    fn sources(&self, table: TableName) -> Vec<TableSource<'a>> {
        let filling = self.at.state.specs.filling(table.stem());
        let Place { backend, version, .. } = self.place;
        self.shelf.sources(backend, version, table.stem(), filling, self.lent)
    }

    /// The other versions of the backend by their own files, oldest first.
    fn other_versions(&self) -> Vec<(&'a str, ServedKeys<'_>)> {
        let backend = self.place.backend.as_str();
        let versions = self.shelf.versions().filter(|(name, _)| *name == backend);
        let others = versions.flat_map(|(_, v)| v).filter(|v| *v != self.place.version);
        others.map(|version| (version, self.keys(|table| self.own(version, table)))).collect()
    }

    /// The file of a version itself.
    fn own(&self, version: &str, table: TableName) -> Vec<TableSource<'a>> {
        let file = self.shelf.own(&self.place.backend, version, table.stem());
        let own = |file| TableSource { file, channel: Channel::Own, kernels: None };
        file.map(own).into_iter().collect()
    }

    /// Returns true if a pull request brings every table of the version.
    fn is_brought(&self) -> bool {
        let own = |t: &&TableFile| self.is_alike(&t.place) && t.place.version == self.place.version;
        let mut tables = self.at.state.catalog.tables.iter().filter(own);
        self.at.history.is_some() && tables.all(|t| self.at.later(t))
    }

    fn is_alike(&self, place: &Place) -> bool {
        (&place.system, &place.backend) == (&self.place.system, &self.place.backend)
    }

    /// Says where rows are that the loader does not take from there.
    fn elsewhere(&self, lack: &Lack, others: &[(&str, ServedKeys<'_>)]) -> String {
        let Some((version, _)) = others.iter().rev().find(|(_, keys)| lack.is_met_by(keys)) else {
            return String::new();
        };
        let [has, wants] =
            [version, self.place.version.as_str()].map(|v| Version::from_str(v).ok());
        if has < wants {
            format!("; version {version} has them, but versions do not share that table")
        } else {
            format!("; only the later version {version} has them")
        }
    }

    /// The version, wherever its families lie.
    fn home(&self) -> (Place, String) {
        let data =
            self.at.state.catalog.systems.get(&self.place.system).map_or("", |s| &s.data_dir);
        let parts = [data, &self.place.backend, &self.place.version];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        (Place { family: None, ..self.place.clone() }, parts.join("/"))
    }
}
