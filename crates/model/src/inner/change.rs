//! In-place changes to one group of an inner node.

use super::cut::{CodedGroup, cut_groups};
use super::node::{HEADER_BYTES, Header, NodeForm, NodeView};

/// The difference between the stored forms of a node before and after a change: a move of bytes, then writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeChange {
    /// The bytes to be moved first: range and destination.
    pub shift: Option<(std::ops::Range<usize>, usize)>,
    /// The bytes to be written next, with their offsets.
    pub writes: Vec<(usize, Vec<u8>)>,
    /// Size of the changed node in bytes.
    pub stored_bytes: usize,
}

impl NodeChange {
    /// Applies the change to the stored form of a node, given with the full size of its page.
    pub fn apply(&self, bytes: &mut [u8]) {
        if let Some((range, to)) = &self.shift
            && range.end <= bytes.len()
            && to + range.len() <= bytes.len()
        {
            bytes.copy_within(range.clone(), *to);
        }
        for (at, part) in &self.writes {
            if let Some(target) = bytes.get_mut(*at..*at + part.len()) {
                target.copy_from_slice(part);
            }
        }
    }
}

/// Changes the children of group `index` of a coded node by `edit`, which receives their separators and pages and must
/// keep the order. `None` if the changed node would take more than `room` bytes, the group would be empty, or the node
/// is plain or invalid.
pub fn replace_group(
    node: &NodeView<'_>,
    index: usize,
    room: usize,
    edit: impl FnOnce(&mut Vec<u128>, &mut Vec<u32>),
) -> Option<NodeChange> {
    if node.kind() != NodeForm::Coded {
        return None;
    }
    let (mut separators, mut pages) = node.group_children(index)?;
    let before = separators.len();
    edit(&mut separators, &mut pages);
    let groups = cut_groups(&separators, &pages, node.width);
    let stored_bytes: usize = groups.iter().map(|group| group.bytes.len()).sum();
    let old = node.group_range(index)?;
    let entries_bytes = groups.len().checked_sub(1)? * (node.width.bytes() + 2);
    let used = (node.stored_bytes() - old.len()).checked_add(stored_bytes + entries_bytes)?;
    let count = (node.separators() + separators.len()).checked_sub(before)?;
    let header = Header {
        separators: u16::try_from(count).ok()?,
        groups: u16::try_from(node.groups() + groups.len() - 1).ok()?,
        used: u16::try_from(used).ok().filter(|_| used <= room)?,
        ..node.header
    };
    match &groups[..] {
        [group] => one_for_one(node, index, header, group),
        _ => many_for_one(node, index, header, &groups),
    }
}

/// The following groups move; the directory keeps its size.
fn one_for_one(node: &NodeView<'_>, index: usize, header: Header, group: &CodedGroup) -> Option<NodeChange> {
    let old = node.group_range(index)?;
    let end = old.start + group.bytes.len();
    let mut change = NodeChange { stored_bytes: usize::from(header.used), ..NodeChange::default() };
    if end != old.end && old.end < node.stored_bytes() {
        change.shift = Some((old.end..node.stored_bytes(), end));
    }
    let mut fields = Vec::with_capacity(HEADER_BYTES);
    header.store(&mut fields);
    change.writes.push((0, fields));
    if node.start(index)? != group.start {
        let mut start = Vec::new();
        node.width.store(group.start, &mut start);
        change.writes.push((HEADER_BYTES + index * node.width.bytes(), start));
    }
    let mut offsets = Vec::new();
    for behind in index + 1..node.groups() {
        let offset = (node.group_range(behind)?.start + end).checked_sub(old.end)?;
        offsets.extend_from_slice(&u16::try_from(offset).ok()?.to_le_bytes());
    }
    if end != old.end && !offsets.is_empty() {
        change.writes.push((HEADER_BYTES + node.groups() * node.width.bytes() + 2 * (index + 1), offsets));
    }
    change.writes.push((old.start, group.bytes.clone()));
    Some(change)
}

/// The directory grows, so that all groups move: the node is written anew.
fn many_for_one(node: &NodeView<'_>, index: usize, header: Header, groups: &[CodedGroup]) -> Option<NodeChange> {
    let mut parts: Vec<(u128, &[u8])> = Vec::with_capacity(usize::from(header.groups));
    for old in 0..node.groups() {
        if old == index {
            parts.extend(groups.iter().map(|group| (group.start, &group.bytes[..])));
        } else {
            parts.push((node.start(old)?, node.bytes.get(node.group_range(old)?)?));
        }
    }
    let mut bytes = Vec::with_capacity(usize::from(header.used));
    header.store(&mut bytes);
    for (start, _) in &parts {
        node.width.store(*start, &mut bytes);
    }
    let mut at = HEADER_BYTES + parts.len() * (node.width.bytes() + 2);
    for (_, part) in &parts {
        bytes.extend_from_slice(&u16::try_from(at).ok()?.to_le_bytes());
        at += part.len();
    }
    for (_, part) in &parts {
        bytes.extend_from_slice(part);
    }
    Some(NodeChange { shift: None, stored_bytes: bytes.len(), writes: vec![(0, bytes)] })
}
