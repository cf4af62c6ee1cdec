//! Collectives: the backend's own all-reduce, and those of NCCL and oneCCL (operators, perf_database
//! communication.rs). Sizes are numbers of elements, although the tables' column says bytes.

use serde::Deserialize;

use super::super::keys::{SliceSource, served};
use super::super::machine::MachineFigures;
use super::super::refusal::Refusal;
use super::super::slices::{SliceKey, slice_key};
use super::super::tables::TableName;
use super::operation::{Evaluation, Operation, once};

/// The backend's own all-reduce.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomAllReduce {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Elements per token.
    pub hidden_size: u64,
    /// Number of GPUs; a single GPU needs no communication.
    pub tp_size: u64,
}

/// A collective of NCCL or oneCCL.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nccl {
    pub name: String,
    /// Number of layers.
    #[serde(default = "once")]
    pub count: f64,
    /// Type of the elements.
    pub dtype: String,
    /// Operation: `all_reduce`, `all_gather`, `reduce_scatter` or `alltoall`.
    pub operation: String,
    /// Elements per token.
    pub hidden_size: u64,
    /// Number of GPUs.
    pub num_gpus: u64,
}

/// The tables of collectives: the backend's own first, then those of libraries in the order of lookup.
pub(super) const TABLES: [TableName; 3] =
    [TableName::CustomAllReduce, TableName::Nccl, TableName::OneCcl];

/// Number of GPUs per node that makes a whole rack one node.
const RACK_NODE: f64 = 72.0;

impl Operation for CustomAllReduce {
    fn tables(&self) -> &'static [TableName] {
        &TABLES
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let elements = at.query.tokens as f64 * self.hidden_size as f64;
        Ok(all_reduce_ms(at, self.tp_size, elements)?.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        check_all_reduce(source, self.tp_size)
    }
}

impl Nccl {
    fn call(&self) -> Call<'_> {
        Call { dtype: &self.dtype, operation: &self.operation, gpus: self.num_gpus }
    }
}

impl Operation for Nccl {
    fn tables(&self) -> &'static [TableName] {
        &TABLES[1..]
    }

    fn ms(&self, at: &mut Evaluation<'_, '_, '_>) -> Result<f64, Refusal> {
        let elements = at.query.tokens as f64 * self.hidden_size as f64;
        Ok(library_ms(at, self.call(), elements)?.max(0.0) * self.count)
    }

    fn check(&self, source: &dyn SliceSource) -> Result<(), Refusal> {
        check_library(source, self.call())
    }
}

/// Time of an all-reduce of `elements` among `gpus` in ms. If a node has fewer GPUs, the node's time is
/// scaled by link bandwidths.
pub(super) fn all_reduce_ms(
    at: &mut Evaluation<'_, '_, '_>,
    gpus: u64,
    elements: f64,
) -> Result<f64, Refusal> {
    if gpus <= 1 {
        return Ok(0.0);
    }
    let machine = at.session.machine();
    if let Some(call) = library_all_reduce(machine, gpus) {
        return library_ms(at, call, elements);
    }
    let (key, measured) = own_slice(at.session, gpus)?;
    let slice = (TableName::CustomAllReduce, key);
    looked_up_ms(at, slice, [gpus as f64, measured], elements, || format!("{measured} GPUs"))
}

/// Time of `elements` in a slice in ms, scaled by link bandwidths from the `measured` number of GPUs to
/// `gpus`. `words` describes the slice for people.
fn looked_up_ms(
    at: &mut Evaluation<'_, '_, '_>,
    (name, key): (TableName, SliceKey),
    [gpus, measured]: [f64; 2],
    elements: f64,
    words: impl FnOnce() -> String,
) -> Result<f64, Refusal> {
    let table = at.session.table(name)?;
    let curve = table.curve(key);
    let key = || format!("{}, {elements} elements", words());
    // Beyond its curve, a collective takes time in proportion to its size.
    let mut ms = at
        .evidence
        .look_up(table, 1.0, key, |weights| curve.query(elements, &|size| size, weights))?;
    if gpus > measured {
        ms *= at.session.machine().collective_scale(gpus, measured);
        at.evidence.bandwidth_scaled(ms);
    }
    Ok(ms)
}

/// The library call that replaces the backend's own all-reduce among `gpus`, on racks that are one node.
fn library_all_reduce(machine: &MachineFigures, gpus: u64) -> Option<Call<'static>> {
    let call = Call { dtype: "half", operation: "all_reduce", gpus };
    (machine.node() == RACK_NODE && gpus > 4).then_some(call)
}

/// The slice of the backend's own all-reduce, and the number of GPUs to look up: at most a node's.
fn own_slice(source: &dyn SliceSource, gpus: u64) -> Result<(SliceKey, f64), Refusal> {
    let measured = (gpus as f64).min(source.machine().node());
    let key = slice_key([measured as u32]);
    let words = || format!("{measured} GPUs");
    Ok((served(source, TableName::CustomAllReduce, key, words)?, measured))
}

/// Checks that the slice for an all-reduce among `gpus` is served.
pub(super) fn check_all_reduce(source: &dyn SliceSource, gpus: u64) -> Result<(), Refusal> {
    if gpus <= 1 {
        return Ok(());
    }
    match library_all_reduce(source.machine(), gpus) {
        Some(call) => check_library(source, call),
        None => own_slice(source, gpus).map(drop),
    }
}

/// Checks that the slice for a library's collective is served.
pub(super) fn check_library(source: &dyn SliceSource, call: Call<'_>) -> Result<(), Refusal> {
    if call.gpus <= 1 { Ok(()) } else { library_slice(source, call).map(drop) }
}

/// A call of a library's collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub dtype: &'a str,
    pub operation: &'a str,
    pub gpus: u64,
}

/// The table and slice of a library's collective, and the number of GPUs to look up: at most the largest
/// number measured.
fn library_slice(
    source: &dyn SliceSource,
    call: Call<'_>,
) -> Result<(TableName, SliceKey, u64), Refusal> {
    let names = [source.code(call.dtype), source.code(call.operation)];
    let tables = TABLES[1..].iter().filter(|table| source.has_files(**table));
    let tables = tables.map(|table| Ok((*table, source.keys(*table)?)));
    let tables: Vec<_> = tables.collect::<Result<_, Refusal>>()?;
    let keys = tables.iter().flat_map(|(_, keys)| *keys);
    let most = keys.filter(|k| k[..2] == names).map(|k| u64::from(k[2])).max();
    let measured = most.map_or(call.gpus, |most| call.gpus.min(most));
    let key = slice_key([names[0], names[1], measured as u32]);
    let found = tables.iter().find(|(_, keys)| keys.contains(&key));
    found.map(|(table, _)| (*table, key, measured)).ok_or_else(|| {
        let Call { dtype, operation, .. } = call;
        Refusal::missing(format!(
            "neither nccl_perf nor oneccl_perf has rows of {operation}, {dtype}, {measured} GPUs"
        ))
    })
}

/// Time of a library's collective of `elements` in ms, from NCCL's rows if possible, else from oneCCL's.
/// If fewer GPUs were measured, the time of the most GPUs is scaled by link bandwidths.
pub(super) fn library_ms(
    at: &mut Evaluation<'_, '_, '_>,
    call: Call<'_>,
    elements: f64,
) -> Result<f64, Refusal> {
    let Call { dtype, operation, gpus } = call;
    if gpus <= 1 {
        return Ok(0.0);
    }
    let (name, key, measured) = library_slice(at.session, call)?;
    looked_up_ms(at, (name, key), [gpus as f64, measured as f64], elements, || {
        format!("{operation}, {dtype}, {measured} GPUs")
    })
}
