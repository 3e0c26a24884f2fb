//! The file header: two copies, each in a slot at the start of a page file, written one after the other.

use super::options::check_page_bytes;
use super::pages::PageNumber;
use crate::block::checksum;
use crate::error::{Cause, Error, Result};
use crate::file_format::{FileFormat, PAGE_FILE_MAGIC, check_not_of_development};
use crate::io::{Purpose, ReadRequest, ReadableFile, UpdatableFile};
use crate::log::SegmentId;
use std::path::Path;

/// The format version.
const VERSION: u32 = 1;

/// A slot is one block of a device: the other one survives whatever happens to it.
pub(super) const SLOT_BYTES: usize = 4096;

/// Bytes that no page may have: both slots.
pub(super) const HEADER_BYTES: usize = 2 * SLOT_BYTES;

/// Most bytes of the state.
pub(super) const STATE_BYTES_MAX: usize = 256;

/// Most bytes of the user's own header.
pub(crate) const USER_BYTES_MAX: usize = 1024;

/// Offset of the state, after the numbers.
const STATE_OFFSET: usize = 64;
const USER_OFFSET: usize = STATE_OFFSET + STATE_BYTES_MAX;
/// The last segment of the log: its nonce, and its number.
const LOG_OFFSET: usize = USER_OFFSET + USER_BYTES_MAX;

/// The header: written by checkpoints, and updated when a segment begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) page_bytes: usize,
    pub(super) file_id: u64,
    /// Number of slot writes; the slot with the greater number is current.
    pub(super) turn: u64,
    /// The last commit whose pages are in the page file.
    pub(super) sequence: u64,
    /// The epoch that the checkpoint gave to the pages it wrote.
    pub(super) epoch: u32,
    /// The first segment of the log still needed.
    pub(super) first_segment: u32,
    /// The last segment of the log: its header was durable before the slot was written, and it leads to those before
    /// it. Number 0: there is no log.
    pub(super) last_segment: SegmentId,
    pub(super) page_count: u32,
    /// First page of the directory of the space map, and its epoch; page 0 where there is no map yet.
    pub(super) directory: (PageNumber, u32),
    pub(super) state: Vec<u8>,
    pub(super) user: Vec<u8>,
}

/// What the slot that is not current holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherSlot {
    /// The same content.
    Same,
    /// An older state: power was lost before it was written.
    Older,
    /// Nothing valid: power was lost during its write, or it is damaged.
    Invalid,
}

/// Number of the first page that is not part of the header.
pub(super) fn first_page(page_bytes: usize) -> PageNumber {
    HEADER_BYTES.div_ceil(page_bytes) as PageNumber
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut slot = Vec::with_capacity(SLOT_BYTES);
        slot.extend_from_slice(&PAGE_FILE_MAGIC);
        slot.extend_from_slice(&VERSION.to_le_bytes());
        slot.extend_from_slice(&(self.page_bytes as u32).to_le_bytes());
        slot.extend_from_slice(&self.file_id.to_le_bytes());
        slot.extend_from_slice(&self.turn.to_le_bytes());
        slot.extend_from_slice(&self.sequence.to_le_bytes());
        for number in [self.epoch, self.first_segment, self.page_count, self.directory.0, self.directory.1] {
            slot.extend_from_slice(&number.to_le_bytes());
        }
        slot.extend_from_slice(&(self.state.len() as u16).to_le_bytes());
        slot.extend_from_slice(&(self.user.len() as u16).to_le_bytes());
        slot.extend_from_slice(&self.state);
        slot.resize(USER_OFFSET, 0);
        slot.extend_from_slice(&self.user);
        slot.resize(LOG_OFFSET, 0);
        slot.extend_from_slice(&self.last_segment.nonce.to_le_bytes());
        slot.extend_from_slice(&self.last_segment.number.to_le_bytes());
        slot.resize(SLOT_BYTES, 0);
        checksum::seal(self.file_id, self.slot_offset(), &mut slot);
        slot
    }

    fn slot_offset(&self) -> u64 {
        self.turn % 2 * SLOT_BYTES as u64
    }

    /// Writes the slot of its turn, without syncing it.
    pub(super) fn write_slot(&self, file: &dyn UpdatableFile) -> Result<()> {
        file.write_at(self.slot_offset(), &self.encode(), Purpose::Open)
    }

    /// Writes both slots durably, first the one that is not current. So power lost during a write leaves a valid slot,
    /// and damage to one slot later leaves the same content in the other.
    pub(super) fn write(&mut self, file: &dyn UpdatableFile) -> Result<()> {
        for _ in 0..2 {
            self.turn += 1;
            self.write_slot(file)?;
            file.sync()?;
        }
        Ok(())
    }

    /// Reads the current slot, and says what the other one holds.
    pub(super) fn read(file: &dyn ReadableFile) -> Result<(Self, OtherSlot)> {
        let path = file.path();
        if file.len() < HEADER_BYTES as u64 {
            return Err(not_ours(file, "it is too short to be one"));
        }
        let mut bytes = vec![0; HEADER_BYTES];
        file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Open })?;
        let slots = [decode(path, &bytes, 0)?, decode(path, &bytes, SLOT_BYTES)?];
        match slots {
            [Some(a), Some(b)] if a.file_id != b.file_id || a.page_bytes != b.page_bytes => {
                Err(Error::damaged(path, 0, "the two slots of the header are of different files"))
            }
            [Some(a), Some(b)] => {
                let (current, other) = if a.turn > b.turn { (a, b) } else { (b, a) };
                let is_same = current == Self { turn: current.turn, ..other };
                Ok((current, if is_same { OtherSlot::Same } else { OtherSlot::Older }))
            }
            [Some(one), None] | [None, Some(one)] => Ok((one, OtherSlot::Invalid)),
            [None, None] => {
                bytes.chunks(SLOT_BYTES).try_for_each(|slot| check_not_of_development(path, slot))?;
                Err(match bytes.chunks(SLOT_BYTES).any(|slot| slot.starts_with(&PAGE_FILE_MAGIC)) {
                    true => Error::damaged(path, 0, "neither slot of the header is valid"),
                    false => not_ours(file, "it does not begin as one"),
                })
            }
        }
    }
}

/// The error for a file that is no page file; it says what else of Ogive the file is, else `detail`.
fn not_ours(file: &dyn ReadableFile, detail: &str) -> Error {
    let other = match FileFormat::of_file(file) {
        Err(development @ Error { cause: Cause::Version { .. }, .. }) => return development,
        found => found.ok().flatten().filter(|&format| format != FileFormat::PageFile),
    };
    match other.map(FileFormat::advice) {
        Some((what, advice)) => Error::not_an_index(file.path(), what).advise(advice),
        None => Error::not_an_index(file.path(), detail),
    }
}

/// The slot at `offset` of the header; `None` if it is not valid.
fn decode(path: &Path, bytes: &[u8], offset: usize) -> Result<Option<Header>> {
    let slot = &bytes[offset..offset + SLOT_BYTES];
    if !slot.starts_with(&PAGE_FILE_MAGIC) {
        return Ok(None);
    }
    let word = |at: usize| u32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let (state_bytes, user_bytes) = ((word(60) & 0xffff) as usize, (word(60) >> 16) as usize);
    let header = Header {
        page_bytes: word(12) as usize,
        file_id: long(16),
        turn: long(24),
        sequence: long(32),
        epoch: word(40),
        first_segment: word(44),
        last_segment: SegmentId { number: word(LOG_OFFSET + 8), nonce: long(LOG_OFFSET) },
        page_count: word(48),
        directory: (word(52), word(56)),
        state: slot[STATE_OFFSET..STATE_OFFSET + state_bytes.min(STATE_BYTES_MAX)].to_vec(),
        user: slot[USER_OFFSET..USER_OFFSET + user_bytes.min(USER_BYTES_MAX)].to_vec(),
    };
    if !checksum::check(header.file_id, offset as u64, slot) {
        return Ok(None);
    }
    if word(8) > VERSION {
        return Err(Error::version(path, word(8), VERSION));
    }
    let sensible = check_page_bytes(header.page_bytes).is_ok()
        && state_bytes <= STATE_BYTES_MAX
        && user_bytes <= USER_BYTES_MAX
        && header.slot_offset() == offset as u64
        && header.page_count >= first_page(header.page_bytes);
    if !sensible {
        return Err(Error::damaged(path, offset as u64, "the header has a valid checksum but invalid content"));
    }
    Ok(Some(header))
}
