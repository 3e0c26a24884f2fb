//! Builds of AULID nodes from sorted items (Section 4.1).

use super::edit::Editor;
use super::layers::Layers;
use super::node::{AulidCounts, AulidSlot, Children, MixedNode, NodeContent, NodeItem, RawSlot, Side, side_offset};
use super::options::AulidOptions;
use super::reader::inner;
use super::run;
use super::shape::{AulidLayout, CHILDREN_MAX};
use crate::models::fmcd::{self, SlotLine};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{Gap, RouterBuilder};
use ogive::page::{PageNumber, Transaction};
use std::iter::Peekable;
use std::ops::Range;

/// Spare side entries of each page of a new node.
const SPARE_SIDE_ENTRIES: usize = 2;

/// Items that share a slot.
#[derive(Clone, Debug)]
struct Group {
    slot: u32,
    items: Range<usize>,
}

/// A line, and the key at which it starts.
#[derive(Clone, Copy, Debug)]
struct Model<W> {
    origin: W,
    line: SlotLine,
    slots: u32,
}

impl<W: Word> Model<W> {
    /// The line of FMCD, if no slot gets more than 1/3 of the items. FMCD guarantees that, except for items that are so
    /// close together, and so far from the first, that floats cannot distinguish them.
    fn fit(items: &[NodeItem<W>], slots: u32) -> Self {
        let gap = |i: usize, j: usize| items[j].0.distance(items[i].0);
        let line = fmcd::fit(items.len(), u64::from(slots), gap);
        let fullest = fmcd::conflict_degree(items.len(), u64::from(slots), line, |i| gap(0, i));
        let model = Self { origin: items[0].0, line, slots };
        if fullest <= items.len() / 3 + 2 { model } else { Self::thirds(items, slots).unwrap_or(model) }
    }

    /// The line that maps the items at 1/3 and 2/3 to the slots at 1/3 and 2/3, with the former as origin: all items
    /// before it share its slot, and no slot gets more than 1/3.
    fn thirds(items: &[NodeItem<W>], slots: u32) -> Option<Self> {
        let last = items.len() - 1;
        let origin = items[last / 3].0;
        let third = f64::from(slots) / 3.0;
        let slope = third / items[2 * last / 3].0.distance(origin);
        let line = SlotLine { slope, intercept: third + 0.5 };
        (2 * last / 3 > last / 3 && line.is_monotone()).then_some(Self { origin, line, slots })
    }

    fn slot(&self, key: W) -> u32 {
        self.line.slot(key.distance(self.origin), u64::from(self.slots)) as u32
    }

    /// The items grouped by slot.
    fn groups<'i>(&'i self, items: &'i [NodeItem<W>]) -> Peekable<impl Iterator<Item = Group> + 'i> {
        let mut start = 0;
        let groups = std::iter::from_fn(move || {
            let slot = self.slot(items.get(start)?.0);
            let run = items[start..].iter().take_while(|item| self.slot(item.0) == slot).count();
            let group = Group { slot, items: start..start + run };
            start += run;
            Some(group)
        });
        groups.peekable()
    }
}

impl<W: Word> Editor<'_, W> {
    /// Builds a slot of a mixed node of depth `depth` for some items, in the smallest form that can hold them.
    pub(super) fn build_slot(
        &mut self,
        items: &[NodeItem<W>],
        depth: usize,
        slots_per_leaf: u8,
    ) -> Result<(AulidSlot<W>, Layers)> {
        let Some(&(separator, leaf)) = items.last() else { return Ok((AulidSlot::empty(), Layers::default())) };
        let count = items.len();
        let below = || Layers::of(depth + 1, count as i64);
        let (content, layers) = if count == 1 {
            (NodeContent::Data(leaf), Layers::of(depth, 1))
        } else if let Some(class) = self.shape.array_class(count).filter(|_| self.options.packed_arrays) {
            (NodeContent::Array(self.add_array(class, items, depth)?), below())
        } else if self.options.two_layer_nodes && count <= self.shape.children_items_max() {
            (NodeContent::Children(self.add_children(items, depth)?), below())
        } else {
            let (node, layers) = self.build_mixed(items, depth + 1, slots_per_leaf)?;
            (NodeContent::Mixed(node), layers)
        };
        Ok((AulidSlot { separator, content }, layers))
    }

    /// Builds a two-layer node with children of about equal size.
    pub(super) fn add_children(&mut self, items: &[NodeItem<W>], depth: usize) -> Result<Children<W>> {
        self.tx.count("two-layer node created");
        let count = self.shape.children_for(items.len());
        let mut children = Children { count, pages: [0; CHILDREN_MAX], pivots: [W::MIN; CHILDREN_MAX - 1] };
        for i in 0..count {
            let part = &items[items.len() * i / count..items.len() * (i + 1) / count];
            children.pages[i] = self.new_child(part, depth)?;
            if let (Some(pivot), Some(last)) = (children.pivots.get_mut(i), part.last()) {
                *pivot = if i + 1 < count { last.0 } else { W::MIN };
            }
        }
        Ok(children)
    }

    /// Creates a child of a two-layer node. Within a build of a mixed node it is a fresh page, which bypasses the log;
    /// alone it is logged, because a fresh page costs the commit a sync.
    pub(super) fn new_child(&mut self, items: &[NodeItem<W>], depth: usize) -> Result<PageNumber> {
        let bytes = run::encode(items);
        if self.fresh.is_none() {
            let page = self.tx.allocate()?;
            self.tx.edit(page, inner(depth + 1))?.write(0, &bytes);
            return Ok(page);
        }
        let page = self.tx.allocate_extent(1)?;
        self.tx.write_fresh(page, inner(depth + 1), &bytes)?;
        Ok(page)
    }

    /// Builds a mixed node and its subtree (Section 4.1).
    pub(super) fn build_mixed(
        &mut self,
        items: &[NodeItem<W>],
        depth: usize,
        slots_per_leaf: u8,
    ) -> Result<(MixedNode<W>, Layers)> {
        self.tx.count("mixed node created");
        let own_arrays = self.fresh.is_none();
        self.fresh.get_or_insert_default();
        let (model, side) = self.plan(items, slots_per_leaf);
        let mut node = MixedNode {
            first_page: 0,
            slots: model.slots,
            side,
            filled: self.options.fulfill,
            origin: model.origin,
            line: model.line,
            counts: AulidCounts::default(),
        };
        node.first_page = self.tx.allocate_extent(node.pages(self.shape))?;
        let mut layers = Layers::default();
        let mut groups = model.groups(items);
        let mut used = vec![0; node.map_pages(self.shape) as usize * self.shape.payload_bytes];
        for index in 0..node.slot_pages(self.shape) {
            let mut page = NodePage::new(self.shape);
            let slots = node.slots_of_page(self.shape, index);
            while let Some(group) = groups.next_if(|group| group.slot < slots.end) {
                let (slot, below) = self.build_slot(&items[group.items], depth, slots_per_leaf)?;
                layers += below;
                self.put(&mut page, &node, group.slot, &slot)?;
                if self.options.fulfill {
                    page.fill(&node, self.shape, slots.start..group.slot, &slot);
                }
            }
            if let Some(next) = groups.peek().filter(|next| self.options.fulfill && next.items.len() == 1) {
                let (separator, leaf) = items[next.items.start];
                page.fill(&node, self.shape, slots, &AulidSlot { separator, content: NodeContent::Data(leaf) });
            }
            if page.used && !used.is_empty() {
                used[index as usize / 8] |= 1 << (index % 8);
            }
            self.tx.write_fresh(node.first_page + index, inner(depth), &page.content)?;
        }
        for (i, map) in used.chunks(self.shape.payload_bytes).enumerate() {
            self.tx.write_fresh(node.first_page + node.slot_pages(self.shape) + i as u32, inner(depth), map)?;
        }
        if own_arrays {
            self.finish_fresh()?;
        }
        let size = items.len() as u32;
        node.counts = AulidCounts { size, initial_size: size, deep: layers.deep(depth) as u32 };
        Ok((node, layers))
    }

    /// The model of a node, and the number of side entries per page: as many as the fullest page needs, plus spare
    /// ones.
    fn plan(&self, items: &[NodeItem<W>], slots_per_leaf: u8) -> (Model<W>, u16) {
        let side_max = self.shape.side_entries_max();
        let mut side = SPARE_SIDE_ENTRIES.min(side_max);
        let mut slots = 0;
        loop {
            let per_page = self.shape.slots_per_page(side);
            // Uses whole pages. There are fewer than 2^32 slots, because there are fewer pages.
            let wanted = items.len().saturating_mul(usize::from(slots_per_leaf.max(1))).max(slots);
            slots = wanted.next_multiple_of(per_page).min(u32::MAX as usize / 2);
            let model = Model::fit(items, slots as u32);
            let mut needs = vec![0; slots.div_ceil(per_page)];
            for group in model.groups(items) {
                needs[group.slot as usize / per_page] += usize::from(self.needs_side(group.items.len()));
            }
            let needed = needs.into_iter().max().unwrap_or(0);
            if needed == 0 || needed < side || side == side_max {
                return (model, side as u16);
            }
            side = (needed + SPARE_SIDE_ENTRIES).min(side_max);
        }
    }

    fn needs_side(&self, items: usize) -> bool {
        let array = self.options.packed_arrays && self.shape.array_class(items).is_some();
        let one_child = self.options.two_layer_nodes
            && self.shape.children_for(items) == 1
            && items <= self.shape.children_items_max();
        items > 1 && !array && !one_child
    }

    /// Writes a slot to a page that is being built.
    fn put(&mut self, page: &mut NodePage, node: &MixedNode<W>, number: u32, slot: &AulidSlot<W>) -> Result<()> {
        let side = match slot.side_entry(self.shape) {
            None => Side::None,
            Some(entry) if page.side < usize::from(node.side) => {
                let offset = side_offset(self.shape, page.side);
                page.content[offset..offset + entry.len()].copy_from_slice(&entry);
                page.side += 1;
                Side::InPage(page.side - 1)
            }
            Some(entry) => {
                let other = self.tx.allocate_extent(1)?;
                self.tx.write_fresh(other, inner(1), &entry)?;
                Side::OwnPage(other)
            }
        };
        page.write(node, self.shape, number, &RawSlot::of(slot, side));
        Ok(())
    }
}

/// A page of slots that is being built.
#[derive(Debug)]
struct NodePage {
    content: Vec<u8>,
    used: bool,
    /// Number of side entries used.
    side: usize,
    /// The slot after the last one written.
    end: u32,
}

impl NodePage {
    fn new(shape: AulidLayout) -> Self {
        Self { content: vec![0; shape.payload_bytes], used: false, side: 0, end: 0 }
    }

    fn write<W: Word>(&mut self, node: &MixedNode<W>, shape: AulidLayout, number: u32, raw: &RawSlot<W>) {
        let (_, offset) = node.locate(shape, number);
        let bytes = raw.encode();
        self.content[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.used = true;
    }

    /// Copies a DATA slot to the slots of a range after the last one in use (Fulfill).
    fn fill<W: Word>(&mut self, node: &MixedNode<W>, shape: AulidLayout, range: Range<u32>, slot: &AulidSlot<W>) {
        let range = range.start.max(self.end)..range.end;
        self.end = range.end.saturating_add(1);
        let NodeContent::Data(leaf) = slot.content else { return };
        let copy = RawSlot::of(&AulidSlot { separator: slot.separator, content: NodeContent::Fill(leaf) }, Side::None);
        range.for_each(|number| self.write(node, shape, number, &copy));
    }
}

/// Builder that collects the separators of a bulk load, because the model of the root is fitted to all of them: 16
/// bytes per leaf for keys of 8 bytes, 32 for keys of 16.
#[derive(Debug)]
pub(super) struct AulidBuilder<W> {
    options: AulidOptions,
    items: Vec<NodeItem<W>>,
}

impl<W: Word> AulidBuilder<W> {
    pub(super) fn new(options: AulidOptions) -> Self {
        Self { options, items: Vec::new() }
    }
}

impl<W: Word> RouterBuilder<W> for AulidBuilder<W> {
    fn push(&mut self, _tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        self.items.push((gap.low, leaf));
        Ok(())
    }

    fn finish(self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        let mut editor = Editor::open(tx, &self.options, &[])?;
        if self.items.is_empty() {
            return Ok(Vec::new());
        }
        let slots_per_leaf = self.options.bulk_slots_per_leaf(self.items.len());
        let (root, _) = editor.build_mixed(&self.items, 0, slots_per_leaf)?;
        editor.meta.root = Some(root);
        Ok(editor.state())
    }
}
