//! The AULID descent: the leaf of a key (Section 4.2).

use super::node::{Content, Home, Item, Node};
use super::view::{DEEPEST, Found, Metanode, View};
use ogive::Result;
use ogive::index::extend::Visit;
use ogive::index::extend::Word;
use ogive::page::PageNumber;

/// A mixed node on a path, and the slot through which the path leaves it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<W> {
    pub(super) node: Node<W>,
    /// Where the node's entry lies; `None` for the root, which is in the metanode.
    pub(super) home: Option<Home>,
    pub(super) slot_number: u32,
    /// The separator of that slot.
    pub(super) separator: W,
}

impl<W: Word> Step<W> {
    pub(super) fn into(node: Node<W>, home: Option<Home>) -> Self {
        Self { node, home, slot_number: 0, separator: W::MIN }
    }
}

/// The end of a path: a slot that leads to no mixed node, and the item in or under it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landing<W> {
    pub(super) found: Found<W>,
    /// Which child of a two-layer node; 0 otherwise.
    pub(super) child: usize,
    /// Which item of an array or a child; 0 otherwise.
    pub(super) index: usize,
    /// Items in that array or child; 1 otherwise.
    pub(super) count: usize,
    pub(super) item: Item<W>,
}

impl View<'_> {
    /// The first separator that is not below `key`. `path` receives the mixed nodes passed; their slots may lie behind
    /// those that the models predict, but never is a page read in vain unless the next slot in use lies in another
    /// page.
    pub(super) fn find<W: Word>(
        &self,
        meta: &Metanode<W>,
        key: W,
        path: &mut Vec<Step<W>>,
    ) -> Result<Option<Landing<W>>> {
        let Some(root) = meta.root else { return Ok(None) };
        path.push(Step::into(root, None));
        loop {
            let depth = path.len() - 1;
            let Some(step) = path.last_mut().filter(|_| depth < DEEPEST) else {
                return Err(self.pages.damaged(root.first_page, "mixed nodes without end"));
            };
            let found = self.successor(&step.node, depth, step.node.slot_of(key), key)?;
            let Some(found) = found else {
                return match depth {
                    0 => Ok(None),
                    _ => Err(self.pages.damaged(step.node.first_page, "a mixed node without the separator promised")),
                };
            };
            (step.slot_number, step.separator) = (found.slot_number, found.slot.separator);
            match Self::mixed(&found) {
                Some((node, home)) => path.push(Step::into(node, Some(home))),
                None => return self.land(found, depth, key).map(Some),
            }
        }
    }

    pub(super) fn land<W: Word>(&self, found: Found<W>, depth: usize, key: W) -> Result<Landing<W>> {
        let (child, run, page) = match found.slot.content {
            Content::Data(leaf) | Content::Fill(leaf) => {
                let item = (found.slot.separator, leaf);
                return Ok(Landing { found, child: 0, index: 0, count: 1, item });
            }
            Content::Array(array) => (0, self.array(array, depth)?, array.page),
            Content::Children(children) => {
                let child = children.child_of(key);
                (child, self.child(children.pages[child], depth)?, children.pages[child])
            }
            Content::Null | Content::Mixed(_) => return Err(self.pages.damaged(0, "a slot that leads nowhere")),
        };
        let index = run.rank(key);
        if index == run.len() {
            return Err(self.pages.damaged(page, "a run without the separator promised"));
        }
        Ok(Landing { found, child, index, count: run.len(), item: run.item(index) })
    }

    /// The leaf under the first separator that is not below `key`.
    pub(super) fn leaf<W: Word>(&self, meta: &Metanode<W>, key: W) -> Result<Option<PageNumber>> {
        let landing = self.find(meta, key, &mut Vec::new())?;
        Ok(landing.map(|landing| landing.item.1))
    }

    /// The path to the first separator that is not below `key`, for people.
    pub(super) fn explain<W: Word>(&self, meta: &Metanode<W>, key: W) -> Result<Vec<Visit>> {
        let mut path = Vec::new();
        let landing = self.find(meta, key, &mut path)?;
        let mut visits: Vec<Visit> =
            path.iter().enumerate().map(|(depth, step)| self.visit(step, depth, key)).collect();
        let Some(landing) = landing else {
            visits.iter_mut().for_each(|visit| visit.detail.push_str(", and no separator from there on"));
            return Ok(visits);
        };
        let (node, page, detail) = match landing.found.slot.content {
            Content::Array(array) => ("packed array", array.page, format!("array {} of its page", array.place)),
            Content::Children(children) => (
                "two-layer node",
                children.pages[landing.child],
                format!("child {} of {}", landing.child, children.count),
            ),
            _ => return Ok(visits),
        };
        let detail = format!("{detail}, item {} of {}: separator {}", landing.index, landing.count, landing.item.0);
        visits.push(Visit { node, page, depth: path.len() as u8, entries: landing.count as u64, detail });
        Ok(visits)
    }

    fn visit<W: Word>(&self, step: &Step<W>, depth: usize, key: W) -> Visit {
        let predicted = step.node.slot_of(key);
        let (index, _) = step.node.locate(self.shape, step.slot_number);
        let mut detail = format!("slot {predicted} of {} predicted", step.node.slots);
        if step.slot_number > predicted {
            detail.push_str(&format!(", slot {} is the next in use", step.slot_number));
        }
        detail.push_str(&format!(": separator {}", step.separator));
        Visit {
            node: "mixed node",
            page: step.node.first_page + index,
            depth: depth as u8,
            entries: u64::from(step.node.slots),
            detail,
        }
    }
}
