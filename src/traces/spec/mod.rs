//! The specs of trace files: `rules/traces/*.yaml` as types.

mod document;
mod metric;
mod relation;

use std::collections::BTreeMap;

use globset::GlobMatcher;
use serde::Deserialize;

pub(crate) use document::{DocumentSpec, Field, LISTED};
pub use metric::MetricSpec;
pub(crate) use metric::{IdealSlope, OF_LIST, TraceChart};
pub(crate) use relation::{DerivedColumn, Relation, RelationRule, Thresholds};

use crate::base::error::{Reason, Result};
use crate::base::glob::{GlobScope, matcher};
use crate::base::yaml;
use crate::specs::system::System;
use crate::specs::{KnownSystems, Specs};

const FOLDER: &str = "rules/traces";

/// The specs of all trace files (cards, configs, metric files and files of ranks), and the names of accelerators.
#[derive(Debug, Default)]
pub struct TraceSpecs {
    /// The spec of workload cards.
    pub(super) card: DocumentSpec,
    /// The spec of experiment configs.
    pub(super) config: DocumentSpec,
    /// The specs of metric files, by the stem of the spec's file name.
    pub(super) metrics: BTreeMap<String, MetricSpec>,
    /// The spec of files that every rank writes.
    pub(super) ranks: RankSpec,
    /// The known accelerators, with their names and systems.
    pub(super) accelerators: Accelerators,
    /// Facts about the known systems.
    systems: KnownSystems,
}

/// The file names and contents by which one kind of trace file, such as cards, is recognised.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Globs for file names. `{dir}` stands for the name of the file's directory.
    pub names: Vec<String>,
    /// Texts that are typical of files of this kind:
    /// - For cards and configs, they are starts of top-level lines. Two such lines can identify a file.
    /// - For metric files, they are words. At least one must occur near the file's start, unless the user passed
    ///   `--traces`.
    #[serde(default)]
    pub marks: Vec<String>,
    /// Starts of lines that occur only in documents of this kind, at any indentation. A document with such a line is of
    /// this kind if its name matches too.
    #[serde(default)]
    pub own: Vec<String>,
    /// Starts of lines that occur only in documents of other kinds, at any indentation. A document with such a line is
    /// not of this kind.
    #[serde(default)]
    pub not: Vec<String>,
    /// Globs for the names of templates. Fields of a template need not be filled in.
    #[serde(default)]
    pub templates: Vec<String>,
    #[serde(skip)]
    globs: Vec<GlobMatcher>,
    #[serde(skip)]
    template_globs: Vec<GlobMatcher>,
}

/// The type of a field's or column's values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceFieldType {
    /// A text.
    Text,
    /// A whole number.
    Int,
    /// A number.
    #[default]
    Number,
    /// True or false.
    Bool,
    /// A whole number or a list of whole numbers.
    Ints,
    /// A number or a list of numbers.
    Numbers,
    /// A text or a list of texts.
    Texts,
    /// A map with any content.
    Map,
}

impl TraceFieldType {
    /// Returns the type's description for messages.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Int | Self::Ints => "a whole number",
            Self::Number | Self::Numbers => "a number",
            Self::Bool => "true or false",
            Self::Text | Self::Texts => "a text",
            Self::Map => "a map",
        }
    }
}

/// The degree to which a field or column is required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// The field is required. If it is missing, this is an error.
    Must,
    /// The field is recommended. If it is missing, this is a warning.
    Should,
    /// The field is optional.
    #[default]
    May,
}

/// The spec of per-rank files, such as a timing file that every rank of a run writes.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankSpec {
    /// Patterns of file names, in which `{rank}` stands for the number of the rank.
    pub files: Vec<String>,
    /// The name of the JSON list in a rank's file that has one item per iteration. The map's key is the pattern of the
    /// file's name.
    pub iterations: BTreeMap<String, String>,
}

/// The known accelerators.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accelerators {
    pub accelerators: Vec<Accelerator>,
}

/// The names of one accelerator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accelerator {
    /// Globs for the accelerator's names, in lower case.
    pub names: Vec<String>,
    /// The accelerator's system; `None` if no system describes it.
    #[serde(default)]
    pub system: Option<String>,
    #[serde(skip)]
    globs: Vec<GlobMatcher>,
}

fn globs(names: &[String]) -> std::result::Result<Vec<GlobMatcher>, Reason> {
    let plain = names.iter().filter(|n| !n.contains("{dir}"));
    plain.map(|n| matcher(n, GlobScope::Names)).collect()
}

impl Files {
    fn compile(&mut self) -> std::result::Result<(), Reason> {
        self.globs = globs(&self.names)?;
        self.template_globs = globs(&self.templates)?;
        Ok(())
    }

    /// Returns true if the file name `name` matches one of the globs. `dir` is the name of the file's directory, which
    /// replaces `{dir}`.
    pub(crate) fn matches(&self, dir: &str, name: &str) -> bool {
        let own = |n: &&String| n.contains("{dir}") && !dir.is_empty();
        self.matches_without_dir(name)
            || self.names.iter().filter(own).any(|n| n.replace("{dir}", dir) == name)
    }

    /// Returns true if a file's name matches a glob that does not contain `{dir}`.
    pub(crate) fn matches_without_dir(&self, name: &str) -> bool {
        self.globs.iter().any(|g| g.is_match(name))
    }

    pub(crate) fn is_template(&self, name: &str) -> bool {
        self.template_globs.iter().any(|g| g.is_match(name))
    }
}

impl Accelerators {
    pub(crate) fn known(&self, name: &str) -> Option<&Accelerator> {
        let name = name.trim().to_lowercase();
        self.accelerators.iter().find(|a| a.globs.iter().any(|g| g.is_match(&name)))
    }
}

impl TraceSpecs {
    /// Reads the specs of traces: `rules/traces/*.yaml`.
    ///
    /// # Errors
    ///
    /// If a file is malformed; the message names file and line.
    pub fn read(specs: &Specs) -> Result<Self> {
        let mut traces = Self { systems: specs.systems.clone(), ..Self::default() };
        for file in specs.library.folder(FOLDER) {
            traces.add(file.stem(), &file.text).map_err(|why| file.malformed(&why))?;
        }
        Ok(traces)
    }

    /// Returns true if an overlay folder contains specs of traces.
    pub(crate) fn are_overlaid(specs: &Specs) -> bool {
        specs.library.folder(FOLDER).any(|file| !file.shipped)
    }

    /// Returns the system of an accelerator; `None` if the name or the system is unknown.
    pub(crate) fn system(&self, name: &str) -> Option<&System> {
        self.systems.get(self.accelerators.known(name)?.system.as_ref()?)
    }

    /// Parses a spec and stores it by the stem of its file name. The error is one line.
    fn add(&mut self, stem: &str, text: &str) -> std::result::Result<(), Reason> {
        match stem {
            "accelerators" => {
                self.accelerators = yaml::parse(text)?;
                for accelerator in &mut self.accelerators.accelerators {
                    accelerator.globs = globs(&accelerator.names)?;
                }
            }
            "ranks" => self.ranks = yaml::parse(text)?,
            "card" => self.card = DocumentSpec::parse(text)?,
            "config" => self.config = DocumentSpec::parse(text)?,
            _ => {
                self.metrics.insert(stem.to_owned(), MetricSpec::parse(text)?);
            }
        }
        Ok(())
    }
}
