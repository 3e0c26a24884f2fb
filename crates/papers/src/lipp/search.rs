//! The LIPP descent: from a key to its slot.

use super::link::Link;
use super::mixed::Slot;
use super::node::Node;
use super::shape::Shape;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Pages;

/// Nodes on a path, at most; what is deeper leads in a circle.
pub(super) const MAX_DEPTH: u8 = 64;

/// A node on the path to a key.
#[derive(Clone, Debug)]
pub(super) struct Step<W> {
    pub(super) link: Link<W>,
    pub(super) node: Node<W>,
    /// The slot, entry or child of the node that the path leads through or ends at.
    pub(super) place: u32,
}

/// All nodes from the root to the one where a key lies or belongs; the last is no fence, and its slot is no pointer.
///
/// # Errors
/// Those of the pages; [`ogive::Error::Damaged`].
pub(super) fn path_to<W: Word>(pages: &dyn Pages, shape: &Shape, root: &Link<W>, key: W) -> Result<Vec<Step<W>>> {
    let mut path = Vec::new();
    let mut link = *root;
    loop {
        let depth = path.len() as u8;
        check_depth(pages, &link, depth)?;
        let node = Node::open(pages, shape, &link, depth)?;
        let (place, next) = match &node {
            Node::Mixed(mixed) => {
                let slot = mixed.slot_of(key);
                let next = if let Slot::Node(next) = mixed.slot(pages, slot)? { Some(next) } else { None };
                (slot, next)
            }
            Node::Packed(packed) => (packed.lower_bound(key) as u32, None),
            Node::Fence(fence) => {
                let index = fence.find(key);
                (index as u32, Some(fence.link(pages, index)?))
            }
        };
        path.push(Step { link, node, place });
        match next {
            Some(next) => link = next,
            None => return Ok(path),
        }
    }
}

/// # Errors
/// [`ogive::Error::Damaged`] at a depth that no tree has.
pub(super) fn check_depth<W: Word>(pages: &dyn Pages, link: &Link<W>, depth: u8) -> Result<()> {
    if depth >= MAX_DEPTH {
        return Err(pages.damaged(link.page(), "nodes lead in a circle"));
    }
    Ok(())
}

/// Copies the payload of a key; false if it is absent.
///
/// # Errors
/// Those of the pages; [`ogive::Error::Damaged`].
pub(super) fn get<W: Word>(
    pages: &dyn Pages,
    shape: &Shape,
    root: &Link<W>,
    key: W,
    payload: &mut [u8],
) -> Result<bool> {
    let (mut link, mut depth) = (*root, 0);
    loop {
        check_depth(pages, &link, depth)?;
        link = match Node::open(pages, shape, &link, depth)? {
            Node::Mixed(mixed) => match mixed.slot(pages, mixed.slot_of(key))? {
                Slot::Node(next) => next,
                Slot::Data(found, value) if found == key => {
                    payload.copy_from_slice(&value);
                    return Ok(true);
                }
                Slot::Data(..) | Slot::Null => return Ok(false),
            },
            Node::Fence(fence) => fence.link(pages, fence.find(key))?,
            Node::Packed(packed) => {
                let found = packed.find(key);
                found.iter().for_each(|&index| payload.copy_from_slice(packed.value(index)));
                return Ok(found.is_ok());
            }
        };
        depth += 1;
    }
}
