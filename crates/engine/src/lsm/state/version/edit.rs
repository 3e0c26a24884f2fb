//! Manifest edits: changes of the state of a store, and their encoding.

use super::index_record::IndexRecord;
use super::kept_changes::KeptChanges;
use super::keyspace_options::KeyspaceOptions;
use super::levels::LEVELS;
use super::table::{TableFileMeta, put_bytes, take_bytes};
use crate::io::SinceBoot;
use crate::lsm::state::entry::{KeyspaceId, SEQUENCE_MAX, Sequence, put_varint, take_varint};
use crate::lsm::state::expiry::store_time::RecordedTimes;
use crate::lsm::state::value_forms::ValueForms;
use crate::types::RecordType;
use std::sync::Arc;

/// An atomic change of a [`ManifestState`](super::ManifestState).
///
/// An edit that adds files raises `next_file` above their numbers, and one that adds tables raises `last_sequence` to
/// theirs, unless an earlier edit did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ManifestEdit {
    /// Created keyspaces, with their names.
    pub(crate) keyspaces_created: Vec<(KeyspaceId, String)>,
    /// Dropped keyspaces, with all their tables.
    pub(crate) keyspaces_dropped: Vec<KeyspaceId>,
    /// Tables removed from a level, by number.
    pub(crate) removed: Vec<(KeyspaceId, usize, u64)>,
    /// Tables added to a level; one that is also removed has moved.
    pub(crate) added: Vec<(KeyspaceId, usize, Arc<TableFileMeta>)>,
    /// Completed value files, with their lengths in bytes.
    pub(crate) value_files_added: Vec<(u64, u64)>,
    /// Value files that are not referenced any more.
    pub(crate) value_files_removed: Vec<u64>,
    /// New write-ahead logs. The edit must be durable before any group in the log is.
    pub(crate) logs_added: Vec<u64>,
    /// Logs with smaller numbers are not needed any more.
    pub(crate) oldest_log: Option<u64>,
    /// An upper bound of the numbers of existing files.
    pub(crate) next_file: Option<u64>,
    /// Largest sequence number in any table.
    pub(crate) last_sequence: Option<Sequence>,
    /// An upper bound of the numbers of keyspaces.
    pub(crate) next_keyspace: Option<KeyspaceId>,
    /// An upper bound of file numbers: no file takes this number before an edit that raises the bound is durable.
    pub(crate) reserved: Option<u64>,
    /// Logs and value files written by another opening than the manifest's, by number, with the nonce of that opening.
    pub(crate) bound: Vec<(u64, u64)>,
    /// Finished logs, durable as a whole, by number, with their lengths in bytes.
    pub(crate) logs_ended: Vec<(u64, u64)>,
    /// Openings whose logs a crash may have left without a reference, by nonce.
    pub(crate) known: Vec<u64>,
    /// New types of keyspaces.
    pub(crate) types: Vec<(KeyspaceId, StatedTypes)>,
    /// On an object store: files that wait for their removal, by name, with the time since when, in seconds since the
    /// start of 1970.
    pub(crate) retired: Vec<(String, u64)>,
    /// The indexes whose entries keyspaces have.
    pub(crate) indexes: Vec<(KeyspaceId, Arc<IndexRecord>)>,
    /// New options of keyspaces.
    pub(crate) options: Vec<(KeyspaceId, KeyspaceOptions)>,
    /// The times of a store with records that expire.
    pub(crate) times: Option<RecordedTimes>,
    /// On an object store: what is kept for followers from now on, and not any more.
    pub(crate) kept: Option<KeptChanges>,
}

/// The types of a keyspace, and how often they were stated: see [`PinnedTypes`](crate::lsm::PinnedTypes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatedTypes {
    /// 0 while none were stated. In an edit, 0 is one more than before.
    pub(crate) generation: u64,
    pub(crate) types: Arc<RecordType>,
    /// The forms in which values are stored.
    pub(crate) forms: ValueForms,
}

impl StatedTypes {
    /// Types that follow those of the keyspace, whatever their generation.
    pub(crate) fn next(types: Arc<RecordType>) -> Self {
        Self { generation: 0, types, forms: ValueForms::default() }
    }

    /// These types as the next ones of a keyspace that has no others: in a generation that is not that of any form.
    pub(crate) fn after_forms(&self) -> Self {
        let generation = self.generation.max(self.forms.current);
        Self { generation, ..self.clone() }
    }

    /// The generation in which a handle of these types need not look at others; 0 if its types are others than these.
    pub(in crate::lsm) fn generation_of(&self, types: &RecordType) -> u64 {
        if *types == *self.types { self.generation } else { 0 }
    }

    fn decode(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let types = Arc::new(RecordType::from_code(take_bytes(bytes, at)?)?);
        Some(Self { generation: take_varint(bytes, at)?, ..Self::next(types) })
    }
}

impl ManifestEdit {
    /// Moves a table to another level.
    pub(crate) fn move_table(&mut self, keyspace: KeyspaceId, from: usize, to: usize, table: &Arc<TableFileMeta>) {
        self.removed.push((keyspace, from, table.number));
        self.added.push((keyspace, to, Arc::clone(table)));
    }

    /// Appends the edit: lists with their counts, then optional numbers, as 0 for none and else one more than the
    /// number.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.keyspaces_created.len() as u64);
        for (id, name) in &self.keyspaces_created {
            put_varint(out, u64::from(*id));
            put_bytes(out, name.as_bytes());
        }
        put_varint(out, self.keyspaces_dropped.len() as u64);
        self.keyspaces_dropped.iter().for_each(|&id| put_varint(out, u64::from(id)));
        put_varint(out, self.removed.len() as u64);
        for &(keyspace, level, number) in &self.removed {
            put_place(out, keyspace, level);
            put_varint(out, number);
        }
        put_varint(out, self.added.len() as u64);
        for (keyspace, level, table) in &self.added {
            put_place(out, *keyspace, *level);
            table.encode(out);
        }
        put_pairs(out, &self.value_files_added);
        put_numbers(out, &self.value_files_removed);
        put_numbers(out, &self.logs_added);
        put_option(out, self.oldest_log);
        put_option(out, self.next_file);
        put_option(out, self.last_sequence);
        put_option(out, self.next_keyspace.map(u64::from));
        put_option(out, self.reserved);
        put_pairs(out, &self.bound);
        put_pairs(out, &self.logs_ended);
        put_numbers(out, &self.known);
        put_varint(out, self.types.len() as u64);
        for (id, stated) in &self.types {
            put_varint(out, u64::from(*id));
            put_bytes(out, &stated.types.code());
            put_varint(out, stated.generation);
        }
        put_varint(out, self.retired.len() as u64);
        for (name, since_s) in &self.retired {
            put_bytes(out, name.as_bytes());
            put_varint(out, *since_s);
        }
        self.encode_newer(out);
    }

    /// Appends what edits of the first format do not have: nothing at all, if they could state it.
    fn encode_newer(&self, out: &mut Vec<u8>) {
        let altered = || self.types.iter().filter(|(_, stated)| stated.forms.is_altered());
        let has_times = self.times.is_some() || self.kept.is_some();
        let has_options = !self.options.is_empty() || has_times;
        let has_more = !self.indexes.is_empty() || has_options;
        if altered().next().is_some() || has_more {
            put_varint(out, altered().count() as u64);
        }
        for (id, stated) in altered() {
            put_varint(out, u64::from(*id));
            stated.forms.encode(out);
        }
        if has_more {
            put_varint(out, self.indexes.len() as u64);
        }
        for (id, index) in &self.indexes {
            put_varint(out, u64::from(*id));
            index.encode(out);
        }
        if has_options {
            put_varint(out, self.options.len() as u64);
        }
        for (id, options) in &self.options {
            put_varint(out, u64::from(*id));
            put_bytes(out, &options.encode());
        }
        if has_times {
            let RecordedTimes { told_ms, base_ms, since_boot } = self.times.unwrap_or_default();
            let SinceBoot { boot, ms } = since_boot.unwrap_or(SinceBoot { boot: 0, ms: 0 });
            put_varint(out, told_ms);
            put_varint(out, base_ms);
            if base_ms > 0 {
                out.extend_from_slice(&boot.to_le_bytes());
                put_varint(out, ms);
            }
        }
        if let Some(kept) = &self.kept {
            let mut bytes = Vec::new();
            kept.encode(&mut bytes);
            put_bytes(out, &bytes);
        }
    }

    /// Decodes an edit; `None` if the bytes are not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let at = &mut 0;
        let mut edit = Self::decode_until_kept(bytes, at)?;
        if *at < bytes.len() {
            edit.kept = Some(KeptChanges::decode(take_bytes(bytes, at)?)?);
            // Without times, zeros are in their place.
            edit.times = edit.times.filter(|times| *times != RecordedTimes::default());
        }
        (*at == bytes.len()).then_some(edit)
    }

    /// As [`Self::decode`], for one that states nothing of what is kept: such an edit is a part of that.
    pub(in crate::lsm::state::version) fn decode_without_kept(bytes: &[u8]) -> Option<Self> {
        let at = &mut 0;
        let edit = Self::decode_until_kept(bytes, at)?;
        (*at == bytes.len()).then_some(edit)
    }

    fn decode_until_kept(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let mut edit = Self::default();
        for _ in 0..take_varint(bytes, at)? {
            let id = take_keyspace(bytes, at)?;
            edit.keyspaces_created.push((id, String::from_utf8(take_bytes(bytes, at)?.to_vec()).ok()?));
        }
        for _ in 0..take_varint(bytes, at)? {
            edit.keyspaces_dropped.push(take_keyspace(bytes, at)?);
        }
        for _ in 0..take_varint(bytes, at)? {
            let (keyspace, level) = take_place(bytes, at)?;
            edit.removed.push((keyspace, level, take_varint(bytes, at)?));
        }
        for _ in 0..take_varint(bytes, at)? {
            let (keyspace, level) = take_place(bytes, at)?;
            edit.added.push((keyspace, level, Arc::new(TableFileMeta::decode(bytes, at)?)));
        }
        edit.value_files_added = take_pairs(bytes, at)?;
        edit.value_files_removed = take_numbers(bytes, at)?;
        edit.logs_added = take_numbers(bytes, at)?;
        edit.oldest_log = take_option(bytes, at)?;
        edit.next_file = take_option(bytes, at)?;
        edit.last_sequence = take_option(bytes, at)?;
        edit.next_keyspace = match take_option(bytes, at)? {
            Some(id) => Some(KeyspaceId::try_from(id).ok()?),
            None => None,
        };
        edit.reserved = take_option(bytes, at)?;
        edit.bound = take_pairs(bytes, at)?;
        edit.logs_ended = take_pairs(bytes, at)?;
        edit.known = take_numbers(bytes, at)?;
        for _ in 0..take_varint(bytes, at)? {
            let id = take_keyspace(bytes, at)?;
            edit.types.push((id, StatedTypes::decode(bytes, at)?));
        }
        for _ in 0..take_varint(bytes, at)? {
            let name = String::from_utf8(take_bytes(bytes, at)?.to_vec()).ok()?;
            edit.retired.push((name, take_varint(bytes, at)?));
        }
        let altered = if *at < bytes.len() { take_varint(bytes, at)? } else { 0 };
        for _ in 0..altered {
            let id = take_keyspace(bytes, at)?;
            let forms = ValueForms::decode(bytes, at)?;
            edit.types.iter_mut().find(|(stated, _)| *stated == id)?.1.forms = forms;
        }
        let indexes = if *at < bytes.len() { take_varint(bytes, at)? } else { 0 };
        for _ in 0..indexes {
            edit.indexes.push((take_keyspace(bytes, at)?, Arc::new(IndexRecord::decode(bytes, at)?)));
        }
        let options = if *at < bytes.len() { take_varint(bytes, at)? } else { 0 };
        for _ in 0..options {
            edit.options.push((take_keyspace(bytes, at)?, KeyspaceOptions::decode(take_bytes(bytes, at)?)?));
        }
        if *at < bytes.len() {
            let (told_ms, base_ms) = (take_varint(bytes, at)?, take_varint(bytes, at)?);
            let since_boot = if base_ms > 0 { take_since_boot(bytes, at)? } else { None };
            edit.times = Some(RecordedTimes { told_ms, base_ms, since_boot });
        }
        let sequence_fits = edit.last_sequence.is_none_or(|sequence| sequence <= SEQUENCE_MAX);
        sequence_fits.then_some(edit)
    }
}

/// What is known of the boot; `None` if the bytes are not that.
fn take_since_boot(bytes: &[u8], at: &mut usize) -> Option<Option<SinceBoot>> {
    let boot = u64::from_le_bytes(*bytes.get(*at..)?.first_chunk()?);
    *at += size_of::<u64>();
    let since_boot = SinceBoot { boot, ms: take_varint(bytes, at)? };
    Some(Some(since_boot).filter(|since| since.boot != 0))
}

fn put_place(out: &mut Vec<u8>, keyspace: KeyspaceId, level: usize) {
    put_varint(out, u64::from(keyspace));
    put_varint(out, level as u64);
}

fn take_place(bytes: &[u8], at: &mut usize) -> Option<(KeyspaceId, usize)> {
    let keyspace = take_keyspace(bytes, at)?;
    let level = usize::try_from(take_varint(bytes, at)?).ok().filter(|&level| level < LEVELS)?;
    Some((keyspace, level))
}

fn take_keyspace(bytes: &[u8], at: &mut usize) -> Option<KeyspaceId> {
    KeyspaceId::try_from(take_varint(bytes, at)?).ok()
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    put_varint(out, numbers.len() as u64);
    numbers.iter().for_each(|&number| put_varint(out, number));
}

fn take_numbers(bytes: &[u8], at: &mut usize) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    for _ in 0..take_varint(bytes, at)? {
        numbers.push(take_varint(bytes, at)?);
    }
    Some(numbers)
}

pub(super) fn put_pairs(out: &mut Vec<u8>, pairs: &[(u64, u64)]) {
    put_varint(out, pairs.len() as u64);
    for &(one, other) in pairs {
        put_varint(out, one);
        put_varint(out, other);
    }
}

pub(super) fn take_pairs(bytes: &[u8], at: &mut usize) -> Option<Vec<(u64, u64)>> {
    let mut pairs = Vec::new();
    for _ in 0..take_varint(bytes, at)? {
        pairs.push((take_varint(bytes, at)?, take_varint(bytes, at)?));
    }
    Some(pairs)
}

fn put_option(out: &mut Vec<u8>, number: Option<u64>) {
    put_varint(out, number.map_or(0, |number| number.saturating_add(1)));
}

fn take_option(bytes: &[u8], at: &mut usize) -> Option<Option<u64>> {
    Some(take_varint(bytes, at)?.checked_sub(1))
}
