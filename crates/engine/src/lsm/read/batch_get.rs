//! Batched lookups: all keys are searched in memory first, and what they lack is read together.
//!
//! ```text
//! sorted keys --> each as far as memory leads: memtables, filters, separators, cached blocks --> answers
//!                      |  a block is missing
//!                      v
//!                 one wave of reads, of all tables together, then these keys again
//! pointers among the answers --> one more wave, of all value files together
//! ```
//!
//! A key is looked up in older sources only if newer ones have no answer, as [`KeyspaceView::find`] does. So a batch
//! takes one wave where each key is in the first table whose filter admits it.

use super::value_wave::{BatchLimits, read_values};
use crate::block::Slice;
use crate::error::Result;
use crate::lsm::state::entry::{Sequence, ValueKind};
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::tables::learner::PositionWindow;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::view::{FoundValue, KeyspaceView, SourceAnswer};
use crate::table::read::deferred::{Deferrable, DeferredReads, StartedReads};
use crate::vlog::ValueFilePointer;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keys of a group: enough to fill any device, and few enough for their blocks to stay in the processor's cache.
const GROUP_KEYS_MAX: usize = 256;

/// The next source of a key.
#[derive(Clone, Copy, Default)]
enum NextSource {
    #[default]
    Memtables,
    /// A table of level 0, by its index.
    Newest(usize),
    /// A deeper level, by its index.
    Deeper(usize),
}

/// A key without an answer: its index among the keys of the batch, and its next source.
struct OpenKey {
    index: usize,
    next: NextSource,
}

/// The lookups of a batch in the tables of a view.
struct BatchLookups<'a> {
    view: &'a KeyspaceView,
    at: Sequence,
    /// The reads of each table that some key waited for, by its number.
    tables: BTreeMap<u64, (&'a Arc<TableFile>, DeferredReads<'static>)>,
    /// The reads of all other tables; nothing stays in them.
    first_attempt: DeferredReads<'static>,
    wave_bytes: u64,
}

impl<'a> BatchLookups<'a> {
    fn new(view: &'a KeyspaceView, at: Sequence) -> Self {
        let first_attempt = DeferredReads::default();
        Self { view, at, tables: BTreeMap::new(), first_attempt, wave_bytes: 0 }
    }

    /// Looks a key up from its next source on, as far as memory leads.
    fn advance(&mut self, key: &[u8], next: &mut NextSource) -> Result<Deferrable<Option<FoundValue>>> {
        let view = self.view;
        if let NextSource::Memtables = next {
            for memtable in view.memtables().filter(|memtable| !memtable.is_empty()) {
                let hidden = memtable.covering(key, self.at);
                let source = SourceAnswer { hidden, entry: memtable.get_slice(key, self.at) };
                if let Some(found) = source.decide() {
                    return Ok(Deferrable::Done(found));
                }
            }
            *next = NextSource::Newest(0);
        }
        while let NextSource::Newest(index) = *next {
            let Some(table) = view.levels.newest.get(index) else {
                *next = NextSource::Deeper(0);
                break;
            };
            if table.may_hold(key)
                && let Some(outcome) = self.search(table, key, None)?
            {
                return Ok(outcome);
            }
            *next = NextSource::Newest(index + 1);
        }
        while let NextSource::Deeper(index) = *next {
            let Some((_, level)) = view.levels.deeper.get(index) else { break };
            if let Some((table, window)) = level.route(key)
                && let Some(outcome) = self.search(table, key, window)?
            {
                return Ok(outcome);
            }
            *next = NextSource::Deeper(index + 1);
        }
        Ok(Deferrable::Done(None))
    }

    /// Looks a key up in one table; `None` if the next source decides.
    fn search(
        &mut self,
        table: &'a Arc<TableFile>,
        key: &[u8],
        window: Option<PositionWindow>,
    ) -> Result<Option<Deferrable<Option<FoundValue>>>> {
        let number = table.meta.number;
        let waited = if self.tables.is_empty() { None } else { self.tables.get_mut(&number) };
        let is_first = waited.is_none();
        let reads = waited.map_or(&mut self.first_attempt, |(_, reads)| reads);
        let before = reads.missing_bytes();
        let Deferrable::Done(entry) = table.get_deferred(key, self.at, window, reads)? else {
            self.wave_bytes += reads.missing_bytes() - before;
            if is_first {
                let (_, own) = self.tables.entry(number).or_insert_with(|| (table, DeferredReads::default()));
                own.take_missing(&mut self.first_attempt);
            }
            return Ok(Some(Deferrable::Deferred));
        };
        let source = SourceAnswer { hidden: table.covering(key, self.at), entry };
        Ok(source.decide().map(Deferrable::Done))
    }

    /// Reads what keys lack, in all tables side by side.
    fn read_wave(&mut self) -> Result<()> {
        let mut started: Vec<(u64, StartedReads)> = Vec::new();
        for (&number, (table, reads)) in &mut self.tables {
            if reads.has_missing() {
                started.push((number, table.start_deferred(reads)?));
            }
        }
        for (number, wave) in started {
            if let Some((table, reads)) = self.tables.get_mut(&number) {
                table.finish_deferred(wave, reads)?;
            }
        }
        self.wave_bytes = 0;
        Ok(())
    }
}

/// The record of a key at a point, if nothing must be read for it.
pub(in crate::lsm) fn find_in_memory(
    view: &KeyspaceView,
    point: ReadPoint,
    key: &[u8],
) -> Result<Deferrable<Option<FoundValue>>> {
    let found = BatchLookups::new(view, point.at).advance(key, &mut NextSource::default())?;
    Ok(match found {
        Deferrable::Done(found) => Deferrable::Done(view.settled(found, point, |_| {})),
        Deferrable::Deferred => Deferrable::Deferred,
    })
}

/// Finds the records of keys at a point, which are sorted by `order`; `note` gets the indexes of those that expire,
/// each with its time.
fn find_all<K: AsRef<[u8]>>(
    view: &KeyspaceView,
    point: ReadPoint,
    keys: &[K],
    order: &[usize],
    limits: &BatchLimits<'_>,
    mut note: impl FnMut(usize, u64),
) -> Result<Vec<Option<FoundValue>>> {
    let mut found: Vec<Option<FoundValue>> = keys.iter().map(|_| None).collect();
    let mut rest = order;
    while !rest.is_empty() {
        // Blocks that this group of keys waited for are in memory until all its keys are answered.
        let mut lookups = BatchLookups::new(view, point.at);
        let mut open: Vec<OpenKey> = Vec::new();
        let group = &rest[..rest.len().min(GROUP_KEYS_MAX)];
        let mut taken = 0;
        for &index in group {
            let mut next = NextSource::default();
            match lookups.advance(keys[index].as_ref(), &mut next)? {
                Deferrable::Done(answer) => found[index] = answer,
                Deferrable::Deferred => open.push(OpenKey { index, next }),
            }
            taken += 1;
            if lookups.wave_bytes >= limits.wave_bytes() {
                break;
            }
        }
        rest = &rest[taken..];
        while !open.is_empty() {
            lookups.read_wave()?;
            let mut still = Vec::new();
            for OpenKey { index, mut next } in open {
                match lookups.advance(keys[index].as_ref(), &mut next)? {
                    Deferrable::Done(answer) => found[index] = answer,
                    Deferrable::Deferred => still.push(OpenKey { index, next }),
                }
            }
            open = still;
        }
    }
    // A store is known to have records that expire before any of them is visible.
    if view.time.is_used() {
        for &index in order {
            found[index] = view.settled(found[index].take(), point, |expires_ms| note(index, expires_ms));
        }
    }
    Ok(found)
}

/// The number of the first keys whose values take `room_bytes` together, and at least one.
fn keys_within(found: &[Option<FoundValue>], room_bytes: u64) -> usize {
    let mut bytes: u64 = 0;
    let exceeds = |found: &Option<FoundValue>| {
        let value_bytes = match found {
            // What cannot be decoded is an error where it is read.
            Some((ValueKind::Pointer, pointer)) => ValueFilePointer::decode(pointer).map_or(0, |it| it.length),
            Some((_, value)) => value.len() as u64,
            None => 0,
        };
        bytes = bytes.saturating_add(value_bytes);
        bytes > room_bytes
    };
    found.iter().position(exceeds).unwrap_or(found.len()).max(1)
}

/// The values of keys, which are sorted by `order`, at a point: those of the first keys that take `room_bytes`
/// together, and of one in any case.
pub(in crate::lsm) fn multi_get<K: AsRef<[u8]>>(
    view: &KeyspaceView,
    point: ReadPoint,
    keys: &[K],
    order: &[usize],
    room_bytes: u64,
    limits: &BatchLimits<'_>,
) -> Result<Vec<Option<Slice>>> {
    multi_get_noting(view, point, keys, order, (room_bytes, limits), |_, _| {})
}

/// A value, and the time at which it expires, if it does, in milliseconds since the start of 1970.
pub(in crate::lsm) type ExpiringValue = (Slice, Option<u64>);

/// As [`multi_get`], of all keys, with the records that have expired but are still there.
pub(in crate::lsm) fn multi_get_with_expired<K: AsRef<[u8]>>(
    view: &KeyspaceView,
    at: Sequence,
    keys: &[K],
    order: &[usize],
    limits: &BatchLimits<'_>,
) -> Result<Vec<Option<ExpiringValue>>> {
    let mut expiry = vec![None; keys.len()];
    let note = |index: usize, expires_ms| expiry[index] = Some(expires_ms);
    let values = multi_get_noting(view, ReadPoint::with_expired(at), keys, order, (u64::MAX, limits), note)?;
    for pair in order.windows(2) {
        if keys[pair[0]].as_ref() == keys[pair[1]].as_ref() {
            expiry[pair[1]] = expiry[pair[0]];
        }
    }
    Ok(values.into_iter().zip(expiry).map(|(value, expires_ms)| Some((value?, expires_ms))).collect())
}

fn multi_get_noting<K: AsRef<[u8]>>(
    view: &KeyspaceView,
    point: ReadPoint,
    keys: &[K],
    order: &[usize],
    (room_bytes, limits): (u64, &BatchLimits<'_>),
    note: impl FnMut(usize, u64),
) -> Result<Vec<Option<Slice>>> {
    // A key that occurs several times is looked up once, at its first place.
    let mut distinct = order.to_vec();
    distinct.dedup_by(|one, other| keys[*one].as_ref() == keys[*other].as_ref());
    // All keys are seen at the same time.
    let mut found = find_all(view, point.fixed(&view.time), keys, &distinct, limits, note)?;
    found.truncate(keys_within(&found, room_bytes));
    let answers = found.len();
    let mut values: Vec<Option<Slice>> = keys.iter().map(|_| None).collect();
    let mut pointers: Vec<(usize, Slice)> = Vec::new();
    for (index, found) in found.into_iter().enumerate() {
        match found {
            Some((ValueKind::Pointer, pointer)) => pointers.push((index, pointer)),
            Some((_, value)) => values[index] = Some(value),
            None => {}
        }
    }
    read_values(&view.values, &pointers, &mut values, limits)?;
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if keys[first].as_ref() == keys[second].as_ref() {
            values[second] = values[first].clone();
        }
    }
    values.truncate(answers);
    Ok(values)
}
