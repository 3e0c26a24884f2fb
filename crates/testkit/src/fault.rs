//! The fault injector: fails the k-th call, like a broken device or a full disk.

use ogive::io::{
    Purpose, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile, UpdaterWrapper,
    WritableFile, WriterWrapper,
};
use ogive::{Cause, Error, Result};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The calls that are counted, each kind for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Opening a file for reading.
    Open,
    /// Each range read.
    Read,
    /// Creating a file.
    Create,
    /// Appending and writing.
    Write,
    /// Syncing a file.
    Sync,
    /// Renaming.
    Rename,
    /// Removing.
    Remove,
    /// Syncing the directory.
    SyncDirectory,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Open,
        Self::Read,
        Self::Create,
        Self::Write,
        Self::Sync,
        Self::Rename,
        Self::Remove,
        Self::SyncDirectory,
    ];

    fn verb(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Create => "create",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::SyncDirectory => "sync the directory",
        }
    }
}

/// Error codes of the system for the two ways of running out of file handles.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// The fault of the failing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// EIO: the device failed; nothing was read or written.
    DeviceError,
    /// ENOSPC: no space is left; nothing was written.
    NoSpace,
    /// EMFILE: the process has no file handle left; nothing was opened, read or written. Reads meet it, too, where
    /// files are opened again to be read.
    TooManyOpenFiles,
    /// ENFILE: the system has none left; as above.
    SystemTooManyOpenFiles,
    /// Half of the bytes are read or written, then a read meets the end of the file and a write meets ENOSPC. Calls
    /// that move no bytes meet EIO.
    Short,
}

/// A storage that behaves as the one inside it until the call that it was told to fail. A file whose write or sync
/// failed takes nothing more. Clones share the counts and the plan.
#[derive(Clone, Debug)]
pub struct FaultInjector {
    inner: Arc<dyn Storage>,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    calls: BTreeMap<Operation, u64>,
    fault: Option<PlannedFault>,
    triggered: bool,
}

#[derive(Clone, Copy, Debug)]
struct PlannedFault {
    operation: Operation,
    at: u64,
    lasting: bool,
    fault: Fault,
}

impl FaultInjector {
    /// Passes everything through to `inner`, counting.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, plan: Arc::default() }
    }

    /// Fails the `operation` of number `at`, counted from now and from 0; that one alone.
    pub fn fail_once(&self, operation: Operation, at: u64, fault: Fault) {
        self.set(PlannedFault { operation, at, lasting: false, fault });
    }

    /// Fails the `operation` of number `at`, counted from now and from 0, and all of its kind after it.
    pub fn fail_from(&self, operation: Operation, at: u64, fault: Fault) {
        self.set(PlannedFault { operation, at, lasting: true, fault });
    }

    /// Forgets the plan and the counts: everything passes again.
    pub fn clear(&self) {
        *self.plan() = Plan::default();
    }

    /// Number of calls of this kind since the plan was set.
    pub fn calls(&self, operation: Operation) -> u64 {
        self.plan().calls.get(&operation).copied().unwrap_or(0)
    }

    /// Whether the planned call came and failed.
    pub fn triggered(&self) -> bool {
        self.plan().triggered
    }

    fn set(&self, fault: PlannedFault) {
        *self.plan() = Plan { fault: Some(fault), ..Plan::default() };
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and says how it is to fail, if at all.
    fn count(&self, operation: Operation) -> Option<Fault> {
        let mut plan = self.plan();
        let calls = plan.calls.entry(operation).or_default();
        let call = *calls;
        *calls += 1;
        let planned = plan.fault?;
        let due = planned.operation == operation && (call == planned.at || planned.lasting && call > planned.at);
        plan.triggered |= due;
        due.then_some(planned.fault)
    }

    fn read(&self, file: &dyn ReadableFile, request: ReadRequest<'_>) -> Result<()> {
        match self.count(Operation::Read) {
            None => file.read(request),
            Some(Fault::DeviceError | Fault::NoSpace) => Err(device_error(Operation::Read, file.path())),
            Some(fault @ (Fault::TooManyOpenFiles | Fault::SystemTooManyOpenFiles)) => {
                Err(no_handle(fault, Operation::Read, file.path()))
            }
            Some(Fault::Short) => {
                let half = request.buffer.len() / 2;
                file.read(ReadRequest { buffer: &mut request.buffer[..half], ..request })?;
                Err(Error::io("read", file.path(), ErrorKind::UnexpectedEof.into()))
            }
        }
    }

    /// Counts a call that moves no bytes.
    fn pass(&self, operation: Operation, path: &Path) -> Result<()> {
        match self.count(operation) {
            None => Ok(()),
            Some(Fault::Short) => Err(device_error(operation, path)),
            Some(fault) => Err(failure(fault, operation, path)),
        }
    }
}

fn device_error(operation: Operation, path: &Path) -> Error {
    Error::io(operation.verb(), path, io::Error::other("simulated input/output error (EIO)"))
}

/// Nothing left to open files with.
fn no_handle(fault: Fault, operation: Operation, path: &Path) -> Error {
    let code = if fault == Fault::TooManyOpenFiles { EMFILE } else { ENFILE };
    Error::io(operation.verb(), path, io::Error::from_raw_os_error(code))
}

/// The fault of a call without data.
fn failure(fault: Fault, operation: Operation, path: &Path) -> Error {
    match fault {
        Fault::NoSpace => no_space(operation, path),
        Fault::TooManyOpenFiles | Fault::SystemTooManyOpenFiles => no_handle(fault, operation, path),
        Fault::DeviceError | Fault::Short => device_error(operation, path),
    }
}

fn no_space(operation: Operation, path: &Path) -> Error {
    let source = io::Error::new(ErrorKind::StorageFull, "simulated: no space left on device (ENOSPC)");
    Error::io(operation.verb(), path, source)
}

/// Runs `work` once for each call of `operation` that it makes, failing that call, until a run meets no fault; returns
/// how many calls were failed. `make` gives each run a fresh storage; `check` sees what the run returned and the
/// storage that it left, with the fault gone.
pub fn enumerate_faults<T>(
    operation: Operation,
    fault: Fault,
    mut make: impl FnMut() -> Arc<dyn Storage>,
    mut work: impl FnMut(Arc<dyn Storage>) -> T,
    mut check: impl FnMut(u64, T, Arc<dyn Storage>),
) -> u64 {
    let mut at = 0;
    loop {
        let inner = make();
        let injector = FaultInjector::new(Arc::clone(&inner));
        injector.fail_once(operation, at, fault);
        let outcome = work(Arc::new(injector.clone()));
        if !injector.triggered() {
            return at;
        }
        check(at, outcome, inner);
        at += 1;
    }
}

impl StorageWrapper for FaultInjector {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        self.pass(Operation::Open, &self.path(name))?;
        Ok(Arc::new(FaultyReader { inner: self.inner.open(name)?, injector: self.clone() }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.pass(Operation::Create, &self.path(name))?;
        Ok(Box::new(FaultyWriter { inner: self.inner.create(name)?, injector: self.clone(), poisoned: false }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.pass(Operation::Open, &self.path(name))?;
        Ok(Arc::new(FaultyFile::new(self.inner.open_update(name)?, self.clone())))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.pass(Operation::Create, &self.path(name))?;
        Ok(Arc::new(FaultyFile::new(self.inner.create_update(name)?, self.clone())))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.pass(Operation::Rename, &self.path(from))?;
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.pass(Operation::Remove, &self.path(name))?;
        self.inner.remove(name)
    }

    fn sync_directory(&self) -> Result<()> {
        self.pass(Operation::SyncDirectory, &self.path(""))?;
        self.inner.sync_directory()
    }
}

#[derive(Debug)]
struct FaultyReader {
    inner: Arc<dyn ReadableFile>,
    injector: FaultInjector,
}

impl ReaderWrapper for FaultyReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.injector.read(&*self.inner, request)
    }
}

/// A file that is updated in place; see [`FaultyReader`] and [`FaultyWriter`].
#[derive(Debug)]
struct FaultyFile {
    inner: Arc<dyn UpdatableFile>,
    injector: FaultInjector,
    poisoned: AtomicBool,
}

impl FaultyFile {
    fn new(inner: Arc<dyn UpdatableFile>, injector: FaultInjector) -> Self {
        Self { inner, injector, poisoned: AtomicBool::new(false) }
    }

    fn guarded(&self, operation: Operation, work: impl FnOnce(Option<Fault>) -> Result<()>) -> Result<()> {
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::poisoned(self.path()));
        }
        let outcome = work(self.injector.count(operation));
        if outcome.is_err() {
            self.poisoned.store(true, Ordering::Release);
        }
        outcome
    }
}

impl ReaderWrapper for FaultyFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.injector.read(&*self.inner, request)
    }
}

impl UpdaterWrapper for FaultyFile {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        self.guarded(Operation::Write, |fault| match fault {
            None => self.inner.write_at(offset, bytes, purpose),
            Some(Fault::Short) => {
                self.inner.write_at(offset, &bytes[..bytes.len() / 2], purpose)?;
                Err(no_space(Operation::Write, self.path()))
            }
            Some(fault) => Err(failure(fault, Operation::Write, self.path())),
        })
    }

    fn sync(&self) -> Result<()> {
        self.guarded(Operation::Sync, |fault| match fault {
            None => self.inner.sync(),
            Some(fault) => Err(failure(fault, Operation::Sync, self.path())),
        })
    }
}

#[derive(Debug)]
struct FaultyWriter {
    inner: Box<dyn WritableFile>,
    injector: FaultInjector,
    poisoned: bool,
}

impl FaultyWriter {
    /// Runs `work` unless an earlier call failed, and tells it how to fail.
    fn guarded(
        &mut self,
        operation: Operation,
        work: impl FnOnce(&mut dyn WritableFile, Option<Fault>) -> Result<()>,
    ) -> Result<()> {
        if self.poisoned {
            return Err(Error::poisoned(self.path()));
        }
        let fault = self.injector.count(operation);
        let outcome = work(&mut *self.inner, fault);
        // A refused argument is the caller's mistake and harms nothing.
        self.poisoned = outcome.as_ref().is_err_and(|error| !matches!(error, Error { cause: Cause::Input, .. }));
        outcome
    }
}

impl WriterWrapper for FaultyWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        WriterWrapper::write_at(self, self.len(), bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.guarded(Operation::Write, |file, fault| match fault {
            None => file.write_at(offset, bytes),
            Some(Fault::Short) => {
                file.write_at(offset, &bytes[..bytes.len() / 2])?;
                Err(no_space(Operation::Write, file.path()))
            }
            Some(fault) => Err(failure(fault, Operation::Write, file.path())),
        })
    }

    fn sync(&mut self) -> Result<()> {
        self.guarded(Operation::Sync, |file, fault| match fault {
            None => file.sync(),
            Some(fault) => Err(failure(fault, Operation::Sync, file.path())),
        })
    }
}
