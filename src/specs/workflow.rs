//! `rules/workflows.yaml` → default models, and the rows that planning one of them asks for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_yaml::Spanned;

use super::table_file::Types;
use super::{TableSpec, TableSpecs};
use crate::base::expr::{Expr, ExprError, Lookup, Scope, Vals, Value};
use crate::base::reason::Reason;
use crate::specs::system::System;

/// Default models by name, and what they ask of each table.
#[derive(Debug, Default)]
pub struct Workflows {
    /// Models by name.
    pub models: BTreeMap<String, Model>,
    /// By table, the predicates over its rows that [`Shape::predicate`] points to.
    predicates: BTreeMap<String, Vec<Predicate>>,
    /// Whether formulas are tried when they are read.
    tried: bool,
}

/// A condition on a table's rows, parsed when the first such table is judged.
#[derive(Debug)]
struct Predicate {
    /// As it is written, without what the loader's filter adds.
    rows: String,
    parsed: OnceLock<Expr>,
}

impl Workflows {
    /// Whether planning a default model looks the table up.
    pub fn looks_up(&self, table: &str) -> bool {
        self.predicates.contains_key(table)
    }
}

/// A model that a planner plans by default.
#[derive(Debug)]
pub struct Model {
    /// Machines and backends that it is for; all when absent.
    pub when: Option<Expr>,
    /// Tables by which a backend says that such models can be planned on it.
    pub claims: Expr,
    /// What planning it looks up.
    pub needs: Vec<Need>,
}

/// Rows that must be served: those of one alternative.
#[derive(Debug)]
pub struct Need {
    /// Machines and backends that it is for; all when absent.
    pub when: Option<Expr>,
    /// The alternatives, one where there is no choice.
    pub any: Vec<Alternative>,
}

/// Rows that must be served together.
#[derive(Debug)]
pub struct Alternative {
    /// Machines and backends that it is for; all when absent.
    pub when: Option<Expr>,
    /// All that it takes.
    pub shapes: Vec<Shape>,
}

/// A table with a row of some kind.
#[derive(Debug)]
pub struct Shape {
    /// File stem of the table.
    pub table: String,
    /// The kind of row, for people.
    pub name: String,
    /// Backend directory and the system's field that names the version, for a table that is read
    /// from one place whatever the backend.
    pub from: Option<(String, String)>,
    /// Which of the table's predicates finds such rows.
    pub predicate: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    /// Read by people only.
    #[allow(dead_code, reason = "people read it in the YAML")]
    about: String,
    #[serde(default)]
    when: Option<Spanned<Expr>>,
    claims: Spanned<Expr>,
    needs: Vec<Spanned<NeedFile>>,
}

/// Either rows of a table, or a choice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeedFile {
    #[serde(default)]
    when: Option<Spanned<Expr>>,
    #[serde(default)]
    any: Vec<AlternativeFile>,
    #[serde(default)]
    table: Option<String>,
    #[serde(default)]
    shape: Option<String>,
    #[serde(default)]
    rows: Option<Expr>,
    #[serde(default)]
    each: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    from: Option<From>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlternativeFile {
    #[serde(default)]
    when: Option<Spanned<Expr>>,
    all: Vec<Spanned<NeedFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct From {
    backend: String,
    version: String,
}

/// What a machine and a backend are, for `when` and `claims`.
pub struct Machine<'a> {
    /// The machine; none when a formula is only tried.
    pub system: Option<&'a System>,
    /// The backend.
    pub backend: &'a str,
    /// Whether there is something to serve of a table, by its name; none where no table has it.
    pub serves: &'a dyn Fn(&str) -> Option<bool>,
}

impl Scope for Machine<'_> {
    fn rows(&self) -> usize {
        1
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        let one = |text: &str| Value::Text(Vals::One(0), Cow::Owned(vec![Arc::from(text)]));
        match name {
            "backend" => Some(one(self.backend)),
            "system" => Some(one(self.system.map_or("", |s| &s.name))),
            table => (self.serves)(table).map(|serves| Value::Bool(Vals::One(serves))),
        }
    }

    fn field(&self, path: &str) -> Option<f64> {
        self.system?.figure(path)
    }

    fn lookup(&self, _: &Lookup, _: &str) -> Option<f64> {
        None
    }
}

impl Machine<'_> {
    /// Whether something is for this machine and backend.
    pub fn is(&self, when: Option<&Expr>) -> bool {
        when.is_none_or(|e| e.mask(self).is_ok_and(|m| m.get(0)))
    }
}

impl Workflows {
    /// Adds the models of a file; one of the same name is replaced. What their formulas read is tried
    /// on the types of `tables` where that is asked for. The error is one line.
    pub(super) fn add(
        &mut self,
        text: &str,
        tables: &TableSpecs,
        tried: bool,
    ) -> Result<(), Reason> {
        self.tried = tried;
        let models: BTreeMap<String, ModelFile> = crate::base::yaml::parse(text)?;
        for (name, file) in models {
            let model = self.model(file, tables).map_err(|e| format!("{name}: {e}"))?;
            self.models.insert(name, model);
        }
        Ok(())
    }

    fn model(&mut self, file: ModelFile, tables: &TableSpecs) -> Result<Model, Reason> {
        Ok(Model {
            when: file.when.map(|when| self.condition(when, tables)).transpose()?,
            claims: self.condition(file.claims, tables)?,
            needs: file
                .needs
                .into_iter()
                .map(|need| self.need(need, tables))
                .collect::<Result<_, _>>()?,
        })
    }

    fn need(&mut self, need: Spanned<NeedFile>, tables: &TableSpecs) -> Result<Need, Reason> {
        let place = at(&need);
        let NeedFile { when, any, table, shape, rows, each, from } = need.value;
        let when = when.map(|when| self.condition(when, tables)).transpose()?;
        if !any.is_empty() {
            if table.is_some() || rows.is_some() || shape.is_some() || from.is_some() {
                return Err(format!("`any` stands alone or with `when`{place}").into());
            }
            let mut alternatives = Vec::new();
            for file in any {
                let mut shapes = Vec::new();
                for part in file.all {
                    let place = at(&part);
                    let mut need = self.need(part, tables)?;
                    let [one] = &mut need.any[..] else {
                        return Err(format!("a choice within a choice{place}").into());
                    };
                    if need.when.is_some() {
                        return Err(format!("`when` stands beside `all`{place}").into());
                    }
                    shapes.append(&mut one.shapes);
                }
                let when = file.when.map(|when| self.condition(when, tables)).transpose()?;
                alternatives.push(Alternative { when, shapes });
            }
            return Ok(Need { when, any: alternatives });
        }
        let (Some(table), Some(shape), Some(rows)) = (table, shape, rows) else {
            return Err(format!("a need has `table`, `shape` and `rows`, or `any`{place}").into());
        };
        if !tables.contains_key(&table) {
            return Err(format!("{table} is not a known table{place}").into());
        }
        let from = from.map(|f| (f.backend, f.version));
        let mut shapes = Vec::new();
        for (suffix, rows) in expanded(&rows, &each) {
            let predicate = self.predicate(&table, rows);
            if let Some(spec) = tables.get(&table).filter(|_| self.tried) {
                let tried = self.predicates[&table][predicate].fits(spec);
                tried.map_err(|e| format!("{e}{place}"))?;
            }
            let name = format!("{shape}{suffix}");
            shapes.push(Shape { table: table.clone(), name, from: from.clone(), predicate });
        }
        Ok(Need { when, any: vec![Alternative { when: None, shapes }] })
    }

    /// The number of a predicate among its table's.
    fn predicate(&mut self, table: &str, rows: String) -> usize {
        let known = self.predicates.entry(table.to_owned()).or_default();
        known.iter().position(|p| p.rows == rows).unwrap_or_else(|| {
            known.push(Predicate { rows, parsed: OnceLock::new() });
            known.len() - 1
        })
    }

    /// The conditions on a table's rows that some model asks for, by predicate.
    ///
    /// # Errors
    ///
    /// When one is no formula, which is found earlier of those of overlays and by a test of the others.
    pub fn predicates(&self, spec: &TableSpec) -> Result<Vec<&Expr>, ExprError> {
        let predicates = self.predicates.get(&spec.name).into_iter().flatten();
        predicates.map(|predicate| predicate.expr(spec)).collect()
    }

    /// A condition on machine and backend.
    fn condition(&self, when: Spanned<Expr>, tables: &TableSpecs) -> Result<Expr, Reason> {
        if self.tried {
            try_on_nothing(&when, tables)?;
        }
        Ok(when.value)
    }
}

impl Predicate {
    /// The condition with the loader's filter: what the loader passes over serves nobody.
    fn expr(&self, spec: &TableSpec) -> Result<&Expr, ExprError> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let parsed = match &spec.filter {
            Some(filter) => format!("({filter}) AND ({})", self.rows).parse()?,
            None => self.rows.parse()?,
        };
        Ok(self.parsed.get_or_init(|| parsed))
    }

    /// Tries it on the types of its table.
    fn fits(&self, spec: &TableSpec) -> Result<(), Reason> {
        let expr = self.expr(spec).map_err(|e| e.to_string())?;
        if let Some(unknown) = expr.columns().into_iter().find(|c| !spec.knows(c)) {
            return Err(format!("{} has no column {unknown}", spec.name).into());
        }
        expr.mask(&Types(spec)).map_err(|e| e.to_string())?;
        Ok(())
    }
}

/// `rows` for every combination of the values of `each`, with a text that names the combination.
fn expanded(rows: &Expr, each: &BTreeMap<String, Vec<String>>) -> Vec<(String, String)> {
    let mut all = vec![(String::new(), rows.to_string())];
    for (column, values) in each {
        let mut next = Vec::new();
        for (suffix, text) in &all {
            for value in values {
                let named = format!("{suffix}, {column} = {value}");
                next.push((named, format!("({text}) AND {column} = {}", literal(value))));
            }
        }
        all = next;
    }
    all
}

/// A value as formulas write it.
fn literal(value: &str) -> String {
    if value.parse::<f64>().is_ok() {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "''"))
    }
}

/// Tries a condition on machine and backend on none.
fn try_on_nothing(when: &Spanned<Expr>, tables: &TableSpecs) -> Result<(), Reason> {
    let serves = |table: &str| tables.contains_key(table).then_some(false);
    let machine = Machine { system: None, backend: "", serves: &serves };
    let known = |c: &&str| machine.column(c).is_some();
    if let Some(unknown) = when.value.columns().into_iter().find(|c| !known(c)) {
        return Err(
            format!("{unknown} is neither a table, nor backend or system{}", at(when)).into()
        );
    }
    when.value.mask(&machine).map_err(|e| format!("{e}{}", at(when)))?;
    Ok(())
}

fn at<T>(spanned: &Spanned<T>) -> String {
    format!(" at line {}", spanned.referenced.line())
}
