//! The runtime of the requests: two threads of this crate's own, for the life of the process.
//!
//! Callers wait on a channel, so they may be threads of another runtime, even of one with a single thread.

use ogive::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, sync_channel};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// Threads that run requests: they wait for the network, and copy bytes.
const THREADS: usize = 2;

/// The runtime, or the reason why it did not start.
fn runtime() -> Result<&'static Runtime, io::Error> {
    static RUNTIME: OnceLock<Result<Runtime, io::ErrorKind>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        let built =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("ogive-objects").enable_all().build();
        built.map_err(|error| error.kind())
    });
    started.as_ref().map_err(|&kind| kind.into())
}

/// A future that runs. Dropping it gives it up, with its requests.
pub(crate) struct Job<T> {
    outcome: Receiver<T>,
    task: AbortHandle,
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Job").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Job<T> {
    /// Starts a future; `path` names its file in errors.
    pub(crate) fn start(path: &Path, future: impl Future<Output = T> + Send + 'static) -> ogive::Result<Self> {
        let runtime = runtime().map_err(|source| Error::io("start the threads for requests to", path, source))?;
        let (sender, outcome) = sync_channel(1);
        let task = runtime.spawn(async move {
            // The caller may have given it up.
            _ = sender.send(future.await);
        });
        Ok(Self { outcome, task: task.abort_handle() })
    }

    /// Waits for the outcome.
    pub(crate) fn wait(self, path: &Path) -> ogive::Result<T> {
        let ended = || io::Error::other("its thread has ended; this is a bug: please report it");
        self.outcome.recv().map_err(|_| Error::io("request", path, ended()))
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts a future whose outcome is awaited, on any runtime. Dropping it gives it up, with its requests.
pub(crate) fn spawn<T: Send + 'static, F: Future<Output = ogive::Result<T>> + Send + 'static>(
    path: &Path,
    future: F,
) -> ogive::Result<impl Future<Output = ogive::Result<T>> + Send + use<T, F>> {
    /// Ends a task when it is dropped.
    struct Ending(AbortHandle);
    impl Drop for Ending {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let runtime = runtime().map_err(|source| Error::io("start the threads for requests to", path, source))?;
    let (task, path) = (runtime.spawn(future), path.to_owned());
    let ending = Ending(task.abort_handle());
    Ok(async move {
        let outcome = task.await.map_err(|error| Error::io("request", path, io::Error::other(error)))?;
        drop(ending);
        outcome
    })
}

/// Runs a future to its end.
pub(crate) fn run<T: Send + 'static>(
    path: &Path,
    future: impl Future<Output = ogive::Result<T>> + Send + 'static,
) -> ogive::Result<T> {
    Job::start(path, future)?.wait(path)?
}
