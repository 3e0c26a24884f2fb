//! Access to an open store: whether it is read-only, has failed, or is closed.

use std::sync::atomic::{AtomicBool, Ordering};

/// What may be done with an open store.
#[derive(Debug)]
pub(in crate::lsm) struct Access {
    read_only: bool,
    /// Whether the store is closed to writes; the reason is in the shared state.
    has_failed: AtomicBool,
    /// Whether [`Db::close`](crate::lsm::Db::close) was called: all handles fail then.
    is_closed: AtomicBool,
}

impl Access {
    pub(super) fn new(read_only: bool) -> Self {
        Self { read_only, has_failed: AtomicBool::new(read_only), is_closed: AtomicBool::new(false) }
    }

    pub(in crate::lsm) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether the store is closed to writes.
    pub(in crate::lsm) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    pub(in crate::lsm) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Closes the store to writes; returns whether it was open to them.
    pub(super) fn fail(&self) -> bool {
        !self.has_failed.swap(true, Ordering::AcqRel)
    }

    /// Reverts [`Self::fail`].
    pub(in crate::lsm) fn reopen(&self) {
        self.has_failed.store(false, Ordering::Release);
    }

    /// Closes the store to all uses.
    pub(in crate::lsm) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.has_failed.store(true, Ordering::Release);
    }
}
