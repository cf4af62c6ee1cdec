//! Slices whose rows come back under another text of their key, with the same other parts and nearly the same latencies:
//! a corrected label.

use std::collections::{BTreeMap, HashMap};

use super::join::JoinedKeys;
use super::ratios::PairedTables;
use super::slices::{SliceLatency, SliceName};
use crate::base::expr::ExprError;
use crate::database::table::Keys;
use crate::specs::{KeyPart, NoiseBands};

/// The least share of a slice's lost keys that the other slice gains.
const PAIRED: f64 = 0.95;

/// The largest share of pairs that differ by more than 99 of 100 honest reruns do. The three labels that the public
/// database corrected in September 2026 have 0, 0.001 and 0.008, with all 880 keys paired and ratios of 0.995.
const BEYOND_NOISE: f64 = 0.05;

/// The number of gained keys with the same other parts that a lost key is paired with.
const TRIED: usize = 16;

/// A slice that is served under another name after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Relabelled {
    /// The name before.
    pub from: SliceName,
    /// The name after.
    pub to: SliceName,
    /// The number of keys that pair.
    pub keys: u64,
    /// The median latency ratio, after over before.
    pub ratio: f64,
}

impl PairedTables<'_> {
    /// Returns the slices whose lost keys are gained with another text in one part of the key. `keys` are those of the
    /// base and the head.
    pub(super) fn relabelled(
        &self,
        joined: &JoinedKeys,
        keys: (Option<&Keys<'_>>, Option<&Keys<'_>>),
        noise: &NoiseBands<'_>,
    ) -> Result<Vec<Relabelled>, ExprError> {
        let ((Some(base), Some(head)), (Some(before), Some(after))) = (self.tables, keys) else {
            return Ok(Vec::new());
        };
        if joined.lost.is_empty() || joined.gained.is_empty() {
            return Ok(Vec::new());
        }
        let (base, head) = (self.base_scope(base), self.head_scope(head));
        let (of_lost, of_gained) = (before.slice_numbers(), after.slice_numbers());
        let slices =
            |row: &(u32, u32)| (of_lost.of_rows[row.0 as usize], of_gained.of_rows[row.1 as usize]);
        let mut lost = HashMap::new();
        for (_, row) in &joined.lost {
            *lost.entry(of_lost.of_rows[*row as usize]).or_insert(0_usize) += 1;
        }
        let mut found = BTreeMap::new();
        for part in self.spec.key.iter().filter(|part| self.spec.is_name(part)) {
            let is_other = |other: &&KeyPart| other.name != part.name;
            let others: Vec<KeyPart> = self.spec.key.iter().filter(is_other).cloned().collect();
            let (old, new) = (Keys::new(&others, &base)?, Keys::new(&others, &head)?);
            let mut by_hash: HashMap<u64, Vec<u32>> = HashMap::new();
            for row in &joined.gained {
                let rows = by_hash.entry(new.hashes()[*row as usize]).or_default();
                rows.extend((rows.len() < TRIED).then_some(*row));
            }
            let mut pairs: Vec<(u32, u32)> = Vec::new();
            for (_, row) in &joined.lost {
                let same = by_hash.get(&old.hashes()[*row as usize]).into_iter().flatten();
                pairs.extend(same.map(|other| (*row, *other)));
            }
            pairs.sort_by_key(slices);
            let all_latencies = self.latencies(&pairs)?;
            let mut latencies = all_latencies.iter();
            for pairs in pairs.chunk_by(|a, b| slices(a) == slices(b)) {
                let (from, _) = slices(&pairs[0]);
                let latencies: Vec<_> = latencies.by_ref().take(pairs.len()).collect();
                let latency = SliceLatency::of(&latencies, *noise);
                let Some(latency) = latency.filter(|latency| {
                    let count = pairs.len() as f64;
                    count >= PAIRED * lost[&from] as f64
                        && latency.beyond_noise as f64 <= BEYOND_NOISE * count
                }) else {
                    continue;
                };
                let (row, other) = pairs[0];
                found.entry(from).or_insert(Relabelled {
                    from: before.texts(row as usize),
                    to: after.texts(other as usize),
                    keys: pairs.len() as u64,
                    ratio: latency.ratio,
                });
            }
        }
        Ok(found.into_values().collect())
    }
}
