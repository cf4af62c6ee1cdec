//! What traces hold, as data: `rules/traces/*.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_yaml::Spanned;

use crate::expr::Expr;
use crate::finding::Severity;
use crate::spec::{Specs, yaml};
use crate::system::System;

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
}

/// A YAML document with fields at known depths.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentSpec {
    /// How it is told from other files.
    pub files: Files,
    /// By dotted path.
    pub fields: BTreeMap<String, Field>,
    /// Further columns, each from those before.
    #[serde(default)]
    pub derive: Vec<Derived>,
    /// Figures that relations read as `threshold.NAME`.
    #[serde(default)]
    pub thresholds: BTreeMap<String, Threshold>,
    /// What must hold between the fields.
    #[serde(default)]
    pub relations: Vec<Relation>,
    /// What the name of its directory may say of it.
    #[serde(default)]
    pub names: Vec<NamePart>,
    /// Of a config: columns that the card generated from it has too, with the same values.
    #[serde(default)]
    pub agrees: Vec<String>,
}

/// How files of a kind are told from others.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Globs over the file's name; `{dir}` stands for the name of its directory.
    pub names: Vec<String>,
    /// Of documents: lines that begin a section. Of metric files: columns. One of them tells a file
    /// whose name fits, two of them a document of any name.
    #[serde(default)]
    pub marks: Vec<String>,
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
pub enum Type {
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
pub enum Need {
    /// It is an error where it is missing.
    Must,
    /// A warning.
    Should,
    /// Fine.
    #[default]
    May,
}

/// A field of a document.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    #[serde(rename = "type")]
    pub kind: Type,
    #[serde(default)]
    pub need: Need,
    /// Its column in formulas; a list of numbers has NAME_1, NAME_2 and so on.
    #[serde(default, rename = "as")]
    pub column: Option<String>,
    /// Other paths at which older documents have it.
    #[serde(default)]
    pub also: Vec<String>,
    /// Its value in formulas where it is missing.
    #[serde(default)]
    pub default: Option<f64>,
    /// The least that it can be.
    #[serde(default)]
    pub least: Option<f64>,
    /// What it can be.
    #[serde(default)]
    pub one_of: Vec<String>,
    /// How bad another value is.
    #[serde(default)]
    pub other: Option<Severity>,
    /// Of a text: a column for the number that follows a prefix, `{cuda_: cuda}`.
    #[serde(default)]
    pub number_after: BTreeMap<String, String>,
    /// Of a text: a column for the number before a word, `{GPU: gpus}`.
    #[serde(default)]
    pub number_before: BTreeMap<String, String>,
}

/// A column worked out from others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    pub name: String,
    pub is: Expr,
}

/// A figure that relations read, and where it comes from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    pub value: f64,
    pub from: String,
}

/// Which rule tells that a relation does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finds {
    Contradiction,
    Implausible,
}

/// What must hold in every row in which all that it reads is known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    pub id: Spanned<String>,
    pub finds: Finds,
    /// How bad it is; as bad as the rule without one.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// Rows it is about; all without one.
    #[serde(default, rename = "where")]
    pub filter: Option<Expr>,
    #[serde(default)]
    pub holds: Option<Expr>,
    /// Two values that are equal, but for the part `within` of the larger.
    #[serde(default)]
    pub equal: Option<(Expr, Expr)>,
    #[serde(default)]
    pub within: f64,
    /// What is wrong where it does not hold; `{column}` stands for a value.
    pub says: String,
    /// Columns to show beside those that it reads.
    #[serde(default)]
    pub show: Vec<String>,
}

/// A label in names, such as the `tp` of `…-tp4-…`, and what it says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamePart {
    pub labels: Vec<String>,
    /// What the number after the label is; one of several will do.
    pub is: Vec<Expr>,
}

/// A metric file: a table, or JSON with rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    pub files: Files,
    /// Of JSON: the list that holds the rows; without one, the file is one row.
    #[serde(default)]
    pub rows: Option<String>,
    /// Of JSON: objects of a row whose members are columns, the first without units.
    #[serde(default)]
    pub within: Vec<String>,
    /// Of JSON: the object that gives each metric's `unit` and `label`.
    #[serde(default)]
    pub units: Option<String>,
    /// Columns that name a row.
    #[serde(default)]
    pub key: Vec<String>,
    /// The column that names the directory of the row's card; without one it is the file's own.
    #[serde(default)]
    pub card: Option<String>,
    /// The accelerator where no card says.
    #[serde(default)]
    pub accelerator: Option<String>,
    /// The column that names the accelerator.
    #[serde(default)]
    pub accelerator_in: Option<String>,
    pub columns: BTreeMap<String, MetricColumn>,
    #[serde(default)]
    pub derive: Vec<Derived>,
    #[serde(default)]
    pub thresholds: BTreeMap<String, Threshold>,
    #[serde(default)]
    pub relations: Vec<Relation>,
    #[serde(default)]
    pub charts: Vec<TraceChart>,
}

/// A column of a metric file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricColumn {
    #[serde(default, rename = "type")]
    pub kind: Type,
    #[serde(default)]
    pub need: Need,
    /// Unit; `%` has values from 0 to 100, any other from 0.
    #[serde(default)]
    pub unit: Option<String>,
    /// What a machine can measure; outside it, the unit is another.
    #[serde(default)]
    pub plausible: Option<(f64, f64)>,
}

/// A chart of a metric file: a point a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceChart {
    pub title: String,
    pub x: String,
    /// Columns by whose values rows are series.
    #[serde(default)]
    pub series: Vec<String>,
    pub panels: Vec<TracePanel>,
}

/// A panel of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracePanel {
    pub y: String,
    /// Columns shown, each a line of every series; by the name that the line has.
    pub lines: BTreeMap<String, String>,
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

fn globs(names: &[String]) -> Result<Vec<GlobMatcher>, String> {
    let plain = names.iter().filter(|n| !n.contains("{dir}"));
    let glob = |n: &String| GlobBuilder::new(n).build().map(|g| g.compile_matcher());
    plain.map(glob).collect::<Result<_, _>>().map_err(|e| e.to_string())
}

impl Files {
    fn compile(&mut self) -> Result<(), String> {
        self.globs = globs(&self.names)?;
        self.template_globs = globs(&self.templates)?;
        Ok(())
    }

    /// Whether a file's name in a directory is one of such files.
    pub fn fit(&self, dir: &str, name: &str) -> bool {
        let own = |n: &&String| n.contains("{dir}") && !dir.is_empty();
        self.globs.iter().any(|g| g.is_match(name))
            || self.names.iter().filter(own).any(|n| n.replace("{dir}", dir) == name)
    }

    /// Whether a file's name is a template's.
    pub fn is_template(&self, name: &str) -> bool {
        self.template_globs.iter().any(|g| g.is_match(name))
    }
}

impl Accelerators {
    /// The system of an accelerator: `None` where the name is unknown, `Some(None)` where it is
    /// known and no system describes it.
    pub fn system<'a>(&self, name: &str, specs: &'a Specs) -> Option<Option<&'a System>> {
        let name = name.trim().to_lowercase();
        let known = self.accelerators.iter().find(|a| a.globs.iter().any(|g| g.is_match(&name)))?;
        Some(known.system.as_ref().and_then(|s| specs.systems.get(s)))
    }
}

impl TraceSpecs {
    /// Adds a file of `rules/traces/` by its stem. The error is one line.
    pub(crate) fn add(&mut self, stem: &str, text: &str) -> Result<(), String> {
        match stem {
            "accelerators" => {
                self.accelerators = yaml(text)?;
                for accelerator in &mut self.accelerators.accelerators {
                    accelerator.globs = globs(&accelerator.names)?;
                }
            }
            "ranks" => self.ranks = yaml(text)?,
            "card" | "config" => {
                let mut spec: DocumentSpec = yaml(text)?;
                spec.files.compile()?;
                spec.check()?;
                *(if stem == "card" { &mut self.card } else { &mut self.config }) = spec;
            }
            _ => {
                let mut spec: MetricSpec = yaml(text)?;
                spec.files.compile()?;
                spec.check()?;
                self.metrics.insert(stem.to_owned(), spec);
            }
        }
        Ok(())
    }
}

impl DocumentSpec {
    /// Columns that its fields give.
    pub fn columns(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::from(["directory".to_owned()]);
        for field in self.fields.values() {
            names.extend(field.number_after.values().cloned());
            names.extend(field.number_before.values().cloned());
            match (&field.column, field.kind) {
                (Some(name), Type::Numbers) => {
                    names.extend((1..=LISTED).map(|i| format!("{name}_{i}")));
                }
                (Some(name), _) => drop(names.insert(name.clone())),
                (None, _) => {}
            }
        }
        names
    }

    fn check(&self) -> Result<(), String> {
        let mut known = self.columns();
        check(&mut known, &self.derive, &self.thresholds, &self.relations)?;
        let parts = self.names.iter().flat_map(|p| &p.is);
        parts.into_iter().try_for_each(|e| reads(e, &known, &self.thresholds))?;
        match self.agrees.iter().find(|name| !known.contains(*name)) {
            Some(name) => Err(format!("agrees: {name} is no column of its fields")),
            None => Ok(()),
        }
    }
}

/// Values of a list of numbers that formulas can read.
pub const LISTED: usize = 4;

/// What formulas read of a list in a metric file.
pub const OF_LIST: [&str; 4] = ["n", "mean", "min", "max"];

impl MetricSpec {
    fn check(&self) -> Result<(), String> {
        let mut known: BTreeSet<String> = self.columns.keys().cloned().collect();
        for (name, column) in &self.columns {
            if column.kind == Type::Numbers {
                known.extend(OF_LIST.iter().map(|of| format!("{name}_{of}")));
            }
        }
        check(&mut known, &self.derive, &self.thresholds, &self.relations)
    }
}

/// Refuses formulas that read what is not there: they would never find anything.
fn check(
    known: &mut BTreeSet<String>,
    derive: &[Derived],
    thresholds: &BTreeMap<String, Threshold>,
    relations: &[Relation],
) -> Result<(), String> {
    for derived in derive {
        reads(&derived.is, known, thresholds)?;
        known.insert(derived.name.clone());
    }
    let mut ids = BTreeSet::new();
    for relation in relations {
        let at = |why: String| {
            format!("relation {}, line {}: {why}", relation.id.value, relation.id.referenced.line())
        };
        if !ids.insert(relation.id.value.as_str()) {
            return Err(at("its id is there twice".into()));
        }
        if relation.holds.is_some() == relation.equal.is_some() {
            return Err(at("it wants one of holds and equal".into()));
        }
        for formula in relation.formulas() {
            reads(formula, known, thresholds).map_err(at)?;
        }
        if let Some(name) = relation.show.iter().find(|n| !known.contains(*n)) {
            return Err(at(format!("it shows {name}, which is no column")));
        }
    }
    Ok(())
}

fn reads(
    formula: &Expr,
    known: &BTreeSet<String>,
    thresholds: &BTreeMap<String, Threshold>,
) -> Result<(), String> {
    // Columns of a row's card are those of another file.
    let unknown = |c: &&str| !known.contains(*c) && !c.starts_with("card_");
    if let Some(column) = formula.columns().into_iter().find(unknown) {
        return Err(format!("`{formula}` reads {column}, which is no column"));
    }
    let missing = |f: &&str| {
        let name = f.strip_prefix("threshold.");
        name.map_or(!f.starts_with("gpu.") && !f.starts_with("node."), |n| {
            !thresholds.contains_key(n)
        })
    };
    match formula.fields().into_iter().find(missing) {
        Some(field) => Err(format!("`{formula}` reads {field}, which is no threshold or figure")),
        None => Ok(()),
    }
}

impl Relation {
    /// Its formulas, the filter too.
    pub fn formulas(&self) -> impl Iterator<Item = &Expr> {
        self.filter.iter().chain(self.demands())
    }

    /// What must hold.
    pub fn demands(&self) -> impl Iterator<Item = &Expr> {
        self.holds.iter().chain(self.equal.iter().flat_map(|(a, b)| [a, b]))
    }
}
