//! Default models that the newest version of a backend cannot plan with what its loader serves.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::Version;

use crate::base::expr::ExprError;
use crate::base::words::{names, plural};
use crate::checks::CrossContext;
use crate::checks::judge::{CheckInputs, Found, Judge};
use crate::checks::rule::Rule;
use crate::database::catalog::{Place, TableFile};
use crate::findings::{Finding, Severity};
use crate::specs::system::System;
use crate::specs::{Machine, Model, Need, Shape};

/// A backend of a system at its newest version.
struct Newest<'a> {
    at: &'a CrossContext<'a>,
    /// Place of one of its tables.
    place: &'a Place,
    system: &'a System,
}

/// Rows that a model looks up and nothing serves: the first of each alternative.
type Lack<'a> = Vec<&'a Shape>;

/// Default models that cannot be planned.
pub struct DefaultModels;

impl Judge for DefaultModels {
    fn needs(&self) -> CheckInputs {
        CheckInputs { plans: true, ..CheckInputs::default() }
    }

    /// One finding for the newest version of each backend that cannot plan some model.
    fn cross(&self, rule: &Rule, at: &CrossContext<'_>) -> Result<Found, ExprError> {
        Ok(newest(at).iter().filter_map(|newest| newest.finding(rule)).collect())
    }
}

/// The version of each backend of each system that counts, where all of it is judged: of a part nothing can
/// be said to be missing. It is the current one of queries where the database names one that holds
/// tables, else the newest.
fn newest<'a>(at: &'a CrossContext<'a>) -> Vec<Newest<'a>> {
    // Whether the version is the current one of queries, then how late it is.
    type Rank = (bool, Version);
    let mut found: BTreeMap<(&str, &str), (Rank, Vec<&TableFile>)> = BTreeMap::new();
    for file in &at.catalog.tables {
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
    found.into_values().filter_map(|(_, files)| Newest::new(at, &files)).collect()
}

impl<'a> Newest<'a> {
    /// None where not all of the version is judged, or its system is not known.
    fn new(at: &'a CrossContext<'a>, files: &[&'a TableFile]) -> Option<Self> {
        let place = &files.first()?.place;
        let system = at.catalog.systems.get(&place.system)?.system.as_ref().ok()?;
        let whole = match at.pr {
            None => files.iter().all(|f| at.judged(f)),
            // A pull request touches a backend by one of its tables, gone ones too.
            Some(pr) => pr.backends.contains(&(place.system.clone(), place.backend.clone())),
        };
        whole.then_some(Self { at, place, system })
    }

    fn finding(&self, rule: &Rule) -> Option<Finding> {
        let serves = |table: &str| {
            let known = self.at.specs.tables.contains_key(table);
            known.then(|| self.sources(table).next().is_some())
        };
        let backend = &self.place.backend;
        let here = Machine { system: Some(self.system), backend, serves: &serves };
        let is_for =
            |m: &&(&String, &Model)| here.is(m.1.when.as_ref()) && here.is(Some(&m.1.claims));
        let models: Vec<_> = self.at.specs.workflows.models.iter().collect();
        let judged: Vec<(&String, Vec<Lack<'_>>)> = models
            .iter()
            .filter(is_for)
            .map(|(name, model)| (*name, self.lacks(model, &here)))
            .collect();
        // What one model lacks first, others often do, too.
        let mut firsts: Vec<(&Lack<'_>, String, Vec<&str>)> = Vec::new();
        for (name, lacks) in &judged {
            let Some(first) = lacks.first() else { continue };
            let said = said(first);
            match firsts.iter_mut().find(|(_, known, _)| *known == said) {
                Some((_, _, models)) => models.push(name),
                None => firsts.push((first, said, vec![name])),
            }
        }
        if firsts.is_empty() {
            return None;
        }
        let told: Vec<String> = firsts
            .iter()
            .map(|(lack, said, models)| {
                let elsewhere = self.elsewhere(lack);
                format!("{} for want of {said}{elsewhere}", names(models.iter().copied()))
            })
            .collect();
        let short: usize = firsts.iter().map(|(.., models)| models.len()).sum();
        let message = format!(
            "{short} of {} cannot be planned in full: {}",
            plural(judged.len(), "default model"),
            told.join("; ")
        );
        let all: BTreeMap<&str, Vec<String>> = judged
            .iter()
            .filter(|(_, lacks)| !lacks.is_empty())
            .map(|(name, lacks)| (name.as_str(), lacks.iter().map(|l| said(l)).collect()))
            .collect();
        let (place, path) = self.home();
        // What never could be planned here, and a version that is only being brought, wait for more.
        let could_be = judged.iter().any(|(_, lacks)| lacks.iter().any(|l| self.was_served(l)));
        let severity = if could_be && !self.is_brought() {
            rule.severity
        } else {
            rule.severity.at_most(Severity::Info)
        };
        let (backend, version) = (&self.place.backend, &self.place.version);
        let causes: Vec<&str> = firsts.iter().map(|(_, said, _)| said.as_str()).collect();
        let cause = format!("{backend} {version} without {}", causes.join("; "));
        let finding = Finding::on_path(&rule.id, severity, &path, message).evidence("cause", cause);
        let parts =
            all.iter().flat_map(|(model, lacks)| lacks.iter().map(move |l| format!("{model} {l}")));
        Some(finding.at(&place).parts(parts).evidence("lacks", serde_json::json!(all)))
    }

    /// The needs of a model that are not met.
    fn lacks<'m>(&self, model: &'m Model, here: &Machine<'_>) -> Vec<Lack<'m>> {
        let needs = model.needs.iter().filter(|n| here.is(n.when.as_ref()));
        needs.filter_map(|need| self.lack(need, here)).filter(|lack| !lack.is_empty()).collect()
    }

    /// What each way to meet a need lacks first; none where one way lacks nothing.
    fn lack<'m>(&self, need: &'m Need, here: &Machine<'_>) -> Option<Lack<'m>> {
        let ways = need.any.iter().filter(|a| here.is(a.when.as_ref()));
        ways.map(|way| way.shapes.iter().find(|s| !self.served(s))).collect()
    }

    /// Whether some table that the loader reads has such rows; what was not read is not missing.
    fn served(&self, shape: &Shape) -> bool {
        let holds = |file: &TableFile| self.holds(file, shape).unwrap_or(true);
        match &shape.from {
            Some((backend, field)) => {
                let version = text(self.system, field);
                let tables = self.tables(&shape.table).filter(|t| t.place.backend == *backend);
                tables.filter(|t| Some(&t.place.version) == version.as_ref()).any(holds)
            }
            None => self.sources(&shape.table).any(holds),
        }
    }

    /// Whether a table has such rows; none where it was not read.
    fn holds(&self, file: &TableFile, shape: &Shape) -> Option<bool> {
        let held = self.at.sketches.held.get(&file.entry.path)?;
        Some(held.get(shape.predicate).copied().unwrap_or(false))
    }

    /// Tables of that name on the system.
    fn tables<'t>(&'t self, table: &'t str) -> impl Iterator<Item = &'t TableFile> {
        let tables = self.at.catalog.tables.iter();
        tables.filter(move |t| t.place.system == self.place.system && t.table == table)
    }

    /// What the loader reads for a table: the version's own, declared donors, earlier versions.
    fn sources(&self, table: &str) -> impl Iterator<Item = &'a TableFile> + use<'a> {
        let filling = self.at.specs.filling(table);
        self.at.shelf.sources(self.place, table, filling).files()
    }

    /// Whether some version of the backend has what is lacking, in a table that versions do not share.
    fn was_served(&self, lack: &Lack<'_>) -> bool {
        lack.iter().any(|shape| {
            let holds = |t: &TableFile| self.holds(t, shape) == Some(true);
            self.tables(&shape.table).any(|t| self.is_alike(&t.place) && holds(t))
        })
    }

    /// Whether a pull request brings every table of the version.
    fn is_brought(&self) -> bool {
        let own = |t: &&TableFile| self.is_alike(&t.place) && t.place.version == self.place.version;
        let mut tables = self.at.catalog.tables.iter().filter(own);
        self.at.pr.is_some() && tables.all(|t| self.at.later(t))
    }

    fn is_alike(&self, place: &Place) -> bool {
        (&place.system, &place.backend) == (&self.place.system, &self.place.backend)
    }

    /// Says where rows are that the loader does not take from there.
    fn elsewhere(&self, lack: &Lack<'_>) -> String {
        let [shape] = lack[..] else { return String::new() };
        let has = |t: &&TableFile| self.is_alike(&t.place) && self.holds(t, shape) == Some(true);
        let mut versions: Vec<(Option<Version>, &str)> = self
            .tables(&shape.table)
            .filter(has)
            .map(|t| t.place.version.as_str())
            .map(|v| (Version::from_str(v).ok(), v))
            .collect();
        versions.sort();
        match versions.last() {
            Some((_, newest)) => {
                format!(" ({newest} has it, but versions do not share that table)")
            }
            None => String::new(),
        }
    }

    /// The version, wherever its families lie.
    fn home(&self) -> (Place, String) {
        let data = self.at.catalog.systems.get(&self.place.system).map_or("", |s| &s.data_dir);
        let parts = [data, &self.place.backend, &self.place.version];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        (Place { family: None, ..self.place.clone() }, parts.join("/"))
    }
}

/// `a table (a kind of row)`, or what is missing of each alternative.
fn said(lack: &Lack<'_>) -> String {
    let each = lack.iter().map(|s| format!("{} ({})", s.table, s.name));
    each.collect::<Vec<_>>().join(" or ")
}

/// A field of a system as it names a directory.
fn text(system: &System, field: &str) -> Option<String> {
    let figure = || system.figure(field).map(|f| f.to_string());
    system.texts.get(field).cloned().or_else(figure)
}
