//! A storage wrapper that shows how much is written and fails after an interrupt, even within a single call of the
//! engine.

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use ogive::io::{ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, WritableFile, WriterWrapper};
use ogive::{Error, Result};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A storage that reports progress and checks for interrupts.
#[derive(Debug)]
pub(crate) struct MonitoredStorage {
    inner: Arc<dyn Storage>,
    watch: Arc<Monitor>,
}

/// State shared by the files of one storage.
struct Monitor {
    interrupt: Interrupt,
    shown: Mutex<ProgressState>,
}

#[derive(Default)]
struct ProgressState {
    done_bytes: u64,
    progress: Option<Progress>,
}

impl fmt::Debug for Monitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Monitor").field("interrupt", &self.interrupt).finish_non_exhaustive()
    }
}

impl Monitor {
    fn check(&self) -> Result<()> {
        if self.interrupt.is_asked() { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn note(&self, bytes: usize) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.done_bytes += bytes as u64;
        let done_bytes = shown.done_bytes;
        if let Some(progress) = &mut shown.progress {
            progress.reach(done_bytes);
        }
    }
}

impl MonitoredStorage {
    /// Watches `inner`.
    pub(crate) fn new(inner: Arc<dyn Storage>, interrupt: &Interrupt) -> Arc<Self> {
        let watch = Arc::new(Monitor { interrupt: interrupt.clone(), shown: Mutex::default() });
        Arc::new(Self { inner, watch })
    }

    /// Shows the bytes written from now on.
    pub(crate) fn show(&self, progress: Progress) {
        let mut shown = self.watch.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = ProgressState { done_bytes: 0, progress: Some(progress) };
    }
}

impl StorageWrapper for MonitoredStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(MonitoredReader { inner: self.inner.open(name)?, watch: Arc::clone(&self.watch) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(MonitoredWriter { inner: self.inner.create(name)?, watch: Arc::clone(&self.watch) }))
    }
}

#[derive(Debug)]
struct MonitoredReader {
    inner: Arc<dyn ReadableFile>,
    watch: Arc<Monitor>,
}

impl ReaderWrapper for MonitoredReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.watch.check()?;
        self.inner.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.watch.check()?;
        self.inner.read_many(requests)
    }
}

#[derive(Debug)]
struct MonitoredWriter {
    inner: Box<dyn WritableFile>,
    watch: Arc<Monitor>,
}

impl WriterWrapper for MonitoredWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.watch.check()?;
        self.inner.append(bytes)?;
        self.watch.note(bytes.len());
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.watch.check()?;
        self.inner.write_at(offset, bytes)
    }
}
