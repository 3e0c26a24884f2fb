//! The parts of a manifest: its head, and frames.

use crate::block::checksum::{self, CHECKSUM_BYTES, checksum};
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::lsm::version::edit::{put_pairs, take_pairs};

/// First bytes of every manifest.
const MAGIC: &[u8; 8] = b"OGIVEDBM";

/// The newest version of the format known here.
pub(super) const VERSION: u32 = 2;

/// `magic | version: u32 | flags: u32 | owner: u64 | number: u64 | nonce: u64 | checksum: u32`.
const HEAD_BYTES: usize = 44;

/// Version 1, which has no nonce.
const FIRST_HEAD_BYTES: usize = 36;

/// Nothing follows the state and the lengths.
const CLOSED: u32 = 1;

/// `length: u32 | kind: u8 | synced: u64`, ahead of the body; `length` is that of the body.
const FRAME_HEAD_BYTES: usize = 13;

/// What a frame takes beyond its body.
const FRAME_BYTES: usize = FRAME_HEAD_BYTES + CHECKSUM_BYTES;

/// How long the files are that a closed store may still need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClosedLengths {
    /// Write-ahead logs by number, and their bytes.
    pub(crate) logs: Vec<(u64, u64)>,
    /// Value files by number, and their bytes.
    pub(crate) value_files: Vec<(u64, u64)>,
}

impl ClosedLengths {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_pairs(&mut out, &self.logs);
        put_pairs(&mut out, &self.value_files);
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let at = &mut 0;
        let lengths = Self { logs: take_pairs(bytes, at)?, value_files: take_pairs(bytes, at)? };
        (*at == bytes.len()).then_some(lengths)
    }
}

/// What a manifest says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) version: u32,
    /// The store, and the opening that the manifest is of.
    pub(super) bond: StoreBinding,
    pub(super) number: u64,
    pub(super) closed: bool,
}

impl Head {
    /// What all checksums of the file are bound to.
    pub(super) fn identity(self) -> u64 {
        self.bond.identity(self.number)
    }

    /// Its length in bytes.
    pub(super) fn length(self) -> usize {
        if self.version == 1 { FIRST_HEAD_BYTES } else { HEAD_BYTES }
    }

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&(if self.closed { CLOSED } else { 0 }).to_le_bytes());
        out.extend_from_slice(&self.bond.store.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        if self.version > 1 {
            out.extend_from_slice(&self.bond.nonce.to_le_bytes());
        }
        out.extend_from_slice(&[0; CHECKSUM_BYTES]);
        checksum::seal(self.identity(), 0, &mut out[start..]);
    }

    /// The head of manifest `number`; `None` if the file does not begin with it.
    pub(super) fn decode(bytes: &[u8], number: u64) -> Result<Option<Self>, UnknownVersion> {
        if bytes.len() < FIRST_HEAD_BYTES || !bytes.starts_with(MAGIC) {
            return Ok(None);
        }
        let version = u32_at(bytes, 8);
        if version > VERSION {
            return Err(UnknownVersion(version));
        }
        let nonce = if version == 1 { 0 } else { u64_at(bytes, 32) };
        let bond = StoreBinding { store: u64_at(bytes, 16), nonce };
        let found = Self { version, bond, number: u64_at(bytes, 24), closed: u32_at(bytes, 12) == CLOSED };
        let valid = version > 0 && u32_at(bytes, 12) <= CLOSED && found.number == number;
        let Some(head) = bytes.get(..found.length()).filter(|_| valid) else { return Ok(None) };
        Ok(checksum::check(found.identity(), 0, head).then_some(found))
    }
}

/// A version that only a newer program reads.
#[derive(Debug)]
pub(super) struct UnknownVersion(pub(super) u32);

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// The whole state, as an edit of an empty one.
    State = 0xd0,
    /// An edit.
    Edit = 0xd1,
    /// Nothing: it says that what lies before it is durable.
    Synced = 0xd2,
    /// The lengths of a closed store's files.
    Closed = 0xd3,
}

impl FrameKind {
    const ALL: [Self; 4] = [Self::State, Self::Edit, Self::Synced, Self::Closed];
}

/// A frame that was read.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) kind: FrameKind,
    /// When it was written, everything before this position was durable.
    pub(super) synced: u64,
    pub(super) body: &'a [u8],
    /// Bytes that it takes.
    pub(super) length: usize,
}

/// Appends a frame that will begin at `position` of its file.
pub(super) fn encode(
    out: &mut Vec<u8>,
    identity: u64,
    position: u64,
    kind: FrameKind,
    synced: u64,
    body: &[u8],
) -> Result<()> {
    let length = u32::try_from(body.len())
        .map_err(|_| Error::InvalidArgument("a manifest of 4 GiB is beyond the format; use fewer tables".to_owned()))?;
    let start = out.len();
    out.extend_from_slice(&length.to_le_bytes());
    out.push(kind as u8);
    out.extend_from_slice(&synced.to_le_bytes());
    out.extend_from_slice(body);
    let sum = checksum(identity, position, &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// The frame at `position` of the file; `None` if no valid one begins there, or it is not whole.
pub(super) fn decode(file: &[u8], identity: u64, position: usize) -> Option<Frame<'_>> {
    let bytes = file.get(position..)?;
    let head = bytes.first_chunk::<FRAME_HEAD_BYTES>()?;
    let kind = FrameKind::ALL.into_iter().find(|&kind| kind as u8 == head[4])?;
    let synced = u64_at(head, 5);
    if synced > position as u64 {
        return None;
    }
    let length = (u32_at(head, 0) as usize).checked_add(FRAME_BYTES)?;
    let (content, sum) = bytes.get(..length)?.split_last_chunk::<CHECKSUM_BYTES>()?;
    let valid = checksum(identity, position as u64, content) == u32::from_le_bytes(*sum);
    valid.then(|| Frame { kind, synced, body: &content[FRAME_HEAD_BYTES..], length })
}

/// Whether some frame behind `end` says that `end` was durable when it was written.
pub(super) fn is_followed(file: &[u8], identity: u64, end: usize) -> bool {
    // Most places are ruled out by the kind, and nearly all others by `synced`, which lies between `end` and the place.
    (end + 1..file.len()).any(|position| {
        let head = file.get(position..).and_then(|bytes| bytes.first_chunk::<FRAME_HEAD_BYTES>());
        head.is_some_and(|head| u64_at(head, 5) > end as u64)
            && decode(file, identity, position).is_some_and(|frame| frame.synced > end as u64)
    })
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
