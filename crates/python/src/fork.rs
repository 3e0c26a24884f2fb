//! Forked processes: a child must not use a handle of its parent, whose threads and locks it does not have.

use crate::errors;
use crate::wait::drop_without_lock;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

const FORKED: &str = "a handle that was opened before a fork cannot be used in the child; open the path again there: \
                      with read_only=True while the parent has it open for writing, or close it before the fork";

/// Number of forks between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Called by Python in a child after a fork.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A value that belongs to the process in which it was made. In a child, it cannot be used, and is not dropped: that
/// would wait for threads that the child does not have.
///
/// It is dropped without the interpreter's lock: the last handle of a store closes it, which may take requests. So no
/// lock is held where one is dropped.
#[derive(Debug)]
pub(crate) struct Native<T: Send> {
    value: Option<T>,
    forks: u64,
}

impl<T: Send> Native<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), forks: FORKS.load(Ordering::Relaxed) }
    }

    fn is_here(&self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }

    /// The value.
    ///
    /// # Errors
    /// `ForkedError` in a child.
    pub(crate) fn get(&self) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.is_here() => Ok(value),
            _ => Err(errors::new("ForkedError", FORKED)),
        }
    }
}

impl<T: Send> Drop for Native<T> {
    fn drop(&mut self) {
        let value = self.value.take();
        match self.is_here() {
            true => drop_without_lock(value),
            false => std::mem::forget(value),
        }
    }
}
