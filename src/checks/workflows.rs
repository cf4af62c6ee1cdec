//! Default models that the newest version of a backend cannot plan with what its loader serves.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::Version;

use super::{CrossContext, names, plural};
use crate::catalog::{Place, TableFile};
use crate::finding::Finding;
use crate::spec::{Machine, Model, Rule, Shape};
use crate::system::System;

/// A backend of a system at its newest version.
struct Newest<'a> {
    at: &'a CrossContext<'a>,
    /// Place of one of its tables.
    place: &'a Place,
    version: Version,
    machine: Machine<'a>,
}

/// What a model lacks first, and the table that lacks it.
type Lack<'a> = (String, &'a Shape);

/// One finding for the newest version of each backend that cannot plan some model.
pub fn check(rule: &Rule, at: &CrossContext<'_>) -> Vec<Finding> {
    newest(at).iter().filter_map(|newest| newest.check(rule)).collect()
}

/// The newest version of each backend of each system that holds tables, where all of it is judged:
/// of a part nothing can be said to be missing.
fn newest<'a>(at: &'a CrossContext<'a>) -> Vec<Newest<'a>> {
    let mut found: BTreeMap<(&str, &str), (Version, &Place)> = BTreeMap::new();
    for file in &at.catalog.tables {
        let place = &file.place;
        let Ok(version) = Version::from_str(&place.version) else { continue };
        let slot = found.entry((&place.system, &place.backend));
        let known = slot.or_insert_with(|| (version.clone(), place));
        if version > known.0 {
            *known = (version, place);
        }
    }
    let of_place = |place: &'a Place| {
        let (system, backend, version) = (&place.system, &place.backend, &place.version);
        at.catalog.tables.iter().filter(move |t| {
            (&t.place.system, &t.place.backend, &t.place.version) == (system, backend, version)
        })
    };
    let newest = |(version, place): (Version, &'a Place)| {
        let system = at.catalog.systems.get(&place.system)?.system.as_ref().ok()?;
        let machine = Machine { system: Some(system), backend: &place.backend };
        of_place(place).all(|t| at.judged(t)).then_some(Newest { at, place, version, machine })
    };
    found.into_values().filter_map(newest).collect()
}

impl<'a> Newest<'a> {
    fn check(&self, rule: &Rule) -> Option<Finding> {
        let models = self.at.specs.workflows.models.iter();
        let judged: Vec<(&String, &Model)> = models.filter(|(_, m)| self.is_for(m)).collect();
        let mut lacks: Vec<(Lack<'_>, Vec<&str>)> = Vec::new();
        for (name, model) in &judged {
            let Some(lack) = self.lack(model) else { continue };
            match lacks.iter_mut().find(|(l, _)| l.0 == lack.0) {
                Some((_, names)) => names.push(name),
                None => lacks.push((lack, vec![name])),
            }
        }
        let ((_, first), _) = lacks.first()?;
        let said: Vec<String> = lacks
            .iter()
            .map(|((what, shape), of)| {
                format!("{} of {what}{}", names(of.iter().copied()), self.elsewhere(shape))
            })
            .collect();
        let short: usize = lacks.iter().map(|(_, of)| of.len()).sum();
        let message = format!(
            "{short} of {} cannot be planned in full, for want {}",
            plural(judged.len(), "default model"),
            said.join("; ")
        );
        let of_model = |((what, _), of): &(Lack<'_>, Vec<&str>)| {
            of.iter().map(|m| ((*m).to_owned(), what.clone().into())).collect::<Vec<_>>()
        };
        let by_model: serde_json::Map<_, _> = lacks.iter().flat_map(of_model).collect();
        let (place, path) = self.home(first);
        let mut finding = Finding::on_path(&rule.id, rule.severity, &path, message);
        finding.table = Some(first.table.clone());
        Some(finding.at(&place).evidence("models", by_model))
    }

    /// Whether the model runs here, and the backend says that it can be planned.
    fn is_for(&self, model: &Model) -> bool {
        let claimed = |table: &String| {
            self.sources(table).any(|t| self.at.sketches.keys(&t.entry.path) > 0)
        };
        self.machine.is(model.when.as_ref()) && model.claims.iter().all(claimed)
    }

    /// The first need of a model that is not met.
    fn lack<'m>(&self, model: &'m Model) -> Option<Lack<'m>> {
        let here = |when: &Option<_>| self.machine.is(when.as_ref());
        model.needs.iter().filter(|n| here(&n.when)).find_map(|need| {
            let mut missing = Vec::new();
            for alternative in need.any.iter().filter(|a| here(&a.when)) {
                missing.push(alternative.shapes.iter().find(|s| !self.served(s))?);
            }
            let said: Vec<String> =
                missing.iter().map(|s| format!("{} ({})", s.table, s.name)).collect();
            Some((said.join(" or "), *missing.first()?))
        })
    }

    /// Whether some table that the loader reads has such rows; what was not read is not missing.
    fn served(&self, shape: &Shape) -> bool {
        let holds = |file: &TableFile| match self.at.sketches.held.get(&file.entry.path) {
            Some(held) => held.get(shape.predicate).copied().unwrap_or(false),
            None => true,
        };
        match &shape.from {
            Some((backend, field)) => {
                let version = self.machine.system.and_then(|s| text(s, field));
                let there = |t: &&TableFile| {
                    t.place.backend == *backend && Some(&t.place.version) == version.as_ref()
                };
                self.tables(&shape.table).filter(there).any(holds)
            }
            None => self.sources(&shape.table).any(holds),
        }
    }

    /// Tables of that name on the system.
    fn tables<'t>(&'t self, table: &'t str) -> impl Iterator<Item = &'t TableFile> {
        let of_system = move |t: &&TableFile| t.place.system == self.place.system && t.table == table;
        self.at.catalog.tables.iter().filter(of_system)
    }

    /// What the loader reads for a table: the version's own, declared donors, earlier versions.
    fn sources<'t>(&'t self, table: &'t str) -> impl Iterator<Item = &'t TableFile> {
        let dirs = self.at.catalog.dirs.values().map(|d| &d.place);
        let own = dirs.filter(|p| self.is_own(p));
        let donors: Vec<&str> = own.flat_map(|p| self.at.donors(p, table)).collect();
        let shared = self.at.specs.tables.get(table).is_none_or(|s| s.shared);
        let fills = move |version: &str| {
            let earlier = |v: Version| v < self.version;
            donors.contains(&version) || Version::from_str(version).is_ok_and(earlier)
        };
        let backend = |t: &&TableFile| t.place.backend == self.place.backend;
        self.tables(table).filter(backend).filter(move |t| {
            t.place.version == self.place.version || shared && fills(&t.place.version)
        })
    }

    fn is_own(&self, place: &Place) -> bool {
        let name = |p: &'a Place| (&p.system, &p.backend, &p.version);
        (&place.system, &place.backend, &place.version) == name(self.place)
    }

    /// Says where rows are that the loader does not take from there.
    fn elsewhere(&self, shape: &Shape) -> String {
        let holds = |t: &&TableFile| {
            let held = self.at.sketches.held.get(&t.entry.path);
            held.is_some_and(|h| h.get(shape.predicate) == Some(&true))
        };
        let alike = self.tables(&shape.table).filter(|t| t.place.backend == self.place.backend);
        let versions: Vec<&str> = alike.filter(holds).map(|t| t.place.version.as_str()).collect();
        if versions.is_empty() {
            return String::new();
        }
        format!(", which {} has, but no version shares it", names(versions.into_iter()))
    }

    /// Where the table belongs.
    fn home(&self, shape: &Shape) -> (Place, String) {
        let spec = self.at.specs.tables.get(&shape.table);
        let family = match &self.place.family {
            Some(_) => spec.map(|s| s.family.clone()),
            None => None,
        };
        let (backend, version) = match &shape.from {
            None => (self.place.backend.clone(), Some(self.place.version.clone())),
            Some((backend, field)) => {
                (backend.clone(), self.machine.system.and_then(|s| text(s, field)))
            }
        };
        let version = version.unwrap_or_default();
        let parts = [family.as_deref(), Some(&*backend), Some(&*version)];
        let data = self.at.catalog.systems.get(&self.place.system).map(|s| s.data_dir.as_str());
        let path: Vec<&str> =
            data.into_iter().chain(parts.into_iter().flatten()).filter(|p| !p.is_empty()).collect();
        let path = path.join("/");
        (Place { family, ..self.place.clone() }, path)
    }
}

/// A field of a system as it names a directory.
fn text(system: &System, field: &str) -> Option<String> {
    let figure = || system.figure(field).map(|f| f.to_string());
    system.texts.get(field).cloned().or_else(figure)
}
