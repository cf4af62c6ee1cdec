//! Bytes of blobs that are read more than once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Oid;

/// Bytes that are kept at most: enough for all tables of the largest known system.
const MOST: usize = 32 << 20;

/// Blobs of a comparison: both states have most of them, several stages read them, and to inflate a table takes
/// longer than to decode it.
///
/// A blob that does not fit is inflated again when it is read again.
#[derive(Default)]
pub(super) struct KeptBlobs(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_id: HashMap<Oid, Arc<[u8]>>,
    bytes: usize,
}

impl KeptBlobs {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of a blob that was kept.
    pub fn get(&self, id: Oid) -> Option<Arc<[u8]>> {
        self.kept().by_id.get(&id).cloned()
    }

    /// Keeps a blob where there is room.
    pub fn keep(&self, id: Oid, bytes: &[u8]) {
        let mut kept = self.kept();
        if kept.bytes + bytes.len() <= MOST && !kept.by_id.contains_key(&id) {
            kept.bytes += bytes.len();
            kept.by_id.insert(id, bytes.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_kept_where_there_is_room() {
        let [small, large, other] = [1, 2, 3].map(|n| Oid::from_bytes(&[n; 20]).unwrap());
        let blobs = KeptBlobs::default();
        blobs.keep(small, b"small");
        blobs.keep(large, &vec![0; MOST]);
        blobs.keep(other, &vec![7; MOST - 5]);
        assert_eq!(blobs.get(small).as_deref(), Some(&b"small"[..]));
        assert!(blobs.get(large).is_none());
        assert_eq!(blobs.get(other).map(|bytes| bytes.len()), Some(MOST - 5));
        assert_eq!(blobs.kept().bytes, MOST);
    }
}
