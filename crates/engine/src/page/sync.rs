//! Locks of the page layer: those of the standard library, which go on after a panic elsewhere. In tests a schedule decides which
//! thread runs at each of them, so that interleavings can be tried one by one.

#[cfg(test)]
use super::schedule;
use std::sync::PoisonError;
#[cfg(test)]
use std::sync::TryLockError;

pub(super) use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Takes a lock as soon as the schedule lets this thread run while it is free; does nothing without a schedule.
#[cfg(test)]
macro_rules! scheduled {
    ($attempt:expr) => {
        while schedule::pass() {
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
pub(super) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(test)]
        scheduled!(self.0.try_lock());
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`std::sync::RwLock`].
#[derive(Debug, Default)]
pub(super) struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(super) fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        #[cfg(test)]
        scheduled!(self.0.try_read());
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, T> {
        #[cfg(test)]
        scheduled!(self.0.try_write());
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub(super) struct Condvar(std::sync::Condvar);

impl Condvar {
    /// Waits for a notice, or a little less; `mutex` is the one that `guard` locks.
    pub(super) fn wait<'a, T>(&self, mutex: &'a Mutex<T>, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        #[cfg(test)]
        if schedule::is_scheduled() {
            drop(guard);
            return mutex.lock();
        }
        let _ = mutex;
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}
