//! Walks over a whole LIPP tree: verification, statistics, explanation.

use super::cells::CellPage;
use super::header::LippCounts;
use super::link::Link;
use super::mixed::{LippSlot, Mixed, NULL};
use super::node::{LippNode, counts};
use super::rebuild::{LippWalk, Visited};
use super::recent::RecentPages;
use super::search::{check_depth, path_to};
use super::shape::{CLASSES, LippLayout};
use super::state::LippState;
use super::wide::is_page_used;
use ogive::Result;
use ogive::index::extend::{IndexLevelStatistics, IndexStatistics, IndexVisit, Visitor, Word};
use ogive::page::{PageNumber, Pages};
use std::collections::BTreeMap;

/// The progress of a verification.
struct LippVerifier<'a, W> {
    pages: &'a dyn Pages,
    shape: LippLayout,
    visitor: &'a mut dyn Visitor<W>,
    nodes_left: u64,
    last_key: Option<W>,
    /// The cells in use, by page, one bit each.
    cells: BTreeMap<PageNumber, u64>,
}

/// The entries of a subtree: their number, and the least and the greatest key.
type EntryRange<W> = (u64, Option<(W, W)>);

/// Checks a whole tree.
pub(super) fn verify<W: Word>(
    pages: &dyn Pages,
    shape: LippLayout,
    state: &LippState<W>,
    visitor: &mut dyn Visitor<W>,
) -> Result<()> {
    let nodes_left = u64::from(pages.page_count()) * shape.cells_in_page(0) as u64;
    let recent = RecentPages::new(pages);
    let mut verifier =
        LippVerifier { pages: &recent, shape, visitor, nodes_left, last_key: None, cells: BTreeMap::new() };
    let (entries, _) = match &state.root {
        Some(root) => verifier.node(root, 0)?,
        None => (0, None),
    };
    if entries != state.entries {
        return Err(pages.damaged(0, "the state has a wrong number of entries"));
    }
    verifier.cell_pages(&state.free_cells)
}

/// Counts the nodes below a root.
pub(super) fn statistics<W: Word>(
    pages: &dyn Pages,
    shape: &LippLayout,
    root: Option<Link<W>>,
) -> Result<IndexStatistics> {
    let mut counter = NodeCounter::default();
    let Some(root) = root else { return Ok(counter.statistics()) };
    LippWalk::new(&RecentPages::new(pages), shape).run(&root, 0, &mut |visited| {
        match visited {
            Visited::Node(link, node, depth) => counter.node(shape, link, node, depth),
            Visited::Entry(_, _, depth) => counter.entry(depth),
        }
        Ok(())
    })?;
    Ok(counter.statistics())
}

/// The path of a lookup.
pub(super) fn explain<W: Word>(
    pages: &dyn Pages,
    shape: &LippLayout,
    root: &Link<W>,
    key: W,
) -> Result<Vec<IndexVisit>> {
    let path = path_to(pages, shape, root, key)?;
    let mut visits = Vec::new();
    for (depth, step) in path.iter().enumerate() {
        let index = step.index;
        let (node, page, entries, detail) = match &step.node {
            LippNode::Mixed(mixed) => {
                let name = if mixed.wide.is_some() { "wide node" } else { "cell" };
                let found = match mixed.slot(pages, index)? {
                    LippSlot::Null => "NULL",
                    LippSlot::Data(found, _) if found == key => "DATA, the key",
                    LippSlot::Data(..) => "DATA, another key",
                    LippSlot::Node(_) => "NODE",
                };
                (name, mixed.page_of(index), u64::from(mixed.slots), format!("slot {index} computed: {found}"))
            }
            LippNode::Packed(packed) => {
                let found = if packed.find(key).is_ok() { "found" } else { "absent" };
                let detail = format!("entry {index} by binary search: {found}");
                ("packed node", packed.cell.number, packed.count as u64, detail)
            }
            LippNode::Fence(fence) => {
                let detail = format!("child {index} by binary search");
                ("fence", fence.cell.number, fence.count as u64, detail)
            }
        };
        visits.push(IndexVisit { node, page, depth: depth as u8, entries, detail });
    }
    Ok(visits)
}

impl<W: Word> LippVerifier<'_, W> {
    fn node(&mut self, link: &Link<W>, depth: u8) -> Result<EntryRange<W>> {
        check_depth(self.pages, link, depth)?;
        let damaged = |verifier: &Self, detail| Err(verifier.pages.damaged(link.page(), detail));
        self.nodes_left = match self.nodes_left.checked_sub(1) {
            Some(left) => left,
            None => return damaged(self, "nodes share cells"),
        };
        self.claim(link)?;
        let node = LippNode::open(self.pages, &self.shape, link, depth)?;
        let found = match &node {
            LippNode::Mixed(mixed) => self.mixed(mixed, depth)?,
            LippNode::Packed(packed) => {
                let keys = (0..packed.count).map(|index| packed.key(index));
                let mut range = (0, None);
                for key in keys {
                    range = self.entry(link, range, key)?;
                }
                range
            }
            LippNode::Fence(fence) => {
                let mut range: EntryRange<W> = (0, None);
                for index in 0..fence.count {
                    let (entries, keys) = self.node(&fence.link(self.pages, index)?, depth + 1)?;
                    let end = (index + 1 < fence.count).then(|| fence.separator(index + 1));
                    let low = |least: W| index == 0 || least >= fence.separator(index);
                    if !keys.is_some_and(|(least, greatest)| low(least) && end.is_none_or(|end| greatest < end)) {
                        return damaged(self, "a node is_page_used keys that do not belong to it");
                    }
                    range = (range.0 + entries, join(range.1, keys));
                }
                range
            }
        };
        if found.0 == 0 && depth > 0 {
            return damaged(self, "a node is empty");
        }
        if depth > 0 && matches!(node, LippNode::Mixed(_)) {
            let counts: LippCounts = counts(self.pages, &self.shape, link, depth)?;
            if u64::from(counts.entries) != found.0 {
                return damaged(self, "a node has a wrong number of entries");
            }
        }
        Ok(found)
    }

    fn entry(&mut self, link: &Link<W>, (entries, keys): EntryRange<W>, key: W) -> Result<EntryRange<W>> {
        if self.last_key.is_some_and(|last| key <= last) {
            return Err(self.pages.damaged(link.page(), "keys do not ascend"));
        }
        self.last_key = Some(key);
        self.visitor.entry(key)?;
        Ok((entries + 1, join(keys, Some((key, key)))))
    }

    fn mixed(&mut self, mixed: &Mixed<W>, depth: u8) -> Result<EntryRange<W>> {
        let mut range: EntryRange<W> = (0, None);
        let mut start = 0;
        while start < mixed.slots {
            let page = mixed.read_page(self.pages, mixed.page_of(start))?;
            let end = start.saturating_add(mixed.slots_per_page).min(mixed.slots);
            let mut any = false;
            for slot in start..end {
                any |= mixed.kind(&page, slot) != NULL;
                let (entries, keys) = match mixed.slot_in(self.pages, &page, slot)? {
                    LippSlot::Null => continue,
                    LippSlot::Data(key, _) => {
                        let link = Link::Cell { page: mixed.page_of(slot), cell: 0 };
                        self.entry(&link, (0, None), key)?
                    }
                    LippSlot::Node(link) => self.node(&link, depth + 1)?,
                };
                let belongs = |key| mixed.slot_of(key) == slot;
                if !keys.is_some_and(|(least, greatest)| belongs(least) && belongs(greatest)) {
                    return Err(self.pages.damaged(mixed.page_of(slot), "a key is in a wrong slot"));
                }
                range = (range.0 + entries, join(range.1, keys));
            }
            if mixed.wide.is_some()
                && any != is_page_used(self.pages, &self.shape, mixed, start / mixed.slots_per_page.max(1))?
            {
                return Err(self.pages.damaged(mixed.page_of(start), "the summary of a node is wrong"));
            }
            start = end;
        }
        Ok(range)
    }

    /// Reports pages to the visitor; shared pages once.
    fn claim(&mut self, link: &Link<W>) -> Result<()> {
        match *link {
            Link::Wide { first, size, .. } => {
                self.visitor.pages(first, self.shape.wide_extent_pages(size).unwrap_or(1))
            }
            Link::Cell { page, cell } => {
                let first = !self.cells.contains_key(&page);
                let used = self.cells.entry(page).or_default();
                let bit = 1_u64.checked_shl(u32::from(cell)).filter(|bit| *used & bit == 0);
                let Some(bit) = bit else { return Err(self.pages.damaged(page, "two pointers lead to one cell")) };
                *used |= bit;
                if first { self.visitor.pages(page, 1) } else { Ok(()) }
            }
        }
    }

    /// Checks the counts of the pages of cells, and that the lists contain those with a free cell.
    fn cell_pages(&self, lists: &[PageNumber; CLASSES]) -> Result<()> {
        let mut with_room = 0_usize;
        for (&number, used) in &self.cells {
            let page = CellPage::read(self.pages, number)?;
            if u32::from(page.used) != used.count_ones() {
                return Err(self.pages.damaged(number, "a page has a wrong number of cells"));
            }
            with_room += usize::from(usize::from(page.used) < self.shape.cells_in_page(page.class));
        }
        for (class, &first) in lists.iter().enumerate() {
            let (mut number, mut previous) = (first, 0);
            while number != 0 {
                let page = CellPage::read(self.pages, number)?;
                let fits = page.class == class && page.previous == previous && self.cells.contains_key(&number);
                let room = usize::from(page.used) < self.shape.cells_in_page(class);
                with_room = match with_room.checked_sub(1) {
                    Some(left) if fits && room => left,
                    _ => return Err(self.pages.damaged(number, "a wrong page in a list of free cells")),
                };
                (previous, number) = (number, page.next);
            }
        }
        if with_room > 0 {
            return Err(self.pages.damaged(0, "a page with free cells is in no list"));
        }
        Ok(())
    }
}

/// The union of two adjacent ranges.
fn join<W: Word>(left: Option<(W, W)>, right: Option<(W, W)>) -> Option<(W, W)> {
    match (left, right) {
        (Some((least, _)), Some((_, greatest))) => Some((least, greatest)),
        (one, other) => one.or(other),
    }
}

/// Counts over all nodes.
#[derive(Default)]
struct NodeCounter {
    statistics: IndexStatistics,
    cell_pages: BTreeMap<PageNumber, u8>,
    depths: u64,
    slots: u64,
    wide: u64,
    cells: u64,
    packed: u64,
    fences: u64,
    /// Number of entries below the current slot or child of the root, and the greatest such number: the conflict
    /// degree.
    below: u64,
    conflict_degree: u64,
}

impl NodeCounter {
    fn level(&mut self, depth: u8) -> &mut IndexLevelStatistics {
        let levels = &mut self.statistics.levels;
        if levels.len() <= usize::from(depth) {
            levels.resize(usize::from(depth) + 1, IndexLevelStatistics::default());
        }
        &mut levels[usize::from(depth)]
    }

    fn node<W: Word>(&mut self, shape: &LippLayout, link: &Link<W>, node: &LippNode<W>, depth: u8) {
        if depth == 1 {
            self.below = 0;
        }
        match node {
            LippNode::Mixed(mixed) => self.slots += u64::from(mixed.slots),
            LippNode::Packed(_) => self.packed += 1,
            LippNode::Fence(_) => self.fences += 1,
        }
        let pages = match *link {
            Link::Wide { size, .. } => {
                let pages = u64::from(shape.wide_extent_pages(size).unwrap_or(1));
                self.wide += 1;
                self.statistics.inner_pages += pages;
                pages
            }
            Link::Cell { page, .. } => {
                self.cells += 1;
                self.statistics.leaves += 1;
                // A shared page counts at the depth of its first node.
                u64::from(self.cell_pages.insert(page, depth).is_none())
            }
        };
        let level = self.level(depth);
        level.nodes += 1;
        level.pages += pages;
    }

    fn entry(&mut self, depth: u8) {
        self.level(depth).entries += 1;
        self.below = if depth > 0 { self.below + 1 } else { 1 };
        self.conflict_degree = self.conflict_degree.max(self.below);
        self.statistics.entries += 1;
        self.depths += u64::from(depth) + 1;
    }

    fn statistics(self) -> IndexStatistics {
        let mut statistics = self.statistics;
        statistics.leaf_pages = self.cell_pages.len() as u64;
        statistics.height = statistics.levels.len() as u32;
        statistics.mean_height = self.depths as f64 / statistics.entries.max(1) as f64;
        statistics.details = vec![
            ("wide nodes", self.wide),
            ("cells", self.cells),
            ("packed nodes", self.packed),
            ("fences", self.fences),
            ("slots", self.slots),
            ("conflict degree", self.conflict_degree),
        ];
        statistics
    }
}
