//! A storage wrapper that fails after an interrupt, even within a single call of the engine.

use crate::interrupt::Interrupt;
use ogive::Result;
use ogive::io::{
    PendingReads, RangeRequest, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, WritableFile,
    WriterWrapper,
};
use std::sync::Arc;

/// A storage that checks for interrupts.
#[derive(Debug)]
pub(crate) struct MonitoredStorage {
    inner: Arc<dyn Storage>,
    interrupt: Interrupt,
}

impl MonitoredStorage {
    /// Watches `inner`.
    pub(crate) fn new(inner: Arc<dyn Storage>, interrupt: &Interrupt) -> Arc<Self> {
        Arc::new(Self { inner, interrupt: interrupt.clone() })
    }
}

impl StorageWrapper for MonitoredStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(MonitoredReader { inner: self.inner.open(name)?, interrupt: self.interrupt.clone() }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(MonitoredWriter { inner: self.inner.create(name)?, interrupt: self.interrupt.clone() }))
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let inner = self.inner.create_replacing(name)?;
        Ok(Box::new(MonitoredWriter { inner, interrupt: self.interrupt.clone() }))
    }
}

#[derive(Debug)]
struct MonitoredReader {
    inner: Arc<dyn ReadableFile>,
    interrupt: Interrupt,
}

impl ReaderWrapper for MonitoredReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.interrupt.engine_check()?;
        self.inner.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.interrupt.engine_check()?;
        self.inner.read_many(requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        self.interrupt.engine_check()?;
        self.inner.start_reads(ranges)
    }
}

#[derive(Debug)]
struct MonitoredWriter {
    inner: Box<dyn WritableFile>,
    interrupt: Interrupt,
}

impl WriterWrapper for MonitoredWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.interrupt.engine_check()?;
        self.inner.append(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.interrupt.engine_check()?;
        self.inner.write_at(offset, bytes)
    }
}
