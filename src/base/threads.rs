//! Work on many items by a few threads, results in the order of the items.

use std::cmp::Reverse;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// As many threads as asked for; for 0 as many as the machine has cores.
pub fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// Calls `work` on the items in their order, by `threads` threads.
///
/// Plain threads and not a pool: the items are few and large, and a decoder that is called from here
/// starts no threads of its own.
pub fn map<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let order: Vec<usize> = (0..items.len()).collect();
    in_order(items, &order, threads, work)
}

/// As [`map`], the items of the greatest `size` first: so the last thread is not the only one left.
pub fn map_largest_first<T: Sync, R: Send, S: Ord>(
    items: &[T],
    threads: usize,
    size: impl Fn(&T) -> S,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    // A size may take a while to find out.
    order.sort_by_cached_key(|i| Reverse(size(&items[*i])));
    in_order(items, &order, threads, work)
}

/// Does two pieces of work, at once where there is more than one thread.
pub fn both<A: Send, B>(
    threads: usize,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if threads < 2 {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
    })
}

fn in_order<T: Sync, R: Send>(
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
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        // This thread works too, so one thread means no other.
        for _ in 1..threads.min(items.len()) {
            scope.spawn(run);
        }
        run();
    });
    results
        .into_iter()
        .filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled: Vec<usize> = (0..100).map(|i| i * 2).collect();
        for threads in [1, 3] {
            assert_eq!(map(&items, threads, |i| i * 2), doubled);
            assert_eq!(map_largest_first(&items, threads, |i| *i, |i| i * 2), doubled);
        }
    }

    #[test]
    fn both_pieces_of_work_are_done() {
        for threads in [1, 2] {
            assert_eq!(both(threads, || "a", || 2), ("a", 2));
        }
    }

    #[test]
    fn the_largest_items_are_worked_on_first() {
        let met = Mutex::new(Vec::new());
        let size = |item: &&str| item.len();
        let work = |item: &&'static str| met.lock().unwrap().push(*item);
        map_largest_first(&["a", "ccc", "bb", "dd"], 1, size, work);
        assert_eq!(*met.lock().unwrap(), ["ccc", "bb", "dd", "a"]);
    }
}
