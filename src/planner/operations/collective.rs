//! Collectives: the backend's own all-reduce, and those of NCCL and oneCCL (operators, perf_database
//! communication.rs). Sizes are counts of elements, although the tables' column says bytes.

use hashbrown::HashSet;

use serde::Deserialize;

use super::super::cells::{Cells, Columns};
use super::super::keys::{SliceSource, no_rows};
use super::super::slices::SliceKey;
use super::super::{MachineFigures, PlannerSession, Provenance, Refusal};
use super::{Query, TableName, once};

/// The backend's own all-reduce.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomAllReduce {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements of a token.
    pub hidden_size: u64,
    /// GPUs; one needs no communication.
    pub tp_size: u64,
}

/// A collective of a library.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nccl {
    pub name: String,
    /// Layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Type of an element.
    pub dtype: String,
    /// `all_reduce`, `all_gather`, `reduce_scatter` or `alltoall`.
    pub operation: String,
    /// Elements of a token.
    pub hidden_size: u64,
    /// GPUs.
    pub num_gpus: u64,
}

pub(super) const ALL_REDUCE_COLUMNS: Columns = Columns {
    texts: &[],
    numbers: &["num_gpus", "message_size"],
    optional: &[],
    optional_texts: &["kernel_source", "backend"],
    at: &[&[1]],
    inner: &[1],
    between: &[],
};

pub(super) const NCCL_COLUMNS: Columns = Columns {
    texts: &["nccl_dtype", "op_name"],
    numbers: &["num_gpus", "message_size"],
    optional: &[],
    optional_texts: &[],
    at: &[&[1]],
    inner: &[1],
    between: &[],
};

/// GPUs, whether it ran without CUDA graphs → size.
pub(super) fn all_reduce_slice(cells: &Cells<'_>) -> SliceKey {
    let eager = cells.text(0).ends_with("_eager") || cells.text(1).ends_with("_eager");
    all_reduce(cells.part(0), eager)
}

fn all_reduce(gpus: u32, eager: bool) -> SliceKey {
    [gpus, u32::from(eager), 0, 0, 0, 0, 0, 0, 0]
}

/// nccl_dtype, op_name, GPUs → size.
pub(super) fn nccl_slice(cells: &Cells<'_>) -> SliceKey {
    [cells.code(0), cells.code(1), cells.part(0), 0, 0, 0, 0, 0, 0]
}

/// The system whose rows without CUDA graphs count too: it has no graphs.
const EAGER_SYSTEM: &str = "b60";

/// GPUs of a node from which all-reduce is NCCL's.
const RACK_NODE: f64 = 72.0;

impl CustomAllReduce {
    /// Whether the slice that it reads is served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        check_all_reduce(source, self.tp_size)
    }

    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let elements = query.tokens as f64 * self.hidden_size as f64;
        Ok(all_reduce_ms(session, self.tp_size, elements, evidence)?.max(0.0) * self.count)
    }
}

impl Nccl {
    fn call(&self) -> Call<'_> {
        Call { dtype: &self.dtype, operation: &self.operation, gpus: self.num_gpus }
    }

    /// Whether the slice that it reads is served.
    pub(super) fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        check_library(source, self.call())
    }

    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let elements = query.tokens as f64 * self.hidden_size as f64;
        Ok(library_ms(session, self.call(), elements, evidence)?.max(0.0) * self.count)
    }
}

/// Time of an all-reduce of `elements` among `gpus`, ms. More GPUs than a node has take the node's
/// time, scaled by bandwidth.
pub(super) fn all_reduce_ms(
    session: &PlannerSession<'_, '_>,
    gpus: u64,
    elements: f64,
    evidence: &mut Provenance,
) -> Result<f64, Refusal> {
    if gpus <= 1 {
        return Ok(0.0);
    }
    let machine = session.machine();
    let node = machine.node();
    if let Some(call) = library_all_reduce(machine, gpus) {
        return library_ms(session, call, elements, evidence);
    }
    let measured = (gpus as f64).min(node);
    let [key, eager] = own_slices(measured);
    let more = is_eager(machine).then_some(eager);
    let table = session.table(TableName::CustomAllReduce)?;
    let none = || no_rows(TableName::CustomAllReduce, &own_words(measured));
    let curve = table.curve(key, more).ok_or_else(none)?;
    let mut weights = evidence.weights();
    let (mut ms, how) = curve.query(elements, &proportional, &mut weights)?;
    evidence.add(table, how, ms, weights, || format!("{measured} GPUs, {elements} elements"));
    if gpus as f64 > node {
        ms *= machine.collective_scale(gpus as f64, node);
        evidence.bandwidth_scaled(ms);
    }
    Ok(ms)
}

/// The call that all-reduces among `gpus` in place of the backend's own, on racks that are one node.
fn library_all_reduce(machine: &MachineFigures, gpus: u64) -> Option<Call<'static>> {
    let call = Call { dtype: "half", operation: "all_reduce", gpus };
    (machine.node() == RACK_NODE && gpus > 4).then_some(call)
}

fn is_eager(machine: &MachineFigures) -> bool {
    machine.name() == EAGER_SYSTEM
}

/// The slices of the backend's own all-reduce: with CUDA graphs, and without.
fn own_slices(measured: f64) -> [SliceKey; 2] {
    [false, true].map(|eager| all_reduce(measured as u32, eager))
}

/// A slice of the backend's own all-reduce, for people.
fn own_words(measured: f64) -> String {
    format!("{measured} GPUs")
}

/// Whether the slice that an all-reduce among `gpus` reads is served.
pub(super) fn check_all_reduce(source: &dyn SliceSource, gpus: u64) -> Result<(), Refusal> {
    let machine = source.machine();
    if gpus <= 1 {
        return Ok(());
    }
    if let Some(call) = library_all_reduce(machine, gpus) {
        return check_library(source, call);
    }
    let measured = (gpus as f64).min(machine.node());
    let [key, eager] = own_slices(measured);
    let known = source.keys(TableName::CustomAllReduce)?;
    if known.contains(&key) || (is_eager(machine) && known.contains(&eager)) {
        return Ok(());
    }
    Err(no_rows(TableName::CustomAllReduce, &own_words(measured)))
}

/// Whether the slice that a library's collective reads is served.
pub(super) fn check_library(source: &dyn SliceSource, call: Call<'_>) -> Result<(), Refusal> {
    if call.gpus <= 1 { Ok(()) } else { library_slice(source, call).map(drop) }
}

/// Beyond its curve a collective takes time in proportion to its size.
fn proportional(size: f64) -> f64 {
    size
}

/// A collective of a library.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub dtype: &'a str,
    pub operation: &'a str,
    pub gpus: u64,
}

impl Call<'_> {
    fn no_rows(self, measured: u64) -> Refusal {
        let Call { dtype, operation, .. } = self;
        Refusal::missing(format!(
            "neither nccl_perf nor oneccl_perf has rows of {operation}, {dtype}, {measured} GPUs"
        ))
    }
}

/// The slice that a library's collective reads, and the GPUs that were measured: at most its own.
fn library_slice(
    source: &dyn SliceSource,
    call: Call<'_>,
) -> Result<(TableName, SliceKey, u64), Refusal> {
    let names = [source.code(call.dtype), source.code(call.operation)];
    let tables: Vec<(TableName, &HashSet<SliceKey>)> = [TableName::Nccl, TableName::OneCcl]
        .into_iter()
        .filter(|table| source.has_files(*table))
        .map(|table| Ok((table, source.keys(table)?)))
        .collect::<Result<_, Refusal>>()?;
    let keys = tables.iter().flat_map(|(_, keys)| *keys);
    let most = keys.filter(|k| k[..2] == names).map(|k| u64::from(k[2])).max();
    let measured = most.map_or(call.gpus, |most| call.gpus.min(most));
    let key = [names[0], names[1], measured as u32, 0, 0, 0, 0, 0, 0];
    let found = tables.iter().find(|(_, keys)| keys.contains(&key));
    found.map(|(table, _)| (*table, key, measured)).ok_or_else(|| call.no_rows(measured))
}

/// Time of a library's collective of `elements`, ms: NCCL's rows first, then oneCCL's. More GPUs than
/// were measured take the time of the most, scaled by bandwidth.
pub(super) fn library_ms(
    session: &PlannerSession<'_, '_>,
    call: Call<'_>,
    elements: f64,
    evidence: &mut Provenance,
) -> Result<f64, Refusal> {
    if call.gpus <= 1 {
        return Ok(0.0);
    }
    let (name, key, measured) = library_slice(session, call)?;
    let table = session.table(name)?;
    let curve = table.curve(key, None).ok_or_else(|| call.no_rows(measured))?;
    let mut weights = evidence.weights();
    let (mut ms, how) = curve.query(elements, &proportional, &mut weights)?;
    evidence.add(table, how, ms, weights, || {
        format!("{}, {}, {measured} GPUs, {elements} elements", call.operation, call.dtype)
    });
    if call.gpus > measured {
        ms *= session.machine().collective_scale(call.gpus as f64, measured as f64);
        evidence.bandwidth_scaled(ms);
    }
    Ok(ms)
}
