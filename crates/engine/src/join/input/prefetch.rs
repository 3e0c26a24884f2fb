//! Prefetch for sequential readers: a worker fills buffers while the consumer uses those filled before. With prefetch
//! disabled, the consumer fills each buffer itself.

use crate::error::Result;
use crate::io::{Handoff, Worker};
use crate::join::rows::task::{Task, TimedPhase};
use std::path::Path;
use std::sync::Arc;

/// A worker that fills buffers ahead of their consumer. Dropping it stops the worker.
pub(in crate::join) struct Prefetcher<T> {
    task: Arc<Task>,
    current: Option<T>,
    source: BufferSource<T>,
}

/// Fills a buffer; returns `false` at the end of the input.
type FillBuffer<T> = Box<dyn FnMut(&mut T) -> Result<bool> + Send>;

enum BufferSource<T> {
    Worker {
        buffers: Arc<Handoff<T>>,
        worker: Option<Worker>,
    },
    /// The consumer's thread. One buffer suffices.
    Consumer {
        spare: Option<T>,
        fill: FillBuffer<T>,
    },
}

impl<T: Send + 'static> Prefetcher<T> {
    /// Starts a worker. `fill` fills a recycled buffer, and returns `false` at the end of the input. `path` names the
    /// input in errors.
    pub(in crate::join) fn start(
        task: &Arc<Task>,
        path: &Path,
        mut buffers: Vec<T>,
        mut fill: impl FnMut(&mut T) -> Result<bool> + Send + 'static,
    ) -> Result<Self> {
        let source = if task.fast_paths.prefetch {
            let buffers = Arc::new(Handoff::new(buffers));
            let theirs = Arc::clone(&buffers);
            let worker = Worker::spawn("ogive-prefetch", path, move || theirs.end(fill_all(&theirs, &mut fill)))?;
            BufferSource::Worker { buffers, worker: Some(worker) }
        } else {
            BufferSource::Consumer { spare: buffers.pop(), fill: Box::new(fill) }
        };
        Ok(Self { task: Arc::clone(task), current: None, source })
    }

    /// Recycles the current buffer and takes the next filled one; `false` at the end.
    ///
    /// # Errors
    /// The error of `fill`; afterwards the stream is at its end.
    pub(in crate::join) fn next(&mut self) -> Result<bool> {
        let used = self.current.take();
        match &mut self.source {
            BufferSource::Worker { buffers, .. } => {
                if let Some(used) = used {
                    buffers.give_back(used);
                }
                let mut waited_us = 0.0;
                let taken = buffers.take(&mut waited_us);
                if waited_us > 0.0 {
                    self.task.add_time(TimedPhase::Reading, waited_us);
                }
                self.current = taken?;
            }
            BufferSource::Consumer { spare, fill } => {
                let Some(mut buffer) = used.or_else(|| spare.take()) else { return Ok(false) };
                let is_filled = self.task.timed(TimedPhase::Reading, || fill(&mut buffer))?;
                self.current = is_filled.then_some(buffer);
            }
        }
        Ok(self.current.is_some())
    }

    pub(in crate::join) fn current(&self) -> Option<&T> {
        self.current.as_ref()
    }
}

impl<T> Drop for Prefetcher<T> {
    fn drop(&mut self) {
        if let BufferSource::Worker { buffers, worker } = &mut self.source {
            buffers.close(Ok(()));
            *worker = None;
        }
    }
}

/// Fills buffers until the end of the input, or until they are no longer taken.
fn fill_all<T>(buffers: &Handoff<T>, fill: &mut dyn FnMut(&mut T) -> Result<bool>) -> Result<()> {
    while let Some(mut buffer) = buffers.empty(&mut 0.0)? {
        if !fill(&mut buffer)? {
            break;
        }
        buffers.put(buffer);
    }
    Ok(())
}

impl<T> std::fmt::Debug for Prefetcher<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prefetcher").finish_non_exhaustive()
    }
}
