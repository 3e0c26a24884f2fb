//! Threads of the engine's own.

use crate::error::{Error, Result};
use std::path::Path;
use std::thread::{Builder, JoinHandle};

/// A thread that does not outlive this handle: dropping the handle waits for the thread's end.
///
/// Whoever owns it must have told the thread to end by then.
#[derive(Debug)]
pub struct Worker {
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread; `name` is shown by debuggers, `path` names in errors whom it works for.
    ///
    /// # Errors
    /// [`Error::Io`] when the system gives no further thread.
    pub fn spawn(name: &str, path: &Path, work: impl FnOnce() + Send + 'static) -> Result<Self> {
        let thread = Builder::new().name(name.to_owned()).spawn(work);
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
