//! Walks over a whole LIPP tree: verification, counts, release.

use super::cells::CellPage;
use super::header::Counts;
use super::link::Link;
use super::mixed::{Mixed, NULL, Slot};
use super::node::{Node, counts};
use super::rebuild::{Met, Walk};
use super::recent::RecentPages;
use super::search::{check_depth, path_to};
use super::shape::{CLASSES, Shape};
use super::state::State;
use super::tree::Lipp;
use super::wide::holds;
use ogive::Result;
use ogive::index::extend::{LevelStatistics, Statistics, Visit, Visitor, Word};
use ogive::page::{PageNumber, Pages};
use std::collections::BTreeMap;

/// What verification has seen so far.
struct Verifier<'a, W> {
    pages: &'a dyn Pages,
    shape: Shape,
    visitor: &'a mut dyn Visitor<W>,
    nodes_left: u64,
    last_key: Option<W>,
    /// Cells in use, by page: a bit each.
    cells: BTreeMap<PageNumber, u64>,
}

/// The entries below a node: how many, the least and the greatest key.
type Range<W> = (u64, Option<(W, W)>);

impl Lipp {
    pub(super) fn verify_tree<W: Word>(
        &self,
        pages: &dyn Pages,
        state: &[u8],
        visitor: &mut dyn Visitor<W>,
    ) -> Result<()> {
        let shape = self.shape::<W>(pages)?;
        let state: State<W> = State::load(pages, &shape, state)?;
        let nodes_left = u64::from(pages.page_count()) * shape.cells_in_page(0) as u64;
        let recent = RecentPages::new(pages);
        let mut verifier =
            Verifier { pages: &recent, shape, visitor, nodes_left, last_key: None, cells: BTreeMap::new() };
        let (entries, _) = match &state.root {
            Some(root) => verifier.node(root, 0)?,
            None => (0, None),
        };
        if entries != state.entries {
            return Err(pages.damaged(0, "the state counts other entries than there are"));
        }
        verifier.cell_pages(&state.free_cells)
    }

    pub(super) fn count_nodes<W: Word>(&self, pages: &dyn Pages, state: &[u8]) -> Result<Statistics> {
        let shape = self.shape::<W>(pages)?;
        let state: State<W> = State::load(pages, &shape, state)?;
        let mut counter = Counter::default();
        let Some(root) = state.root else { return Ok(counter.statistics()) };
        Walk::new(&RecentPages::new(pages), &shape).run(&root, 0, &mut |met| {
            match met {
                Met::Node(link, node, depth) => counter.node(&shape, link, node, depth),
                Met::Entry(_, _, depth) => counter.entry(depth),
            }
            Ok(())
        })?;
        Ok(counter.statistics())
    }

    pub(super) fn explain_path<W: Word>(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<Visit>> {
        let shape = self.shape::<W>(pages)?;
        let Some(root) = State::<W>::load(pages, &shape, state)?.root else { return Ok(Vec::new()) };
        let path = path_to(pages, &shape, &root, key)?;
        let mut visits = Vec::new();
        for (depth, step) in path.iter().enumerate() {
            let place = step.place;
            let (node, page, entries, detail) = match &step.node {
                Node::Mixed(mixed) => {
                    let name = if mixed.wide.is_some() { "wide node" } else { "cell" };
                    let found = match mixed.slot(pages, place)? {
                        Slot::Null => "NULL",
                        Slot::Data(found, _) if found == key => "DATA, the key",
                        Slot::Data(..) => "DATA, another key",
                        Slot::Node(_) => "NODE",
                    };
                    (name, mixed.page_of(place), u64::from(mixed.slots), format!("slot {place} computed: {found}"))
                }
                Node::Packed(packed) => {
                    let found = if packed.find(key).is_ok() { "found" } else { "absent" };
                    let detail = format!("entry {place} by binary search: {found}");
                    ("packed node", packed.cell.number, packed.count as u64, detail)
                }
                Node::Fence(fence) => {
                    let detail = format!("child {place} by binary search");
                    ("fence", fence.cell.number, fence.count as u64, detail)
                }
            };
            visits.push(Visit { node, page, depth: depth as u8, entries, detail });
        }
        Ok(visits)
    }
}

impl<W: Word> Verifier<'_, W> {
    fn node(&mut self, link: &Link<W>, depth: u8) -> Result<Range<W>> {
        check_depth(self.pages, link, depth)?;
        let damaged = |verifier: &Self, detail| Err(verifier.pages.damaged(link.page(), detail));
        self.nodes_left = match self.nodes_left.checked_sub(1) {
            Some(left) => left,
            None => return damaged(self, "nodes share cells"),
        };
        self.claim(link)?;
        let node = Node::open(self.pages, &self.shape, link, depth)?;
        let found = match &node {
            Node::Mixed(mixed) => self.mixed(mixed, depth)?,
            Node::Packed(packed) => {
                let keys = (0..packed.count).map(|index| packed.key(index));
                let mut range = (0, None);
                for key in keys {
                    range = self.entry(link, range, key)?;
                }
                range
            }
            Node::Fence(fence) => {
                let mut range: Range<W> = (0, None);
                for index in 0..fence.count {
                    let (entries, keys) = self.node(&fence.link(self.pages, index)?, depth + 1)?;
                    let end = (index + 1 < fence.count).then(|| fence.separator(index + 1));
                    let low = |least: W| index == 0 || least >= fence.separator(index);
                    if !keys.is_some_and(|(least, greatest)| low(least) && end.is_none_or(|end| greatest < end)) {
                        return damaged(self, "a node holds keys that do not belong to it");
                    }
                    range = (range.0 + entries, join(range.1, keys));
                }
                range
            }
        };
        if found.0 == 0 && depth > 0 {
            return damaged(self, "a node is empty");
        }
        if depth > 0 && matches!(node, Node::Mixed(_)) {
            let counts: Counts = counts(self.pages, &self.shape, link, depth)?;
            if u64::from(counts.entries) != found.0 {
                return damaged(self, "a node counts other entries than there are");
            }
        }
        Ok(found)
    }

    fn entry(&mut self, link: &Link<W>, (entries, keys): Range<W>, key: W) -> Result<Range<W>> {
        if self.last_key.is_some_and(|last| key <= last) {
            return Err(self.pages.damaged(link.page(), "keys do not ascend"));
        }
        self.last_key = Some(key);
        self.visitor.entry(key)?;
        Ok((entries + 1, join(keys, Some((key, key)))))
    }

    fn mixed(&mut self, mixed: &Mixed<W>, depth: u8) -> Result<Range<W>> {
        let mut range: Range<W> = (0, None);
        let mut start = 0;
        while start < mixed.slots {
            let page = mixed.read_page(self.pages, mixed.page_of(start))?;
            let end = start.saturating_add(mixed.a_page).min(mixed.slots);
            let mut any = false;
            for slot in start..end {
                any |= mixed.kind(&page, slot) != NULL;
                let (entries, keys) = match mixed.slot_in(self.pages, &page, slot)? {
                    Slot::Null => continue,
                    Slot::Data(key, _) => {
                        let link = Link::Cell { page: mixed.page_of(slot), cell: 0 };
                        self.entry(&link, (0, None), key)?
                    }
                    Slot::Node(link) => self.node(&link, depth + 1)?,
                };
                let belongs = |key| mixed.slot_of(key) == slot;
                if !keys.is_some_and(|(least, greatest)| belongs(least) && belongs(greatest)) {
                    return Err(self.pages.damaged(mixed.page_of(slot), "a key lies in a slot that is not its own"));
                }
                range = (range.0 + entries, join(range.1, keys));
            }
            if mixed.wide.is_some() && any != holds(self.pages, &self.shape, mixed, start / mixed.a_page.max(1))? {
                return Err(self.pages.damaged(mixed.page_of(start), "the summary of a node is wrong"));
            }
            start = end;
        }
        Ok(range)
    }

    /// Tells the visitor of pages; of those that nodes share, once.
    fn claim(&mut self, link: &Link<W>) -> Result<()> {
        match *link {
            Link::Wide { first, size, .. } => {
                self.visitor.pages(first, self.shape.wide_pages_in_all(size).unwrap_or(1))
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

    /// The pages of cells count what they hold, and the lists name those that have room.
    fn cell_pages(&self, lists: &[PageNumber; CLASSES]) -> Result<()> {
        let mut roomy = 0_usize;
        for (&number, used) in &self.cells {
            let page = CellPage::read(self.pages, number)?;
            if u32::from(page.used) != used.count_ones() {
                return Err(self.pages.damaged(number, "a page counts other cells than there are"));
            }
            roomy += usize::from(usize::from(page.used) < self.shape.cells_in_page(page.class));
        }
        for (class, &first) in lists.iter().enumerate() {
            let (mut number, mut previous) = (first, 0);
            while number != 0 {
                let page = CellPage::read(self.pages, number)?;
                let fits = page.class == class && page.previous == previous && self.cells.contains_key(&number);
                let room = usize::from(page.used) < self.shape.cells_in_page(class);
                roomy = match roomy.checked_sub(1) {
                    Some(left) if fits && room => left,
                    _ => return Err(self.pages.damaged(number, "a page is wrongly listed for its free cells")),
                };
                (previous, number) = (number, page.next);
            }
        }
        if roomy > 0 {
            return Err(self.pages.damaged(0, "a page with free cells is not listed"));
        }
        Ok(())
    }
}

/// The range of two neighbouring ranges.
fn join<W: Word>(left: Option<(W, W)>, right: Option<(W, W)>) -> Option<(W, W)> {
    match (left, right) {
        (Some((least, _)), Some((_, greatest))) => Some((least, greatest)),
        (one, other) => one.or(other),
    }
}

/// Sums over all nodes.
#[derive(Default)]
struct Counter {
    statistics: Statistics,
    cell_pages: BTreeMap<PageNumber, u8>,
    depths: u64,
    slots: u64,
    wide: u64,
    cells: u64,
    packed: u64,
    fences: u64,
    /// Entries below one slot or child of the root, and below the one with the most: the conflict degree.
    below: u64,
    conflict_degree: u64,
}

impl Counter {
    fn level(&mut self, depth: u8) -> &mut LevelStatistics {
        let levels = &mut self.statistics.levels;
        if levels.len() <= usize::from(depth) {
            levels.resize(usize::from(depth) + 1, LevelStatistics::default());
        }
        &mut levels[usize::from(depth)]
    }

    fn node<W: Word>(&mut self, shape: &Shape, link: &Link<W>, node: &Node<W>, depth: u8) {
        if depth == 1 {
            self.below = 0;
        }
        match node {
            Node::Mixed(mixed) => self.slots += u64::from(mixed.slots),
            Node::Packed(_) => self.packed += 1,
            Node::Fence(_) => self.fences += 1,
        }
        let pages = match *link {
            Link::Wide { size, .. } => {
                let pages = u64::from(shape.wide_pages_in_all(size).unwrap_or(1));
                self.wide += 1;
                self.statistics.inner_pages += pages;
                pages
            }
            Link::Cell { page, .. } => {
                self.cells += 1;
                self.statistics.leaves += 1;
                // A page that nodes share counts at the depth of the first.
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

    fn statistics(self) -> Statistics {
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
