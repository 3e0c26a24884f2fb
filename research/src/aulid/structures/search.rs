//! Searches for the leaf of a key (AULID, Section 4.2).

use super::node::{EntryLocation, MixedNode, NodeContent, NodeItem};
use super::reader::{DEPTH_MAX, FoundSlot, Metanode, NodeReader};
use ogive::Result;
use ogive::index::extend::IndexVisit;
use ogive::index::extend::Word;
use ogive::page::PageNumber;

/// A mixed node on a path, and the slot taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct MixedStep<W> {
    pub(super) node: MixedNode<W>,
    /// The location of the node's entry; `None` for the root, which is in the metanode.
    pub(super) location: Option<EntryLocation>,
    pub(super) slot_number: u32,
    /// The separator of that slot.
    pub(super) separator: W,
}

impl<W: Word> MixedStep<W> {
    pub(super) fn into(node: MixedNode<W>, location: Option<EntryLocation>) -> Self {
        Self { node, location, slot_number: 0, separator: W::MIN }
    }
}

/// The end of a path: a slot without a mixed node, and the item in or under it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathEnd<W> {
    pub(super) found: FoundSlot<W>,
    /// The index of the child in a two-layer node; else 0.
    pub(super) child: usize,
    /// The index of the item in an array or a child; else 0.
    pub(super) index: usize,
    /// The number of items of that array or child; else 1.
    pub(super) count: usize,
    pub(super) item: NodeItem<W>,
}

impl NodeReader<'_> {
    /// Finds the first separator not below `key`. `path` receives the mixed nodes on the path. Their slots may be after
    /// the predicted ones, but another page is read only if the next slot in use is there.
    pub(super) fn find<W: Word>(
        &self,
        meta: &Metanode<W>,
        key: W,
        path: &mut Vec<MixedStep<W>>,
    ) -> Result<Option<PathEnd<W>>> {
        let Some(root) = meta.root else { return Ok(None) };
        path.push(MixedStep::into(root, None));
        loop {
            let depth = path.len() - 1;
            let Some(step) = path.last_mut().filter(|_| depth < DEPTH_MAX) else {
                return Err(self.pages.damaged(root.first_page, "mixed nodes form a cycle"));
            };
            let found = self.successor(&step.node, depth, step.node.slot_of(key), key)?;
            let Some(found) = found else {
                return match depth {
                    0 => Ok(None),
                    _ => Err(self.pages.damaged(step.node.first_page, "a mixed node lacks a separator of its parent")),
                };
            };
            (step.slot_number, step.separator) = (found.slot_number, found.slot.separator);
            match Self::mixed(&found) {
                Some((node, location)) => path.push(MixedStep::into(node, Some(location))),
                None => return self.path_end(found, depth, key).map(Some),
            }
        }
    }

    pub(super) fn path_end<W: Word>(&self, found: FoundSlot<W>, depth: usize, key: W) -> Result<PathEnd<W>> {
        let (child, run, page) = match found.slot.content {
            NodeContent::Data(leaf) | NodeContent::Fill(leaf) => {
                let item = (found.slot.separator, leaf);
                return Ok(PathEnd { found, child: 0, index: 0, count: 1, item });
            }
            NodeContent::Array(array) => (0, self.array(array, depth)?, array.page),
            NodeContent::Children(children) => {
                let child = children.child_of(key);
                (child, self.child(children.pages[child], depth)?, children.pages[child])
            }
            NodeContent::Null | NodeContent::Mixed(_) => return Err(self.pages.damaged(0, "an invalid slot")),
        };
        let index = run.rank(key);
        if index == run.len() {
            return Err(self.pages.damaged(page, "a run lacks a separator of its slot"));
        }
        Ok(PathEnd { found, child, index, count: run.len(), item: run.item(index) })
    }

    /// The leaf of the first separator not below `key`.
    pub(super) fn leaf<W: Word>(&self, meta: &Metanode<W>, key: W) -> Result<Option<PageNumber>> {
        let end = self.find(meta, key, &mut Vec::new())?;
        Ok(end.map(|end| end.item.1))
    }

    /// The path to the first separator not below `key`, with explanations.
    pub(super) fn explain<W: Word>(&self, meta: &Metanode<W>, key: W) -> Result<Vec<IndexVisit>> {
        let mut path = Vec::new();
        let end = self.find(meta, key, &mut path)?;
        let mut visits: Vec<IndexVisit> =
            path.iter().enumerate().map(|(depth, step)| self.visit(step, depth, key)).collect();
        let Some(end) = end else {
            visits.iter_mut().for_each(|visit| visit.detail.push_str(", and no separator from there on"));
            return Ok(visits);
        };
        let (node, page, detail) = match end.found.slot.content {
            NodeContent::Array(array) => ("packed array", array.page, format!("array {} of its page", array.index)),
            NodeContent::Children(children) => {
                ("two-layer node", children.pages[end.child], format!("child {} of {}", end.child, children.count))
            }
            _ => return Ok(visits),
        };
        let detail = format!("{detail}, item {} of {}: separator {}", end.index, end.count, end.item.0);
        visits.push(IndexVisit { node, page, depth: path.len() as u8, entries: end.count as u64, detail });
        Ok(visits)
    }

    fn visit<W: Word>(&self, step: &MixedStep<W>, depth: usize, key: W) -> IndexVisit {
        let predicted = step.node.slot_of(key);
        let (index, _) = step.node.locate(self.shape, step.slot_number);
        let mut detail = format!("slot {predicted} of {} predicted", step.node.slots);
        if step.slot_number > predicted {
            detail.push_str(&format!(", slot {} is the next in use", step.slot_number));
        }
        detail.push_str(&format!(": separator {}", step.separator));
        IndexVisit {
            node: "mixed node",
            page: step.node.first_page + index,
            depth: depth as u8,
            entries: u64::from(step.node.slots),
            detail,
        }
    }
}
