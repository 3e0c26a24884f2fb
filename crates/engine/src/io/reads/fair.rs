//! A fair mutex: threads acquire it in the order of their requests.

use crate::io::local::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A mutex without overtaking: a thread that releases the lock and requests it again queues behind all waiting threads.
/// With the standard library's mutex such a thread nearly always wins, and the others starve.
#[derive(Debug, Default)]
pub(crate) struct FairMutex<T> {
    turns: Mutex<FairQueue>,
    value: Mutex<T>,
}

#[derive(Debug, Default)]
struct FairQueue {
    is_held: bool,
    next_ticket: u64,
    /// Number of turns granted, and the largest number of turns granted to later requests while a thread waited.
    #[cfg(test)]
    given: u64,
    #[cfg(test)]
    overtakes: u64,
    /// Waiting threads in order: their tickets, and the condition that wakes each.
    waiting: VecDeque<(u64, Arc<Condvar>)>,
}

/// Access to the protected value, until dropped.
#[derive(Debug)]
pub(crate) struct FairGuard<'a, T> {
    // Dropped before the turn ends.
    value: MutexGuard<'a, T>,
    _turn: FairTurn<'a>,
}

/// A turn, which ends when it is dropped, also on a panic.
#[derive(Debug)]
struct FairTurn<'a>(&'a Mutex<FairQueue>);

impl<T> FairMutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { turns: Mutex::default(), value: Mutex::new(value) }
    }

    /// Waits until all earlier requests have had their turns.
    pub(crate) fn lock(&self) -> FairGuard<'_, T> {
        let mut turns = self.turns.lock();
        #[cfg(test)]
        let due = turns.given + turns.waiting.len() as u64;
        if turns.is_held || !turns.waiting.is_empty() {
            let (ticket, woken) = (turns.next_ticket, Arc::new(Condvar::default()));
            turns.next_ticket += 1;
            turns.waiting.push_back((ticket, Arc::clone(&woken)));
            while turns.is_held || turns.waiting.front().is_some_and(|(first, _)| *first != ticket) {
                turns = woken.wait(&self.turns, turns);
            }
            turns.waiting.pop_front();
        }
        turns.is_held = true;
        #[cfg(test)]
        {
            turns.overtakes = turns.overtakes.max(turns.given - due);
            turns.given += 1;
        }
        drop(turns);
        self.guard()
    }

    /// Acquires the lock if it is free and no thread waits.
    pub(crate) fn try_lock(&self) -> Option<FairGuard<'_, T>> {
        let mut turns = self.turns.lock();
        if turns.is_held || !turns.waiting.is_empty() {
            return None;
        }
        turns.is_held = true;
        drop(turns);
        Some(self.guard())
    }

    fn guard(&self) -> FairGuard<'_, T> {
        let turn = FairTurn(&self.turns);
        FairGuard { value: self.value.lock(), _turn: turn }
    }
}

#[cfg(test)]
impl<T> FairMutex<T> {
    /// The largest number of turns granted to later requests while a thread waited.
    pub(crate) fn overtakes(&self) -> u64 {
        self.turns.lock().overtakes
    }

    /// Number of requests that had to wait.
    pub(crate) fn waits(&self) -> u64 {
        self.turns.lock().next_ticket
    }
}

impl Drop for FairTurn<'_> {
    fn drop(&mut self) {
        let mut turns = self.0.lock();
        turns.is_held = false;
        if let Some((_, first)) = turns.waiting.front() {
            first.notify_all();
        }
    }
}

impl<T> Deref for FairGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for FairGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_schedule;
    use super::*;

    #[test]
    fn no_waiter_is_overtaken_whatever_the_schedule() {
        const THREADS: u64 = 4;
        let mut waits = 0;
        for seed in 0..200 {
            let lock = FairMutex::new(0_u64);
            let thread = || {
                for _ in 0..20 {
                    let mut value = lock.lock();
                    *value += 1;
                    test_schedule::pass();
                }
            };
            test_schedule::run(seed, (0..THREADS).map(|_| Box::new(thread) as Box<dyn FnOnce() + Send>).collect());
            assert_eq!(*lock.lock(), 20 * THREADS);
            assert_eq!(lock.overtakes(), 0, "seed {seed}");
            waits += lock.waits();
        }
        assert!(waits > 1000, "{waits}");
    }

    #[test]
    fn a_thread_that_panics_with_the_lock_hands_it_on() {
        let lock = FairMutex::new(1);
        let panicked = std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _guard = lock.lock();
                panic!("as it is meant to");
            });
            holder.join()
        });
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), 1);
    }
}
