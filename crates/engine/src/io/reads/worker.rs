//! Worker threads that end with their handle or scope.

use crate::error::{Error, Result};
use std::io;
use std::path::Path;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// A thread that does not outlive its handle: dropping the handle waits for the thread to end.
///
/// The owner must have signalled the thread to end before.
#[derive(Debug)]
pub struct Worker {
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread; `name` is shown by debuggers, `path` names the file it works for in errors.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) if the system cannot start a thread.
    pub fn spawn(name: &str, path: &Path, work: impl FnOnce() + Send + 'static) -> Result<Self> {
        let thread = admit().and_then(|()| Builder::new().name(name.to_owned()).spawn(work));
        let thread = thread.map_err(|source| Error::io("start a thread for", path, source))?;
        Ok(Self { thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by its hook; there is nothing to undo here.
            _ = thread.join();
        }
    }
}

/// Starts a thread that ends with its scope. Unlike [`Scope::spawn`] it returns an error if the system cannot start a
/// thread, so that the caller can do the work alone.
pub(crate) fn spawn_helper<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    admit()?;
    Builder::new().name(name.to_owned()).spawn_scoped(scope, work)
}

/// Permits a thread to start, unless a test forbids it.
fn admit() -> io::Result<()> {
    #[cfg(test)]
    tests::count()?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;
    use std::io::{self, ErrorKind};

    thread_local! {
        /// Number of threads requested by this thread, and which requests are refused: one, or all from that one on.
        static ASKED: Cell<u64> = const { Cell::new(0) };
        static REFUSED: Cell<Option<(u64, bool)>> = const { Cell::new(None) };
    }

    pub(super) fn count() -> io::Result<()> {
        let number = ASKED.replace(ASKED.get() + 1);
        match REFUSED.get() {
            Some((at, lasting)) if number == at || lasting && number > at => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    }

    /// Runs `work` with the request for thread number `at` refused, and all later ones if `lasting`; also returns
    /// whether that request was made.
    pub(crate) fn refusing<T>(at: u64, lasting: bool, work: impl FnOnce() -> T) -> (T, bool) {
        ASKED.set(0);
        REFUSED.set(Some((at, lasting)));
        let outcome = work();
        REFUSED.set(None);
        (outcome, ASKED.get() > at)
    }
}
