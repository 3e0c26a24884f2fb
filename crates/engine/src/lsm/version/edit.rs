//! Manifest edits: changes of the state of a store, and their encoding.

use super::levels::LEVELS;
use super::table::{TableMeta, put_bytes, take_bytes};
use crate::lsm::entry::{KeyspaceId, SEQUENCE_MAX, Sequence, put_varint, take_varint};
use std::sync::Arc;

/// A change of a [`ManifestState`](super::ManifestState), whole or not at all.
///
/// An edit that adds files raises `next_file` above their numbers, and one that adds tables raises `last_sequence` to theirs, unless an
/// edit before it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ManifestEdit {
    /// New keyspaces and their names.
    pub(crate) keyspaces_created: Vec<(KeyspaceId, String)>,
    /// Keyspaces that are gone, with all their tables.
    pub(crate) keyspaces_dropped: Vec<KeyspaceId>,
    /// Tables that leave a level, by number.
    pub(crate) removed: Vec<(KeyspaceId, usize, u64)>,
    /// Tables that come to a level; one that is removed too has moved there.
    pub(crate) added: Vec<(KeyspaceId, usize, Arc<TableMeta>)>,
    /// Value files that are complete, and their lengths in bytes.
    pub(crate) value_files_added: Vec<(u64, u64)>,
    /// Value files that nothing points into any more.
    pub(crate) value_files_removed: Vec<u64>,
    /// New write-ahead logs. The edit must be durable before something in the log is.
    pub(crate) logs_added: Vec<u64>,
    /// No log with a lesser number is needed.
    pub(crate) oldest_log: Option<u64>,
    /// No file with this number or a greater one was made before the edit.
    pub(crate) next_file: Option<u64>,
    /// Greatest sequence number that tables have.
    pub(crate) last_sequence: Option<Sequence>,
    /// No keyspace with this number or a greater one was made.
    pub(crate) next_keyspace: Option<KeyspaceId>,
    /// No file has this number or a greater one, nor takes one before an edit that raises this is durable.
    pub(crate) reserved: Option<u64>,
    /// Logs and value files that another opening than the manifest's wrote, by number, and the nonce of that one.
    pub(crate) bound: Vec<(u64, u64)>,
    /// Logs that are durable as a whole and take no more, by number, and their lengths in bytes.
    pub(crate) logs_ended: Vec<(u64, u64)>,
    /// Openings whose logs may be there although nothing names them, by nonce: a crash may leave them.
    pub(crate) known: Vec<u64>,
}

/// The first version of the manifest whose edits say what files are bound to.
const BOUND_VERSION: u32 = 2;

impl ManifestEdit {
    /// Moves a table to another level.
    pub(crate) fn move_table(&mut self, keyspace: KeyspaceId, from: usize, to: usize, table: &Arc<TableMeta>) {
        self.removed.push((keyspace, from, table.number));
        self.added.push((keyspace, to, Arc::clone(table)));
    }

    /// Appends its bytes: lists behind their counts, then the numbers, 0 for none, else one more than the number.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
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
    }

    /// `None` where the bytes are no edit of a manifest of this version.
    pub(super) fn decode(bytes: &[u8], version: u32) -> Option<Self> {
        let (mut edit, at) = (Self::default(), &mut 0);
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
            edit.added.push((keyspace, level, Arc::new(TableMeta::decode(bytes, at)?)));
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
        if version >= BOUND_VERSION {
            edit.reserved = take_option(bytes, at)?;
            edit.bound = take_pairs(bytes, at)?;
            edit.logs_ended = take_pairs(bytes, at)?;
            edit.known = take_numbers(bytes, at)?;
        }
        let sequence_fits = edit.last_sequence.is_none_or(|sequence| sequence <= SEQUENCE_MAX);
        (*at == bytes.len() && sequence_fits).then_some(edit)
    }
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
