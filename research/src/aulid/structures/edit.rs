//! The editor of AULID nodes: changes of slots, maps and statistics.

use super::arrays::FreshArrays;
use super::node::{
    AulidCounts, AulidSlot, COUNTS_BYTES, EntryLocation, FILL, MixedNode, NULL, NodeContent, RawSlot, Side, kind_at,
    raw_at, side_offset,
};
use super::options::AulidOptions;
use super::reader::{Metanode, NodeReader, inner, map_bit};
use super::search::MixedStep;
use super::shape::AulidLayout;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages, Transaction};

/// An editor for one change of the inner structure.
#[derive(Debug)]
pub(super) struct Editor<'a, W> {
    pub(super) tx: &'a mut Transaction,
    pub(super) shape: AulidLayout,
    pub(super) options: &'a AulidOptions,
    pub(super) meta: Metanode<W>,
    /// Pages of packed arrays for nodes that are being built.
    pub(super) fresh: Option<FreshArrays>,
}

impl<'a, W: Word> Editor<'a, W> {
    pub(super) fn open(tx: &'a mut Transaction, options: &'a AulidOptions, state: &[u8]) -> Result<Self> {
        let meta = Metanode::decode(tx, state)?;
        let shape = AulidLayout::of::<W>(tx);
        Ok(Self { tx, shape, options, meta, fresh: None })
    }

    pub(super) fn reader(&self) -> NodeReader<'_> {
        NodeReader { pages: &*self.tx, shape: self.shape, options: self.options }
    }

    /// The new state.
    pub(super) fn state(&self) -> Vec<u8> {
        self.meta.encode(self.shape)
    }

    /// Frees pages of a node, if they are within the file.
    pub(super) fn free(&mut self, first: PageNumber, pages: u32) -> Result<()> {
        if first == 0 || u64::from(first) + u64::from(pages) > u64::from(self.tx.page_count()) {
            return Err(self.tx.damaged(first, "pages beyond the file"));
        }
        self.tx.free(first, pages);
        Ok(())
    }

    /// Changes the content of a slot, and updates the map and the copies of the slot.
    pub(super) fn write_slot(
        &mut self,
        node: &MixedNode<W>,
        depth: usize,
        number: u32,
        slot: &AulidSlot<W>,
    ) -> Result<()> {
        let (index, offset) = node.locate(self.shape, number);
        let page_number = node.first_page + index;
        let page = self.tx.read(page_number, inner(depth))?;
        let old = raw_at::<W>(&page, offset);
        let entry = slot.side_entry(self.shape);
        let side = match (&entry, old.side()) {
            (None, Side::OwnPage(other)) => {
                self.free(other, 1)?;
                Side::None
            }
            (None, _) => Side::None,
            (Some(_), Side::None) => self.allocate_side(node, index, &page)?,
            (Some(_), side) => side,
        };
        if let (Some(entry), Side::OwnPage(other)) = (&entry, side) {
            self.tx.edit(other, inner(depth))?.write(0, entry);
        }
        let mut edit = self.tx.edit(page_number, inner(depth))?;
        edit.write(offset, &RawSlot::of(slot, side).encode());
        if let (Some(entry), Side::InPage(index)) = (&entry, side) {
            edit.write(side_offset(self.shape, index), entry);
        }
        drop(edit);
        let used = slot.content != NodeContent::Null;
        if used != (old.kind != NULL) && node.map_pages(self.shape) > 0 {
            let others = node.slots_of_page(self.shape, index).filter(|&other| other != number);
            let mut others = others.map(|other| node.locate(self.shape, other).1);
            if !others.any(|offset| kind_at::<W>(&page, offset) != NULL) {
                self.mark_page(node, depth, index, used)?;
            }
        }
        if node.filled { self.clear_copies(node, depth, number) } else { Ok(()) }
    }

    /// Allocates a side entry: a free one in the page, or its own page.
    fn allocate_side(&mut self, node: &MixedNode<W>, index: u32, page: &[u8]) -> Result<Side> {
        let mut used = vec![false; usize::from(node.side)];
        for number in node.slots_of_page(self.shape, index) {
            let (_, offset) = node.locate(self.shape, number);
            let side = RawSlot::<W>::decode(page.get(offset..).unwrap_or_default()).side();
            if let Side::InPage(index) = side
                && let Some(used) = used.get_mut(index)
            {
                *used = true;
            }
        }
        match used.iter().position(|&used| !used) {
            Some(index) => Ok(Side::InPage(index)),
            None => Ok(Side::OwnPage(self.tx.allocate()?)),
        }
    }

    /// Records in the map whether a page has a slot in use.
    fn mark_page(&mut self, node: &MixedNode<W>, depth: usize, index: u32, used: bool) -> Result<()> {
        let bits_per_page = self.shape.payload_bytes as u32 * 8;
        let number = node.first_page + node.slot_pages(self.shape) + index / bits_per_page;
        let bit = index % bits_per_page;
        let mut edit = self.tx.edit(number, inner(depth))?;
        let offset = bit as usize / 8;
        if map_bit(&edit, bit) != used
            && let Some(&byte) = edit.get(offset)
        {
            edit.write(offset, &[byte ^ 1 << (bit % 8)]);
        }
        Ok(())
    }

    /// Empties the copies of a DATA slot before it, after a change of the slot.
    fn clear_copies(&mut self, node: &MixedNode<W>, depth: usize, number: u32) -> Result<()> {
        let mut number = number;
        while let Some(before) = number.checked_sub(1) {
            let (index, offset) = node.locate(self.shape, before);
            let page = self.tx.read(node.first_page + index, inner(depth))?;
            if kind_at::<W>(&page, offset) != FILL {
                break;
            }
            self.tx.edit(node.first_page + index, inner(depth))?.write(offset, &vec![0; self.shape.slot_bytes()]);
            let all = node.slots_of_page(self.shape, index);
            let mut others = all.filter(|&other| other != before).map(|other| node.locate(self.shape, other).1);
            if node.map_pages(self.shape) > 0 && !others.any(|offset| kind_at::<W>(&page, offset) != NULL) {
                self.mark_page(node, depth, index, false)?;
            }
            number = before;
        }
        Ok(())
    }

    /// Changes the separator of a slot.
    pub(super) fn write_separator(&mut self, step: &MixedStep<W>, depth: usize, separator: W) -> Result<()> {
        let (index, offset) = step.node.locate(self.shape, step.slot_number);
        let mut bytes = vec![0; W::BYTES];
        separator.store(&mut bytes);
        self.tx.edit(step.node.first_page + index, inner(depth))?.write(offset, &bytes);
        Ok(())
    }

    /// Writes the statistics of a mixed node.
    pub(super) fn write_counts(
        &mut self,
        location: Option<EntryLocation>,
        depth: usize,
        counts: AulidCounts,
    ) -> Result<()> {
        match (location, &mut self.meta.root) {
            (Some(location), _) => {
                let offset = self.reader().counts_offset(location);
                // The entry is in a page of the parent.
                self.tx.edit(location.page, inner(depth.saturating_sub(1)))?.write(offset, &counts.encode());
            }
            (None, Some(root)) => root.counts = counts,
            (None, None) => {}
        }
        debug_assert_eq!(counts.encode().len(), COUNTS_BYTES, "the length on which offsets rely");
        Ok(())
    }
}
