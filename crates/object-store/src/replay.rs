//! Calls of the engine as futures, by replay.
//!
//! The engine plans its reads and waits for them in the calling thread. An *attempt* runs such a call, but notes what
//! it would wait for, and lets it fail. Then all that was noted is requested at once, and the call is attempted again
//! with the answers, until it waits for nothing:
//!
//! ```text
//! attempt 1   open the table          noted: suffix of the object   -> one request
//! attempt 2   opened, search, read    noted: blocks 17..18          -> one request
//! attempt 3   opened, search, read    found
//! ```
//!
//! So futures take the same way as plain calls, and as many rounds of requests. An attempt takes microseconds. Dropping
//! the future gives its requests up.

use crate::file::Shared;
use crate::ranges::join;
use crate::retry::Call;
use crate::runtime::{Job, spawn};
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, try_join_all};
use ogive::{Cause, Error, Result};
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Attempts that a part of a file is kept for without being read.
const UNUSED_ATTEMPTS_MAX: u32 = 2;
/// First and longest request of a scan in bytes; each is twice as long as the one before.
const SCAN_BYTES: (u64, u64) = (128 << 10, 4 << 20);
/// Requests of a scan in flight.
const SCAN_REQUESTS: u64 = 2;

thread_local! {
    /// The attempt that this thread is making.
    static ATTEMPT: RefCell<Option<Attempt>> = const { RefCell::new(None) };
}

/// What an answer is about: an action, and the path of an object or folder.
type Question = (&'static str, PathBuf);
type KnownAnswer = Arc<dyn Any + Send + Sync>;

/// Something that a call waits for.
enum Want {
    Answer { question: Question, future: BoxFuture<'static, Result<KnownAnswer>> },
    Ranges { file: Arc<Shared>, ranges: Vec<Range<u64>>, is_cached: bool },
}

/// A part of a file.
struct Part {
    offset: u64,
    bytes: Bytes,
    /// Attempts since it was read.
    unused: u32,
}

#[derive(Default)]
struct Attempt {
    answers: HashMap<Question, KnownAnswer>,
    /// Files that were opened by their lengths, without a request.
    opened: HashMap<(PathBuf, u64), Arc<Shared>>,
    /// By the number of the open file.
    parts: HashMap<u64, Vec<Part>>,
    wanted: Vec<Want>,
}

impl Attempt {
    /// The bytes of a range, from one part or several, or the end of the range that is missing.
    fn bytes(&mut self, file: &Arc<Shared>, range: &Range<u64>) -> Result<Bytes, Range<u64>> {
        let parts = self.parts.entry(file.number()).or_default();
        let (mut found, mut next) = (Vec::new(), range.start);
        while next < range.end {
            let around = parts.iter_mut().filter(|part| part.offset <= next && next < part.end());
            let part = around.max_by_key(|part| part.end()).ok_or(next..range.end)?;
            part.unused = 0;
            let end = part.end().min(range.end);
            found.push(part.bytes.slice((next - part.offset) as usize..(end - part.offset) as usize));
            next = end;
        }
        match found.len() {
            0 | 1 => Ok(found.pop().unwrap_or_default()),
            _ => Ok(found.concat().into()),
        }
    }
}

impl Part {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// The error of a call that must be attempted again.
fn pending(path: &Path) -> Error {
    Error::io("wait for", path, ErrorKind::WouldBlock.into())
}

fn is_pending(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::Io(ErrorKind::WouldBlock), .. })
}

/// A future whose outcome is known, or that was started outside of an attempt.
pub(crate) enum Started<T> {
    Known(T),
    Running(Job<Result<T>>, PathBuf),
}

impl<T: Send + 'static> Started<T> {
    /// Waits for the outcome.
    pub(crate) fn wait(self) -> Result<T> {
        match self {
            Self::Known(value) => Ok(value),
            Self::Running(job, path) => job.wait(&path)?,
        }
    }
}

/// The outcome of a future: within an attempt known, or noted and pending; elsewhere waited for.
pub(crate) fn ask<T: Clone + Send + Sync + 'static>(
    action: &'static str,
    path: &Path,
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    start(action, path, future)?.wait()
}

/// As [`ask`], but does not wait yet.
pub(crate) fn start<T: Clone + Send + Sync + 'static>(
    action: &'static str,
    path: &Path,
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<Started<T>> {
    if ATTEMPT.with_borrow(Option::is_none) {
        return Ok(Started::Running(Job::start(path, future)?, path.to_owned()));
    }
    ATTEMPT.with_borrow_mut(|attempt| {
        let attempt = attempt.get_or_insert_default();
        let question = (action, path.to_owned());
        if let Some(known) = attempt.answers.get(&question).and_then(|answer| answer.downcast_ref::<T>()) {
            return Ok(Started::Known(known.clone()));
        }
        let future = future.map(|outcome| outcome.map(|value| Arc::new(value) as KnownAnswer)).boxed();
        attempt.wanted.push(Want::Answer { question, future });
        Err(pending(path))
    })
}

/// A file that is opened by its length: within the attempts of a call the same each time, and so what was read of it.
pub(crate) fn opened(path: &Path, length_bytes: u64, open: impl FnOnce() -> Arc<Shared>) -> Arc<Shared> {
    ATTEMPT.with_borrow_mut(|attempt| match attempt {
        Some(attempt) => Arc::clone(attempt.opened.entry((path.to_owned(), length_bytes)).or_insert_with(open)),
        None => open(),
    })
}

/// Ranges of a file within an attempt: known, or noted and pending. `None` outside of attempts.
pub(crate) fn read(file: &Arc<Shared>, ranges: &[Range<u64>], is_cached: bool) -> Option<Result<Vec<Bytes>>> {
    ATTEMPT.with_borrow_mut(|attempt| {
        let attempt = attempt.as_mut()?;
        let (mut found, mut missing) = (Vec::with_capacity(ranges.len()), Vec::new());
        for range in ranges {
            match attempt.bytes(file, range) {
                Ok(bytes) => found.push(bytes),
                Err(rest) => missing.push(rest),
            }
        }
        if missing.is_empty() {
            return Some(Ok(found));
        }
        attempt.wanted.push(Want::Ranges { file: Arc::clone(file), ranges: missing, is_cached });
        Some(Err(pending(file.path())))
    })
}

/// The state between the attempts of a call.
#[derive(Default)]
pub(crate) struct Replay {
    attempt: Attempt,
    /// Whether the last attempt waited for nothing that it noted: for an error that the engine kept from before.
    was_idle: bool,
    /// Size of the next requests of a scan.
    scan_bytes: Option<u64>,
}

/// The outcome of an attempt.
pub(crate) enum Attempted<T> {
    Done(Result<T>),
    /// What was noted must be [fetched](Replay::fetch), and the call attempted again.
    Pending,
}

impl Replay {
    /// The state of a scan, which requests what follows the blocks that it needs as well.
    pub(crate) fn of_scan() -> Self {
        Self { scan_bytes: Some(SCAN_BYTES.0), ..Self::default() }
    }

    /// Runs a call to its end.
    pub(crate) async fn call<T>(mut self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        loop {
            match self.attempt(&mut call) {
                Attempted::Done(outcome) => return outcome,
                Attempted::Pending => self.fetch().await?,
            }
        }
    }

    /// Attempts a call in this thread.
    pub(crate) fn attempt<T>(&mut self, call: impl FnOnce() -> Result<T>) -> Attempted<T> {
        /// Ends the attempt, also if the call panics.
        struct Ended<'a>(&'a mut Attempt);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                *self.0 = ATTEMPT.take().unwrap_or_default();
            }
        }
        ATTEMPT.set(Some(std::mem::take(&mut self.attempt)));
        let ended = Ended(&mut self.attempt);
        let outcome = call();
        drop(ended);
        let was_idle = std::mem::take(&mut self.was_idle);
        match outcome {
            Err(_) if !self.attempt.wanted.is_empty() => Attempted::Pending,
            // A second time it would wait for ever.
            Err(error) if is_pending(&error) && !was_idle => {
                self.was_idle = true;
                Attempted::Pending
            }
            outcome => {
                self.attempt.wanted.clear();
                Attempted::Done(outcome)
            }
        }
    }

    /// Requests all that the last attempts noted. Dropping the future gives the requests up.
    pub(crate) async fn fetch(&mut self) -> Result<()> {
        for parts in self.attempt.parts.values_mut() {
            parts.iter_mut().for_each(|part| part.unused += 1);
            parts.retain(|part| part.unused <= UNUSED_ATTEMPTS_MAX);
        }
        let (mut questions, mut files) = (HashMap::new(), HashMap::new());
        for want in std::mem::take(&mut self.attempt.wanted) {
            match want {
                Want::Answer { question, future } => _ = questions.entry(question).or_insert(future),
                Want::Ranges { file, ranges, is_cached } => {
                    let (_, all) = files.entry((file.number(), is_cached)).or_insert((file, Vec::new()));
                    all.extend(ranges.into_iter().flat_map(|range| self.requests(range)));
                }
            }
        }
        for (file, ranges) in files.values_mut() {
            let length = file.len_bytes();
            ranges.iter_mut().for_each(|range| range.end = range.end.min(length));
            ranges.retain(|range| !range.is_empty());
        }
        self.grow();
        let answers = questions.into_iter().map(|(question, future)| async move {
            let running = spawn(&question.1, future)?;
            Ok::<_, Error>((question, running.await?))
        });
        let reads = files.into_iter().map(|((_, is_cached), (file, ranges))| async move {
            let (path, number) = (file.path().to_owned(), file.number());
            Ok::<_, Error>((number, spawn(&path, read_parts(file, ranges, is_cached))?.await?))
        });
        let (answers, reads) = futures_util::try_join!(try_join_all(answers), try_join_all(reads))?;
        self.attempt.answers.extend(answers);
        for (number, read) in reads {
            self.attempt.parts.entry(number).or_default().extend(read);
        }
        Ok(())
    }

    /// The requests for a range: of a scan, also what follows.
    fn requests(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let Some(bytes) = self.scan_bytes else { return vec![range] };
        let first = range.start..range.end.max(range.start + bytes);
        let later = (0..SCAN_REQUESTS - 1).map(|number| {
            let start = first.end.saturating_add(number * bytes);
            start..start.saturating_add(bytes)
        });
        std::iter::once(first.clone()).chain(later).collect()
    }

    fn grow(&mut self) {
        self.scan_bytes = self.scan_bytes.map(|bytes| (bytes * 2).min(SCAN_BYTES.1));
    }
}

/// Reads ranges of a file, as many at a time as the profile says.
async fn read_parts(file: Arc<Shared>, ranges: Vec<Range<u64>>, is_cached: bool) -> Result<Vec<Part>> {
    let (file, call) = (&file, Call::begin(file.limits()));
    let joined = join(&ranges, file.profile());
    let reads = joined.into_iter().map(|one| async move {
        let offset = one.range.start;
        Ok::<_, Error>(Part { offset, bytes: file.read(call, one.range, is_cached).await?, unused: 0 })
    });
    try_join_all(reads).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectOptions, ObjectStorage};
    use object_store::memory::InMemory;
    use ogive::io::{ListedFile, Purpose, ReadRequest, Storage};
    use std::time::Duration;

    #[test]
    fn a_file_that_each_attempt_opens_by_its_length_is_read_once() {
        let storage =
            ObjectStorage::new(Arc::new(InMemory::new()), "a", "test://a", &ObjectOptions::default()).unwrap();
        storage.put_if_absent("b", &[7; 1000]).unwrap();
        let mut attempts = 0;
        let read = Replay::default().call(|| {
            attempts += 1;
            let mut buffer = [0; 10];
            let file = storage.open_known(&ListedFile { length_bytes: Some(1000), ..ListedFile::named("b") })?;
            file.read(ReadRequest { offset: 100, buffer: &mut buffer, purpose: Purpose::Data })?;
            Ok(buffer)
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let read = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), read).await });
        assert_eq!(read.unwrap().unwrap(), [7; 10]);
        assert_eq!(attempts, 2);
    }

    #[test]
    fn an_attempt_that_waits_for_nothing_is_an_error() {
        let call = Replay::default().call(|| Err::<(), _>(pending(Path::new("a"))));
        assert!(call.now_or_never().is_some_and(|outcome| outcome.is_err()));
    }
}
