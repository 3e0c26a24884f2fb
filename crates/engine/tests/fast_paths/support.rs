//! A storage that records the reads and writes of each thread, and a guard that names the setting under which a test
//! failed.

#![allow(clippy::disallowed_methods, reason = "a failure is repeated by the seed that it prints")]
#![allow(clippy::disallowed_macros, reason = "a test says how it is run again")]
#![allow(dead_code, reason = "each test uses its part")]

use ogive::Result;
use ogive::io::{
    FastPaths, MemoryStorage, Purpose, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, WritableFile,
    WriterWrapper,
};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) by: ThreadId,
    /// `None` for a write.
    pub(crate) purpose: Option<Purpose>,
    pub(crate) offset: u64,
}

type Log = Arc<Mutex<Vec<Request>>>;

/// A storage in memory that records all requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    inner: MemoryStorage,
    log: Log,
}

impl Watched {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The requests since the last call.
    pub(crate) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.log.lock().unwrap())
    }

    /// Number of data reads since the last call.
    pub(crate) fn data_reads(&self) -> usize {
        self.take().iter().filter(|request| request.purpose == Some(Purpose::Data)).count()
    }

    /// Number of reads since the last call.
    pub(crate) fn reads(&self) -> usize {
        self.take().iter().filter(|request| request.purpose.is_some()).count()
    }
}

impl StorageWrapper for Watched {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(WatchedReader { inner: self.inner.open(name)?, log: Arc::clone(&self.log) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(WatchedWriter { inner: self.inner.create(name)?, log: Arc::clone(&self.log) }))
    }
}

#[derive(Debug)]
struct WatchedReader {
    inner: Arc<dyn ReadableFile>,
    log: Log,
}

impl ReaderWrapper for WatchedReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let (purpose, offset) = (Some(request.purpose), request.offset);
        self.log.lock().unwrap().push(Request { by: std::thread::current().id(), purpose, offset });
        self.inner.read(request)
    }
}

#[derive(Debug)]
struct WatchedWriter {
    inner: Box<dyn WritableFile>,
    log: Log,
}

impl WriterWrapper for WatchedWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let offset = self.inner.len();
        self.log.lock().unwrap().push(Request { by: std::thread::current().id(), purpose: None, offset });
        self.inner.append(bytes)
    }
}

/// The seed of a test, from the environment if given.
pub(crate) fn seed() -> u64 {
    std::env::var("OGIVE_FAST_PATHS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Reports the current setting and the command that repeats the run when a test fails.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) test: &'static str,
    pub(crate) seed: u64,
    pub(crate) case: String,
    pub(crate) setting: FastPaths,
}

impl Told {
    pub(crate) fn new(test: &'static str, seed: u64) -> Self {
        Self { test, seed, case: String::new(), setting: FastPaths::ALL }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, {}, with {:?}; again by", self.seed, self.case, self.setting);
            let package = env!("CARGO_PKG_NAME");
            eprintln!("OGIVE_FAST_PATHS_SEED={} cargo test -p {package} --test fast_paths {}", self.seed, self.test);
        }
    }
}
