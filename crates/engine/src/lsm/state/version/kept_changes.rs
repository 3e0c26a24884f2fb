//! Kept changes: what is left of the history of a store for those who follow it. In a folder they are the contents of
//! the record `CHANGES`, on an object store a part of the manifest.

use super::edit::{ManifestEdit, StatedTypes};
use super::file_names::{FileKind, file_name};
use super::kept_names::kept_name;
use super::table::{put_bytes, take_bytes};
use crate::lsm::state::entry::{KeyspaceId, SEQUENCE_MAX, Sequence, put_varint, take_varint};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Logs whose entries went into tables together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lsm) struct KeptLogs {
    /// The last operation in them that took place.
    pub(in crate::lsm) last: Sequence,
    /// When they were kept, in seconds since the start of 1970.
    pub(in crate::lsm) since_s: u64,
    /// Bytes that they and the values that they point to take.
    pub(in crate::lsm) bytes: u64,
    /// The logs by number, each with the nonce of the opening that wrote it.
    pub(in crate::lsm) logs: Vec<(u64, u64)>,
    /// The value files that they point into.
    pub(in crate::lsm) values: Vec<u64>,
}

/// A table that was ingested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lsm) struct KeptTable {
    pub(in crate::lsm) keyspace: KeyspaceId,
    pub(in crate::lsm) number: u64,
    pub(in crate::lsm) bytes: u64,
    /// When it was kept, in seconds since the start of 1970.
    pub(in crate::lsm) since_s: u64,
    /// The name of its object, if it was ingested by reference.
    pub(in crate::lsm) object: Option<Arc<str>>,
}

impl KeptTable {
    /// The name under which an object store has it.
    pub(in crate::lsm) fn object_name(&self) -> String {
        self.object.as_ref().map_or_else(|| file_name(self.number, FileKind::Table), ToString::to_string)
    }
}

/// A keyspace that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct DroppedKeyspace {
    /// When it was dropped, in seconds since the start of 1970.
    pub(in crate::lsm) since_s: u64,
    pub(in crate::lsm) id: KeyspaceId,
    pub(in crate::lsm) name: String,
    pub(in crate::lsm) types: StatedTypes,
}

/// What is kept of the history of a store beside the logs that it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptChanges {
    /// On an object store: nothing up to this change is kept.
    pub(in crate::lsm) after: Sequence,
    /// Logs, oldest first.
    pub(in crate::lsm) sets: VecDeque<KeptLogs>,
    /// Ingested tables by the number of their change.
    pub(in crate::lsm) tables: BTreeMap<Sequence, KeptTable>,
    /// Dropped keyspaces by the number of the change, with those of the entries of their indexes.
    pub(in crate::lsm) dropped: BTreeMap<Sequence, Vec<DroppedKeyspace>>,
    /// Numbers that no change has, since a write failed: the first and the last of each gap.
    pub(in crate::lsm) gaps: BTreeMap<Sequence, Sequence>,
}

impl KeptChanges {
    pub(in crate::lsm) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Forgets the changes up to one; returns whether there were any.
    pub(in crate::lsm) fn forget(&mut self, up_to: Sequence) -> bool {
        let before = (self.sets.len(), self.tables.len(), self.dropped.len(), self.gaps.len());
        self.sets.retain(|set| set.last > up_to);
        self.tables.retain(|&sequence, _| sequence > up_to);
        self.gaps.retain(|_, last| *last > up_to);
        // The logs that are left may write to a keyspace that was dropped later.
        self.dropped.retain(|&sequence, _| sequence > up_to);
        before != (self.sets.len(), self.tables.len(), self.dropped.len(), self.gaps.len())
    }

    /// As [`Self::forget`], and notes it for the manifest.
    pub(in crate::lsm) fn forget_for_good(&mut self, up_to: Sequence) {
        self.forget(up_to);
        self.after = self.after.max(up_to);
    }

    /// Applies what an edit states: forgets what is not kept any more, and adds the rest.
    pub(in crate::lsm) fn apply(&mut self, edit: &Self) {
        self.forget_for_good(edit.after);
        self.sets.extend(edit.sets.iter().cloned());
        self.tables.extend(edit.tables.iter().map(|(&sequence, table)| (sequence, table.clone())));
        for (&sequence, dropped) in &edit.dropped {
            self.dropped.entry(sequence).or_default().extend(dropped.iter().cloned());
        }
        self.gaps.extend(&edit.gaps);
    }

    /// The last change, up to `last`, that was kept for longer than `grace_s` with all before. Times in the future are
    /// of a clock that was ahead, and keep nothing.
    pub(in crate::lsm) fn kept_for(&self, grace_s: u64, now_s: u64, last: Sequence) -> Sequence {
        let sets = self.sets.iter().map(|set| (set.last, set.since_s));
        let tables = self.tables.iter().map(|(&sequence, table)| (sequence, table.since_s));
        let dropped = self.dropped.iter().flat_map(|(&at, all)| all.iter().map(move |of| (at, of.since_s)));
        let is_young = |since_s: u64| since_s <= now_s && since_s.saturating_add(grace_s) > now_s;
        let young = sets.chain(tables).chain(dropped).filter(|(_, since_s)| is_young(*since_s));
        young.map(|(sequence, _)| sequence.saturating_sub(1)).min().unwrap_or(last).min(last)
    }

    /// The names under which an object store has what is kept.
    pub(in crate::lsm) fn object_names(&self) -> BTreeSet<String> {
        let logs = self.sets.iter().flat_map(|set| &set.logs).map(|(number, _)| file_name(*number, FileKind::Log));
        let values = self.sets.iter().flat_map(|set| &set.values).map(|number| file_name(*number, FileKind::Values));
        logs.chain(values).chain(self.tables.values().map(KeptTable::object_name)).collect()
    }

    /// Forgets the oldest logs, and the changes up to their end, while these files take more than `bytes_max`, or the
    /// logs are kept since before `oldest_s`.
    pub(in crate::lsm) fn forget_beyond(&mut self, bytes_max: u64, oldest_s: u64) {
        let is_beyond = |kept: &Self, set: &KeptLogs| kept.bytes() > bytes_max || set.since_s < oldest_s;
        while let Some(oldest) = self.sets.front().filter(|set| is_beyond(self, set)).map(|set| set.last) {
            self.forget(oldest);
        }
    }

    /// As [`Self::forget_beyond`], and notes it for the manifest.
    pub(in crate::lsm) fn forget_beyond_for_good(&mut self, bytes_max: u64, oldest_s: u64) {
        let before: Vec<Sequence> = self.sets.iter().map(|set| set.last).collect();
        self.forget_beyond(bytes_max, oldest_s);
        let forgotten = before.len().saturating_sub(self.sets.len());
        let last = before.iter().take(forgotten).max().copied().unwrap_or(0);
        self.after = self.after.max(last);
    }

    fn bytes(&self) -> u64 {
        self.bytes_behind(0)
    }

    /// Bytes of the files that are kept for those who need nothing up to a change.
    pub(in crate::lsm) fn bytes_behind(&self, up_to: Sequence) -> u64 {
        let sets = self.sets.iter().filter(|set| set.last > up_to).map(|set| set.bytes);
        let tables = self.tables.iter().filter(|(sequence, _)| **sequence > up_to).map(|(_, table)| table.bytes);
        sets.chain(tables).fold(0, u64::saturating_add)
    }

    /// The last change of the kept logs, or the last one that was forgotten.
    pub(in crate::lsm) fn last(&self) -> Sequence {
        self.sets.back().map_or(self.after, |set| set.last.max(self.after))
    }

    /// The logs that are kept.
    pub(in crate::lsm) fn has_log(&self, number: u64) -> bool {
        self.sets.iter().flat_map(|set| &set.logs).any(|(log, _)| *log == number)
    }

    /// Whether kept logs point into a value file.
    pub(in crate::lsm) fn has_values(&self, number: u64) -> bool {
        self.sets.iter().any(|set| set.values.contains(&number))
    }

    /// The names of the files that are kept.
    pub(in crate::lsm) fn file_names(&self) -> BTreeSet<String> {
        let logs = self.sets.iter().flat_map(|set| &set.logs).map(|(number, _)| kept_name(*number, FileKind::Log));
        logs.chain(self.tables.values().map(|table| kept_name(table.number, FileKind::Table))).collect()
    }

    pub(in crate::lsm) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.after);
        put_varint(out, self.sets.len() as u64);
        for set in &self.sets {
            [set.last, set.since_s, set.bytes].into_iter().for_each(|number| put_varint(out, number));
            put_varint(out, set.logs.len() as u64);
            set.logs.iter().flat_map(|(number, nonce)| [*number, *nonce]).for_each(|number| put_varint(out, number));
            put_varint(out, set.values.len() as u64);
            set.values.iter().for_each(|&number| put_varint(out, number));
        }
        put_varint(out, self.tables.len() as u64);
        for (&sequence, table) in &self.tables {
            let numbers = [sequence, u64::from(table.keyspace), table.number, table.bytes, table.since_s];
            numbers.into_iter().for_each(|number| put_varint(out, number));
            put_bytes(out, table.object.as_deref().unwrap_or_default().as_bytes());
        }
        put_varint(out, self.dropped.len() as u64);
        for (&sequence, dropped) in &self.dropped {
            let edit = ManifestEdit {
                keyspaces_created: dropped.iter().map(|of| (of.id, of.name.clone())).collect(),
                types: dropped.iter().map(|of| (of.id, of.types.clone())).collect(),
                ..ManifestEdit::default()
            };
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            put_varint(out, sequence);
            put_varint(out, dropped.first().map_or(0, |of| of.since_s));
            put_bytes(out, &bytes);
        }
        put_varint(out, self.gaps.len() as u64);
        self.gaps.iter().flat_map(|(first, last)| [*first, *last]).for_each(|number| put_varint(out, number));
    }

    /// Whether all changes have numbers that changes have.
    fn is_sensible(&self) -> bool {
        let sets = self.sets.iter().map(|set| set.last);
        let others = self.tables.keys().chain(self.dropped.keys()).chain(self.gaps.keys()).chain(self.gaps.values());
        sets.chain(others.copied()).chain([self.after]).all(|sequence| sequence <= SEQUENCE_MAX)
    }

    /// Decodes a record; `None` if the bytes are not one.
    pub(in crate::lsm) fn decode(bytes: &[u8]) -> Option<Self> {
        let at = &mut 0;
        let mut kept = Self { after: take_varint(bytes, at)?, ..Self::default() };
        for _ in 0..take_varint(bytes, at)? {
            let [last, since_s, size] = take_numbers(bytes, at)?;
            let mut set = KeptLogs { last, since_s, bytes: size, ..KeptLogs::default() };
            for _ in 0..take_varint(bytes, at)? {
                let [number, nonce] = take_numbers(bytes, at)?;
                set.logs.push((number, nonce));
            }
            for _ in 0..take_varint(bytes, at)? {
                set.values.push(take_varint(bytes, at)?);
            }
            kept.sets.push_back(set);
        }
        for _ in 0..take_varint(bytes, at)? {
            let [sequence, keyspace, number, size, since_s] = take_numbers(bytes, at)?;
            let keyspace = KeyspaceId::try_from(keyspace).ok()?;
            let object = std::str::from_utf8(take_bytes(bytes, at)?).ok()?;
            let object = (!object.is_empty()).then(|| object.into());
            kept.tables.insert(sequence, KeptTable { keyspace, number, bytes: size, since_s, object });
        }
        for _ in 0..take_varint(bytes, at)? {
            let [sequence, since_s] = take_numbers(bytes, at)?;
            let edit = ManifestEdit::decode_without_kept(take_bytes(bytes, at)?)?;
            if edit.keyspaces_created.len() != edit.types.len() {
                return None;
            }
            let both = edit.keyspaces_created.into_iter().zip(edit.types);
            let dropped = both.map(|((id, name), (_, types))| DroppedKeyspace { since_s, id, name, types });
            kept.dropped.insert(sequence, dropped.collect());
        }
        for _ in 0..take_varint(bytes, at)? {
            let [first, last] = take_numbers(bytes, at)?;
            kept.gaps.insert(first, last);
        }
        (*at == bytes.len() && kept.is_sensible()).then_some(kept)
    }
}

fn take_numbers<const N: usize>(bytes: &[u8], at: &mut usize) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = take_varint(bytes, at)?;
    }
    Some(numbers)
}
