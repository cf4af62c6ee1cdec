//! Work on many items by a few threads, results in the order of the items.

use std::cell::Cell;
use std::cmp::Reverse;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Threads that help others with their items, in the whole program, less those that wait for such threads. For a moment
/// after the last helper is done it is one too few.
static HELPERS: AtomicIsize = AtomicIsize::new(0);

/// One of [`HELPERS`], until it is dropped.
struct Helper;

impl Helper {
    /// One more, where `most` are not at work already.
    fn new(most: usize) -> Option<Self> {
        let most = isize::try_from(most).unwrap_or(isize::MAX);
        let more = |helpers| (helpers < most).then_some(helpers + 1);
        HELPERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        HELPERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread that waits for its helpers, until it is dropped: another may help them in its place.
struct Waiting;

impl Waiting {
    fn new() -> Self {
        HELPERS.fetch_sub(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        HELPERS.fetch_add(1, Ordering::Relaxed);
    }
}

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
/// starts no threads of its own. Where an item is many items again, these wait for a thread that has nothing
/// else to do: otherwise there would be more threads than asked for, started for less than it takes to start one.
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
    let run = |before_each: &dyn Fn()| {
        while let Some(&i) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            before_each();
            let result = work(&items[i]);
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    let mut waiting = None;
    std::thread::scope(|scope| {
        let helpers = Cell::new(0);
        let is_helped = || helpers.get() + 1 >= items.len().min(threads);
        // This thread works too, so one thread means no other. Helpers come as soon as others are done.
        run(&|| {
            while !is_helped() && next.load(Ordering::Relaxed) < items.len() {
                let Some(helper) = Helper::new(threads - 1) else { break };
                helpers.set(helpers.get() + 1);
                scope.spawn(move || {
                    run(&|| ());
                    drop(helper);
                });
            }
        });
        waiting = (helpers.get() > 0).then(Waiting::new);
    });
    drop(waiting);
    results
        .into_iter()
        .filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::time::Duration;

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
    fn items_of_items_are_worked_on_by_as_many_threads_as_asked_for() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let inner = |_: &usize| {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(200));
            now.fetch_sub(1, Ordering::Relaxed);
            1
        };
        let items: Vec<usize> = (0..8).collect();
        let sums = map(&items, 3, |_| map(&items, 3, inner).into_iter().sum::<usize>());
        assert_eq!(sums, [8; 8]);
        assert!(most.into_inner() <= 3);
    }

    #[test]
    fn the_last_item_is_worked_on_by_the_thread_that_would_wait_for_it() {
        let met = Mutex::new(HashSet::new());
        let is_helped = || met.lock().unwrap().len() > 1;
        let piece = |_: &usize| {
            met.lock().unwrap().insert(std::thread::current().id());
            // Other tests may have all the helpers for a while.
            if !is_helped() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let pieces: Vec<usize> = (0..5000).collect();
        let item = |count: &usize| drop(map(&pieces[..*count], 2, piece));
        map(&[0, pieces.len()], 2, item);
        assert!(is_helped());
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
