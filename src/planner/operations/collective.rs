//! Collectives: the backend's own all-reduce, and those of NCCL and oneCCL (operators, perf_database
//! communication.rs). Sizes are counts of elements, although the tables' column says bytes.

use serde::Deserialize;

use super::super::slices::{Cells, Columns, Located, SliceKey};
use super::super::{PlannerSession, Provenance, Refusal, TableIndex};
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
};

pub(super) const NCCL_COLUMNS: Columns = Columns {
    texts: &["nccl_dtype", "op_name"],
    numbers: &["num_gpus", "message_size"],
    optional: &[],
    optional_texts: &[],
};

/// GPUs, whether it ran without CUDA graphs → size.
pub(super) fn locate_all_reduce(cells: &Cells<'_>) -> Located {
    let eager = cells.text(0).ends_with("_eager") || cells.text(1).ends_with("_eager");
    Located { key: all_reduce(cells.part(0), eager), at: [cells.number(1), 0, 0] }
}

fn all_reduce(gpus: u32, eager: bool) -> SliceKey {
    [gpus, u32::from(eager), 0, 0, 0, 0, 0, 0, 0]
}

/// nccl_dtype, op_name, GPUs → size.
pub(super) fn locate_nccl(cells: &Cells<'_>) -> Located {
    let key = [cells.code(0), cells.code(1), cells.part(0), 0, 0, 0, 0, 0, 0];
    Located { key, at: [cells.number(1), 0, 0] }
}

/// The system whose rows without CUDA graphs count too: it has no graphs.
const EAGER_SYSTEM: &str = "b60";

/// GPUs of a node from which all-reduce is NCCL's.
const RACK_NODE: f64 = 72.0;

impl CustomAllReduce {
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
    pub(super) fn ms(
        &self,
        session: &PlannerSession<'_, '_>,
        query: Query,
        evidence: &mut Provenance,
    ) -> Result<f64, Refusal> {
        let elements = query.tokens as f64 * self.hidden_size as f64;
        let call = Call { dtype: &self.dtype, operation: &self.operation, gpus: self.num_gpus };
        Ok(library_ms(session, call, elements, evidence)?.max(0.0) * self.count)
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
    if node == RACK_NODE && gpus > 4 {
        let call = Call { dtype: "half", operation: "all_reduce", gpus };
        return library_ms(session, call, elements, evidence);
    }
    let measured = (gpus as f64).min(node);
    let table = session.table(TableName::CustomAllReduce)?;
    let eager = machine.name() == EAGER_SYSTEM;
    let more = eager.then(|| all_reduce(measured as u32, true));
    let curve = table.curve(all_reduce(measured as u32, false), more);
    let curve = curve.ok_or_else(|| {
        Refusal::missing(format!("custom_allreduce_perf has no rows of {measured} GPUs"))
    })?;
    let mut weights = evidence.weights();
    let (mut ms, how) = curve.query(elements, &proportional, &mut weights)?;
    evidence.add(table, how, ms, weights, || format!("{measured} GPUs, {elements} elements"));
    if gpus as f64 > node {
        ms *= machine.collective_scale(gpus as f64, node);
        evidence.bandwidth_scaled(ms);
    }
    Ok(ms)
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
    let names = [session.code(call.dtype), session.code(call.operation)];
    let tables: Vec<&TableIndex> = [TableName::Nccl, TableName::OneCcl]
        .into_iter()
        .filter(|table| !session.origins(*table).is_empty())
        .map(|table| session.table(table))
        .collect::<Result<_, _>>()?;
    let keys = tables.iter().flat_map(|t| t.keys());
    let most = keys.filter(|k| k[..2] == names).map(|k| u64::from(k[2])).max();
    let measured = most.map_or(call.gpus, |most| call.gpus.min(most));
    let key = [names[0], names[1], measured as u32, 0, 0, 0, 0, 0, 0];
    let found = tables.iter().find_map(|table| Some((*table, table.curve(key, None)?)));
    let (table, curve) = found.ok_or_else(|| {
        let Call { dtype, operation, .. } = call;
        Refusal::missing(format!(
            "neither nccl_perf nor oneccl_perf has rows of {operation}, {dtype}, {measured} GPUs"
        ))
    })?;
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
