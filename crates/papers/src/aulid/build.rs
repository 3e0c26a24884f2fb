//! AULID nodes built of sorted items (Section 4.1).

use super::edit::Editor;
use super::layers::Layers;
use super::node::{Children, Content, Counts, Item, Node, RawSlot, Side, Slot, side_offset};
use super::options::AulidOptions;
use super::run;
use super::shape::{MOST_CHILDREN, Shape};
use super::view::inner;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{Gap, RouterBuilder};
use ogive::page::{PageNumber, Transaction};
use ogive_model::fmcd::{self, SlotLine};
use std::iter::Peekable;
use std::ops::Range;

/// Side entries that a page gets beyond what it needs when it is built.
const SPARE_SIDE: usize = 2;

/// Items that share a slot.
#[derive(Clone, Debug)]
struct Group {
    slot: u32,
    items: Range<usize>,
}

/// A line, and the key that it counts from.
#[derive(Clone, Copy, Debug)]
struct Model<W> {
    origin: W,
    line: SlotLine,
    slots: u32,
}

impl<W: Word> Model<W> {
    /// The line of FMCD, if it leaves no slot more than a third of the items. That it does so is its definition, but
    /// the items may lie so close together, and so far from the first, that floats cannot tell them apart.
    fn fit(items: &[Item<W>], slots: u32) -> Self {
        let gap = |i: usize, j: usize| items[j].0.distance(items[i].0);
        let line = fmcd::fit(items.len(), u64::from(slots), gap);
        let fullest = fmcd::conflict_degree(items.len(), u64::from(slots), line, |i| gap(0, i));
        let model = Self { origin: items[0].0, line, slots };
        if fullest <= items.len() / 3 + 2 { model } else { Self::thirds(items, slots).unwrap_or(model) }
    }

    /// The line that takes the item at one third to the slot at one third, and that at two thirds to that at two,
    /// counted from the former: all before it share its slot, and no slot gets more than a third.
    fn thirds(items: &[Item<W>], slots: u32) -> Option<Self> {
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

    /// The items slot by slot.
    fn groups<'i>(&'i self, items: &'i [Item<W>]) -> Peekable<impl Iterator<Item = Group> + 'i> {
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
    /// Makes what holds some items under a slot of a mixed node of depth `depth`: the smallest thing that can.
    pub(super) fn make(&mut self, items: &[Item<W>], depth: usize, slots_per_leaf: u8) -> Result<(Slot<W>, Layers)> {
        let Some(&(separator, leaf)) = items.last() else { return Ok((Slot::empty(), Layers::default())) };
        let count = items.len();
        let below = || Layers::of(depth + 1, count as i64);
        let (content, layers) = if count == 1 {
            (Content::Data(leaf), Layers::of(depth, 1))
        } else if let Some(class) = self.shape.array_class(count).filter(|_| self.options.packed_arrays) {
            (Content::Array(self.add_array(class, items, depth)?), below())
        } else if self.options.two_layer_nodes && count <= self.shape.most_in_children() {
            (Content::Children(self.add_children(items, depth)?), below())
        } else {
            let (node, layers) = self.build_mixed(items, depth + 1, slots_per_leaf)?;
            (Content::Mixed(node), layers)
        };
        Ok((Slot { separator, content }, layers))
    }

    /// Makes a two-layer node, its children about equally full.
    pub(super) fn add_children(&mut self, items: &[Item<W>], depth: usize) -> Result<Children<W>> {
        self.tx.count("two-layer node created");
        let count = self.shape.children_for(items.len());
        let mut children = Children { count, pages: [0; MOST_CHILDREN], pivots: [W::MIN; MOST_CHILDREN - 1] };
        for i in 0..count {
            let part = &items[items.len() * i / count..items.len() * (i + 1) / count];
            children.pages[i] = self.new_child(part, depth)?;
            if let (Some(pivot), Some(last)) = (children.pivots.get_mut(i), part.last()) {
                *pivot = if i + 1 < count { last.0 } else { W::MIN };
            }
        }
        Ok(children)
    }

    /// Makes a child of a two-layer node: along with a node that is being built past the log, alone in it, as a page
    /// past the log costs the commit a sync.
    pub(super) fn new_child(&mut self, items: &[Item<W>], depth: usize) -> Result<PageNumber> {
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

    /// Builds a mixed node and all beneath it (Section 4.1).
    pub(super) fn build_mixed(
        &mut self,
        items: &[Item<W>],
        depth: usize,
        slots_per_leaf: u8,
    ) -> Result<(Node<W>, Layers)> {
        self.tx.count("mixed node created");
        let own_arrays = self.fresh.is_none();
        self.fresh.get_or_insert_default();
        let (model, side) = self.plan(items, slots_per_leaf);
        let mut node = Node {
            first_page: 0,
            slots: model.slots,
            side,
            filled: self.options.fulfill,
            origin: model.origin,
            line: model.line,
            counts: Counts::default(),
        };
        node.first_page = self.tx.allocate_extent(node.pages(self.shape))?;
        let mut layers = Layers::default();
        let mut groups = model.groups(items);
        let mut used = vec![0; node.map_pages(self.shape) as usize * self.shape.payload_bytes];
        for index in 0..node.slot_pages(self.shape) {
            let mut page = NodePage::new(self.shape);
            let slots = node.slots_of_page(self.shape, index);
            while let Some(group) = groups.next_if(|group| group.slot < slots.end) {
                let (slot, below) = self.make(&items[group.items], depth, slots_per_leaf)?;
                layers += below;
                self.put(&mut page, &node, group.slot, &slot)?;
                if self.options.fulfill {
                    page.fill(&node, self.shape, slots.start..group.slot, &slot);
                }
            }
            if let Some(next) = groups.peek().filter(|next| self.options.fulfill && next.items.len() == 1) {
                let (separator, leaf) = items[next.items.start];
                page.fill(&node, self.shape, slots, &Slot { separator, content: Content::Data(leaf) });
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
        node.counts = Counts { size, initial_size: size, deep: layers.deep(depth) as u32 };
        Ok((node, layers))
    }

    /// The model of a node, and the side entries of its pages: as many as the fullest page needs, and some to spare.
    fn plan(&self, items: &[Item<W>], slots_per_leaf: u8) -> (Model<W>, u16) {
        let most_side = self.shape.most_side();
        let mut side = SPARE_SIDE.min(most_side);
        let mut slots = 0;
        loop {
            let per_page = self.shape.slots_per_page(side);
            // Whole pages: the rest of the last one would be lost. Fewer than 2^32 slots, as there are fewer pages.
            let wanted = items.len().saturating_mul(usize::from(slots_per_leaf.max(1))).max(slots);
            slots = wanted.next_multiple_of(per_page).min(u32::MAX as usize / 2);
            let model = Model::fit(items, slots as u32);
            let mut needs = vec![0; slots.div_ceil(per_page)];
            for group in model.groups(items) {
                needs[group.slot as usize / per_page] += usize::from(self.needs_side(group.items.len()));
            }
            let needed = needs.into_iter().max().unwrap_or(0);
            if needed == 0 || needed < side || side == most_side {
                return (model, side as u16);
            }
            side = (needed + SPARE_SIDE).min(most_side);
        }
    }

    fn needs_side(&self, items: usize) -> bool {
        let array = self.options.packed_arrays && self.shape.array_class(items).is_some();
        let one_child = self.options.two_layer_nodes
            && self.shape.children_for(items) == 1
            && items <= self.shape.most_in_children();
        items > 1 && !array && !one_child
    }

    /// Puts a slot into a page that is being built.
    fn put(&mut self, page: &mut NodePage, node: &Node<W>, number: u32, slot: &Slot<W>) -> Result<()> {
        let side = match slot.side_entry(self.shape) {
            None => Side::None,
            Some(entry) if page.side < usize::from(node.side) => {
                let offset = side_offset(self.shape, page.side);
                page.content[offset..offset + entry.len()].copy_from_slice(&entry);
                page.side += 1;
                Side::Here(page.side - 1)
            }
            Some(entry) => {
                let other = self.tx.allocate_extent(1)?;
                self.tx.write_fresh(other, inner(1), &entry)?;
                Side::Elsewhere(other)
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
    /// Side entries taken.
    side: usize,
    /// The slot after the last one written.
    end: u32,
}

impl NodePage {
    fn new(shape: Shape) -> Self {
        Self { content: vec![0; shape.payload_bytes], used: false, side: 0, end: 0 }
    }

    fn write<W: Word>(&mut self, node: &Node<W>, shape: Shape, number: u32, raw: &RawSlot<W>) {
        let (_, offset) = node.locate(shape, number);
        let bytes = raw.encode();
        self.content[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.used = true;
    }

    /// Copies a DATA slot to the empty slots of a range (Fulfill): those after the last slot in use.
    fn fill<W: Word>(&mut self, node: &Node<W>, shape: Shape, range: Range<u32>, slot: &Slot<W>) {
        let range = range.start.max(self.end)..range.end;
        self.end = range.end.saturating_add(1);
        let Content::Data(leaf) = slot.content else { return };
        let copy = RawSlot::of(&Slot { separator: slot.separator, content: Content::Fill(leaf) }, Side::None);
        range.for_each(|number| self.write(node, shape, number, &copy));
    }
}

/// Collects the separators of a bulk load: 16 bytes a leaf for keys of 8 bytes, 32 for keys of 16. The model of the
/// root is fitted to all of them.
#[derive(Debug)]
pub(super) struct AulidBuilder<W> {
    options: AulidOptions,
    items: Vec<Item<W>>,
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
