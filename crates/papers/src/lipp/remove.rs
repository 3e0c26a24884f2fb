//! LIPP removals.

use super::cells::{free_cell, place_logged};
use super::link::Link;
use super::mixed::Slot;
use super::node::{Node, counts, set_counts};
use super::packed::{self, Packed};
use super::rebuild::set_link;
use super::search::{Step, path_to};
use super::shape::{CLASSES, Shape};
use super::state::State;
use super::tree::Lipp;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Phase, Transaction};

/// When no more than one in so many entries is left since a node was built, it is built anew.
const REBUILD_SHARE: u64 = 8;
/// Part of the largest packed node, one in so many, from which one under a fence looks for room beside it.
const THIN_SHARE: usize = 8;

impl Lipp {
    /// # Errors
    /// Those of the pages; [`ogive::Error::Damaged`].
    pub(super) fn remove_entry<W: Word>(&self, tx: &mut Transaction, bytes: &mut Vec<u8>, key: W) -> Result<u64> {
        tx.enter(Phase::Search);
        let shape = self.shape::<W>(tx)?;
        let mut state = State::load(tx, &shape, bytes)?;
        let Some(root) = state.root else { return Ok(0) };
        let path = path_to(tx, &shape, &root, key)?;
        tx.enter(Phase::Insert);
        if !take(tx, &path, key)? {
            return Ok(0);
        }
        state.entries = state.entries.saturating_sub(1);
        tx.enter(Phase::Statistics);
        let thin = self.count_removal(tx, &shape, &state, &path)?;
        tx.enter(Phase::Structure);
        if state.entries == 0 {
            // What was taken out was the last: the nodes on the path are all there are.
            let nodes: Vec<Link<W>> = path.iter().map(|step| step.link).collect();
            Self::free_all(tx, &shape, &mut state, &nodes);
            state = State::EMPTY;
        } else if let Some(level) = thin {
            tx.count("rebuild");
            self.rebuild(tx, &shape, &mut state, &path, level)?;
        } else if let Some(Step { node: Node::Packed(before), .. }) = path.last() {
            self.shrink_packed(tx, &shape, &mut state, &path, before.count - 1)?;
        }
        *bytes = state.stored(&shape);
        Ok(1)
    }

    /// Counts a removal in all nodes with models on its path; returns the topmost that should be built anew, or go.
    fn count_removal<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &Shape,
        state: &State<W>,
        path: &[Step<W>],
    ) -> Result<Option<usize>> {
        let least = u64::from(self.options.rebuild_least / u32::from(self.options.rebuild_growth));
        let mut topmost = (state.built > least && state.entries < state.built / REBUILD_SHARE).then_some(0);
        for (level, step) in path.iter().enumerate().skip(1) {
            if !matches!(step.node, Node::Mixed(_)) {
                continue;
            }
            let mut counts = counts(tx, shape, &step.link, level as u8)?;
            counts.entries = counts.entries.saturating_sub(1);
            set_counts(tx, shape, &step.link, level as u8, &counts)?;
            let in_slot = level > 0 && matches!(path.get(level - 1), Some(Step { node: Node::Mixed(_), .. }));
            let thin = u64::from(counts.entries) < u64::from(counts.built) / REBUILD_SHARE;
            if thin || counts.entries == 0 || in_slot && counts.entries == 1 {
                topmost = topmost.or(Some(level));
            }
        }
        Ok(topmost)
    }

    /// Looks at the packed node at the end of a path, which has lost an entry and has `left` ones now.
    fn shrink_packed<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &Shape,
        state: &mut State<W>,
        path: &[Step<W>],
        left: usize,
    ) -> Result<()> {
        let level = path.len().saturating_sub(1);
        let above = level.checked_sub(1).and_then(|above| path.get(above));
        match above.map(|above| &above.node) {
            Some(Node::Mixed(_)) if left == 1 => self.rebuild(tx, shape, state, path, level),
            Some(_) if left == 0 => {
                tx.count("packed node removed");
                let Some(Link::Cell { page, cell }) = path.last().map(|step| step.link) else { return Ok(()) };
                free_cell(tx, shape, &mut state.free_cells, page, cell)?;
                self.drop_child(tx, shape, state, path, level)
            }
            Some(Node::Fence(_)) if left * THIN_SHARE <= shape.packed_entries(CLASSES - 1) => {
                self.merge(tx, shape, state, path)
            }
            _ => Ok(()),
        }
    }

    /// Puts the entries of a packed node into the one beside it under the same fence, where both together leave a
    /// quarter of the largest free.
    fn merge<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &Shape,
        state: &mut State<W>,
        path: &[Step<W>],
    ) -> Result<()> {
        let [above @ .., step] = path else { return Ok(()) };
        let Some(Step { node: Node::Fence(fence), place, .. }) = above.last() else { return Ok(()) };
        let (level, index) = (above.len(), *place as usize);
        let beside = index.checked_sub(1).unwrap_or(index + 1);
        if beside >= fence.count {
            return Ok(());
        }
        let depth = level as u8;
        let sibling = fence.link(tx, beside)?;
        let (Node::Packed(mine), Node::Packed(other)) =
            (Node::open(tx, shape, &step.link, depth)?, Node::open(tx, shape, &sibling, depth)?)
        else {
            return Ok(());
        };
        let entries = mine.count + other.count;
        if entries > shape.packed_entries(CLASSES - 1) * 3 / 4 {
            return Ok(());
        }
        tx.count("packed node merge");
        let (first, second) = if beside < index { (&other, &mine) } else { (&mine, &other) };
        let all =
            |packed: &Packed<W>| (0..packed.count).map(|at| (packed.key(at), packed.value(at).to_vec())).collect();
        let both: Vec<(W, Vec<u8>)> =
            [first, second].into_iter().flat_map(|packed| -> Vec<_> { all(packed) }).collect();
        let class = shape.class_of_entries(entries).unwrap_or(CLASSES - 1);
        let content = packed::content(shape, both.iter().map(|(key, value)| (*key, &**value)));
        let merged = place_logged(tx, shape, &mut state.free_cells, class, &content)?;
        for packed in [&mine, &other] {
            free_cell(tx, shape, &mut state.free_cells, packed.cell.number, packed.cell.cell)?;
        }
        fence.set_link(tx, beside, &merged)?;
        self.drop_child(tx, shape, state, path, level)
    }

    /// Takes out the pointer to step `level` of a path; a fence that is left with one child gives way to it.
    pub(super) fn drop_child<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &Shape,
        state: &mut State<W>,
        path: &[Step<W>],
        level: usize,
    ) -> Result<()> {
        let above = level.checked_sub(1);
        let Some((above, step)) = above.and_then(|above| Some((above, path.get(above)?))) else {
            state.root = None;
            return Ok(());
        };
        match &step.node {
            Node::Mixed(mixed) => mixed.set(tx, step.place, &Slot::Null),
            Node::Packed(_) => Ok(()),
            Node::Fence(_) => {
                let Node::Fence(fence) = Node::open(tx, shape, &step.link, above as u8)? else { return Ok(()) };
                if fence.count > 2 {
                    return fence.remove(tx, step.place as usize);
                }
                tx.count("fence removed");
                let heir = (fence.count == 2).then(|| fence.link(tx, 1 - (step.place as usize).min(1))).transpose()?;
                free_cell(tx, shape, &mut state.free_cells, fence.cell.number, fence.cell.cell)?;
                match heir {
                    Some(heir) => set_link(tx, state, path, above, &heir),
                    None => self.drop_child(tx, shape, state, path, above),
                }
            }
        }
    }
}

/// Takes the entry of a key out of the node at the end of its path; false if it is not there.
fn take<W: Word>(tx: &mut Transaction, path: &[Step<W>], key: W) -> Result<bool> {
    let Some(step) = path.last() else { return Ok(false) };
    match &step.node {
        Node::Mixed(mixed) => match mixed.slot(tx, step.place)? {
            Slot::Data(found, _) if found == key => mixed.set(tx, step.place, &Slot::Null).map(|()| true),
            _ => Ok(false),
        },
        Node::Packed(packed) => match packed.find(key) {
            Ok(index) => packed.remove(tx, index).map(|()| true),
            Err(_) => Ok(false),
        },
        Node::Fence(_) => Ok(false),
    }
}
