//! Work on several relations at a time, such as the opening of the tables of a folder.

use datafusion::error::Result;
use std::thread;

/// Most threads: as many requests as an object store answers well at a time, and few enough to start.
const THREADS_MAX: usize = 16;
/// Time that the waiting for storage takes in all, in microseconds, from which it is worth to start threads.
const WAITING_US_MIN: f64 = 2_000.0;

/// Does work on each of several items, of which each waits this long for storage: by several threads, if that is long.
///
/// # Errors
/// The first error, in the order of the items.
pub(crate) fn side_by_side<A: Sync, T: Send>(
    items: &[A],
    wait_us: f64,
    work: impl Fn(&A) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = items.len().min(THREADS_MAX);
    if threads < 2 || wait_us * (items.len() as f64) < WAITING_US_MIN {
        return items.iter().map(work).collect();
    }
    let work = &work;
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads));
        let running: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Result<Vec<T>>>())).collect();
        let mut done = Vec::with_capacity(items.len());
        for part in running {
            done.append(&mut part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::plan_err;
    use std::collections::HashSet;

    #[test]
    fn all_items_are_worked_on_in_their_order() {
        for (count, wait_us, has_threads) in [(0, 1e6, false), (1, 1e6, false), (100, 1.0, false), (100, 1e6, true)] {
            let items: Vec<usize> = (0..count).collect();
            let done = side_by_side(&items, wait_us, |item| Ok((item * 2, thread::current().id()))).unwrap();
            assert!(done.iter().map(|(double, _)| *double).eq((0..count).map(|item| item * 2)));
            let threads: HashSet<_> = done.iter().map(|(_, thread)| *thread).collect();
            assert_eq!(threads.len() > 1, has_threads, "{count} items");
        }
    }

    #[test]
    fn the_first_error_is_returned() {
        let items: Vec<usize> = (0..100).collect();
        let work = |item: &usize| if item % 40 == 39 { plan_err!("{item}") } else { Ok(()) };
        let error = side_by_side(&items, 1e6, work).unwrap_err().to_string();
        assert!(error.contains("39") && !error.contains("79"), "{error}");
    }
}
