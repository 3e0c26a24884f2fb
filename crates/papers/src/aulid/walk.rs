//! A walk over all AULID nodes that trusts nothing, and counts of them.

use super::arrays::{CLASS, LISTS, offset_of};
use super::layers::Layers;
use super::node::{ArrayPlace, Children, Content, FILL, Item, NULL, Node, RawSlot, Side, raw_at};
use super::run::Run;
use super::shape::ARRAY_CLASSES;
use super::view::{DEEPEST, Found, Metanode, View, inner, map_bit};
use crate::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{LevelStatistics, Statistics};
use ogive::page::{Page, PageNumber};
use std::collections::BTreeMap;

/// Told of each run of pages.
type Claim<'a> = &'a mut dyn FnMut(PageNumber, u32) -> Result<()>;
/// Told of each separator and its leaf.
type Leaf<'a, W> = &'a mut dyn FnMut(W, PageNumber) -> Result<()>;

/// What a walk has come across.
#[derive(Debug, Default)]
struct Tally {
    layers: Layers,
    levels: Vec<LevelStatistics>,
    pages: u64,
    mixed: u64,
    slots: u64,
    arrays: u64,
    two_layer: u64,
}

impl Tally {
    fn level(&mut self, depth: usize) -> &mut LevelStatistics {
        if self.levels.len() <= depth {
            self.levels.resize(depth + 1, LevelStatistics::default());
        }
        &mut self.levels[depth]
    }
}

/// A page of arrays that was come across: its class, the arrays met, and one page's content for what follows.
#[derive(Clone, Copy, Debug)]
struct ArrayPage {
    class: u8,
    met: usize,
}

struct Walker<'a, W> {
    view: View<'a>,
    claim: Claim<'a>,
    leaf: Leaf<'a, W>,
    tally: Tally,
    last: Option<Item<W>>,
    /// The nodes above, with the slot that leads down.
    above: Vec<(Node<W>, u32)>,
    array_pages: BTreeMap<PageNumber, ArrayPage>,
    /// The page of arrays read last, by class.
    recent: [Option<(PageNumber, Page)>; ARRAY_CLASSES],
}

impl<'a> View<'a> {
    /// Walks over everything beneath the metanode.
    pub(super) fn walk<W: Word>(&self, meta: &Metanode<W>, claim: Claim<'a>, leaf: Leaf<'a, W>) -> Result<Statistics> {
        let mut walker = Walker {
            view: *self,
            claim,
            leaf,
            tally: Tally::default(),
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

impl<W: Word> Walker<'_, W> {
    fn claim(&mut self, first: PageNumber, pages: u32, depth: usize) -> Result<()> {
        let end = u64::from(first) + u64::from(pages);
        self.tally.pages += u64::from(pages);
        self.tally.level(depth).pages += u64::from(pages);
        let all = u64::from(self.view.pages.page_count());
        if first == 0 || end > all || self.tally.pages > all {
            return Err(self.view.pages.damaged(first, "pages beyond the file, or twice in one tree"));
        }
        (self.claim)(first, pages)
    }

    /// The error unless something holds.
    fn check(&self, holds: bool, page: PageNumber, detail: &str) -> Result<()> {
        if holds { Ok(()) } else { Err(self.view.pages.damaged(page, detail)) }
    }

    fn node(&mut self, node: &Node<W>, depth: usize, from: PageNumber) -> Result<()> {
        self.check(depth < DEEPEST, from, "mixed nodes without end")?;
        let shape = self.view.shape;
        self.claim(node.first_page, node.pages(shape), depth)?;
        self.tally.mixed += 1;
        self.tally.slots += u64::from(node.slots);
        self.tally.level(depth).nodes += 1;
        let before = self.tally.layers;
        let mut copy = None;
        for index in 0..node.slot_pages(shape) {
            self.node_page(node, depth, index, &mut copy)?;
        }
        self.check(copy.is_none(), node.first_page, "a copy of no slot")?;
        let mut layers = self.tally.layers;
        layers -= before;
        self.check(layers.total() > 0, node.first_page, "a mixed node without leaves")?;
        let counts = node.counts;
        let exact = (i64::from(counts.size), i64::from(counts.deep)) == (layers.total(), layers.deep(depth));
        self.check(exact || !self.view.options.statistics, from, "statistics of a mixed node that are not true")
    }

    fn node_page(&mut self, node: &Node<W>, depth: usize, index: u32, copy: &mut Option<Item<W>>) -> Result<()> {
        let shape = self.view.shape;
        let number = node.first_page + index;
        let page = self.view.node_page(node, depth, index)?;
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
                Side::Here(place) => {
                    let free = side.get(place) == Some(&false);
                    self.check(free, number, "a side entry of two slots, or beyond the side area")?;
                    side[place] = true;
                }
                Side::Elsewhere(other) => self.claim(other, 1, depth)?,
            }
            let found = self.view.understand(node, depth, (number, &page), slot_number, &raw)?;
            if raw.kind == FILL {
                self.check(node.filled, number, "a copy of a slot where none can be")?;
            }
            self.slot(node, depth, number, &found, copy)?;
        }
        self.tally.level(depth).entries += used;
        if node.map_pages(shape) > 0 {
            let bits = shape.payload_bytes as u32 * 8;
            let map_number = node.first_page + node.slot_pages(shape) + index / bits;
            let map = self.view.pages.read(map_number, inner(depth))?;
            self.check(map_bit(&map, index % bits) == (used > 0), map_number, "a map that is not true")?;
        }
        Ok(())
    }

    fn slot(
        &mut self,
        node: &Node<W>,
        depth: usize,
        page: PageNumber,
        found: &Found<W>,
        copy: &mut Option<Item<W>>,
    ) -> Result<()> {
        let separator = found.slot.separator;
        let copied = copy.take();
        self.above.push((*node, found.slot_number));
        match found.slot.content {
            Content::Null => {}
            Content::Fill(leaf) => {
                self.check(copied.is_none_or(|item| item == (separator, leaf)), page, "copies of different slots")?;
                *copy = Some((separator, leaf));
                self.above.pop();
                return Ok(());
            }
            Content::Data(leaf) => {
                let same = copied.is_none_or(|item| item == (separator, leaf));
                self.check(same, page, "a copy that differs from its slot")?;
                self.item((separator, leaf), depth, page)?;
            }
            Content::Array(array) => self.array(array, depth)?,
            Content::Children(children) => self.children(&children, depth)?,
            Content::Mixed(child) => self.node(&child, depth + 1, page)?,
        }
        self.above.pop();
        let data = matches!(found.slot.content, Content::Data(_));
        self.check(copied.is_none() || data, page, "a copy of what is no DATA slot")?;
        let greatest = self.last.is_some_and(|last| last.0 == separator);
        self.check(greatest, page, "a slot whose separator is not the greatest beneath it")
    }

    fn item(&mut self, item: Item<W>, layer: usize, page: PageNumber) -> Result<()> {
        self.check(self.last.is_none_or(|last| last.0 < item.0), page, "separators that do not ascend")?;
        let at_home = self.above.iter().all(|(node, slot)| node.slot_of(item.0) == *slot);
        self.check(at_home, page, "a separator in a slot that its model does not predict")?;
        self.check(item.1 > 0 && item.1 < self.view.pages.page_count(), page, "a leaf beyond the file")?;
        self.last = Some(item);
        self.tally.layers += Layers::of(layer, 1);
        (self.leaf)(item.0, item.1)
    }

    fn run(&mut self, run: &Run, depth: usize, page: PageNumber) -> Result<()> {
        self.check(run.len() > 0, page, "a run of no items")?;
        let level = self.tally.level(depth + 1);
        level.entries += run.len() as u64;
        run.items().try_for_each(|item| self.item(item, depth + 1, page))
    }

    fn array(&mut self, array: ArrayPlace, depth: usize) -> Result<()> {
        let class = usize::from(array.class);
        let recent = self.recent.get(class).and_then(Option::as_ref).filter(|(number, _)| *number == array.page);
        let page = match recent {
            Some((_, page)) => page.clone(),
            None => self.view.pages.read(array.page, inner(depth + 1))?,
        };
        let run = self.view.array_in(array, page.clone())?;
        self.recent[class] = Some((array.page, page));
        self.tally.arrays += 1;
        self.tally.level(depth + 1).nodes += 1;
        match self.array_pages.get_mut(&array.page) {
            Some(known) => known.met += 1,
            None => {
                self.claim(array.page, 1, depth + 1)?;
                self.array_pages.insert(array.page, ArrayPage { class: array.class, met: 1 });
            }
        }
        self.run(&run, depth, array.page)
    }

    fn children(&mut self, children: &Children<W>, depth: usize) -> Result<()> {
        self.tally.two_layer += 1;
        self.tally.level(depth + 1).nodes += 1;
        for (i, &page) in children.pages[..children.count].iter().enumerate() {
            self.claim(page, 1, depth + 1)?;
            let run = self.view.child(page, depth)?;
            self.run(&run, depth, page)?;
            let pivot = children.pivots.get(i).filter(|_| i + 1 < children.count);
            let holds = pivot.is_none_or(|pivot| self.last.is_some_and(|last| last.0 == *pivot));
            self.check(holds, page, "a pivot that is not the greatest separator of its child")?;
        }
        Ok(())
    }

    /// The lists of pages with room for arrays: exactly those, and linked both ways.
    fn lists(&mut self, meta: &Metanode<W>) -> Result<()> {
        let view = self.view;
        let mut with_room = 0;
        for (&number, page) in &self.array_pages {
            let content = view.pages.read(number, LISTS)?;
            let class = usize::from(page.class);
            let places = view.shape.arrays_per_page(class);
            let used = (0..places).filter(|&place| u16_at(&content, offset_of(view.shape, class, place)) > 0).count();
            self.check(used == page.met, number, "a packed array that belongs to no slot, or to two")?;
            with_room += usize::from(used < places);
        }
        let mut listed = 0;
        if meta.lists != 0 {
            self.claim(meta.lists, 1, 0)?;
            let heads = view.pages.read(meta.lists, LISTS)?;
            for class in 0..ARRAY_CLASSES {
                let (mut number, mut previous) = (u32_at(&heads, 4 * class), 0);
                while number != 0 {
                    let content = view.pages.read(number, LISTS)?;
                    listed += 1;
                    let known = self.array_pages.get(&number).is_some_and(|page| {
                        usize::from(page.class) == class && page.met < view.shape.arrays_per_page(class)
                    });
                    let linked = u32_at(&content, 4) == previous && content.get(CLASS) == Some(&(class as u8));
                    self.check(known && linked && listed <= with_room, number, "a list of arrays that is not true")?;
                    (previous, number) = (number, u32_at(&content, 0));
                }
            }
        }
        self.check(listed == with_room, meta.lists, "a page with room for arrays that is in no list")
    }

    fn statistics(self) -> Statistics {
        let tally = self.tally;
        let entries = tally.layers.total();
        let weighted: i64 = tally.layers.iter().zip(1..).map(|(leaves, height)| leaves * height).sum();
        let height = tally.layers.iter().zip(1..).filter(|&(leaves, _)| leaves > 0).map(|(_, height)| height).max();
        Statistics {
            entries: entries as u64,
            inner_pages: tally.pages,
            height: height.unwrap_or(0),
            mean_height: weighted as f64 / entries.max(1) as f64,
            levels: tally.levels,
            details: vec![
                ("mixed nodes", tally.mixed),
                ("slots", tally.slots),
                ("packed arrays", tally.arrays),
                ("two-layer nodes", tally.two_layer),
                ("leaves in the third layer or deeper", tally.layers.deep(0) as u64),
            ],
            ..Statistics::default()
        }
    }
}
