//! Searches from the root to the slot of a key.

use super::link::Link;
use super::mixed::LippSlot;
use super::node::LippNode;
use super::shape::LippLayout;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Pages;

/// Most nodes on a path: a deeper one is a cycle.
pub(super) const DEPTH_MAX: u8 = 64;

/// A node on the path to a key.
#[derive(Clone, Debug)]
pub(super) struct LippStep<W> {
    pub(super) link: Link<W>,
    pub(super) node: LippNode<W>,
    /// The slot, entry or child of the node on the path.
    pub(super) index: u32,
}

/// All nodes from the root to that of a key; the last one is not a fence, and its slot is not a pointer.
///
/// # Errors
/// Those of the pages; [`ogive::Cause::Damaged`].
pub(super) fn path_to<W: Word>(
    pages: &dyn Pages,
    shape: &LippLayout,
    root: &Link<W>,
    key: W,
) -> Result<Vec<LippStep<W>>> {
    let mut path = Vec::new();
    let mut link = *root;
    loop {
        let depth = path.len() as u8;
        check_depth(pages, &link, depth)?;
        let node = LippNode::open(pages, shape, &link, depth)?;
        let (index, next) = match &node {
            LippNode::Mixed(mixed) => {
                let slot = mixed.slot_of(key);
                let next = if let LippSlot::Node(next) = mixed.slot(pages, slot)? { Some(next) } else { None };
                (slot, next)
            }
            LippNode::Packed(packed) => (packed.lower_bound(key) as u32, None),
            LippNode::Fence(fence) => {
                let index = fence.find(key);
                (index as u32, Some(fence.link(pages, index)?))
            }
        };
        path.push(LippStep { link, node, index });
        match next {
            Some(next) => link = next,
            None => return Ok(path),
        }
    }
}

/// # Errors
/// [`ogive::Cause::Damaged`] if the depth exceeds that of any tree.
pub(super) fn check_depth<W: Word>(pages: &dyn Pages, link: &Link<W>, depth: u8) -> Result<()> {
    if depth >= DEPTH_MAX {
        return Err(pages.damaged(link.page(), "nodes form a cycle"));
    }
    Ok(())
}

/// Copies the payload of a key; false if it is absent.
///
/// # Errors
/// Those of the pages; [`ogive::Cause::Damaged`].
pub(super) fn get<W: Word>(
    pages: &dyn Pages,
    shape: &LippLayout,
    root: &Link<W>,
    key: W,
    payload: &mut [u8],
) -> Result<bool> {
    let (mut link, mut depth) = (*root, 0);
    loop {
        check_depth(pages, &link, depth)?;
        link = match LippNode::open(pages, shape, &link, depth)? {
            LippNode::Mixed(mixed) => match mixed.slot(pages, mixed.slot_of(key))? {
                LippSlot::Node(next) => next,
                LippSlot::Data(found, value) if found == key => {
                    payload.copy_from_slice(&value);
                    return Ok(true);
                }
                LippSlot::Data(..) | LippSlot::Null => return Ok(false),
            },
            LippNode::Fence(fence) => fence.link(pages, fence.find(key))?,
            LippNode::Packed(packed) => {
                let found = packed.find(key);
                found.iter().for_each(|&index| payload.copy_from_slice(packed.value(index)));
                return Ok(found.is_ok());
            }
        };
        depth += 1;
    }
}
