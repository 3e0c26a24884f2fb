//! The page of the PGM insert buffer: descriptions of all runs but the oldest, then the newest entries, sorted.

use super::packed::{Found, Packed, Shape, push_entry};
use super::run::{Geometry, Run};
use super::state::State;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};

/// Bytes ahead of the first description: how many bytes the descriptions take.
const LENGTH_BYTES: usize = 2;

/// What a read of the buffer's page is for: it is read first.
const PURPOSE: Purpose = Purpose::Inner(0);

/// The buffer's page, read.
#[derive(Clone, Debug)]
pub(super) struct Buffer<W> {
    /// Newest first.
    pub(super) runs: Vec<Run<W>>,
    /// The entries; a flag says that an entry is a tombstone.
    pub(super) entries: Packed,
    /// The content, where there is a page.
    pub(super) page: Option<Page>,
}

impl<W: Word> Buffer<W> {
    /// Reads the page, unless nothing is there.
    pub(super) fn load(pages: &dyn Pages, geometry: &Geometry, state: &State<W>) -> Result<Self> {
        let mut buffer = Self {
            runs: Vec::new(),
            entries: Packed {
                first: state.page,
                count: u64::from(state.buffered),
                shape: geometry.buffer(LENGTH_BYTES),
            },
            page: None,
        };
        if state.buffered == 0 && state.runs == 0 {
            return Ok(buffer);
        }
        let content = pages.read(state.page, PURPOSE)?;
        let length = content.first_chunk().map_or(0, |&bytes| usize::from(u16::from_le_bytes(bytes)));
        let mut at = LENGTH_BYTES;
        let ascends = |newer: Option<&Run<W>>, older: &Run<W>| newer.is_none_or(|newer| newer.level < older.level);
        for _ in 0..state.runs {
            let bytes = content.get(at..LENGTH_BYTES + length).unwrap_or(&[]);
            let (run, taken) = Run::load(bytes, geometry, pages, state.page)?;
            if !ascends(buffer.runs.last(), &run)
                || state.oldest.as_ref().is_some_and(|oldest| !ascends(Some(&run), oldest))
            {
                return Err(pages.damaged(state.page, "runs are out of order"));
            }
            buffer.runs.push(run);
            at += taken;
        }
        buffer.entries.shape = geometry.buffer(at);
        if at != LENGTH_BYTES + length || buffer.entries.pages() > 1 {
            return Err(pages.damaged(state.page, "the buffer has more entries than fit"));
        }
        buffer.page = Some(content);
        Ok(buffer)
    }

    /// Where a key is, or would be, among the entries.
    pub(super) fn find(&self, key: W) -> Found {
        let Some(page) = &self.page else { return Found { position: 0, exact: false, page: None, probes: 0 } };
        let (slot, exact) = self.entries.shape.lower_bound(page, self.entries.count as usize, key);
        Found { position: slot as u64, exact, page: Some((0, page.clone())), probes: 1 }
    }

    /// Whether the entry in a slot is a tombstone.
    pub(super) fn is_tombstone(&self, slot: u64) -> bool {
        self.page.as_ref().is_some_and(|page| self.entries.shape.flag(page, slot as usize))
    }

    /// Tombstones among the entries.
    pub(super) fn tombstones(&self) -> u64 {
        (0..self.entries.count).filter(|&slot| self.is_tombstone(slot)).count() as u64
    }

    /// Puts an entry in, or a tombstone where there is no payload, at a position that [`Self::find`] named; `replace`
    /// says whether it takes the place of the entry there.
    pub(super) fn put(
        &self,
        tx: &mut Transaction,
        position: u64,
        replace: bool,
        key: W,
        payload: Option<&[u8]>,
    ) -> Result<()> {
        let shape = self.entries.shape;
        let (slot, count) = (position as usize, self.entries.count as usize);
        let mut entry = Vec::with_capacity(shape.entry_bytes());
        push_entry(&mut entry, key, payload.unwrap_or(&[]));
        entry.resize(shape.entry_bytes(), 0);
        let mut flags = self.flags();
        if replace {
            flags.remove(slot);
        }
        flags.insert(slot, payload.is_none());
        let mut edit = tx.edit(self.entries.first, PURPOSE)?;
        if !replace && slot < count {
            edit.shift(shape.offset(slot)..shape.offset(count), shape.offset(slot + 1));
        }
        edit.write(shape.offset(slot), &entry);
        write_flags(&mut edit, &shape, &flags);
        Ok(())
    }

    /// Takes an entry out.
    pub(super) fn take(&self, tx: &mut Transaction, position: u64) -> Result<()> {
        let shape = self.entries.shape;
        let (slot, count) = (position as usize, self.entries.count as usize);
        let mut flags = self.flags();
        flags.remove(slot);
        let mut edit = tx.edit(self.entries.first, PURPOSE)?;
        edit.shift(shape.offset(slot + 1)..shape.offset(count), shape.offset(slot));
        write_flags(&mut edit, &shape, &flags);
        Ok(())
    }

    fn flags(&self) -> Vec<bool> {
        (0..self.entries.count).map(|slot| self.is_tombstone(slot)).collect()
    }
}

/// Writes the flags of all entries, as far as they differ from those that are there.
fn write_flags(edit: &mut ogive::page::PageEdit<'_>, shape: &Shape, flags: &[bool]) {
    let mut bytes = vec![0_u8; shape.flags_bytes()];
    for slot in (0..flags.len()).filter(|&slot| flags.get(slot) == Some(&true)) {
        if let Some(byte) = bytes.get_mut(slot / 8) {
            *byte |= 1 << (slot % 8);
        }
    }
    let old = edit.get(shape.flags_offset()..).unwrap_or(&[]);
    let differs = |(old, new): (&u8, &u8)| old != new;
    let Some(from) = old.iter().zip(&bytes).position(differs) else { return };
    let to = old.iter().zip(&bytes).rposition(differs).map_or(from, |last| last + 1);
    edit.write(shape.flags_offset() + from, bytes.get(from..to).unwrap_or(&[]));
}

/// How many entries fit behind the descriptions of runs.
pub(super) fn room<W: Word>(geometry: &Geometry, runs: &[Run<W>], page_payload_bytes: usize) -> usize {
    let header = describe(runs).len();
    let shape = geometry.buffer(header);
    if shape.flags_offset() + shape.flags_bytes() > page_payload_bytes { 0 } else { shape.per_page() }
}

/// Empties the buffer, and describes other runs in its page, which is made where there is none; returns its number.
pub(super) fn rewrite<W: Word>(
    tx: &mut Transaction,
    geometry: &Geometry,
    page: PageNumber,
    runs: &[Run<W>],
) -> Result<PageNumber> {
    let page = if page == 0 { tx.allocate()? } else { page };
    let header = describe(runs);
    let shape = geometry.buffer(header.len());
    let mut edit = tx.edit(page, PURPOSE)?;
    edit.write(0, &header);
    write_flags(&mut edit, &shape, &[]);
    Ok(page)
}

fn describe<W: Word>(runs: &[Run<W>]) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH_BYTES];
    runs.iter().for_each(|run| run.push(&mut bytes));
    let length = (bytes.len() - LENGTH_BYTES) as u16;
    bytes.splice(..LENGTH_BYTES, length.to_le_bytes());
    bytes
}
