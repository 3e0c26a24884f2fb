//! Range iterators of a store: the visible records of a key range, from either end.

pub(in crate::lsm) mod seek;

use self::seek::ReachedEnd;
use super::keyspace::Keyspace;
use super::open::Open;
use super::pinned_types::PinnedTypes;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::read::scan::{ScanBounds, positioned_cursor};
use crate::lsm::read::value_ahead::{QueuedRecord, ValueQueue};
use crate::lsm::read::value_wave::BatchLimits;
use crate::lsm::read::visible::VisibleCursor;
use crate::lsm::state::entry::{Entry, ValueKind};
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::view::{FoundValue, KeyspaceView};
use crate::vlog::ValueFilePointer;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// An iterator over the records of a key range, in key order, from either end: see [`Keyspace::range`]. It sees the
/// store as of one time, regardless of later writes. After an error it ends.
///
/// Each removed entry that is not compacted away yet costs one step. Long runs of them are counted, and compacted once
/// iterators have skipped about as many entries as the compaction reads; but not while a snapshot needs them, nor in a
/// read-only store.
#[derive(Debug)]
pub struct DbRange {
    keyspace: Keyspace,
    /// What is left of the range, beside what the cursors tell.
    bounds: ScanBounds,
    /// The bounds at the beginning, once an end was moved.
    whole: Option<Box<ScanBounds>>,
    /// Where the ends, the front first, stand if their cursors do not tell.
    reached: [Option<ReachedEnd>; 2],
    view: Arc<KeyspaceView>,
    point: ReadPoint,
    front: Option<VisibleCursor>,
    back: Option<VisibleCursor>,
    /// Records that the cursor of each end has passed to read their values ahead.
    front_ahead: ValueQueue,
    back_ahead: ValueQueue,
    /// Whether it has ended, or failed.
    is_done: bool,
    has_failed: bool,
    /// Whether it goes on after its keyspace was dropped.
    outlives_drops: bool,
    /// An error to report instead of records.
    refused: Option<Error>,
    /// Keeps the types in which values are returned, if they were stated.
    pinned: Option<PinnedTypes>,
}

/// A record whose value is read on demand.
#[derive(Clone, Debug)]
pub struct LazyRecord {
    key: Slice,
    found: FoundValue,
    keyspace: Keyspace,
    view: Arc<KeyspaceView>,
    /// Keeps the types in which the value is read.
    _pinned: Option<PinnedTypes>,
}

impl LazyRecord {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &Slice {
        &self.key
    }

    /// Reads the value, if it is in the value log.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn value(&self) -> Result<Slice> {
        self.keyspace.value(self.found.clone(), &self.view.values)
    }
}

impl DbRange {
    pub(in crate::lsm) fn new(keyspace: Keyspace, bounds: ScanBounds, point: ReadPoint) -> Self {
        let (view, point) = keyspace.core().view_at(keyspace.tree(), point);
        let point = point.fixed(&view.time);
        let (front_ahead, back_ahead) = Default::default();
        Self {
            keyspace,
            bounds,
            whole: None,
            reached: [None, None],
            view,
            point,
            front: None,
            back: None,
            front_ahead,
            back_ahead,
            is_done: false,
            has_failed: false,
            outlives_drops: false,
            refused: None,
            pinned: None,
        }
    }

    /// The same range, whose values are of these types.
    pub(in crate::lsm) fn pinned(mut self, types: PinnedTypes) -> Self {
        self.keyspace = self.keyspace.clone().read_as(types.keyspace());
        self.pinned = Some(types);
        self
    }

    /// Fails if the keyspace belongs to another store than `open`.
    pub(super) fn checked_for_store(mut self, open: &Arc<Open>) -> Self {
        self.refused = self.keyspace.check_store(open).err();
        self
    }

    /// Goes on if its keyspace is dropped, of a snapshot.
    pub(super) fn outliving_drops(self) -> Self {
        Self { outlives_drops: true, ..self }
    }

    /// The error if its keyspace is gone.
    #[inline]
    fn gone(&self) -> Option<Error> {
        let core = self.keyspace.core();
        let is_gone = self.keyspace.tree().is_dropped() && (!self.outlives_drops || core.is_closed());
        is_gone.then(|| core.gone(self.keyspace.tree()))
    }

    /// The keys only; values are not read.
    pub fn keys(self) -> impl DoubleEndedIterator<Item = Result<Slice>> {
        KeyIter(self)
    }

    /// The keys, with values to be read on demand.
    pub fn pairs(self) -> impl DoubleEndedIterator<Item = Result<LazyRecord>> {
        LazyRecordIter(self)
    }

    /// Passes the next records from the front to `visit` until it breaks, or the range ends. Records are neither copied
    /// nor shared, so this is the fastest way to read a range. Visited records are consumed.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// # let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// # for key in ["a", "b", "c"] { db.insert(key, "value")?; }
    /// let mut bytes = 0;
    /// db.iter().visit(|key, value| {
    ///     bytes += key.len() + value.len();
    ///     if key < b"b" { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// })?;
    /// assert_eq!(bytes, 12);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Keyspace::get`]; the range has then ended.
    pub fn visit(&mut self, visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()> {
        let outcome = self.try_visit(visit);
        if outcome.is_err() {
            self.end();
        }
        outcome
    }

    fn try_visit(&mut self, mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()> {
        let reads_ahead = self.reads_ahead();
        loop {
            if let Some(queued) = self.take_queued(true) {
                let (key, value) = queued?;
                match visit(&key, &value) {
                    ControlFlow::Continue(()) => continue,
                    ControlFlow::Break(()) => return Ok(()),
                }
            }
            let step = self.step(true, |keyspace, view, entry, visible| match entry.kind {
                ValueKind::Pointer if reads_ahead => Ok(VisitStep::Pointer(entry.key.into(), found(entry, visible))),
                ValueKind::Pointer => {
                    let value = keyspace.value((entry.kind, entry.value.into()), &view.values)?;
                    Ok(VisitStep::Visited(visit(entry.key, &value)))
                }
                _ => Ok(VisitStep::Visited(visit(entry.key, &keyspace.written().delivered(entry.value)?))),
            });
            match step.transpose()? {
                Some(VisitStep::Visited(ControlFlow::Continue(()))) => {}
                Some(VisitStep::Visited(ControlFlow::Break(()))) => return Ok(()),
                Some(VisitStep::Pointer(key, pointer)) => self.read_ahead(true, key, pointer),
                None => match self.take_last_queued(true) {
                    Some(queued) => {
                        let (key, value) = queued?;
                        if visit(&key, &value).is_break() {
                            return Ok(());
                        }
                    }
                    None => return Ok(()),
                },
            }
        }
    }

    fn reads_ahead(&self) -> bool {
        self.keyspace.core().options.fast_paths.prefetch
    }

    fn ahead(&mut self, forward: bool) -> &mut ValueQueue {
        if forward { &mut self.front_ahead } else { &mut self.back_ahead }
    }

    /// Ends the range at both ends, after an error: records that the cursors have passed are not returned either.
    fn end(&mut self) {
        (self.is_done, self.has_failed) = (true, true);
        (self.front_ahead, self.back_ahead) = Default::default();
    }

    /// The outcome of a call of one end. An error ends the range.
    #[inline]
    fn ended_by_error<T>(&mut self, record: Option<Result<T>>) -> Option<Result<T>> {
        if matches!(record, Some(Err(_))) {
            self.end();
        }
        record
    }

    /// The next record from one end, with its value.
    fn record(&mut self, forward: bool) -> Option<Result<(Slice, Slice)>> {
        if let Some(queued) = self.take_queued(forward) {
            return Some(queued);
        }
        match self.step(forward, |_, _, entry, visible| Ok((Slice::from(entry.key), found(entry, visible)))) {
            Some(Ok((key, found))) if found.0 == ValueKind::Pointer && self.reads_ahead() => {
                self.read_ahead(forward, key, found);
                self.take_queued(forward)
            }
            Some(Ok((key, found))) => {
                let value = self.keyspace.value(found, &self.view.values);
                Some(value.map(|value| (key, value)))
            }
            Some(Err(error)) => Some(Err(error)),
            None => self.take_last_queued(forward),
        }
    }

    /// Collects the records that follow one whose value is in the value log, and reads their values.
    fn read_ahead(&mut self, forward: bool, key: Slice, pointer: FoundValue) {
        let keyspace = self.keyspace.clone();
        let path = || keyspace.path();
        let limits = BatchLimits { memory_bytes: keyspace.core().options.memory_bytes, path: &path };
        let length = |found: &FoundValue| match found.0 {
            ValueKind::Pointer => ValueFilePointer::decode(&found.1).map_or(0, |pointer| pointer.stored_bytes),
            _ => found.1.len() as u64,
        };
        let (mut bytes, reach) = (length(&pointer), self.ahead(forward).next_reach());
        self.ahead(forward).push(key, pointer);
        while self.ahead(forward).records.len() < reach && !ValueQueue::is_full(bytes, &limits) {
            match self.step(forward, |_, _, entry, visible| Ok((Slice::from(entry.key), found(entry, visible)))) {
                Some(Ok((key, found))) => {
                    bytes += length(&found);
                    self.ahead(forward).push(key, found);
                }
                Some(Err(error)) => {
                    self.ahead(forward).failure = Some(error);
                    break;
                }
                None => break,
            }
        }
        let view = Arc::clone(&self.view);
        self.ahead(forward).read(&view.values, &limits);
    }

    /// The next of the records that the cursor of one end has passed.
    fn take_queued(&mut self, forward: bool) -> Option<Result<(Slice, Slice)>> {
        let queued = self.ahead(forward).records.pop_front()?;
        Some(self.queued_value(queued))
    }

    /// At the end of the cursor of one end: the last of the records that the other one has passed.
    fn take_last_queued(&mut self, forward: bool) -> Option<Result<(Slice, Slice)>> {
        match self.last_queued(forward)? {
            Ok(queued) => Some(self.queued_value(queued)),
            Err(error) => Some(Err(error)),
        }
    }

    /// As [`Self::take_last_queued`], without the value. After a failure of either cursor it is that: what lies between
    /// the records of the two was not read.
    fn last_queued(&mut self, forward: bool) -> Option<Result<QueuedRecord>> {
        match self.front_ahead.failure.take().or_else(|| self.back_ahead.failure.take()) {
            Some(failure) => Some(Err(failure)),
            None => {
                let taken = self.ahead(!forward).records.pop_back()?;
                self.note_taken(forward, &taken.key);
                Some(Ok(taken))
            }
        }
    }

    /// The value of a record that a cursor has passed.
    fn queued_value(&self, queued: QueuedRecord) -> Result<(Slice, Slice)> {
        if let Some(gone) = self.gone() {
            return Err(gone);
        }
        let QueuedRecord { key, found, value } = queued;
        let value = match value {
            Some(value) => self.keyspace.written().delivered_slice(value)?,
            None => self.keyspace.value(found, &self.view.values)?,
        };
        Ok((key, value))
    }

    fn lazy(&self, queued: QueuedRecord) -> LazyRecord {
        let QueuedRecord { key, found, .. } = queued;
        let (keyspace, view) = (self.keyspace.clone(), Arc::clone(&self.view));
        LazyRecord { key, found, keyspace, view, _pinned: None }
    }

    /// The next record of one end for iterators that read no values: of those that its cursor has passed, by `queued`,
    /// or behind them, by `read`.
    fn next_without_value<T>(
        &mut self,
        forward: bool,
        queued: impl FnOnce(&Self, QueuedRecord) -> T,
        read: fn(&Keyspace, &Arc<KeyspaceView>, &Entry<'_>, &VisibleCursor) -> Result<T>,
    ) -> Option<Result<T>> {
        let passed = match self.ahead(forward).records.pop_front() {
            Some(passed) => Some(Ok(passed)),
            None => match self.step(forward, read) {
                None => self.last_queued(forward),
                record => return self.ended_by_error(record),
            },
        };
        let record = passed.map(|passed| self.gone().map_or(passed, Err).map(|passed| queued(self, passed)));
        self.ended_by_error(record)
    }

    /// Moves one end by one record, and passes it to `read`.
    #[inline]
    fn step<T>(
        &mut self,
        forward: bool,
        read: impl FnOnce(&Keyspace, &Arc<KeyspaceView>, &Entry<'_>, &VisibleCursor) -> Result<T>,
    ) -> Option<Result<T>> {
        if self.is_done {
            return None;
        }
        let step = self.try_step(forward, read);
        self.is_done = !matches!(step, Ok(Some(_)));
        step.transpose()
    }

    #[inline]
    fn try_step<T>(
        &mut self,
        forward: bool,
        read: impl FnOnce(&Keyspace, &Arc<KeyspaceView>, &Entry<'_>, &VisibleCursor) -> Result<T>,
    ) -> Result<Option<T>> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        if let Some(gone) = self.gone() {
            return Err(gone);
        }
        let end = if forward { &mut self.front } else { &mut self.back };
        match end {
            Some(visible) if forward => visible.next()?,
            Some(visible) => visible.prev()?,
            None => *end = Some(positioned_cursor(&self.view, self.point, &self.bounds, forward)?),
        }
        if let Some(run) = end.as_mut().and_then(VisibleCursor::take_skipped) {
            self.keyspace.core().note_skipped(self.keyspace.tree(), run);
        }
        let (here, other) = if forward { (&self.front, &self.back) } else { (&self.back, &self.front) };
        let Some(visible) = here else { return Ok(None) };
        let Some(entry) = visible.entry() else {
            self.note_end(forward);
            return Ok(None);
        };
        // The range ends where one end would pass the record that the other returned.
        let is_passed = other.as_ref().and_then(VisibleCursor::key).is_some_and(|given| match forward {
            true => entry.key >= given,
            false => entry.key <= given,
        });
        if is_passed || !is_within(entry.key, &self.bounds, forward) {
            self.note_end(forward);
            return Ok(None);
        }
        read(&self.keyspace, &self.view, &entry, visible).map(Some)
    }
}

/// Whether a key is within the far bound.
#[inline]
fn is_within(key: &[u8], bounds: &ScanBounds, forward: bool) -> bool {
    match (forward, if forward { &bounds.1 } else { &bounds.0 }) {
        (_, Bound::Unbounded) => true,
        (true, Bound::Included(end)) => key <= end.as_slice(),
        (true, Bound::Excluded(end)) => key < end.as_slice(),
        (false, Bound::Included(start)) => key >= start.as_slice(),
        (false, Bound::Excluded(start)) => key > start.as_slice(),
    }
}

/// The current value, or the pointer to it.
#[inline]
fn found(entry: &Entry<'_>, visible: &VisibleCursor) -> FoundValue {
    (entry.kind, visible.value_slice().unwrap_or_else(|| entry.value.into()))
}

fn pair(
    keyspace: &Keyspace,
    view: &Arc<KeyspaceView>,
    entry: &Entry<'_>,
    visible: &VisibleCursor,
) -> Result<LazyRecord> {
    let (key, found) = (entry.key.into(), found(entry, visible));
    Ok(LazyRecord { key, found, keyspace: keyspace.clone(), view: Arc::clone(view), _pinned: None })
}

/// A step of [`DbRange::visit`].
enum VisitStep {
    Visited(ControlFlow<()>),
    /// A record whose value is in the value log.
    Pointer(Slice, FoundValue),
}

impl Iterator for DbRange {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record(true);
        self.ended_by_error(record)
    }
}

impl DoubleEndedIterator for DbRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        let record = self.record(false);
        self.ended_by_error(record)
    }
}

struct KeyIter(DbRange);

fn key(_: &Keyspace, _: &Arc<KeyspaceView>, entry: &Entry<'_>, _: &VisibleCursor) -> Result<Slice> {
    Ok(entry.key.into())
}

impl Iterator for KeyIter {
    type Item = Result<Slice>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_without_value(true, |_, passed| passed.key, key)
    }
}

impl DoubleEndedIterator for KeyIter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_without_value(false, |_, passed| passed.key, key)
    }
}

struct LazyRecordIter(DbRange);

impl LazyRecordIter {
    fn step(&mut self, forward: bool) -> Option<Result<LazyRecord>> {
        let record = self.0.next_without_value(forward, |range, passed| range.lazy(passed), pair);
        let pinned = self.0.pinned.clone();
        Some(record?.map(|record| LazyRecord { _pinned: pinned, ..record }))
    }
}

impl Iterator for LazyRecordIter {
    type Item = Result<LazyRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}

impl DoubleEndedIterator for LazyRecordIter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false)
    }
}

#[cfg(test)]
mod tests {
    use crate::io::MemoryStorage;
    use crate::lsm::{Db, DbOptions};
    use std::ops::ControlFlow;
    use std::sync::Arc;

    #[test]
    fn visiting_shows_what_iterating_gives_and_goes_on_where_it_stopped() {
        let options = DbOptions::default().values(|values| values.separation_bytes(50)).threads(0);
        let db = Db::open(Arc::new(MemoryStorage::new()), &options).unwrap();
        for round in 0..3_u32 {
            for i in (round..600).step_by(3) {
                db.insert(i.to_be_bytes(), vec![i as u8; (i % 100) as usize]).unwrap();
            }
            db.remove_range((round * 50).to_be_bytes()..(round * 50 + 20).to_be_bytes()).unwrap();
            db.flush().unwrap();
        }
        let expected: Vec<(Vec<u8>, Vec<u8>)> = db
            .range(7_u32.to_be_bytes()..500_u32.to_be_bytes())
            .map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap())
            .collect();
        for step in [1, 7, 1000] {
            let mut range = db.range(7_u32.to_be_bytes()..500_u32.to_be_bytes());
            let mut seen = Vec::new();
            loop {
                let before = seen.len();
                range
                    .visit(|key, value| {
                        seen.push((key.to_vec(), value.to_vec()));
                        if seen.len() - before < step { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                    })
                    .unwrap();
                if seen.len() == before {
                    break;
                }
            }
            assert_eq!(seen, expected, "in steps of {step}");
        }
    }
}
