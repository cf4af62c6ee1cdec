//! Plants faults in the rows of a table.

use std::collections::BTreeSet;

use super::text::torn;
use super::{changed, series};
use crate::faults::clean::CleanState;
use crate::faults::draft::Draft;
use crate::faults::fault::{FaultClass, Plant, Variant};
use crate::faults::injection::Planted;
use crate::faults::overlay::FileChange;
use crate::faults::target::{CellScope, Target};
use perfdb_gate::base::expr::{Expr, ExprError, Vals, Value};
use perfdb_gate::base::random::Random;
use perfdb_gate::database::catalog::TableFile;

/// The changed table, and the rows that the fault changed or added.
type Redrafted = (Draft, Vec<usize>);

impl CleanState<'_> {
    /// Plants a fault in the rows of a table.
    pub(super) fn in_rows(
        &self,
        variant: &Variant,
        file: &TableFile,
        random: &mut Random,
    ) -> Result<Option<Planted>, ExprError> {
        let Some((table, spec)) = self.table(file) else { return Ok(None) };
        let scope = self.scope(file, &table, &spec);
        let target = Target { table: &table, spec: &spec, scope: &scope };
        let chosen = target.choose(variant.rows, variant.fault.latency_ms, random)?;
        let Some((rows, slice)) = chosen else { return Ok(None) };
        if let Plant::Text(tear) = &variant.fault.plant {
            return Ok(torn(*tear, file, &whole(&target), random));
        }
        let Some((draft, new)) = redrafted(&target, variant, rows, random)? else {
            return Ok(None);
        };
        let Ok(bytes) = draft.parquet() else { return Ok(None) };
        let changed = changed(file, FileChange::Bytes(bytes));
        Ok(Some(Planted { slice, rows: new.len(), ..changed }))
    }
}

/// Returns an unchanged copy of the table.
fn whole(target: &Target<'_>) -> Draft {
    Draft::of(target.table, &(0..target.table.rows).collect::<Vec<_>>())
}

/// Returns the table with a fault in `rows`; `None` if the fault changes nothing.
fn redrafted(
    target: &Target<'_>,
    variant: &Variant,
    rows: Vec<usize>,
    random: &mut Random,
) -> Result<Option<Redrafted>, ExprError> {
    let mut draft = whole(target);
    Ok(match &variant.fault.plant {
        Plant::Set(set) => {
            let any = target.set(set, variant.by, &rows, &mut draft)?;
            // Only a control may leave the table unchanged.
            (any || variant.fault.class == FaultClass::Control).then_some((draft, rows))
        }
        Plant::Drop => without(target, rows),
        Plant::Repeat(to) => Some(repeated(target, to, variant.by, &rows)?),
        Plant::Retype(retype) => target.retype(retype, &mut draft).then_some((draft, rows)),
        Plant::Draw => {
            let drawn = target.draw(&mut draft, &rows);
            (!drawn.is_empty()).then_some((draft, drawn))
        }
        Plant::DrawSeries(drawn) => {
            let drawn = series::draw(target, drawn, variant.by, &mut draft, random)?;
            (!drawn.is_empty()).then_some((draft, drawn))
        }
        Plant::Shuffle(name) => {
            series::shuffle(target, name, &rows, &mut draft, random).then_some((draft, rows))
        }
        Plant::SwapColumns => series::swap_columns(target, &mut draft).then_some((draft, rows)),
        Plant::SwapTexts(names) => {
            let swapped = series::swap_texts(target, names, &mut draft);
            (!swapped.is_empty()).then_some((draft, swapped))
        }
        // The only damage to rows is to have none.
        Plant::Bytes(_) => Some((Draft::of(target.table, &[]), Vec::new())),
        Plant::Copy(_)
        | Plant::Text(_)
        | Plant::Family(_)
        | Plant::Link
        | Plant::Remove(_)
        | Plant::Write(_)
        | Plant::Edit(_)
        | Plant::Waivers(_) => None,
    })
}

/// Returns the table without `rows`; `None` if no row would remain.
fn without(target: &Target<'_>, rows: Vec<usize>) -> Option<Redrafted> {
    let gone: BTreeSet<usize> = rows.into_iter().collect();
    let left: Vec<usize> = (0..target.table.rows).filter(|r| !gone.contains(r)).collect();
    (!left.is_empty()).then(|| (Draft::of(target.table, &left), Vec::new()))
}

/// Appends copies of `rows` with measurements from the formula `to`.
fn repeated(
    target: &Target<'_>,
    to: &Expr,
    by: Option<f64>,
    rows: &[usize],
) -> Result<Redrafted, ExprError> {
    let twice: Vec<usize> = (0..target.table.rows).chain(rows.iter().copied()).collect();
    // The original rows stay; only the appended copies are set.
    let new: Vec<usize> = (target.table.rows..twice.len()).collect();
    let mut draft = Draft::of(target.table, &twice);
    for (name, _) in target.spec.measures() {
        let here = CellScope { scope: target.scope, column: name, by };
        let value = to.numbers(&here)?;
        let value = Vals::Rows(twice.iter().map(|row| value.get(*row)).collect());
        draft.set(name, &new, Some(&Value::Number(value)));
    }
    Ok((draft, new))
}
