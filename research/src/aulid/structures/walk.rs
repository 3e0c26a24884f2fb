//! A validating walk over all AULID nodes, and statistics of them.

use super::arrays::{CLASS, LISTS, offset_of};
use super::layers::Layers;
use super::node::{ArrayLocation, Children, FILL, MixedNode, NULL, NodeContent, NodeItem, RawSlot, Side, raw_at};
use super::reader::{DEPTH_MAX, FoundSlot, Metanode, NodeReader, inner, map_bit};
use super::run::ItemRun;
use super::shape::ARRAY_CLASSES;
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{IndexLevelStatistics, IndexStatistics};
use ogive::page::{Page, PageNumber};
use std::collections::BTreeMap;

/// Callback for each extent of pages.
type PageClaim<'a> = &'a mut dyn FnMut(PageNumber, u32) -> Result<()>;
/// Callback for each separator and its leaf.
type Leaf<'a, W> = &'a mut dyn FnMut(W, PageNumber) -> Result<()>;

/// Counts of a walk.
#[derive(Debug, Default)]
struct WalkCounts {
    layers: Layers,
    levels: Vec<IndexLevelStatistics>,
    pages: u64,
    mixed: u64,
    slots: u64,
    arrays: u64,
    two_layer: u64,
}

impl WalkCounts {
    fn level(&mut self, depth: usize) -> &mut IndexLevelStatistics {
        if self.levels.len() <= depth {
            self.levels.resize(depth + 1, IndexLevelStatistics::default());
        }
        &mut self.levels[depth]
    }
}

/// A page of arrays found by a walk: its class, and the number of its arrays found.
#[derive(Clone, Copy, Debug)]
struct ArrayPage {
    class: u8,
    arrays: usize,
}

struct AulidWalk<'a, W> {
    reader: NodeReader<'a>,
    claim: PageClaim<'a>,
    leaf: Leaf<'a, W>,
    counts: WalkCounts,
    last: Option<NodeItem<W>>,
    /// The nodes above, each with the slot taken.
    above: Vec<(MixedNode<W>, u32)>,
    array_pages: BTreeMap<PageNumber, ArrayPage>,
    /// The last page of arrays, by class.
    recent: [Option<(PageNumber, Page)>; ARRAY_CLASSES],
}

impl<'a> NodeReader<'a> {
    /// Walks over the whole tree.
    pub(super) fn walk<W: Word>(
        &self,
        meta: &Metanode<W>,
        claim: PageClaim<'a>,
        leaf: Leaf<'a, W>,
    ) -> Result<IndexStatistics> {
        let mut walker = AulidWalk {
            reader: *self,
            claim,
            leaf,
            counts: WalkCounts::default(),
            last: None,
            above: Vec::new(),
            array_pages: BTreeMap::new(),
            recent: Default::default(),
        };
        if let Some(root) = &meta.root {
            walker.node(root, 0, root.first_page)?;
        }
        walker.lists(meta)?;
        Ok(walker.statistics())
    }
}

impl<W: Word> AulidWalk<'_, W> {
    fn claim(&mut self, first: PageNumber, pages: u32, depth: usize) -> Result<()> {
        let end = u64::from(first) + u64::from(pages);
        self.counts.pages += u64::from(pages);
        self.counts.level(depth).pages += u64::from(pages);
        let all = u64::from(self.reader.pages.page_count());
        if first == 0 || end > all || self.counts.pages > all {
            return Err(self.reader.pages.damaged(first, "pages are beyond the file, or in the tree twice"));
        }
        (self.claim)(first, pages)
    }

    /// Fails unless a condition holds.
    fn check(&self, holds: bool, page: PageNumber, detail: &str) -> Result<()> {
        if holds { Ok(()) } else { Err(self.reader.pages.damaged(page, detail)) }
    }

    fn node(&mut self, node: &MixedNode<W>, depth: usize, from: PageNumber) -> Result<()> {
        self.check(depth < DEPTH_MAX, from, "mixed nodes form a cycle")?;
        let shape = self.reader.shape;
        self.claim(node.first_page, node.pages(shape), depth)?;
        self.counts.mixed += 1;
        self.counts.slots += u64::from(node.slots);
        self.counts.level(depth).nodes += 1;
        let before = self.counts.layers;
        let mut copy = None;
        for index in 0..node.slot_pages(shape) {
            self.node_page(node, depth, index, &mut copy)?;
        }
        self.check(copy.is_none(), node.first_page, "a copy without its slot")?;
        let mut layers = self.counts.layers;
        layers -= before;
        self.check(layers.total() > 0, node.first_page, "a mixed node without leaves")?;
        let counts = node.counts;
        let exact = (i64::from(counts.size), i64::from(counts.deep)) == (layers.total(), layers.deep(depth));
        self.check(exact || !self.reader.options.statistics, from, "wrong statistics of a mixed node")
    }

    fn node_page(
        &mut self,
        node: &MixedNode<W>,
        depth: usize,
        index: u32,
        copy: &mut Option<NodeItem<W>>,
    ) -> Result<()> {
        let shape = self.reader.shape;
        let number = node.first_page + index;
        let page = self.reader.node_page(node, depth, index)?;
        let mut side = vec![false; usize::from(node.side)];
        let mut used = 0;
        for slot_number in node.slots_of_page(shape, index) {
            let raw: RawSlot<W> = raw_at(&page, node.locate(shape, slot_number).1);
            if raw.kind == NULL {
                continue;
            }
            used += 1;
            match raw.side() {
                Side::None => {}
                Side::InPage(index) => {
                    let free = side.get(index) == Some(&false);
                    self.check(free, number, "a side entry is shared, or beyond the side area")?;
                    side[index] = true;
                }
                Side::OwnPage(other) => self.claim(other, 1, depth)?,
            }
            let found = self.reader.decode_slot(node, depth, (number, &page), slot_number, &raw)?;
            if raw.kind == FILL {
                self.check(node.filled, number, "an unexpected copy of a slot")?;
            }
            self.slot(node, depth, number, &found, copy)?;
        }
        self.counts.level(depth).entries += used;
        if node.map_pages(shape) > 0 {
            let bits = shape.payload_bytes as u32 * 8;
            let map_number = node.first_page + node.slot_pages(shape) + index / bits;
            let map = self.reader.pages.read(map_number, inner(depth))?;
            self.check(map_bit(&map, index % bits) == (used > 0), map_number, "a wrong map")?;
        }
        Ok(())
    }

    fn slot(
        &mut self,
        node: &MixedNode<W>,
        depth: usize,
        page: PageNumber,
        found: &FoundSlot<W>,
        copy: &mut Option<NodeItem<W>>,
    ) -> Result<()> {
        let separator = found.slot.separator;
        let copied = copy.take();
        self.above.push((*node, found.slot_number));
        match found.slot.content {
            NodeContent::Null => {}
            NodeContent::Fill(leaf) => {
                self.check(copied.is_none_or(|item| item == (separator, leaf)), page, "copies of different slots")?;
                *copy = Some((separator, leaf));
                self.above.pop();
                return Ok(());
            }
            NodeContent::Data(leaf) => {
                let same = copied.is_none_or(|item| item == (separator, leaf));
                self.check(same, page, "a copy that differs from its slot")?;
                self.item((separator, leaf), depth, page)?;
            }
            NodeContent::Array(array) => self.array(array, depth)?,
            NodeContent::Children(children) => self.children(&children, depth)?,
            NodeContent::Mixed(child) => self.node(&child, depth + 1, page)?,
        }
        self.above.pop();
        let data = matches!(found.slot.content, NodeContent::Data(_));
        self.check(copied.is_none() || data, page, "a copy of a slot that is not DATA")?;
        let greatest = self.last.is_some_and(|last| last.0 == separator);
        self.check(greatest, page, "a slot whose separator is not the greatest below it")
    }

    fn item(&mut self, item: NodeItem<W>, layer: usize, page: PageNumber) -> Result<()> {
        self.check(self.last.is_none_or(|last| last.0 < item.0), page, "separators do not ascend")?;
        let in_slot = self.above.iter().all(|(node, slot)| node.slot_of(item.0) == *slot);
        self.check(in_slot, page, "a separator is not in its predicted slot")?;
        self.check(item.1 > 0 && item.1 < self.reader.pages.page_count(), page, "a leaf is beyond the file")?;
        self.last = Some(item);
        self.counts.layers += Layers::of(layer, 1);
        (self.leaf)(item.0, item.1)
    }

    fn run(&mut self, run: &ItemRun, depth: usize, page: PageNumber) -> Result<()> {
        self.check(run.len() > 0, page, "an empty run")?;
        let level = self.counts.level(depth + 1);
        level.entries += run.len() as u64;
        run.items().try_for_each(|item| self.item(item, depth + 1, page))
    }

    fn array(&mut self, array: ArrayLocation, depth: usize) -> Result<()> {
        let class = usize::from(array.class);
        let recent = self.recent.get(class).and_then(Option::as_ref).filter(|(number, _)| *number == array.page);
        let page = match recent {
            Some((_, page)) => page.clone(),
            None => self.reader.pages.read(array.page, inner(depth + 1))?,
        };
        let run = self.reader.array_in(array, page.clone())?;
        self.recent[class] = Some((array.page, page));
        self.counts.arrays += 1;
        self.counts.level(depth + 1).nodes += 1;
        match self.array_pages.get_mut(&array.page) {
            Some(known) => known.arrays += 1,
            None => {
                self.claim(array.page, 1, depth + 1)?;
                self.array_pages.insert(array.page, ArrayPage { class: array.class, arrays: 1 });
            }
        }
        self.run(&run, depth, array.page)
    }

    fn children(&mut self, children: &Children<W>, depth: usize) -> Result<()> {
        self.counts.two_layer += 1;
        self.counts.level(depth + 1).nodes += 1;
        for (i, &page) in children.pages[..children.count].iter().enumerate() {
            self.claim(page, 1, depth + 1)?;
            let run = self.reader.child(page, depth)?;
            self.run(&run, depth, page)?;
            let pivot = children.pivots.get(i).filter(|_| i + 1 < children.count);
            let holds = pivot.is_none_or(|pivot| self.last.is_some_and(|last| last.0 == *pivot));
            self.check(holds, page, "a pivot that is not the greatest separator of its child")?;
        }
        Ok(())
    }

    /// Checks that the lists contain exactly the pages with room for arrays, doubly linked.
    fn lists(&mut self, meta: &Metanode<W>) -> Result<()> {
        let reader = self.reader;
        let mut with_room = 0;
        for (&number, page) in &self.array_pages {
            let content = reader.pages.read(number, LISTS)?;
            let class = usize::from(page.class);
            let capacity = reader.shape.arrays_per_page(class);
            let used =
                (0..capacity).filter(|&index| u16_at(&content, offset_of(reader.shape, class, index)) > 0).count();
            self.check(used == page.arrays, number, "a packed array belongs to no slot, or to two")?;
            with_room += usize::from(used < capacity);
        }
        let mut listed = 0;
        if meta.lists != 0 {
            self.claim(meta.lists, 1, 0)?;
            let heads = reader.pages.read(meta.lists, LISTS)?;
            for class in 0..ARRAY_CLASSES {
                let (mut number, mut previous) = (u32_at(&heads, 4 * class), 0);
                while number != 0 {
                    let content = reader.pages.read(number, LISTS)?;
                    listed += 1;
                    let known = self.array_pages.get(&number).is_some_and(|page| {
                        usize::from(page.class) == class && page.arrays < reader.shape.arrays_per_page(class)
                    });
                    let linked = u32_at(&content, 4) == previous && content.get(CLASS) == Some(&(class as u8));
                    self.check(known && linked && listed <= with_room, number, "a wrong list of arrays")?;
                    (previous, number) = (number, u32_at(&content, 0));
                }
            }
        }
        self.check(listed == with_room, meta.lists, "a page with room for arrays is in no list")
    }

    fn statistics(self) -> IndexStatistics {
        let counts = self.counts;
        let entries = counts.layers.total();
        let weighted: i64 = counts.layers.iter().zip(1..).map(|(leaves, height)| leaves * height).sum();
        let height = counts.layers.iter().zip(1..).filter(|&(leaves, _)| leaves > 0).map(|(_, height)| height).max();
        IndexStatistics {
            entries: entries as u64,
            inner_pages: counts.pages,
            height: height.unwrap_or(0),
            mean_height: weighted as f64 / entries.max(1) as f64,
            levels: counts.levels,
            details: vec![
                ("mixed nodes", counts.mixed),
                ("slots", counts.slots),
                ("packed arrays", counts.arrays),
                ("two-layer nodes", counts.two_layer),
                ("leaves in the third layer or deeper", counts.layers.deep(0) as u64),
            ],
            ..IndexStatistics::default()
        }
    }
}
