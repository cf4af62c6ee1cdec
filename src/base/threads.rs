//! Work on many items by a few threads, results in the order of the items.

use std::cell::Cell;
use std::cmp::Reverse;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Threads that help others with their items.
struct Crew {
    /// How many, less those that wait for such threads. For a moment after the last helper is done it is one too few.
    helpers: Mutex<isize>,
    /// That they are fewer.
    fewer: Condvar,
}

/// That of the whole program.
static CREW: Crew = Crew::new();

impl Crew {
    const fn new() -> Self {
        Self { helpers: Mutex::new(0), fewer: Condvar::new() }
    }

    fn helpers(&self) -> MutexGuard<'_, isize> {
        self.helpers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn one_fewer(&self) {
        *self.helpers() -= 1;
        self.fewer.notify_all();
    }

    /// One more helper, where `most` are not at work already.
    fn helper(&self, most: usize) -> Option<Helper<'_>> {
        self.helper_once_free(most, || false)
    }

    /// One more helper, once fewer than `most` are at work; none where that takes longer than there is work.
    fn helper_once_free(&self, most: usize, is_work_left: impl Fn() -> bool) -> Option<Helper<'_>> {
        let most = isize::try_from(most).unwrap_or(isize::MAX);
        let is_early = |helpers: &mut isize| *helpers >= most && is_work_left();
        let helpers = self.fewer.wait_while(self.helpers(), is_early);
        let mut helpers = helpers.unwrap_or_else(PoisonError::into_inner);
        (*helpers < most).then(|| {
            *helpers += 1;
            Helper(self)
        })
    }
}

/// A helper, until it is dropped.
struct Helper<'a>(&'a Crew);

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        self.0.one_fewer();
    }
}

/// A thread that waits for its helpers, until it is dropped: another may help them in its place.
struct Waiting<'a>(&'a Crew);

impl<'a> Waiting<'a> {
    fn new(crew: &'a Crew) -> Self {
        crew.one_fewer();
        Self(crew)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *self.0.helpers() += 1;
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
    in_order(&CREW, items, &order, threads, false, work)
}

/// As [`map`], the items of the greatest `size` first: so the last thread is not the only one left. They are so large
/// that threads which are not free yet are waited for while the first is worked on.
pub fn map_largest_first<T: Sync, R: Send, S: Ord>(
    items: &[T],
    threads: usize,
    size: impl Fn(&T) -> S,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    // A size may take a while to find out.
    order.sort_by_cached_key(|i| Reverse(size(&items[*i])));
    in_order(&CREW, items, &order, threads, true, work)
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

/// Works on some items; where they `are_large`, helpers that are not free yet are waited for.
fn in_order<T: Sync, R: Send>(
    crew: &Crew,
    items: &[T],
    order: &[usize],
    threads: usize,
    are_large: bool,
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
    let is_work_left = || next.load(Ordering::Relaxed) < items.len();
    let mut waiting = None;
    std::thread::scope(|scope| {
        let (run, is_work_left) = (&run, &is_work_left);
        let helpers = Cell::new(0);
        let is_helped = || helpers.get() + 1 >= items.len().min(threads);
        // This thread works too, so one thread means no other. Helpers come as soon as others are done.
        run(&|| {
            while !is_helped() && is_work_left() {
                let helper = crew.helper(threads - 1);
                if helper.is_none() && !are_large {
                    break;
                }
                helpers.set(helpers.get() + 1);
                scope.spawn(move || {
                    let helper =
                        helper.or_else(|| crew.helper_once_free(threads - 1, is_work_left));
                    if let Some(helper) = helper {
                        run(&|| ());
                        drop(helper);
                    }
                });
            }
        });
        waiting = (helpers.get() > 0).then(|| Waiting::new(crew));
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
    use std::thread::ThreadId;
    use std::time::{Duration, Instant};

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

    /// A map by a crew that no other test has.
    fn map_by<T: Sync, R: Send>(
        crew: &Crew,
        items: &[T],
        threads: usize,
        work: impl Fn(&T) -> R + Sync,
    ) -> Vec<R> {
        let order: Vec<usize> = (0..items.len()).collect();
        in_order(crew, items, &order, threads, false, work)
    }

    #[test]
    fn items_of_items_are_worked_on_by_as_many_threads_as_asked_for() {
        let (crew, now, most) = (Crew::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        let inner = |_: &usize| {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(200));
            now.fetch_sub(1, Ordering::Relaxed);
            1
        };
        let items: Vec<usize> = (0..8).collect();
        let item = |_: &usize| map_by(&crew, &items, 3, inner).into_iter().sum::<usize>();
        let sums = map_by(&crew, &items, 3, item);
        assert_eq!(sums, [8; 8]);
        assert!(most.into_inner() <= 3);
    }

    #[test]
    fn the_last_item_is_worked_on_by_the_thread_that_would_wait_for_it() {
        let (crew, met) = (Crew::new(), Mutex::new(HashSet::new()));
        let is_helped = || met.lock().unwrap().len() > 1;
        let piece = |_: &usize| {
            met.lock().unwrap().insert(std::thread::current().id());
            if !is_helped() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let pieces: Vec<usize> = (0..5000).collect();
        let item = |count: &usize| drop(map_by(&crew, &pieces[..*count], 2, piece));
        map_by(&crew, &[0, pieces.len()], 2, item);
        assert!(is_helped());
    }

    /// Waits until two threads have been here.
    fn meet(met: &Mutex<HashSet<ThreadId>>) {
        let is_met = || met.lock().unwrap().len() > 1;
        met.lock().unwrap().insert(std::thread::current().id());
        let start = Instant::now();
        while !is_met() && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_thread_that_becomes_free_helps_with_the_first_of_large_items() {
        let (crew, met) = (Crew::new(), Mutex::default());
        let other = crew.helper(1).unwrap();
        std::thread::scope(|scope| {
            let items = || in_order(&crew, &[1, 2], &[0, 1], 2, true, |_| meet(&met));
            let items = scope.spawn(items);
            while met.lock().unwrap().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(other);
            items.join().unwrap();
        });
        assert_eq!(met.into_inner().unwrap().len(), 2);
    }

    #[test]
    fn no_thread_waits_to_help_once_the_work_is_done() {
        let crew = Crew::new();
        let other = crew.helper(1).unwrap();
        assert_eq!(in_order(&crew, &[1, 2], &[0, 1], 2, true, |item| item * 2), [2, 4]);
        drop(other);
        assert_eq!(*crew.helpers(), 0);
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
