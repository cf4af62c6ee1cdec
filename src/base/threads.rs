//! Parallel work on items of very different sizes. All other parallel code uses rayon's iterators.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Starts the threads for all parallel work: `count` threads, or one per core if `count` is 0. Without this
/// call, rayon starts one per core. Only the first call has an effect.
pub fn start(count: usize) {
    // Decoders and nested work need more stack than rayon's default.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).stack_size(16 << 20);
    // A second pool is refused; the first one stays in use.
    let _ = pool.build_global();
}

/// Calls `work` on all items in parallel, at most `most` at a time, and returns the results in the items' order. Items
/// are taken in their order.
pub(crate) fn map_in_order<T: Sync, R: Send>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let take_next = || loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(place) else { break };
        let result = work(item);
        *results[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    };
    rayon::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(most).min(items.len()) {
            scope.spawn(|_| take_next());
        }
    });
    let results = results.into_iter();
    results.filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Calls `work` on all items in parallel and returns the results in the items' order. Items with the greatest
/// `size` come first, so that no thread is left alone with a large item at the end.
pub(crate) fn map_largest_first<T: Sync, R: Send, S: Ord>(
    items: &[T],
    size: impl Fn(&T) -> S,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_cached_key(|i| Reverse(size(&items[*i])));
    let mut results = map_in_order(&order, usize::MAX, |i| (*i, work(&items[*i])));
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_parallel_work_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled: Vec<usize> = (0..100).map(|i| i * 2).collect();
        assert_eq!(map_largest_first(&items, |i| *i, |i| i * 2), doubled);
    }

    #[test]
    fn the_largest_items_are_processed_first() {
        let seen = Mutex::new(Vec::new());
        let work = |item: &&'static str| seen.lock().unwrap().push(*item);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| map_largest_first(&["a", "ccc", "bb", "dd"], |item| item.len(), work));
        assert_eq!(*seen.lock().unwrap(), ["ccc", "bb", "dd", "a"]);
    }
}
