//! Work on many items by a few threads, results in the order of the items.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// As many threads as asked for; for 0 as many as the machine has cores.
pub fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// Calls `work` on the items in the order of `order`, by `threads` threads; largest first keeps
/// the last thread from being the only one left.
///
/// Plain threads and not a pool: the items are few and large, and a decoder that is called from here
/// starts no threads of its own.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    order: &[usize],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let run = || {
        while let Some(&i) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(&items[i]);
            *results[i].lock().unwrap_or_else(|e| e.into_inner()) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        // This thread works too, so one thread means no other.
        for _ in 1..threads.min(items.len()) {
            scope.spawn(run);
        }
        run();
    });
    results.into_iter().filter_map(|r| r.into_inner().unwrap_or_else(|e| e.into_inner())).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let order: Vec<usize> = (0..100).rev().collect();
        for threads in [1, 3] {
            assert_eq!(
                super::map(&items, &order, threads, |i| i * 2),
                (0..100).map(|i| i * 2).collect::<Vec<_>>()
            );
        }
    }
}
