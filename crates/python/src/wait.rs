//! Long work: it runs on a thread of its own, while the caller's thread waits for signals, and shows progress.

use crate::errors::{self, OrRaise};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

/// How long signals wait: short for a person, long beside what it costs to look for them.
const SIGNAL_WAIT: Duration = Duration::from_millis(50);

/// Looks for signals, which only the main thread gets; others need not wait for the interpreter's lock.
pub(crate) fn signal() -> PyResult<()> {
    if MAIN_THREAD.get() == Some(&std::thread::current().id()) {
        Python::attach(|py| py.check_signals())?;
    }
    Ok(())
}

/// The thread that imported the module.
static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Takes this thread for the main one.
pub(crate) fn note_main_thread() {
    _ = MAIN_THREAD.set(std::thread::current().id());
}

/// What long work shares with the thread that waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    /// Set when the work shall end.
    pub(crate) stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

impl Task {
    /// States how much is done, of how much; 0 if that is unknown.
    pub(crate) fn report(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// An error once the work shall end.
    pub(crate) fn check(&self) -> ogive::Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(ogive::Error::interrupted()) } else { Ok(()) }
    }

    /// Looks for signals, and passes progress on.
    fn attend(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed)))?;
        }
        Ok(())
    }
}

/// Does work that ends when `task.stop` is set. An exception of a signal handler or of `progress` sets it; the work has
/// ended when the exception is raised.
pub(crate) fn interruptible<R: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Task) -> ogive::Result<R> + Send,
) -> PyResult<R> {
    interruptible_as(py, Task::default(), progress, |task| work(task).map_err(errors::of))
}

/// As [`interruptible`], for work with exceptions of its own, and with a task that others may know.
pub(crate) fn interruptible_as<R: Send>(
    py: Python<'_>,
    task: Task,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Task) -> PyResult<R> + Send,
) -> PyResult<R> {
    std::thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::sync_channel(1);
        let of_work = task.clone();
        // The receiver waits for an answer until the scope ends.
        scope.spawn(move || drop(sender.send(work(&of_work))));
        let mut interrupted = None;
        loop {
            let result;
            (receiver, result) = next(py, receiver)?;
            if let Some(result) = result {
                if let Some(progress) = progress
                    && result.is_ok()
                {
                    task.attend(py, Some(progress))?;
                }
                return interrupted.map_or(result, Err);
            }
            if interrupted.is_none()
                && let Err(error) = task.attend(py, progress)
            {
                task.stop.store(true, Ordering::Relaxed);
                interrupted = Some(error);
            }
        }
    })
}

/// Does work without the interpreter's lock, which this thread may have.
pub(crate) fn without_lock<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    Python::attach(|py| py.detach(work))
}

/// Drops a value without the interpreter's lock, whether there is an interpreter or none any more.
pub(crate) fn drop_without_lock<T: Send>(value: T) {
    let mut value = Some(value);
    _ = Python::try_attach(|py| py.detach(|| drop(value.take())));
}

/// Waits for work that nothing ends: after a signal, it goes on without its caller.
pub(crate) fn abandonable<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> ogive::Result<R> + Send + 'static,
) -> PyResult<R> {
    abandonable_as(py, None, |_| work())
}

/// As [`abandonable`], with progress.
pub(crate) fn abandonable_as<R: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Task) -> ogive::Result<R> + Send + 'static,
) -> PyResult<R> {
    let (sender, mut receiver) = mpsc::sync_channel(1);
    let task = Task::default();
    let of_work = task.clone();
    std::thread::spawn(move || drop(sender.send(work(&of_work))));
    loop {
        let result;
        (receiver, result) = next(py, receiver)?;
        match result {
            Some(result) => return result.or_raise(),
            None => task.attend(py, progress)?,
        }
    }
}

/// The result, if it comes before signals should be looked for.
fn next<R: Send>(py: Python<'_>, receiver: Receiver<R>) -> PyResult<(Receiver<R>, Option<R>)> {
    // By value: a receiver may pass to another thread, but not be shared.
    let (receiver, received) = py.detach(move || {
        let received = receiver.recv_timeout(SIGNAL_WAIT);
        (receiver, received)
    });
    match received {
        Ok(result) => Ok((receiver, Some(result))),
        Err(RecvTimeoutError::Timeout) => Ok((receiver, None)),
        Err(RecvTimeoutError::Disconnected) => Err(errors::new("OgiveError", "the work ended without a result")),
    }
}
