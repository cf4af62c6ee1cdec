//! Rows that fulfil the condition of a rule file.

use std::sync::Arc;

use globset::GlobMatcher;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_yaml::Spanned;

use crate::base::error::{Reason, nearest};
use crate::base::expr::{Expr, SIDECAR, Scope};
use crate::base::glob::{GlobScope, matcher};
use crate::base::relation::{Rounded, RowRelation, Sentence};
use crate::base::words::names;
use crate::checks::{Judge, Judged, RowContext};
use crate::findings::Hits;
use crate::specs::system::System;
use crate::specs::{Specs, TableSpec};

/// A check that reports the rows of tables that fulfil a condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Where")]
pub struct RowCondition {
    /// Globs of the tables that are judged, with or without `_perf`; by default all tables that have the columns of
    /// the condition.
    #[serde(default)]
    tables: Vec<String>,
    /// The condition that reported rows fulfil, in SQL's syntax. It can read the table's columns, its place
    /// (`place_system`, `place_backend`, `place_version`), figures of its system (`gpu.power`) and fields of its
    /// sidecar (`sidecar.status`). A field of the sidecar is taken from the table's entry, or else from the top of the
    /// file. A row is judged only if all these values are known, except values that the condition tests with `IS NULL`
    /// or `coalesce`.
    #[schemars(with = "Expr")]
    condition: Spanned<Expr>,
    /// The message of the finding: a sentence about one row. `{name}` stands for a value that the condition can read. A
    /// finding on several rows shows the values of the first row, and the number of rows.
    #[schemars(with = "Sentence")]
    says: Spanned<Sentence>,
    /// The columns that examples show in addition to the key; by default the columns that the condition reads.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    show: Option<Spanned<Vec<String>>>,
}

impl Judge for RowCondition {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    /// Reports the rows that fulfil the condition. A table is not judged if a column of the condition is missing or has
    /// another type.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let (scope, condition) = (rows.scope(), &self.condition.value);
        let read = condition.columns();
        let has_columns = || read.iter().all(|name| scope.column(name).is_some());
        if !self.concerns(&rows.file.table) || !has_columns() {
            return Ok(Hits::new());
        }
        let relation = RowRelation { filter: Some(condition), ..RowRelation::default() };
        let found = relation.broken_rows(scope, &Rounded::default()).unwrap_or_default();
        let show = self.show.as_ref().map(|show| show.value.iter().map(String::as_str).collect());
        Ok(rows.hit(rows.rule.severity, found, show.unwrap_or(read), move |own| {
            let value = |name: &str| name.parse::<Expr>().ok()?.eval(scope).ok()?.shown(own[0]);
            let shown = |name: &str| value(name).unwrap_or_else(|| "unknown".to_owned());
            self.says.value.of_first(own.len(), shown)
        }))
    }
}

impl RowCondition {
    /// Returns true if the rule judges tables with the name `table`.
    fn concerns(&self, table: &str) -> bool {
        let names = [table, table.trim_end_matches("_perf")];
        let is_named = |glob: GlobMatcher| names.iter().any(|name| glob.is_match(name));
        let mut globs = self.tables.iter().map(|glob| matcher(glob, GlobScope::Names));
        self.tables.is_empty() || globs.any(|glob| glob.is_ok_and(is_named))
    }

    /// Returns an error with the line number if the condition compares different types, or if the rule reads an
    /// unknown name. Known names are figures, fields of the sidecar, and columns that every table in `tables` has. If
    /// `tables` is empty, it suffices that any table has the column. Tables without a spec are not checked.
    pub(crate) fn check(&self, specs: &Specs) -> Result<(), Reason> {
        self.tables.iter().try_for_each(|glob| matcher(glob, GlobScope::Names).map(drop))?;
        let tables = specs.tables.values().filter(|spec| self.concerns(&spec.name));
        let tables: Vec<&Arc<TableSpec>> = tables.collect();
        let (line, condition) = (self.condition.referenced.line(), &self.condition.value);
        let read = condition.columns().into_iter().chain(condition.fields());
        let read = read.map(|name| (line, name));
        let said = self.says.value.names().map(|name| (self.says.referenced.line(), name));
        let shown = self.show.iter().flat_map(|show| {
            let line = show.referenced.line();
            show.value.iter().map(move |name| (line, name.as_str()))
        });
        for (line, name) in read.chain(said).chain(shown) {
            let lacking = tables.iter().filter(|spec| !spec.knows(name)).count();
            let allowed = if self.tables.is_empty() { tables.len().saturating_sub(1) } else { 0 };
            let is_figure = |system: &System| system.figure(name).is_some();
            let is_other = name.starts_with(SIDECAR) || specs.systems.values().any(is_figure);
            if lacking > allowed && !is_other {
                let known = tables.iter().flat_map(|spec| &spec.columns);
                let near = nearest(name, known.map(|column| column.name.as_str()));
                let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                let of = match &self.tables[..] {
                    [] => "any table".to_owned(),
                    globs => names(globs.iter().map(String::as_str)),
                };
                let why = format!("{name} is neither a figure of a system nor a column of {of}");
                return Err(format!("line {line}: {why}{near}").into());
            }
        }
        let faults = tables.iter().map(|spec| condition.mask(&spec.types()).err());
        match faults.reduce(Option::and) {
            Some(Some(fault)) => Err(format!("line {line}: {fault}").into()),
            _ => Ok(()),
        }
    }
}
