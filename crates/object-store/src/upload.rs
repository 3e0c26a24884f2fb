//! Uploads: objects that appear whole when they are complete.
//!
//! A file smaller than a part is one PUT, which is conditional where the name must be free. A longer one is a multipart
//! upload, for which stores have no condition: that the name is free is checked when it begins. An upload that is
//! dropped is aborted.
//!
//! A copy within the store is one request, too. Google Cloud, Azure, the store in memory, and S3 itself
//! (`If-None-Match: *`) have a condition for it. Where a server says that it has none, the name is looked for right
//! before the copy. Some servers that speak the protocol of S3 ignore the condition: there a copy replaces what has the
//! name, so that callers choose names of which they know that no one else uses them.

use crate::failure::{Failure, FailureKind};
use crate::retry::Call;
use crate::runtime::{Job, run};
use crate::storage::{Client, ObjectName};
use crate::telemetry::telemetry;
use bytes::Bytes;
use object_store::{
    CopyMode, CopyOptions, MultipartUpload, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload,
};
use ogive::io::{WritableFile, check_write, not_for_objects};
use ogive::{Error, Result};
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Parts in flight of an upload; one more is being filled.
const PARTS_IN_FLIGHT: usize = 4;
/// After this many parts they become larger: stores take at most 10,000.
const PARTS_OF_A_SIZE: usize = 1_000;

/// Writes an object by one PUT.
///
/// # Errors
/// `Cause::Io` of kind `AlreadyExists` if `mode` is [`PutMode::Create`] and there is another object of the name, or
/// [`PutMode::Update`] and there is not the one that is stated. An object with these bytes counts as ours only after an
/// attempt whose outcome is unknown.
pub(crate) async fn put(client: &Client, object: &ObjectName, bytes: Bytes, mode: PutMode) -> Result<()> {
    let is_unknown = AtomicBool::new(false);
    let order = Ordering::Relaxed;
    let attempt = |_| async {
        let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
        let payload = PutPayload::from(bytes.clone());
        let Err(error) = client.store.put_opts(&object.location, payload, options).await else { return Ok(()) };
        let failure = Failure::from(error);
        is_unknown.fetch_or(failure.is_ambiguous(), order);
        // Where the object to be replaced is gone, some stores say that, others that the condition does not hold.
        let is_refused =
            failure.kind == FailureKind::Exists || is_update(&mode) && failure.kind == FailureKind::NotFound;
        match failure.kind {
            _ if is_refused && is_unknown.load(order) => compare(client, object, &bytes, &mode, failure).await,
            _ if is_refused => check_taken(client, object, &mode, failure).await,
            // A store without such conditions: another look before each attempt comes near.
            FailureKind::NotSupported if is_update(&mode) => match check_name(client, object, &mode).await {
                Ok(()) => {
                    let put = client.store.put(&object.location, PutPayload::from(bytes.clone())).await;
                    let outcome = put.map(drop).map_err(Failure::from);
                    is_unknown.fetch_or(outcome.as_ref().is_err_and(Failure::is_ambiguous), order);
                    outcome
                }
                Err(failure) if is_unknown.load(order) => compare(client, object, &bytes, &mode, failure).await,
                Err(failure) => Err(failure),
            },
            _ => Err(failure),
        }
    };
    Call::begin(client.limits).attempts("create", &object.path, attempt).await?;
    telemetry().note_written(bytes.len() as u64);
    Ok(())
}

/// Whether a conditional PUT of an object that is there, with the bytes that it has, is refused.
///
/// # Errors
/// Errors of the store; one of kind `NotFound` if the object is gone.
pub(crate) async fn refuses_put(client: &Client, object: &ObjectName, bytes: Bytes) -> Result<bool> {
    let attempt = |_| async {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let payload = PutPayload::from(bytes.clone());
        match client.store.put_opts(&object.location, payload, options).await.map_err(Failure::from) {
            Ok(_) => Ok(false),
            Err(failure) if failure.kind == FailureKind::Exists => Ok(true),
            Err(failure) => Err(failure),
        }
    };
    Call::begin(client.limits).attempts("create", &object.path, attempt).await
}

/// After an attempt whose outcome is unknown: succeeds if the object that is there has our bytes.
async fn compare(
    client: &Client,
    object: &ObjectName,
    bytes: &Bytes,
    mode: &PutMode,
    taken: Failure,
) -> Result<(), Failure> {
    let found = async { client.store.get(&object.location).await?.bytes().await };
    match found.await.map_err(Failure::from) {
        Ok(found) if found == bytes => Ok(()),
        Ok(_) => check_taken(client, object, mode, taken).await,
        Err(failure) if failure.kind == FailureKind::NotFound => check_taken(client, object, mode, taken).await,
        Err(failure) => Err(failure),
    }
}

/// Stores also refuse while another request for the name runs, which may fail: then the name is as it should be, and
/// another attempt is made.
async fn check_taken(client: &Client, object: &ObjectName, mode: &PutMode, taken: Failure) -> Result<(), Failure> {
    match check_name(client, object, mode).await {
        Ok(()) => Err(Failure::new(FailureKind::Busy, "another request for the name was running")),
        Err(failure) if failure.kind != FailureKind::Exists || is_update(mode) => Err(failure),
        Err(_) => Err(taken),
    }
}

fn is_update(mode: &PutMode) -> bool {
    matches!(mode, PutMode::Update(_))
}

/// Copies an object of this length to a name that is free, by one request that moves no bytes through this machine. The
/// copy is not looked at, except after an attempt whose outcome is unknown: then one of this length is ours.
///
/// # Errors
/// `Cause::Io` of kind `AlreadyExists`, with the place of the copy; errors of the store, with that of the object.
pub(crate) async fn copy(client: &Client, from: &ObjectName, to: &ObjectName, length_bytes: u64) -> Result<()> {
    let (is_unknown, is_taken) = (AtomicBool::new(false), AtomicBool::new(false));
    let attempt = |_| async {
        let outcome = copy_once(client, from, to, (length_bytes, is_unknown.load(Ordering::Relaxed))).await;
        is_unknown.fetch_or(outcome.as_ref().is_err_and(Failure::is_ambiguous), Ordering::Relaxed);
        is_taken.store(outcome.as_ref().is_err_and(|failure| failure.kind == FailureKind::Exists), Ordering::Relaxed);
        outcome
    };
    match Call::begin(client.limits).attempts("copy", &from.path, attempt).await {
        Err(_) if is_taken.load(Ordering::Relaxed) => {
            Err(Error::io("create", to.path.clone(), std::io::ErrorKind::AlreadyExists.into()))
        }
        copied => copied,
    }
}

/// One attempt, after another one whose outcome may be unknown.
async fn copy_once(
    client: &Client,
    from: &ObjectName,
    to: &ObjectName,
    (length_bytes, is_unknown): (u64, bool),
) -> Result<(), Failure> {
    let _place = client.places.acquire().await;
    if is_unknown && is_copied(client, to, length_bytes).await? {
        return Ok(());
    }
    match copy_if_absent(client, from, to).await {
        Err(failure) if failure.kind == FailureKind::Exists => check_taken(client, to, &PutMode::Create, failure).await,
        outcome => outcome,
    }
}

async fn copy_if_absent(client: &Client, from: &ObjectName, to: &ObjectName) -> Result<(), Failure> {
    let options = CopyOptions::new().with_mode(CopyMode::Create);
    let copied = client.store.copy_opts(&from.location, &to.location, options).await.map_err(Failure::from);
    match copied {
        Err(failure) if failure.kind == FailureKind::NotSupported => {
            check_name(client, to, &PutMode::Create).await?;
            client.store.copy(&from.location, &to.location).await.map_err(Failure::from)
        }
        copied => copied,
    }
}

/// After an attempt whose outcome is unknown: whether there is an object that may be the copy. A server that ignores
/// the condition would replace another one.
async fn is_copied(client: &Client, to: &ObjectName, length_bytes: u64) -> Result<bool, Failure> {
    match client.store.head(&to.location).await.map_err(Failure::from) {
        Ok(found) if found.size == length_bytes => Ok(true),
        Ok(_) => Err(Failure::new(FailureKind::Exists, "the name is taken")),
        Err(failure) if failure.kind == FailureKind::NotFound => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// The state of an upload.
enum UploadState {
    /// Less than a part was written.
    Collecting,
    /// Parts are on their way.
    Parts {
        upload: Box<dyn MultipartUpload>,
        in_flight: VecDeque<Job<Result<(), Failure>>>,
        sent: usize,
    },
    Complete,
    Failed,
}

/// An object that is being written.
pub(crate) struct ObjectUpload {
    client: Arc<Client>,
    object: ObjectName,
    mode: PutMode,
    buffer: Vec<u8>,
    length_bytes: u64,
    state: UploadState,
}

impl fmt::Debug for ObjectUpload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ObjectUpload").field("url", &self.object.path).finish_non_exhaustive()
    }
}

impl ObjectUpload {
    pub(crate) fn new(client: Arc<Client>, object: ObjectName, mode: PutMode) -> Self {
        Self { client, object, mode, buffer: Vec::new(), length_bytes: 0, state: UploadState::Collecting }
    }

    fn poisoned(&self) -> Error {
        Error::poisoned(self.object.path.clone())
    }

    /// Size of the next part.
    fn part_bytes(&self) -> usize {
        let sent = if let UploadState::Parts { sent, .. } = &self.state { *sent } else { 0 };
        self.client.part_bytes * (1 + sent / PARTS_OF_A_SIZE)
    }

    /// Runs a step; if it fails the upload is aborted, and takes no more bytes.
    fn or_abort<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outcome = step(self);
        if outcome.is_err() {
            self.abort();
        }
        outcome
    }

    /// Begins a multipart upload.
    fn begin(&mut self) -> Result<()> {
        let (client, object, mode) = (Arc::clone(&self.client), self.object.clone(), self.mode.clone());
        let upload = run(&self.object.path, async move {
            let call = Call::begin(client.limits);
            let (client, object) = (&client, &object);
            call.attempts("create", &object.path, |_| check_name(client, object, &mode)).await?;
            let begin = |_| async move {
                let options = PutMultipartOptions::default();
                client.parts.put_multipart_opts(&object.location, options).await.map_err(Failure::from)
            };
            call.attempts("create", &object.path, begin).await
        })?;
        self.state = UploadState::Parts { upload, in_flight: VecDeque::new(), sent: 0 };
        Ok(())
    }

    /// Sends the buffer as a part, and waits while too many are in flight.
    fn send_part(&mut self) -> Result<()> {
        let path = &self.object.path;
        let UploadState::Parts { upload, in_flight, sent } = &mut self.state else { return Ok(()) };
        telemetry().note_written(self.buffer.len() as u64);
        let part = upload.put_part(PutPayload::from(std::mem::take(&mut self.buffer)));
        let deadline = self.client.limits.deadline;
        let part = async move {
            let late = || Failure::new(FailureKind::TimedOut, format!("no answer within {} s", deadline.as_secs_f32()));
            tokio::time::timeout(deadline, part).await.map_err(|_| late())?.map_err(Failure::from)
        };
        in_flight.push_back(Job::start(path, part)?);
        *sent += 1;
        while in_flight.len() > PARTS_IN_FLIGHT {
            wait_for_part(in_flight, path)?;
        }
        Ok(())
    }

    fn flush_parts(&mut self) -> Result<()> {
        while self.buffer.len() >= self.part_bytes() {
            if matches!(self.state, UploadState::Collecting) {
                self.begin()?;
            }
            let part_bytes = self.part_bytes();
            let rest = self.buffer.split_off(part_bytes);
            self.send_part()?;
            self.buffer = rest;
        }
        Ok(())
    }

    /// Sends what is left, and completes the upload.
    fn complete(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.send_part()?;
        }
        let path = self.object.path.clone();
        let state = std::mem::replace(&mut self.state, UploadState::Failed);
        let UploadState::Parts { mut upload, mut in_flight, sent } = state else { return Ok(()) };
        while !in_flight.is_empty() {
            if let Err(error) = wait_for_part(&mut in_flight, &path) {
                self.state = UploadState::Parts { upload, in_flight, sent };
                return Err(error);
            }
        }
        let (client, object, mode) = (Arc::clone(&self.client), self.object.clone(), self.mode.clone());
        let (upload, outcome) = Job::start(&path, async move {
            // Multipart uploads have no condition: this comes near.
            if is_update(&mode)
                && let Err(failure) = check_name(&client, &object, &mode).await
            {
                return (upload, Err(failure));
            }
            let completed = tokio::time::timeout(client.limits.deadline, upload.complete()).await;
            let late = || Failure::new(FailureKind::TimedOut, "the upload was not completed in time");
            let outcome = completed.map_err(|_| late()).and_then(|done| done.map(drop).map_err(Failure::from));
            (upload, outcome)
        })?
        .wait(&path)?;
        if let Err(failure) = outcome {
            self.state = UploadState::Parts { upload, in_flight, sent };
            return Err(failure.into_error("complete", path, 1));
        }
        self.state = UploadState::Complete;
        Ok(())
    }

    /// Gives the upload up: the store forgets its parts.
    fn abort(&mut self) {
        let state = std::mem::replace(&mut self.state, UploadState::Failed);
        self.buffer = Vec::new();
        let UploadState::Parts { mut upload, in_flight, .. } = state else { return };
        drop(in_flight);
        let limits = self.client.limits;
        // If that fails, the store removes the parts by the rules of the bucket: see docs/object-stores.md.
        _ = run(&self.object.path, async move {
            _ = tokio::time::timeout(limits.deadline, upload.abort()).await;
            Ok(())
        });
    }
}

fn wait_for_part(in_flight: &mut VecDeque<Job<Result<(), Failure>>>, path: &Path) -> Result<()> {
    let Some(part) = in_flight.pop_front() else { return Ok(()) };
    part.wait(path)?.map_err(|failure| failure.into_error("write to", path.to_owned(), 1))
}

/// Fails if there is an object of the name where none may be, or another one than may be replaced.
async fn check_name(client: &Client, object: &ObjectName, mode: &PutMode) -> Result<(), Failure> {
    let replaced = || Failure::new(FailureKind::Exists, "the object was replaced or removed meanwhile");
    let head = || async { client.store.head(&object.location).await.map_err(Failure::from) };
    match mode {
        PutMode::Overwrite => Ok(()),
        PutMode::Create => match head().await {
            Ok(_) => Err(Failure::new(FailureKind::Exists, "the name is taken")),
            Err(failure) if failure.kind == FailureKind::NotFound => Ok(()),
            Err(failure) => Err(failure),
        },
        PutMode::Update(version) => match head().await {
            Ok(found) if found.e_tag == version.e_tag => Ok(()),
            Ok(_) => Err(replaced()),
            Err(failure) if failure.kind == FailureKind::NotFound => Err(replaced()),
            Err(failure) => Err(failure),
        },
    }
}

impl WritableFile for ObjectUpload {
    fn len(&self) -> u64 {
        self.length_bytes
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_write(&self.object.path, self.length_bytes, offset)?;
        match self.state {
            UploadState::Failed => return Err(self.poisoned()),
            UploadState::Complete => return Err(not_for_objects("write to", self.object.path.clone())),
            _ if offset != self.length_bytes => return Err(not_for_objects("update", self.object.path.clone())),
            _ => {}
        }
        self.buffer.extend_from_slice(bytes);
        self.length_bytes += bytes.len() as u64;
        self.or_abort(Self::flush_parts)
    }

    /// Completes the object: it appears under its name, durable. Nothing can be written after that.
    fn sync(&mut self) -> Result<()> {
        match self.state {
            UploadState::Complete => Ok(()),
            UploadState::Failed => Err(self.poisoned()),
            UploadState::Parts { .. } => self.or_abort(Self::complete),
            UploadState::Collecting => {
                let bytes = Bytes::from(std::mem::take(&mut self.buffer));
                let (client, object, mode) = (Arc::clone(&self.client), self.object.clone(), self.mode.clone());
                self.or_abort(|this| run(&this.object.path, async move { put(&client, &object, bytes, mode).await }))?;
                self.state = UploadState::Complete;
                Ok(())
            }
        }
    }

    fn path(&self) -> &Path {
        &self.object.path
    }
}

impl Drop for ObjectUpload {
    fn drop(&mut self) {
        if matches!(self.state, UploadState::Parts { .. }) {
            self.abort();
        }
    }
}
