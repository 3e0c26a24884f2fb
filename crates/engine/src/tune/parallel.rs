//! A parallel map over a given number of threads.

use crate::io::spawn_helper;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `work` for 0 to `count` - 1 on up to `threads` threads and returns the results in order. Panics of `work` are
/// propagated.
pub fn map<T: Send>(threads: usize, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return done;
            }
            done.push((index, work(index)));
        }
    };
    let mut results = std::thread::scope(|scope| {
        // If the system cannot start a thread, the others do its part.
        let others: Vec<_> = (1..threads).map_while(|_| spawn_helper(scope, "ogive-tune", take).ok()).collect();
        let mut results = take();
        for other in others {
            match other.join() {
                Ok(done) => results.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_for_any_number_of_threads() {
        for threads in [0, 1, 2, 7] {
            assert_eq!(map(threads, 20, |i| i * i), (0..20).map(|i| i * i).collect::<Vec<_>>());
        }
        assert!(map(4, 0, |i| i).is_empty());
    }
}
