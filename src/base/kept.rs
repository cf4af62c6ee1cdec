//! What was read and may be needed again, up to a number of bytes.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values by key, shared by threads, as long as there is room.
///
/// What does not fit is made again when it is needed again. So what is kept, which depends on the order in which
/// threads come by, changes no result.
#[derive(Debug)]
pub struct Kept<K, V: ?Sized> {
    /// Bytes of values that are kept at most.
    most: usize,
    values: Mutex<Values<K, V>>,
}

#[derive(Debug)]
struct Values<K, V: ?Sized> {
    /// Each with its bytes.
    by_key: HashMap<K, (Arc<V>, usize)>,
    bytes: usize,
}

impl<K: Eq + Hash, V: ?Sized> Kept<K, V> {
    /// Keeps values of at most a number of bytes in total.
    pub fn new(most: usize) -> Self {
        Self { most, values: Mutex::new(Values { by_key: HashMap::new(), bytes: 0 }) }
    }

    fn values(&self) -> MutexGuard<'_, Values<K, V>> {
        // A thread that panicked left either all of a change or none.
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a key, where it was kept.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        self.values().by_key.get(key).map(|(value, _)| value.clone())
    }

    /// The same, which is kept no longer.
    pub fn take<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        let mut values = self.values();
        let (value, bytes) = values.by_key.remove(key)?;
        values.bytes -= bytes;
        Some(value)
    }

    /// Keeps a value of some bytes where there is room.
    pub fn keep(&self, key: K, bytes: usize, value: impl FnOnce() -> Arc<V>) {
        let mut values = self.values();
        if values.bytes + bytes <= self.most && !values.by_key.contains_key(&key) {
            values.bytes += bytes;
            values.by_key.insert(key, (value(), bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_where_there_is_room() {
        let kept: Kept<&str, [u8]> = Kept::new(8);
        let keep = |key: &'static str, size: usize| kept.keep(key, size, || vec![7; size].into());
        keep("small", 3);
        keep("small", 3);
        keep("large", 6);
        keep("other", 5);
        keep("late", 1);
        let sizes = ["small", "large", "other", "late"].map(|key| kept.get(key).map(|v| v.len()));
        assert_eq!(sizes, [Some(3), None, Some(5), None]);
    }

    #[test]
    fn what_is_taken_makes_room() {
        let kept: Kept<&str, [u8]> = Kept::new(8);
        let keep = |key: &'static str, size: usize| kept.keep(key, size, || vec![7; size].into());
        keep("first", 6);
        let taken = ["first", "first"].map(|key| kept.take(key).map(|v| v.len()));
        assert_eq!(taken, [Some(6), None]);
        keep("second", 8);
        assert_eq!(["first", "second"].map(|key| kept.get(key).is_some()), [false, true]);
    }
}
