//! Ranges of a store whose records are awaited.

use super::calls::{AsyncCall, RunningCall};
use crate::block::Slice;
use crate::error::Result;
use crate::io::local::sync::Mutex;
use crate::lsm::handles::keyspace::Keyspace;
use crate::lsm::handles::range::DbRange;
use crate::lsm::handles::snapshot::DbSnapshot;
use crate::lsm::read::scan::ScanBounds;
use futures_core::Stream;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Records that are read by the first call, and at most by one: each reads twice as many as the one before.
const CALL_RECORDS: (usize, usize) = (64, 1024);

/// Bytes of records after which a call reads no further one.
const CALL_BYTES: usize = 1 << 20;

/// A record: key and value.
type SharedRecord = (Slice, Slice);

/// The records of a key range as of one moment, in ascending order: see [`AsyncDb::range`](crate::AsyncDb::range).
/// It is a [`Stream`], too, for the combinators of other crates. Dropping it gives up what was not read. After an error
/// it ends.
pub struct AsyncRange {
    ready: VecDeque<SharedRecord>,
    scan: Arc<Mutex<Scan>>,
    state: RangeState,
}

enum RangeState {
    Idle(Box<dyn AsyncCall>),
    Running(RunningCall),
    Ended,
}

/// The range, and what the call under way has read of it.
pub(super) struct Scan {
    snapshot: DbSnapshot,
    keyspace: Keyspace,
    bounds: ScanBounds,
    range: Option<DbRange>,
    read: VecDeque<SharedRecord>,
    /// The key of the last record.
    last: Option<Slice>,
    wanted: usize,
    is_done: bool,
}

impl Scan {
    pub(super) fn new(snapshot: DbSnapshot, keyspace: &Keyspace, bounds: ScanBounds) -> Self {
        let (keyspace, read, wanted) = (keyspace.clone(), VecDeque::new(), CALL_RECORDS.0);
        Self { snapshot, keyspace, bounds, range: None, read, last: None, wanted, is_done: false }
    }

    /// Reads records until there are enough. After an error, a call goes on behind the last one.
    fn read(&mut self) -> Result<()> {
        let mut bytes: usize = self.read.iter().map(|(key, value)| key.len() + value.len()).sum();
        while self.read.len() < self.wanted && bytes < CALL_BYTES && !self.is_done {
            let (snapshot, keyspace, bounds) = (&self.snapshot, &self.keyspace, &self.bounds);
            let range = self.range.get_or_insert_with(|| snapshot.range(keyspace, bounds.clone()));
            match range.next() {
                None => self.is_done = true,
                Some(Ok((key, value))) => {
                    bytes += key.len() + value.len();
                    self.last = Some(key.clone());
                    self.read.push_back((key, value));
                }
                Some(Err(error)) => {
                    self.range = None;
                    if let Some(last) = &self.last {
                        self.bounds.0 = Bound::Excluded(last.to_vec());
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl AsyncRange {
    pub(super) fn new(call: Box<dyn AsyncCall>, scan: Scan) -> Self {
        Self { ready: VecDeque::new(), scan: Arc::new(Mutex::new(scan)), state: RangeState::Idle(call) }
    }

    /// The next record.
    ///
    /// # Errors
    /// As [`DbRange`](crate::lsm::DbRange).
    pub async fn next(&mut self) -> Option<Result<SharedRecord>> {
        poll_fn(|context| self.poll_record(context)).await
    }

    fn poll_record(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<SharedRecord>>> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(record)));
            }
            match std::mem::replace(&mut self.state, RangeState::Ended) {
                RangeState::Ended => return Poll::Ready(None),
                RangeState::Idle(call) => {
                    let scan = Arc::clone(&self.scan);
                    self.state = RangeState::Running(call.run(Box::new(move || scan.lock().read())));
                }
                RangeState::Running(mut running) => match running.as_mut().poll(context) {
                    Poll::Pending => {
                        self.state = RangeState::Running(running);
                        return Poll::Pending;
                    }
                    Poll::Ready((_, Err(error))) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready((call, Ok(()))) => {
                        let mut scan = self.scan.lock();
                        self.ready = std::mem::take(&mut scan.read);
                        scan.wanted = (scan.wanted * 2).min(CALL_RECORDS.1);
                        if !scan.is_done {
                            self.state = RangeState::Idle(call);
                        }
                    }
                },
            }
        }
    }
}

/// What [`AsyncRange::next`] returns, one after the other.
impl Stream for AsyncRange {
    type Item = Result<SharedRecord>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_record(context)
    }
}

impl fmt::Debug for AsyncRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AsyncRange").field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}
