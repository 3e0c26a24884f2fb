//! The writer of inner nodes.

use super::cut::{CodedGroup, cut_groups};
use super::node::{Children, HEADER_BYTES, Header, NodeForm};

/// The width of stored keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyWidth {
    /// 64-bit unsigned integers.
    Eight,
    /// 128-bit unsigned integers.
    Sixteen,
}

impl KeyWidth {
    /// Size of a stored key in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }

    /// Reads entry `index` of an array of keys.
    pub(super) fn load(self, keys: &[u8], index: usize) -> Option<u128> {
        let bytes = keys.get(index.checked_mul(self.bytes())?..)?;
        match self {
            Self::Eight => Some(u128::from(u64::from_le_bytes(*bytes.first_chunk()?))),
            Self::Sixteen => Some(u128::from_le_bytes(*bytes.first_chunk()?)),
        }
    }

    /// Appends a key.
    pub(super) fn store(self, key: u128, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(key.to_le_bytes().get(..self.bytes()).unwrap_or(&[]));
    }
}

/// Number of separators that fit a plain node of `room` bytes.
pub fn plain_capacity(width: KeyWidth, room: usize) -> usize {
    (room.saturating_sub(HEADER_BYTES) / (width.bytes() + 4)).min(usize::from(u16::MAX))
}

/// The stored form of a node, in the smaller form; `None` if it would take more than `room` bytes. Separators ascend
/// strictly, and there are as many of them as pages.
pub fn encode(children: &Children, width: KeyWidth, room: usize) -> Option<Vec<u8>> {
    let mut writer = NodeWriter::new(width, room);
    let fits = cut_groups(&children.separators, &children.pages, width).into_iter().all(|group| writer.push(group));
    let plain_bytes = HEADER_BYTES + children.separators.len() * (width.bytes() + 4);
    if fits && writer.stored_bytes() <= plain_bytes {
        Some(writer.finish(children.level, children.last))
    } else if children.separators.len() <= plain_capacity(width, room) {
        Some(encode_plain(children, width))
    } else {
        None
    }
}

fn encode_plain(children: &Children, width: KeyWidth) -> Vec<u8> {
    let count = children.separators.len();
    let used = HEADER_BYTES + count * (width.bytes() + 4);
    let header = Header {
        kind: NodeForm::Plain,
        level: children.level,
        separators: count as u16,
        groups: 0,
        used: used as u16,
        last: children.last,
    };
    let mut bytes = Vec::with_capacity(used);
    header.store(&mut bytes);
    for &separator in &children.separators {
        width.store(separator, &mut bytes);
    }
    for page in &children.pages {
        bytes.extend_from_slice(&page.to_le_bytes());
    }
    bytes
}

/// Assembles a coded node group by group.
#[derive(Clone, Debug)]
pub struct NodeWriter {
    width: KeyWidth,
    room: usize,
    groups: Vec<CodedGroup>,
    separators: usize,
    stored_bytes: usize,
}

impl NodeWriter {
    /// A node without children, of at most `room` bytes.
    pub fn new(width: KeyWidth, room: usize) -> Self {
        let room = room.min(usize::from(u16::MAX));
        Self { width, room, groups: Vec::new(), separators: 0, stored_bytes: HEADER_BYTES }
    }

    /// Appends a group; `false`, without a change, if there is no room for it.
    pub fn push(&mut self, group: CodedGroup) -> bool {
        let grown = self.stored_bytes + group.bytes.len() + self.width.bytes() + 2;
        let separators = self.separators + group.children;
        if grown > self.room || separators > usize::from(u16::MAX) {
            return false;
        }
        self.stored_bytes = grown;
        self.separators = separators;
        self.groups.push(group);
        true
    }

    /// Number of separators so far.
    pub fn separators(&self) -> usize {
        self.separators
    }

    /// Size of the node in bytes.
    pub fn stored_bytes(&self) -> usize {
        self.stored_bytes
    }

    /// The stored form.
    pub fn finish(self, level: u8, last: Option<u32>) -> Vec<u8> {
        let header = Header {
            kind: NodeForm::Coded,
            level,
            separators: self.separators as u16,
            groups: self.groups.len() as u16,
            used: self.stored_bytes as u16,
            last,
        };
        let mut bytes = Vec::with_capacity(self.stored_bytes);
        header.store(&mut bytes);
        for group in &self.groups {
            self.width.store(group.start, &mut bytes);
        }
        let mut at = HEADER_BYTES + self.groups.len() * (self.width.bytes() + 2);
        for group in &self.groups {
            bytes.extend_from_slice(&(at as u16).to_le_bytes());
            at += group.bytes.len();
        }
        for group in &self.groups {
            bytes.extend_from_slice(&group.bytes);
        }
        bytes
    }
}
