//! What rules find in a table by itself.

use std::cell::OnceCell;
use std::sync::Arc;

use super::job::Job;
use super::table::keys_of;
use crate::base::expr::ExprError;
use crate::checks::TableContext;
use crate::checks::rule::Rule;
use crate::database::state::State;
use crate::database::table::TableScope;
use crate::findings::{ChangedFigures, Finding, Reads, RowChange};

/// What rules find in a table by itself.
#[derive(Default)]
pub(super) struct TableFindings {
    /// In the state under judgement.
    pub own: Vec<Finding>,
    /// In the state before, where both are judged at once.
    pub before: Vec<Finding>,
}

impl TableFindings {
    /// Takes in those of other tables.
    pub fn extend(&mut self, others: Self) {
        self.own.extend(others.own);
        self.before.extend(others.before);
    }
}

impl Job<'_> {
    /// Judges a table by some rules. One of which nothing changes but figures of its system is judged by those that
    /// read these, and as it was before, too.
    pub(super) fn findings(
        &self,
        context: &TableContext<'_>,
        rules: &[Arc<Rule>],
    ) -> Result<TableFindings, ExprError> {
        let figures = self.by_figures(context.file);
        if let Some((figures, before)) = figures.zip(self.before) {
            return self.findings_of_both(context, rules, figures, before);
        }
        Ok(TableFindings { own: self.apply(context, rules, figures)?, before: Vec::new() })
    }

    /// What rules find that read some figures, before these changed and now.
    fn findings_of_both(
        &self,
        context: &TableContext<'_>,
        rules: &[Arc<Rule>],
        figures: &ChangedFigures,
        before: State<'_>,
    ) -> Result<TableFindings, ExprError> {
        let &TableContext { file, spec, table, specs, .. } = context;
        let system = before.catalog.system(&file.place.system, before.specs);
        let scope = |table| TableScope::new(table, spec, &file.place, system, &specs.lookups);
        let scope = table.ok().map(scope);
        let reads_loaded = Reads::loaded(spec).reads_any_of(figures);
        let keys = keys_of(spec, scope.as_ref().filter(|_| reads_loaded))?;
        let was = TableContext {
            system,
            keys: keys.as_ref().or(context.keys),
            has_distinct_keys: context.has_distinct_keys && keys.is_none(),
            change: &RowChange::Unknown,
            series: OnceCell::new(),
            ..*context
        };
        let before = self.apply(&was, rules, Some(figures))?;
        let mut change = context.change.clone();
        if let RowChange::Compared(rows) = &mut change {
            before.iter().for_each(|finding| rows.knows(finding));
        }
        // Series follow from keys and measurements.
        let series = if keys.is_none() { was.series } else { OnceCell::new() };
        let is = TableContext { change: &change, series, ..*context };
        Ok(TableFindings { own: self.apply(&is, rules, Some(figures))?, before })
    }

    /// What some rules find, of which those that read none of some `figures` are left out.
    fn apply(
        &self,
        context: &TableContext<'_>,
        rules: &[Arc<Rule>],
        figures: Option<&ChangedFigures>,
    ) -> Result<Vec<Finding>, ExprError> {
        let spec = context.spec;
        let mut findings = Vec::new();
        for rule in rules {
            let judge = rule.check.judge();
            let is_read = figures.is_none_or(|figures| judge.reads(spec).reads_any_of(figures));
            if is_read && (!spec.inferred || judge.judges_unknown_tables()) {
                let mut found = rule.check.table(rule, context)?;
                if context.table.is_err() {
                    self.name_bytes(&context.file.entry, &mut found);
                }
                findings.extend(found);
                findings.extend(judge.placement(rule, context.file, self.specs));
            }
        }
        Ok(findings)
    }
}
