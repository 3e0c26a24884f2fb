//! In-place changes to one group of an inner node.

use super::cut::{CodedGroup, cut_groups};
use super::node::{HEADER_BYTES, Header, Kind, NodeView};

/// What turns the stored form of a node into that of the changed node: a move of bytes, then writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Bytes to be moved first: which, and to where.
    pub shift: Option<(std::ops::Range<usize>, usize)>,
    /// Then bytes to be written, and where.
    pub writes: Vec<(usize, Vec<u8>)>,
    /// Bytes that the node takes then.
    pub stored_bytes: usize,
}

impl Change {
    /// Changes the stored form of a node, which must be as long as the page is.
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

/// Changes the children of group `index` of a coded node by `edit`, which is handed their separators and pages and keeps the order. `None` where
/// the changed node would take more than `room` bytes, the group would be empty, the node is plain, or it makes no sense.
pub fn replace_group(
    node: &NodeView<'_>,
    index: usize,
    room: usize,
    edit: impl FnOnce(&mut Vec<u128>, &mut Vec<u32>),
) -> Option<Change> {
    if node.kind() != Kind::Coded {
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

/// The groups behind move; the directory keeps its size.
fn one_for_one(node: &NodeView<'_>, index: usize, header: Header, group: &CodedGroup) -> Option<Change> {
    let old = node.group_range(index)?;
    let end = old.start + group.bytes.len();
    let mut change = Change { stored_bytes: usize::from(header.used), ..Change::default() };
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
fn many_for_one(node: &NodeView<'_>, index: usize, header: Header, groups: &[CodedGroup]) -> Option<Change> {
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
    Some(Change { shift: None, stored_bytes: bytes.len(), writes: vec![(0, bytes)] })
}
