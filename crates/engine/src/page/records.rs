//! The records of the page log: their kinds, their encoding, and their effect on pages and state.

use super::extents::Extent;
use super::pages::{Page, PageNumber};
use std::ops::Range;

/// `page: u32 | payload`, without the zeros at its end.
pub(super) const IMAGE: u8 = 1;
/// `page: u32 | changes`.
pub(super) const DELTA: u8 = 2;
/// `length: u16 | kept: u16 | bytes`: the new state is the first `kept` bytes of the old one, `bytes`, and the end of
/// the old one.
pub(super) const STATE: u8 = 3;
/// `page count: u32 | extents`: pages that are no longer free.
pub(super) const ALLOCATED: u8 = 4;
/// `extents`: pages that are free again.
pub(super) const FREED: u8 = 5;
/// `epoch: u32 | extents`: pages that were written directly.
pub(super) const FRESH: u8 = 6;

/// Extents in one record.
pub(super) const EXTENTS_MAX: usize = 8192;

/// `tag: u8 | offset: u16 | length: u16 | bytes`.
const WRITE: u8 = 1;
/// `tag: u8 | from: u16 | length: u16 | to: u16`.
const SHIFT: u8 = 2;
const WRITE_HEAD_BYTES: usize = 5;

/// Changes of a page in the order in which they were made, as they are logged.
#[derive(Clone, Debug, Default)]
pub(super) struct PageChanges {
    bytes: Vec<u8>,
    /// Offset of the last change, if it is a write.
    last_write: Option<usize>,
}

impl PageChanges {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Records a write of `bytes` at `offset`, extending the last write if adjacent.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(start) = self.last_write {
            let last = short(&self.bytes, start + 1);
            let length = self.bytes.len() - start - WRITE_HEAD_BYTES;
            if (last..=last + length).contains(&offset) {
                let over = (last + length - offset).min(bytes.len());
                let target = start + WRITE_HEAD_BYTES + offset - last;
                self.bytes[target..target + over].copy_from_slice(&bytes[..over]);
                self.bytes.extend_from_slice(&bytes[over..]);
                let length = (self.bytes.len() - start - WRITE_HEAD_BYTES) as u16;
                self.bytes[start + 3..start + 5].copy_from_slice(&length.to_le_bytes());
                return;
            }
        }
        self.last_write = Some(self.bytes.len());
        self.bytes.push(WRITE);
        self.bytes.extend_from_slice(&(offset as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    /// Records a copy of the bytes of `range` to `to`.
    pub(super) fn shift(&mut self, range: &Range<usize>, to: usize) {
        self.last_write = None;
        self.bytes.push(SHIFT);
        for number in [range.start, range.len(), to] {
            self.bytes.extend_from_slice(&(number as u16).to_le_bytes());
        }
    }
}

fn short(bytes: &[u8], offset: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[offset], bytes[offset + 1]]))
}

/// Applies logged changes; `None` if they are invalid.
pub(super) fn apply(payload: &mut [u8], mut changes: &[u8]) -> Option<()> {
    while let Some((&tag, rest)) = changes.split_first() {
        let (offset, length) = (take_short(rest, 0)?, take_short(rest, 2)?);
        let rest = rest.get(4..)?;
        match tag {
            WRITE => {
                payload.get_mut(offset..offset + length)?.copy_from_slice(rest.get(..length)?);
                changes = rest.get(length..)?;
            }
            SHIFT => {
                let to = take_short(rest, 0)?;
                if offset + length > payload.len() || to + length > payload.len() {
                    return None;
                }
                payload.copy_within(offset..offset + length, to);
                changes = rest.get(2..)?;
            }
            _ => return None,
        }
    }
    Some(())
}

fn take_short(bytes: &[u8], offset: usize) -> Option<usize> {
    let pair = bytes.get(offset..offset + 2)?;
    Some(usize::from(u16::from_le_bytes([pair[0], pair[1]])))
}

/// The part of a payload that an image stores.
pub(super) fn without_zeros_at_end(payload: &[u8]) -> &[u8] {
    let end = payload.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &payload[..end]
}

/// The page that an image or a delta is about, and the rest of the body.
pub(super) fn page_of(body: &[u8]) -> Option<(PageNumber, &[u8])> {
    let (number, rest) = body.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), rest))
}

/// The page that an image describes.
pub(super) fn image(body: &[u8], page_bytes: usize) -> Option<Page> {
    let (_, payload) = page_of(body)?;
    let page = Page::padded(page_bytes, payload);
    (payload.len() <= page.len()).then_some(page)
}

/// The content of a state record: its two numbers, and the bytes that differ from the old state.
pub(super) fn state_change<'a>(old: &[u8], new: &'a [u8]) -> ([u8; 4], &'a [u8]) {
    let kept = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = (old.len() - kept).min(new.len() - kept);
    let behind = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let ([a, b], [c, d]) = ((new.len() as u16).to_le_bytes(), (kept as u16).to_le_bytes());
    ([a, b, c, d], &new[kept..new.len() - behind])
}

/// The new state, given the old one.
pub(super) fn changed_state(old: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let (length, kept) = (take_short(body, 0)?, take_short(body, 2)?);
    let mut state = old.get(..kept)?.to_vec();
    state.extend_from_slice(body.get(4..)?);
    let behind = length.checked_sub(state.len())?;
    state.extend_from_slice(old.get(old.len().checked_sub(behind)?..)?);
    Some(state)
}

/// Extents as they are logged.
pub(super) fn encode_extents(extents: &[Extent]) -> Vec<u8> {
    extents.iter().flat_map(|(first, pages)| [first.to_le_bytes(), pages.to_le_bytes()]).flatten().collect()
}

/// Reads them back; those that leave the range of page numbers are `None`.
pub(super) fn decode_extents(bytes: &[u8]) -> Option<Vec<Extent>> {
    let (pairs, rest) = bytes.as_chunks::<8>();
    let extent = |pair: &[u8; 8]| {
        let first = u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]);
        let pages = u32::from_le_bytes([pair[4], pair[5], pair[6], pair[7]]);
        first.checked_add(pages).map(|_| (first, pages))
    };
    if rest.is_empty() { pairs.iter().map(extent).collect() } else { None }
}
