//! The parts of a manifest file: its header and its records.

use crate::block::checksum::{self, CHECKSUM_BYTES, checksum};
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::file_format::MANIFEST_MAGIC;
use crate::log::durable_after;
use crate::lsm::state::version::edit::{put_pairs, take_pairs};
use std::sync::atomic::{AtomicU32, Ordering};

/// The format of new stores, and the version of their manifests.
pub const STORE_FORMAT: u32 = 1;

/// The format of a store with a keyspace whose values have several forms: see
/// [`Keyspace::alter`](crate::lsm::Keyspace::alter). All else is as before.
pub const ALTERED_FORMAT: u32 = 2;

/// The format of a store with a secondary index that it keeps itself: see
/// [`Db::create_index`](crate::lsm::Db::create_index). A program that does not know it would write records without
/// their entries.
pub const INDEXED_FORMAT: u32 = 3;

/// The format of a store with a keyspace that has options of its own: see
/// [`Keyspace::set_options`](crate::lsm::Keyspace::set_options). A program that does not know it would take their
/// record for damage.
pub const OPTIONS_FORMAT: u32 = 4;

/// The format of a store with records that expire: see [`Keyspace::insert_with`](crate::lsm::Keyspace::insert_with). A
/// program that does not know it would show them after their time.
pub const EXPIRING_FORMAT: u32 = 5;

/// `magic | version: u32 | flags: u32 | owner: u64 | number: u64 | nonce: u64 | checksum: u32`.
pub(super) const HEADER_BYTES: usize = 44;

/// Marks a closed manifest: nothing follows the state and the lengths.
const CLOSED_FLAG: u32 = 1;

/// `length: u32 | kind: u8 | synced: u64`, before the body; `length` is that of the body.
const RECORD_HEAD_BYTES: usize = 13;

/// Size of a record without its body.
const RECORD_OVERHEAD_BYTES: usize = RECORD_HEAD_BYTES + CHECKSUM_BYTES;

/// The newest format of new stores: a static variable, so that tests of upgrades can make one up.
static NEWEST_FORMAT: AtomicU32 = AtomicU32::new(STORE_FORMAT);

/// The greatest version of a manifest that this program reads.
pub(super) fn readable_format() -> u32 {
    newest_format().max(EXPIRING_FORMAT)
}

/// The newest format that this program gives to new stores.
pub(crate) fn newest_format() -> u32 {
    NEWEST_FORMAT.load(Ordering::Relaxed)
}

/// Lets this process take `format` for the newest, with the contents of [`STORE_FORMAT`]: for tests of upgrades.
#[doc(hidden)]
pub fn set_newest_format(format: u32) {
    NEWEST_FORMAT.store(format, Ordering::Relaxed);
}

/// The number that no log has: in the lengths of logs it has the digest of the anchor.
const ANCHOR_NUMBER: u64 = 0;

/// The lengths of files that a closed store may still need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClosedLengths {
    /// On an object store: a digest of the ETag of the first part of manifest 1, or of the stub in its place, while
    /// that was of this store.
    pub(crate) anchor: Option<u64>,
    /// Write-ahead logs by number, with their lengths in bytes.
    pub(crate) logs: Vec<(u64, u64)>,
    /// Value files by number, with their lengths in bytes.
    pub(crate) value_files: Vec<(u64, u64)>,
}

impl ClosedLengths {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let anchor = self.anchor.map(|digest| (ANCHOR_NUMBER, digest));
        let logs: Vec<(u64, u64)> = anchor.into_iter().chain(self.logs.iter().copied()).collect();
        put_pairs(&mut out, &logs);
        put_pairs(&mut out, &self.value_files);
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let at = &mut 0;
        let (mut logs, value_files) = (take_pairs(bytes, at)?, take_pairs(bytes, at)?);
        let anchor = logs.first().filter(|(number, _)| *number == ANCHOR_NUMBER).map(|&(_, digest)| digest);
        logs.drain(..usize::from(anchor.is_some()));
        (*at == bytes.len()).then_some(Self { anchor, logs, value_files })
    }
}

/// The header of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ManifestHeader {
    pub(super) version: u32,
    /// The store, and the opening that wrote the manifest.
    pub(super) binding: StoreBinding,
    pub(super) number: u64,
    pub(super) closed: bool,
}

impl ManifestHeader {
    /// The identity to which all checksums of the file are bound.
    pub(super) fn identity(self) -> u64 {
        self.binding.identity(self.number)
    }

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MANIFEST_MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&(if self.closed { CLOSED_FLAG } else { 0 }).to_le_bytes());
        out.extend_from_slice(&self.binding.store.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.binding.nonce.to_le_bytes());
        out.extend_from_slice(&[0; CHECKSUM_BYTES]);
        checksum::seal(self.identity(), 0, &mut out[start..]);
    }

    /// Decodes the header of manifest `number`; `None` if the file does not begin with it.
    pub(super) fn decode(bytes: &[u8], number: u64) -> Result<Option<Self>, UnknownVersion> {
        let Some(head) = bytes.get(..HEADER_BYTES).filter(|head| head.starts_with(&MANIFEST_MAGIC)) else {
            return Ok(None);
        };
        let version = u32_at(head, 8);
        if version > readable_format() {
            return Self::true_version(head, number).map_or(Err(UnknownVersion(version)), |_| Ok(None));
        }
        let binding = StoreBinding { store: u64_at(head, 16), nonce: u64_at(head, 32) };
        let found = Self { version, binding, number: u64_at(head, 24), closed: u32_at(head, 12) == CLOSED_FLAG };
        let valid = version > 0 && u32_at(head, 12) <= CLOSED_FLAG && found.number == number;
        Ok((valid && checksum::check(found.identity(), 0, head)).then_some(found))
    }

    /// The version with which the checksum of the header matches, if it is not the one that is stated: that is damaged
    /// then, and no newer one.
    pub(super) fn true_version(bytes: &[u8], number: u64) -> Option<u32> {
        let mut head = bytes.get(..HEADER_BYTES).unwrap_or(bytes).to_vec();
        (1..=readable_format()).filter(|&version| version != u32_at(bytes, 8)).find(|version| {
            head.get_mut(8..12).is_some_and(|place| {
                place.copy_from_slice(&version.to_le_bytes());
                true
            }) && matches!(Self::decode(&head, number), Ok(Some(_)))
        })
    }
}

/// A version that needs a newer program.
#[derive(Debug)]
pub(super) struct UnknownVersion(pub(super) u32);

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ManifestRecordKind {
    /// The full state, as an edit of an empty one.
    State = 0xd0,
    /// An edit.
    Edit = 0xd1,
    /// A marker: everything before it is durable.
    Synced = 0xd2,
    /// The lengths of a closed store's files.
    Closed = 0xd3,
}

impl ManifestRecordKind {
    const ALL: [Self; 4] = [Self::State, Self::Edit, Self::Synced, Self::Closed];
}

/// A decoded record.
#[derive(Debug)]
pub(super) struct ManifestRecord<'a> {
    pub(super) kind: ManifestRecordKind,
    /// Everything before this position was durable when the record was written.
    pub(super) synced: u64,
    pub(super) body: &'a [u8],
    /// Length of the record in bytes.
    pub(super) length: usize,
}

/// Appends a record that will begin at `position` of the file.
pub(super) fn encode(
    out: &mut Vec<u8>,
    identity: u64,
    position: u64,
    kind: ManifestRecordKind,
    synced: u64,
    body: &[u8],
) -> Result<()> {
    let length =
        u32::try_from(body.len()).map_err(|_| Error::input("a manifest has at most 4 GiB; use fewer tables"))?;
    let start = out.len();
    out.extend_from_slice(&length.to_le_bytes());
    out.push(kind as u8);
    out.extend_from_slice(&synced.to_le_bytes());
    out.extend_from_slice(body);
    let sum = checksum(identity, position, &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// Decodes the record at `position`; `None` if there is no complete and valid one.
pub(super) fn decode(file: &[u8], identity: u64, position: usize) -> Option<ManifestRecord<'_>> {
    decode_at(file.get(position..)?, identity, position)
}

/// As [`decode`], from the bytes at `position` on.
pub(super) fn decode_at(bytes: &[u8], identity: u64, position: usize) -> Option<ManifestRecord<'_>> {
    let head = bytes.first_chunk::<RECORD_HEAD_BYTES>()?;
    let kind = ManifestRecordKind::ALL.into_iter().find(|&kind| kind as u8 == head[4])?;
    let synced = u64_at(head, 5);
    if synced > position as u64 {
        return None;
    }
    let length = (u32_at(head, 0) as usize).checked_add(RECORD_OVERHEAD_BYTES)?;
    let (content, sum) = bytes.get(..length)?.split_last_chunk::<CHECKSUM_BYTES>()?;
    let valid = checksum(identity, position as u64, content) == u32::from_le_bytes(*sum);
    valid.then(|| ManifestRecord { kind, synced, body: &content[RECORD_HEAD_BYTES..], length })
}

/// Whether the bytes after `end`, the end of the valid records, are a torn tail; otherwise the file is damaged.
pub(super) fn is_torn_tail(file: &[u8], identity: u64, end: usize) -> bool {
    let after_end = durable_after(end as u64, end + 1..file.len(), |position| {
        // Most positions are ruled out by `synced`, which must lie between `end` and the position, before the checksum
        // is computed; a smaller one proves nothing.
        let head = file.get(position..)?.first_chunk::<RECORD_HEAD_BYTES>()?;
        if u64_at(head, 5) <= end as u64 {
            return None;
        }
        decode(file, identity, position).map(|record| record.synced)
    });
    after_end.is_some()
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
