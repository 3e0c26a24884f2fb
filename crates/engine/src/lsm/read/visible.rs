//! The visibility cursor: for each key, the newest entry at or below a sequence number, unless it is a tombstone or has
//! expired.

use crate::block::Slice;
use crate::error::{Error, Result};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{EXPIRY_BYTES, Entry, SEQUENCE_MAX, Sequence, ValueKind};
use crate::lsm::state::range_tombstones::RangeTombstones;
use crate::lsm::state::skipped::{SKIPPED_RUN_MIN, SkippedRun};
use crate::lsm::state::tables::level::LevelCursor;
use std::sync::Arc;

/// Versions of one key to step over before seeking past the rest.
const STEPS_BEFORE_SEEK: usize = 8;

/// The visible entries of a cursor, in key order, in both directions.
///
/// ```text
/// entries   a@9  a@4  b@7(remove)  b@3  c@6  d@2        range tombstones   [c, e)@5
/// at 8           a@4                    c@6
/// at 4           a@4               b@3       d@2
/// ```
///
/// For each key it shows the newest entry at or below the reader's sequence number, unless that is a removal or a range
/// tombstone, at or below the same number and newer than the entry, covers it, or it has expired by the reader's time.
/// After an error, every move fails.
#[derive(Debug)]
pub(crate) struct VisibleCursor {
    cursor: EntrySource,
    /// Whether the current entry is the last version of its key.
    is_oldest_version: bool,
    tombstones: Vec<Arc<RangeTombstones>>,
    at: Sequence,
    /// Entries that expire up to this time are hidden.
    now_ms: u64,
    position: VisiblePosition,
    /// The current key if the cursor has moved away from it, or the key of versions being skipped.
    key: Vec<u8>,
    /// The rest of the current entry if the cursor has moved away from it.
    stashed: StashedEntry,
    /// The last long run that a move skipped.
    skipped: Option<SkippedRun>,
}

/// The underlying cursor. A fully compacted store is one level, for which virtual calls are avoided.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one in each range, and a box would cost each step")]
pub(crate) enum EntrySource {
    Level(LevelCursor),
    Any(Box<dyn EntryCursor>),
}

/// Calls a method of the cursor in a source.
macro_rules! of_source {
    ($source:expr, $cursor:ident => $call:expr) => {
        match $source {
            EntrySource::Level($cursor) => $call,
            EntrySource::Any($cursor) => $call,
        }
    };
}

impl EntrySource {
    #[inline]
    fn entry(&self) -> Option<Entry<'_>> {
        of_source!(self, cursor => cursor.entry())
    }

    #[inline]
    fn value_slice(&self) -> Option<Slice> {
        of_source!(self, cursor => cursor.value_slice())
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        of_source!(self, cursor => cursor.next())
    }

    fn prev(&mut self) -> Result<()> {
        of_source!(self, cursor => cursor.prev())
    }

    fn first(&mut self) -> Result<()> {
        of_source!(self, cursor => cursor.first())
    }

    fn last(&mut self) -> Result<()> {
        of_source!(self, cursor => cursor.last())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        of_source!(self, cursor => cursor.seek(key, sequence))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        of_source!(self, cursor => cursor.seek_before(key))
    }
}

/// The position of the underlying cursor relative to the current entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VisiblePosition {
    /// There is no current entry.
    Nowhere,
    /// At the current entry.
    Here,
    /// At the current entry, which expires later.
    HereExpiring,
    /// At the last entry before the current key, as after a backward move.
    Before,
    /// The next move leads to `key`: see [`VisibleCursor::park`].
    Parked(ParkedSide),
    /// A move failed.
    Failed,
}

/// The place of a parked cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParkedSide {
    /// At an entry that is not behind the key.
    Below,
    /// At the last entry before a key that is not before it.
    Above,
    Unknown,
}

#[derive(Debug)]
struct StashedEntry {
    kind: ValueKind,
    sequence: Sequence,
    value: Slice,
}

impl StashedEntry {
    fn new() -> Self {
        Self { kind: ValueKind::Remove, sequence: 0, value: Slice::from(&[][..]) }
    }

    /// Whether it is no removal, and has not expired by a time.
    fn is_seen(&self, now_ms: u64) -> bool {
        let entry = Entry { key: &[], sequence: self.sequence, kind: self.kind, value: &self.value };
        self.kind.is_plain() || entry.expires_ms().is_some_and(|expires_ms| expires_ms > now_ms)
    }

    fn take_expiry_off(&mut self) {
        if self.kind.expires() {
            let value = std::mem::replace(&mut self.value, Slice::from(&[][..]));
            (self.kind, self.value) = (self.kind.without_expiry(), value.without_first(EXPIRY_BYTES));
        }
    }
}

impl VisibleCursor {
    /// The entries visible at `at` and a time; `tombstones` are those of all sources of the cursor.
    pub(crate) fn new(
        cursor: EntrySource,
        mut tombstones: Vec<Arc<RangeTombstones>>,
        at: Sequence,
        now_ms: u64,
    ) -> Self {
        tombstones.retain(|tombstones| !tombstones.is_empty());
        Self {
            cursor,
            is_oldest_version: false,
            tombstones,
            at,
            now_ms,
            position: VisiblePosition::Nowhere,
            key: Vec::new(),
            stashed: StashedEntry::new(),
            skipped: None,
        }
    }

    /// The long run of hidden entries that the last move skipped, if any.
    #[inline]
    pub(crate) fn take_skipped(&mut self) -> Option<SkippedRun> {
        self.skipped.take()
    }

    /// The current entry; `None` before the first, behind the last, and before the first move.
    #[inline]
    pub(crate) fn entry(&self) -> Option<Entry<'_>> {
        // All but few calls of a scan.
        if matches!(self.position, VisiblePosition::Here) { self.cursor.entry() } else { self.other_entry() }
    }

    /// The current entry, if it is not that of the cursor as it is.
    fn other_entry(&self) -> Option<Entry<'_>> {
        match self.position {
            VisiblePosition::HereExpiring => self.cursor.entry().map(Entry::without_expiry),
            VisiblePosition::Before => Some(Entry {
                key: &self.key,
                sequence: self.stashed.sequence,
                kind: self.stashed.kind,
                value: &self.stashed.value,
            }),
            _ => None,
        }
    }

    /// The time at which the current entry expires, if it does; known after a forward move only.
    pub(crate) fn expires_ms(&self) -> Option<u64> {
        match self.position {
            VisiblePosition::HereExpiring => self.cursor.entry()?.expires_ms(),
            _ => None,
        }
    }

    /// The current key.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.entry().map(|entry| entry.key)
    }

    /// The value of the current entry, sharing its buffer.
    #[inline]
    pub(crate) fn value_slice(&self) -> Option<Slice> {
        if matches!(self.position, VisiblePosition::Here) {
            self.cursor.value_slice()
        } else {
            self.other_value_slice()
        }
    }

    /// As [`Self::other_entry`].
    fn other_value_slice(&self) -> Option<Slice> {
        match self.position {
            VisiblePosition::HereExpiring => self.cursor.value_slice().map(|value| value.without_first(EXPIRY_BYTES)),
            VisiblePosition::Before => Some(self.stashed.value.clone()),
            _ => None,
        }
    }

    /// Moves to the first visible key at or after `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.guarded_move(|this| {
            this.cursor.seek(key, this.at)?;
            this.find_visible_forward()
        })
    }

    /// Moves to the last visible key before `key`.
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.guarded_move(|this| {
            this.cursor.seek_before(key)?;
            this.find_visible_backward()
        })
    }

    /// Moves to the first visible key.
    pub(crate) fn first(&mut self) -> Result<()> {
        self.guarded_move(|this| {
            this.cursor.first()?;
            this.find_visible_forward()
        })
    }

    /// Moves to the last visible key.
    pub(crate) fn last(&mut self) -> Result<()> {
        self.guarded_move(|this| {
            this.cursor.last()?;
            this.find_visible_backward()
        })
    }

    /// Lets the next move lead to `key`: a forward move to the first visible key at or after it, a backward move to the
    /// last one before it. Nothing is read before. There is no current entry until then.
    pub(crate) fn park(&mut self, key: &[u8]) {
        let is_at_or_before = || self.cursor.entry().is_some_and(|entry| entry.key <= key);
        let side = match self.position {
            VisiblePosition::Failed => return,
            VisiblePosition::Here | VisiblePosition::Parked(ParkedSide::Below) if is_at_or_before() => {
                ParkedSide::Below
            }
            VisiblePosition::Before | VisiblePosition::Parked(ParkedSide::Above) if key <= self.key.as_slice() => {
                ParkedSide::Above
            }
            _ => ParkedSide::Unknown,
        };
        self.key.clear();
        self.key.extend_from_slice(key);
        self.position = VisiblePosition::Parked(side);
    }

    /// Moves the cursor of a parked one to its first entry at or after `key`: by steps if they are few, since a seek
    /// searches in every source.
    fn leave_forward(&mut self, side: ParkedSide) -> Result<()> {
        for _ in 0..if side == ParkedSide::Below { STEPS_BEFORE_SEEK } else { 0 } {
            if self.cursor.entry().is_none_or(|entry| entry.key >= self.key.as_slice()) {
                return Ok(());
            }
            self.cursor.next()?;
        }
        self.cursor.seek(&self.key, SEQUENCE_MAX)
    }

    /// Moves the cursor of a parked one to its last entry before `key`, likewise.
    #[cold]
    fn leave_backward(&mut self, side: ParkedSide) -> Result<()> {
        for _ in 0..if side == ParkedSide::Above { STEPS_BEFORE_SEEK } else { 0 } {
            if self.cursor.entry().is_none_or(|entry| entry.key < self.key.as_slice()) {
                return Ok(());
            }
            self.cursor.prev()?;
        }
        self.cursor.seek_before(&self.key)
    }

    /// Moves to the next visible key, if there is a current one.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        self.guarded_move(|this| {
            match this.position {
                // An entry with sequence number 0 is the last version of its key.
                VisiblePosition::Here if this.is_oldest_version => this.cursor.next()?,
                VisiblePosition::Here => this.skip_key()?,
                VisiblePosition::Nowhere | VisiblePosition::Failed => return Ok(()),
                _ => this.leave_other_entry()?,
            }
            this.find_visible_forward()
        })
    }

    /// Moves the cursor behind the current key, or to that of a parked one.
    #[cold]
    fn leave_other_entry(&mut self) -> Result<()> {
        match self.position {
            VisiblePosition::HereExpiring => self.skip_key(),
            VisiblePosition::Parked(side) => self.leave_forward(side),
            _ => {
                self.key.push(0);
                self.cursor.seek(&self.key, SEQUENCE_MAX)
            }
        }
    }

    /// Moves to the previous visible key, if there is a current one.
    pub(crate) fn prev(&mut self) -> Result<()> {
        self.guarded_move(|this| {
            match this.position {
                VisiblePosition::Here | VisiblePosition::HereExpiring => {
                    this.save_key();
                    this.cursor.seek_before(&this.key)?;
                }
                VisiblePosition::Before => {}
                VisiblePosition::Parked(side) => this.leave_backward(side)?,
                VisiblePosition::Nowhere | VisiblePosition::Failed => return Ok(()),
            }
            this.find_visible_backward()
        })
    }

    #[inline]
    fn guarded_move(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.position == VisiblePosition::Failed {
            return Err(Error::input("the iterator has failed before; create a new one"));
        }
        let moved = step(self);
        if moved.is_err() {
            self.position = VisiblePosition::Failed;
        }
        moved
    }

    /// Saves the key of the cursor's entry.
    fn save_key(&mut self) {
        self.key.clear();
        self.key.extend_from_slice(self.cursor.entry().map_or(&[], |entry| entry.key));
    }

    /// Whether the cursor's entry, which is not plain, is seen: it expires later.
    #[cold]
    fn is_alive(&self) -> bool {
        let entry = self.cursor.entry();
        entry.is_some_and(|entry| {
            let expires_later = entry.expires_ms().is_some_and(|expires_ms| expires_ms > self.now_ms);
            expires_later && !self.is_hidden(entry.key, entry.sequence)
        })
    }

    fn is_hidden(&self, key: &[u8], sequence: Sequence) -> bool {
        self.tombstones.iter().any(|tombstones| tombstones.covering(key, self.at) > sequence)
    }

    /// Moves forward to the first visible entry, starting with the cursor's.
    #[inline]
    fn find_visible_forward(&mut self) -> Result<()> {
        let (mut too_new, mut skipped) = (0, 0);
        loop {
            let Some(entry) = self.cursor.entry() else {
                self.position = VisiblePosition::Nowhere;
                return Ok(());
            };
            if entry.sequence > self.at {
                too_new = self.skip_too_new(too_new)?;
            } else if entry.kind.is_plain() && !self.is_hidden(entry.key, entry.sequence) {
                self.is_oldest_version = entry.sequence == 0;
                self.position = VisiblePosition::Here;
                return Ok(());
            } else if entry.kind.expires() && self.is_alive() {
                self.position = VisiblePosition::HereExpiring;
                return Ok(());
            } else {
                too_new = 0;
                skipped += 1;
                if skipped % SKIPPED_RUN_MIN == 0 {
                    self.save_key();
                    self.note_skipped(skipped);
                }
                self.skip_key()?;
            }
        }
    }

    /// Skips an entry that is too new, after `before` consecutive others; returns the new count.
    fn skip_too_new(&mut self, before: usize) -> Result<usize> {
        if before == STEPS_BEFORE_SEEK {
            self.save_key();
        }
        if before >= 2 * STEPS_BEFORE_SEEK {
            if self.cursor.entry().is_some_and(|entry| entry.key == self.key) {
                self.cursor.seek(&self.key, self.at)?;
            } else {
                self.cursor.next()?;
            }
            return Ok(0);
        }
        self.cursor.next()?;
        Ok(before + 1)
    }

    /// Records a run of `entries` hidden entries, the last of which has the key `key`.
    #[cold]
    fn note_skipped(&mut self, entries: u64) {
        let run =
            self.skipped.get_or_insert_with(|| SkippedRun { entries, from: self.key.clone(), to: self.key.clone() });
        run.entries = entries;
        let reached = if self.key < run.from { &mut run.from } else { &mut run.to };
        reached.clone_from(&self.key);
    }

    /// Moves to the first entry of the next key.
    fn skip_key(&mut self) -> Result<()> {
        if self.cursor.entry().is_none_or(|entry| entry.sequence == 0) {
            return self.cursor.next();
        }
        self.save_key();
        for _ in 0..STEPS_BEFORE_SEEK {
            self.cursor.next()?;
            if self.cursor.entry().is_none_or(|entry| entry.key != self.key) {
                return Ok(());
            }
        }
        self.key.push(0);
        self.cursor.seek(&self.key, SEQUENCE_MAX)
    }

    /// Moves backward from the oldest entry of a key to the first key with a visible entry; the cursor ends up before
    /// it.
    fn find_visible_backward(&mut self) -> Result<()> {
        let mut skipped = 0;
        while self.cursor.entry().is_some() {
            self.save_key();
            if self.find_newest()?
                && self.stashed.is_seen(self.now_ms)
                && !self.is_hidden(&self.key, self.stashed.sequence)
            {
                self.stashed.take_expiry_off();
                self.position = VisiblePosition::Before;
                return Ok(());
            }
            skipped += 1;
            if skipped % SKIPPED_RUN_MIN == 0 {
                self.note_skipped(skipped);
            }
        }
        self.position = VisiblePosition::Nowhere;
        Ok(())
    }

    /// Moves from the oldest entry of `key` to the last entry of the preceding keys, and finds the newest version that
    /// is not too new; returns whether there is one.
    fn find_newest(&mut self) -> Result<bool> {
        let mut has_found = false;
        for step in 0.. {
            let Some(entry) = self.cursor.entry().filter(|entry| entry.key == self.key) else { break };
            if step == STEPS_BEFORE_SEEK || entry.sequence > self.at {
                return self.find_newest_by_search(has_found);
            }
            let (kind, sequence) = (entry.kind, entry.sequence);
            self.stashed = StashedEntry {
                kind,
                sequence,
                value: self.cursor.value_slice().unwrap_or_else(|| StashedEntry::new().value),
            };
            has_found = true;
            self.cursor.prev()?;
        }
        Ok(has_found)
    }

    /// The same by seeking, if many versions are left or all of them are too new.
    fn find_newest_by_search(&mut self, has_found: bool) -> Result<bool> {
        let has_newer = self.cursor.entry().is_some_and(|entry| entry.sequence <= self.at);
        if has_newer {
            self.cursor.seek(&self.key, self.at)?;
            if let Some(entry) = self.cursor.entry().filter(|entry| entry.key == self.key) {
                let (kind, sequence) = (entry.kind, entry.sequence);
                let value = self.cursor.value_slice().unwrap_or_else(|| StashedEntry::new().value);
                self.stashed = StashedEntry { kind, sequence, value };
            }
        } else {
            for _ in 0..STEPS_BEFORE_SEEK {
                self.cursor.prev()?;
                if self.cursor.entry().is_none_or(|entry| entry.key != self.key) {
                    return Ok(has_found);
                }
            }
        }
        self.cursor.seek_before(&self.key)?;
        Ok(has_found || has_newer)
    }
}
