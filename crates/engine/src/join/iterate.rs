//! The rows of a join as an iterator: the join runs on a thread of its own, and hands batches of rows over.

use super::input::source::JoinSource;
use super::output::{JoinOutput, RowSender};
use super::rows::options::JoinOptions;
use super::rows::packed_rows::unpack;
use super::rows::report::JoinReport;
use super::run::join;
use crate::error::{Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{Handoff, Worker};
use std::fmt;
use std::iter::FusedIterator;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A row of a join.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct JoinRow {
    /// The key.
    pub key: Vec<u8>,
    /// The left value; `None` for a right row without partner, in a full join.
    pub left: Option<Vec<u8>>,
    /// The right value; `None` in semi and anti joins, and for a left row without partner.
    pub right: Option<Vec<u8>>,
}

/// Joins two relations, and returns the rows as they are produced. The join runs on a thread of its own, which is a few
/// batches of rows ahead. Dropping the iterator ends the join, and waits for its thread.
///
/// ```
/// use ogive::join::{JoinKind, JoinOptions, JoinSource, RecordShape, join_rows};
/// use ogive::KeyType;
///
/// let rows = |name: &str, rows: &'static [(&str, &str)]| {
///     let shape = RecordShape { name: name.into(), key_type: KeyType::Text, value_bytes: None, rows: 2, bytes: 20 };
///     let record = |(key, value): &(&str, &str)| Ok((key.as_bytes().to_vec(), value.as_bytes().to_vec()));
///     JoinSource::unsorted(shape, move || Box::new(rows.iter().map(record)))
/// };
/// let colours = rows("colours", &[("banana", "yellow"), ("apple", "red")]);
/// let prices = rows("prices", &[("cherry", "7"), ("banana", "3")]);
///
/// let mut found = Vec::new();
/// for row in join_rows(&colours, &prices, &JoinOptions::default().kind(JoinKind::Full))? {
///     let row = row?;
///     found.push((row.key, row.left.is_some(), row.right.is_some()));
/// }
/// let key = |text: &str| text.as_bytes().to_vec();
/// assert_eq!(found, [(key("apple"), true, false), (key("banana"), true, true), (key("cherry"), false, true)]);
/// # Ok::<(), ogive::Error>(())
/// ```
///
/// # Errors
/// `Cause::Io` if the system cannot start a thread. All errors of [`join`] come from the iterator, which ends with
/// them.
pub fn join_rows(left: &JoinSource, right: &JoinSource, options: &JoinOptions) -> Result<JoinRows> {
    let (handoff, sender) = RowSender::new();
    let ended = Arc::new(AtomicBool::new(false));
    let report = Arc::new(Mutex::new(None));
    let options = JoinOptions { ended: Some(Arc::clone(&ended)), ..options.clone() };
    let sides = (left.clone(), right.clone());
    let ending = EndOfRows { handoff: Arc::clone(&handoff), outcome: None };
    let slot = Arc::clone(&report);
    let worker = Worker::spawn("ogive-join", Path::new("the rows of a join"), move || {
        let joined = join(&sides.0, &sides.1, JoinOutput::rows(sender), &options);
        ending.end(joined.map(|report| *slot.lock() = Some(report)));
    })?;
    Ok(JoinRows { handoff, batch: Vec::new(), at: 0, is_done: false, report, ended, worker: Some(worker) })
}

/// Ends the hand-over, even if the join panics: otherwise the iterator would wait forever.
struct EndOfRows {
    handoff: Arc<Handoff<Vec<u8>>>,
    outcome: Option<Result<()>>,
}

impl EndOfRows {
    fn end(mut self, outcome: Result<()>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for EndOfRows {
    fn drop(&mut self) {
        let panicked = || Err(Error::input("a thread of the join panicked"));
        self.handoff.end(self.outcome.take().unwrap_or_else(panicked));
    }
}

/// The rows of a join in progress, from [`join_rows`].
pub struct JoinRows {
    handoff: Arc<Handoff<Vec<u8>>>,
    batch: Vec<u8>,
    /// The part of the batch that was returned, in bytes.
    at: usize,
    is_done: bool,
    report: Arc<Mutex<Option<JoinReport>>>,
    /// Set to end the join.
    ended: Arc<AtomicBool>,
    worker: Option<Worker>,
}

impl JoinRows {
    /// The report of the join; `None` before the last row was returned, and after an error.
    #[must_use]
    pub fn report(&self) -> Option<JoinReport> {
        if self.is_done { self.report.lock().clone() } else { None }
    }

    fn try_next(&mut self) -> Result<Option<JoinRow>> {
        loop {
            if let Some(((key, left, right), rest)) = unpack(self.batch.get(self.at..).unwrap_or_default())? {
                self.at = self.batch.len() - rest.len();
                let own = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
                return Ok(Some(JoinRow { key: key.to_vec(), left: own(left), right: own(right) }));
            }
            let mut taken = std::mem::take(&mut self.batch);
            if self.at > 0 {
                taken.clear();
                self.handoff.give_back(taken);
            }
            self.at = 0;
            match self.handoff.take(&mut 0.0)? {
                Some(batch) => self.batch = batch,
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for JoinRows {
    type Item = Result<JoinRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let row = self.try_next();
        self.is_done = !matches!(row, Ok(Some(_)));
        row.transpose()
    }
}

impl FusedIterator for JoinRows {}

impl Drop for JoinRows {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.handoff.close(Ok(()));
        self.worker = None;
    }
}

impl fmt::Debug for JoinRows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("JoinRows").field("is_done", &self.is_done).finish_non_exhaustive()
    }
}
