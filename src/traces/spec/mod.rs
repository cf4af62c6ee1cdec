//! What traces hold, as data: `rules/traces/*.yaml`.

mod document;
mod metric;
mod relation;

use std::collections::BTreeMap;

use globset::GlobMatcher;
use serde::Deserialize;

pub use document::{DocumentSpec, Field, LISTED};
pub use metric::{MetricSpec, OF_LIST, TraceChart};
pub use relation::{Derived, Finds, Relation, Threshold};

use crate::base::error::Result;
use crate::base::glob::{Of, matcher};
use crate::base::reason::Reason;
use crate::specs::system::System;
use crate::specs::{KnownSystems, Specs};

/// Where it is.
const FOLDER: &str = "rules/traces";

/// Cards, configs, metric files, ranks, and what accelerators are called.
#[derive(Debug, Default)]
pub struct TraceSpecs {
    /// Workload cards.
    pub card: DocumentSpec,
    /// Experiment configs.
    pub config: DocumentSpec,
    /// Metric files, by the stem of their spec.
    pub metrics: BTreeMap<String, MetricSpec>,
    /// Files that every rank writes.
    pub ranks: RankSpec,
    /// Names of accelerators.
    pub accelerators: Accelerators,
    /// Facts about known systems, which are the accelerators.
    systems: KnownSystems,
}

/// How files of a kind are distinguished from others.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Globs over the file's name; `{dir}` stands for the name of its directory.
    pub names: Vec<String>,
    /// Of documents: lines that begin a section at the top; two identify a file of any name, where
    /// traces are not asked for with one of `own`. Of metric files: words of which one is near the start, where many a
    /// project may have a file of such a name.
    #[serde(default)]
    pub marks: Vec<String>,
    /// Lines of documents of this kind and no other, at any depth; one identifies a file whose name matches.
    #[serde(default)]
    pub own: Vec<String>,
    /// Lines of documents of another kind.
    #[serde(default)]
    pub not: Vec<String>,
    /// Globs over the names of templates, in which nothing need be filled in.
    #[serde(default)]
    pub templates: Vec<String>,
    #[serde(skip)]
    globs: Vec<GlobMatcher>,
    #[serde(skip)]
    template_globs: Vec<GlobMatcher>,
}

/// What a field or column holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// One line.
    Text,
    /// A whole number.
    Int,
    /// A number.
    #[default]
    Number,
    /// true or false.
    Bool,
    /// A whole number, or a list of them.
    Ints,
    /// A number, or a list of them.
    Numbers,
    /// A text, or a list of them.
    Texts,
    /// Anything below.
    Map,
}

/// Whether a field may be left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It is an error where it is missing.
    Must,
    /// A warning.
    Should,
    /// Fine.
    #[default]
    May,
}

/// Files that every rank of a run writes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankSpec {
    /// Names with `{rank}` where the rank's number stands.
    pub files: Vec<String>,
    /// The list in one of them whose length is the number of iterations.
    pub iterations: BTreeMap<String, String>,
}

/// Which system an accelerator is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accelerators {
    pub accelerators: Vec<Accelerator>,
}

/// The names of one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accelerator {
    /// Globs, in lower case.
    pub names: Vec<String>,
    /// A system; without one there is none of ours.
    #[serde(default)]
    pub system: Option<String>,
    #[serde(skip)]
    globs: Vec<GlobMatcher>,
}

fn globs(names: &[String]) -> std::result::Result<Vec<GlobMatcher>, Reason> {
    let plain = names.iter().filter(|n| !n.contains("{dir}"));
    plain.map(|n| matcher(n, Of::Names)).collect()
}

impl Files {
    fn compile(&mut self) -> std::result::Result<(), Reason> {
        self.globs = globs(&self.names)?;
        self.template_globs = globs(&self.templates)?;
        Ok(())
    }

    /// Whether a file's name in a directory is one of such files.
    pub fn fit(&self, dir: &str, name: &str) -> bool {
        let own = |n: &&String| n.contains("{dir}") && !dir.is_empty();
        self.sure(name) || self.names.iter().filter(own).any(|n| n.replace("{dir}", dir) == name)
    }

    /// Whether the name alone is one of such files' and of no others.
    pub fn sure(&self, name: &str) -> bool {
        self.globs.iter().any(|g| g.is_match(name))
    }

    /// Whether a file's name is a template's.
    pub fn is_template(&self, name: &str) -> bool {
        self.template_globs.iter().any(|g| g.is_match(name))
    }
}

impl Accelerators {
    fn known(&self, name: &str) -> Option<&Accelerator> {
        let name = name.trim().to_lowercase();
        self.accelerators.iter().find(|a| a.globs.iter().any(|g| g.is_match(&name)))
    }
}

impl TraceSpecs {
    /// Reads what is known of traces: `rules/traces/*.yaml`.
    ///
    /// # Errors
    ///
    /// When a file is malformed; it names file and line.
    pub fn read(specs: &Specs) -> Result<Self> {
        let mut traces = Self { systems: specs.systems.clone(), ..Self::default() };
        for file in specs.library.folder(FOLDER) {
            traces.add(file.stem(), &file.text).map_err(|why| file.malformed(&why))?;
        }
        Ok(traces)
    }

    /// Whether somebody says more of traces than this program does: that must be read to know that it can be.
    pub fn are_overlaid(specs: &Specs) -> bool {
        specs.library.folder(FOLDER).any(|file| !file.shipped)
    }

    /// The system of an accelerator: `None` where the name is unknown, `Some(None)` where it is
    /// known and no system describes it.
    pub fn system(&self, name: &str) -> Option<Option<&System>> {
        let known = self.accelerators.known(name)?;
        Some(known.system.as_ref().and_then(|s| self.systems.get(s)))
    }

    /// Adds a file by its stem. The error is one line.
    fn add(&mut self, stem: &str, text: &str) -> std::result::Result<(), Reason> {
        match stem {
            "accelerators" => {
                self.accelerators = crate::base::yaml::parse(text)?;
                for accelerator in &mut self.accelerators.accelerators {
                    accelerator.globs = globs(&accelerator.names)?;
                }
            }
            "ranks" => self.ranks = crate::base::yaml::parse(text)?,
            "card" | "config" => {
                let mut spec: DocumentSpec = crate::base::yaml::parse(text)?;
                spec.files.compile()?;
                spec.check()?;
                *(if stem == "card" { &mut self.card } else { &mut self.config }) = spec;
            }
            _ => {
                let mut spec: MetricSpec = crate::base::yaml::parse(text)?;
                spec.files.compile()?;
                spec.check()?;
                self.metrics.insert(stem.to_owned(), spec);
            }
        }
        Ok(())
    }
}
