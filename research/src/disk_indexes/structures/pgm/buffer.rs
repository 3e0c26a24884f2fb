//! The page of the PGM insert buffer: descriptions of all runs except the oldest, then the newest entries, sorted.

use super::packed::{EntryLayout, FoundEntry, PackedEntries, push_entry};
use super::run::{PgmGeometry, PgmRun};
use super::state::PgmState;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};

/// Bytes before the first description, which hold the length of all descriptions.
const LENGTH_BYTES: usize = 2;

/// The purpose of reading the buffer's page, which is the first one read.
const PURPOSE: Purpose = Purpose::Inner(0);

/// The parsed page of the buffer.
#[derive(Clone, Debug)]
pub(super) struct InsertBuffer<W> {
    /// The runs described in the page, newest first.
    pub(super) runs: Vec<PgmRun<W>>,
    /// The entries; a flag marks a tombstone.
    pub(super) entries: PackedEntries,
    /// The content, if there is a page.
    pub(super) page: Option<Page>,
}

impl<W: Word> InsertBuffer<W> {
    /// Reads the page, unless the buffer is empty.
    pub(super) fn load(pages: &dyn Pages, geometry: &PgmGeometry, state: &PgmState<W>) -> Result<Self> {
        let mut buffer = Self {
            runs: Vec::new(),
            entries: PackedEntries {
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
        let ascends =
            |newer: Option<&PgmRun<W>>, older: &PgmRun<W>| newer.is_none_or(|newer| newer.level < older.level);
        for _ in 0..state.runs {
            let bytes = content.get(at..LENGTH_BYTES + length).unwrap_or(&[]);
            let (run, taken) = PgmRun::load(bytes, geometry, pages, state.page)?;
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

    /// Finds the position of a key among the entries.
    pub(super) fn find(&self, key: W) -> FoundEntry {
        let Some(page) = &self.page else { return FoundEntry { position: 0, exact: false, page: None, probes: 0 } };
        let (slot, exact) = self.entries.shape.lower_bound(page, self.entries.count as usize, key);
        FoundEntry { position: slot as u64, exact, page: Some((0, page.clone())), probes: 1 }
    }

    /// Whether the entry in a slot is a tombstone.
    pub(super) fn is_tombstone(&self, slot: u64) -> bool {
        self.page.as_ref().is_some_and(|page| self.entries.shape.flag(page, slot as usize))
    }

    /// Number of tombstones.
    pub(super) fn tombstones(&self) -> u64 {
        (0..self.entries.count).filter(|&slot| self.is_tombstone(slot)).count() as u64
    }

    /// Writes an entry, or a tombstone if there is no payload, at a position from [`Self::find`]; `replace` says
    /// whether it replaces the entry there.
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

    /// Removes an entry.
    pub(super) fn remove(&self, tx: &mut Transaction, position: u64) -> Result<()> {
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

/// Writes the flags of all entries that differ from the stored ones.
fn write_flags(edit: &mut ogive::page::PageEdit<'_>, shape: &EntryLayout, flags: &[bool]) {
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

/// The number of entries that fit after the run descriptions.
pub(super) fn room<W: Word>(geometry: &PgmGeometry, runs: &[PgmRun<W>], page_payload_bytes: usize) -> usize {
    let header = describe(runs).len();
    let shape = geometry.buffer(header);
    if shape.flags_offset() + shape.flags_bytes() > page_payload_bytes { 0 } else { shape.per_page() }
}

/// Empties the buffer, and writes the run descriptions to its page, which is allocated if there is none; returns its
/// number.
pub(super) fn rewrite<W: Word>(
    tx: &mut Transaction,
    geometry: &PgmGeometry,
    page: PageNumber,
    runs: &[PgmRun<W>],
) -> Result<PageNumber> {
    let page = if page == 0 { tx.allocate()? } else { page };
    let header = describe(runs);
    let shape = geometry.buffer(header.len());
    let mut edit = tx.edit(page, PURPOSE)?;
    edit.write(0, &header);
    write_flags(&mut edit, &shape, &[]);
    Ok(page)
}

fn describe<W: Word>(runs: &[PgmRun<W>]) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH_BYTES];
    runs.iter().for_each(|run| run.push(&mut bytes));
    let length = (bytes.len() - LENGTH_BYTES) as u16;
    bytes.splice(..LENGTH_BYTES, length.to_le_bytes());
    bytes
}
