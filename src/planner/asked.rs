//! Which slices of a table the operations of models may read: rows of the others need not be kept.

use hashbrown::{HashMap, HashSet};

use super::models::Models;
use super::operations::TableName;
use super::slices::SliceKey;

/// Parts that the key of a slice must have; any other where there is none.
pub(super) type KeyPattern = [Option<u32>; 9];

/// The slices that lookups may read, by table; all of a table that is not here.
#[derive(Debug, Default)]
pub struct AskedSlices(HashMap<TableName, HashSet<KeyPattern>>);

impl AskedSlices {
    /// Those of models.
    pub fn of(models: &Models) -> Self {
        let (mut patterns, mut whole) = (HashMap::new(), HashSet::new());
        for plan in models.lists.iter().flat_map(|list| &list.plans) {
            plan.visit(&mut |op| {
                for table in op.tables() {
                    match op.pattern() {
                        Some(pattern) => {
                            let of_table: &mut HashSet<_> = patterns.entry(*table).or_default();
                            of_table.insert(pattern);
                        }
                        None => _ = whole.insert(*table),
                    }
                }
            });
        }
        patterns.retain(|table, _| !whole.contains(table));
        Self(patterns)
    }

    /// Whether a lookup may read a slice.
    pub(super) fn has(&self, table: TableName, key: &SliceKey) -> bool {
        let fits = |pattern: &KeyPattern| {
            pattern.iter().zip(key).all(|(asked, part)| asked.is_none_or(|asked| asked == *part))
        };
        self.0.get(&table).is_none_or(|patterns| patterns.iter().any(fits))
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::NameCodes;
    use super::super::slices::FileSlices;
    use super::super::{ModelList, Table, yaml};
    use super::*;
    use crate::database::catalog::Format;

    /// Synthetic: what a model asks for that has an operation of each kind with a pattern, and a GEMM.
    fn asked() -> AskedSlices {
        let list: ModelList = yaml::parse(
            "model: some/model\n\
             captured_from: nowhere\n\
             quant: {gemm: fp8, moe: fp8, kvcache: fp8, comm: half}\n\
             plans:\n\
             - backends: [vllm]\n  \
               fmha: fp8\n  \
               layouts:\n  \
               - parallel: {tp: 1, dp: 1, moe_tp: 1, moe_ep: 2}\n    \
                 prefill:\n    \
                 - Gemm: {name: g, n: 64, k: 32, quant_mode: fp8}\n    \
                 - ContextAttention: {name: c, n: 8, n_kv: 2, head_size: 64}\n    \
                 - First:\n        \
                     name: f\n        \
                     try: {Gemm: {name: g, n: 64, k: 32, quant_mode: fp8}}\n        \
                     else:\n        \
                     - Moe: {name: m, hidden_size: 64, inter_size: 32, topk: 2, num_experts: 8, moe_tp_size: 1, \
             moe_ep_size: 2, quant_mode: fp8, workload_distribution: uniform}\n    \
                 decode:\n    \
                 - GenerationAttention: {name: d, n: 4, n_kv: 4, head_size: 64, window_size: 128}\n",
        )
        .unwrap();
        AskedSlices::of(&Models { lists: vec![list] })
    }

    #[test]
    fn what_models_name_of_a_key_is_asked_for_with_whatever_else() {
        let asked = asked();
        for other in [0, 7, u32::MAX] {
            let moe = |topk| [other, other, other, topk, 8, 64, 32, 1, 2];
            assert_eq!([2, 3].map(|topk| asked.has(TableName::Moe, &moe(topk))), [true, false]);
            let context = |kv| [other, other, kv, 64, 0, 0, 0, 0, 0];
            let has = |kv| asked.has(TableName::ContextAttention, &context(kv));
            assert_eq!([2, 0].map(has), [true, false]);
            // As many key-value heads as heads are none of their own.
            let decode = |kv| [other, kv, 64, 128, 0, 0, 0, 0, 0];
            let has = |kv| asked.has(TableName::GenerationAttention, &decode(kv));
            assert_eq!([0, 4].map(has), [true, false]);
            assert!(asked.has(TableName::Gemm, &[other; 9]));
            assert!(AskedSlices::default().has(TableName::Moe, &[other; 9]));
        }
    }

    /// Synthetic: experts of two shapes, of which one is asked for.
    #[test]
    fn rows_of_a_slice_that_nobody_asks_for_are_left_out_and_its_key_stays() {
        let header = "moe_dtype,distribution,kernel_source,topk,num_experts,hidden_size,inter_size,\
                      moe_tp_size,moe_ep_size,num_tokens,latency\n";
        let row = |(topk, tokens): (u32, u32)| {
            format!("fp8,uniform,k,{topk},8,64,32,1,2,{tokens},0.{tokens}\n")
        };
        let rows: String = [(2, 1), (3, 1), (2, 2), (3, 2)].map(row).concat();
        let is_text =
            |column: &str| ["moe_dtype", "distribution", "kernel_source"].contains(&column);
        let text = format!("{header}{rows}");
        let table = Table::decode(text.as_bytes(), Format::Csv, &is_text).unwrap();
        let names = NameCodes::default();
        let group = |asked| FileSlices::group(&table, TableName::Moe, &names, asked).unwrap();
        let (all, some) = (group(&AskedSlices::default()), group(&asked()));
        assert_eq!(some.keys(), all.keys());
        let rows = |slices: &FileSlices| {
            let of_slice = |(key, rows): (&SliceKey, &[_])| (key[3], rows.len());
            slices.iter().map(of_slice).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(rows(&all), [(2, 2), (3, 2)].into());
        assert_eq!(rows(&some), [(2, 2)].into());
    }
}
