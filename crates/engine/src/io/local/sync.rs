//! Locks of the standard library that ignore poisoning. In tests, a schedule decides at each lock which thread runs, so
//! that interleavings can be tried one by one.

use crate::io::profile::clock::random_u64;
#[cfg(test)]
use crate::io::reads::test_schedule;
use arc_swap::{ArcSwap, Guard};
#[cfg(test)]
use std::sync::TryLockError;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

pub(crate) use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Takes a lock when the schedule lets this thread run while the lock is free; does nothing without a schedule.
#[cfg(test)]
macro_rules! scheduled {
    ($attempt:expr) => {
        while test_schedule::pass() {
            match $attempt {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
    };
}

/// See [`std::sync::Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(test)]
        scheduled!(self.0.try_lock());
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`std::sync::RwLock`].
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        #[cfg(test)]
        scheduled!(self.0.try_read());
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        #[cfg(test)]
        scheduled!(self.0.try_write());
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    /// Waits for a notification, possibly with a spurious wake-up; `mutex` is the one that `guard` locks.
    pub(crate) fn wait<'a, T>(&self, mutex: &'a Mutex<T>, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        #[cfg(test)]
        if test_schedule::is_scheduled() {
            drop(guard);
            return mutex.lock();
        }
        let _ = mutex;
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::wait`], for at most this number of microseconds.
    pub(crate) fn wait_for<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        at_most_us: f64,
    ) -> MutexGuard<'a, T> {
        #[cfg(test)]
        if test_schedule::is_scheduled() {
            drop(guard);
            return mutex.lock();
        }
        let _ = mutex;
        let at_most = Duration::from_micros((at_most_us.clamp(0.0, 1e9) as u64).max(1));
        self.0.wait_timeout(guard, at_most).unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Yields to other threads for a moment; `false` if a schedule decides which thread runs.
pub(crate) fn yield_briefly() -> bool {
    #[cfg(test)]
    if test_schedule::is_scheduled() {
        return false;
    }
    std::thread::yield_now();
    true
}

/// Lets the thread sleep for a random time up to this number of microseconds; for a moment if a schedule decides which
/// thread runs. At random times those who wait for the same do not keep meeting.
pub(crate) fn pause_randomly(most_us: f64) {
    let share = (random_u64() >> 32) as f64 / f64::from(u32::MAX);
    let waiting = Mutex::new(());
    drop(Condvar::default().wait_for(&waiting, waiting.lock(), most_us * share));
}

/// A value that is read without a lock and replaced as a whole; readers keep the version that they read.
#[derive(Debug)]
pub(crate) struct Published<T>(ArcSwap<T>);

impl<T> Published<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ArcSwap::from_pointee(value))
    }

    /// The current value, for a short time: the guard must not be kept.
    pub(crate) fn peek(&self) -> Guard<Arc<T>> {
        #[cfg(test)]
        test_schedule::pass();
        self.0.load()
    }

    /// The current value, to keep.
    pub(crate) fn get(&self) -> Arc<T> {
        #[cfg(test)]
        test_schedule::pass();
        self.0.load_full()
    }

    pub(crate) fn set(&self, value: T) {
        self.0.store(Arc::new(value));
        #[cfg(test)]
        test_schedule::pass();
    }
}
