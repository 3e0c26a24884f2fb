//! An inner node in its stored form: header, search, decoding.
//!
//! ```text
//!  0  kind u8 (1 coded, 2 plain), level u8 (0: its children are leaves), separators u16, groups u16,
//!     used u16 (bytes of the node)
//!  8  page of the last child u32, the one above all separators; 2^32 - 1 where there is none
//!
//! coded:  12  groups x first separator              8 or 16 bytes each, ascending: searched by bisection
//!             groups x offset u16                   where the group is stored, from the start of the node
//!             the groups
//! plain:  12  separators x separator, separators x page u32
//! ```

use super::group::GroupView;
use super::write::KeyWidth;

/// Size of the header before the groups: with it, a plain node holds as many children as a B+-tree's with 8 bytes of
/// header.
pub const HEADER_BYTES: usize = 12;

/// Marks a missing page: a file has fewer than 2^32.
const NO_PAGE: u32 = u32::MAX;

/// The form of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeForm {
    /// Groups of lines and residuals.
    Coded,
    /// Plain separators and pages.
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: NodeForm,
    pub(super) level: u8,
    pub(super) separators: u16,
    pub(super) groups: u16,
    pub(super) used: u16,
    pub(super) last: Option<u32>,
}

impl Header {
    pub(super) fn store(&self, bytes: &mut Vec<u8>) {
        let kind = match self.kind {
            NodeForm::Coded => 1,
            NodeForm::Plain => 2,
        };
        bytes.extend_from_slice(&[kind, self.level]);
        for field in [self.separators, self.groups, self.used] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&self.last.unwrap_or(NO_PAGE).to_le_bytes());
    }

    fn load(bytes: &[u8]) -> Option<Self> {
        let [kind, level, rest @ ..] = bytes.first_chunk::<HEADER_BYTES>()?;
        let [a, b, c, d, e, f, last @ ..] = rest;
        let kind = match kind {
            1 => NodeForm::Coded,
            2 => NodeForm::Plain,
            _ => return None,
        };
        let word = |low: &u8, high: &u8| u16::from_le_bytes([*low, *high]);
        let last = Some(u32::from_le_bytes(*last)).filter(|&page| page != NO_PAGE);
        Some(Self { kind, level: *level, separators: word(a, b), groups: word(c, d), used: word(e, f), last })
    }
}

/// The decoded children of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Children {
    /// 0 if the children are leaves.
    pub level: u8,
    /// Separators, ascending.
    pub separators: Vec<u128>,
    /// The page of each separator's child.
    pub pages: Vec<u32>,
    /// The page of the child above all separators, if there is one.
    pub last: Option<u32>,
}

/// The position of a child in its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildPosition {
    /// Its group; 0 in a plain node, and the number of groups for the last child.
    pub group: usize,
    /// Its place in the group, or in the plain node.
    pub place: usize,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundChild {
    /// The position of the child.
    pub position: ChildPosition,
    /// Its page; `None` for the last child of a node without one.
    pub page: Option<u32>,
}

/// A node in its stored form.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) width: KeyWidth,
    pub(super) header: Header,
}

impl<'a> NodeView<'a> {
    /// The node at the beginning of `bytes`; `None` if its header is invalid.
    pub fn new(bytes: &'a [u8], width: KeyWidth) -> Option<Self> {
        let header = Header::load(bytes)?;
        let bytes = bytes.get(..usize::from(header.used))?;
        let least = match header.kind {
            NodeForm::Coded => usize::from(header.groups) * (width.bytes() + 2),
            NodeForm::Plain => usize::from(header.separators) * (width.bytes() + 4),
        };
        (bytes.len() >= HEADER_BYTES + least).then_some(Self { bytes, width, header })
    }

    /// The form of the node.
    pub fn kind(&self) -> NodeForm {
        self.header.kind
    }

    /// 0 if the children are leaves.
    pub fn level(&self) -> u8 {
        self.header.level
    }

    /// Number of separators: one fewer than children, if there is a last child.
    pub fn separators(&self) -> usize {
        usize::from(self.header.separators)
    }

    /// Number of groups of a coded node.
    pub fn groups(&self) -> usize {
        usize::from(self.header.groups)
    }

    /// Size of the node in bytes.
    pub fn stored_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The page of the child above all separators.
    pub fn last(&self) -> Option<u32> {
        self.header.last
    }

    /// The child that holds `key`: that of the first separator not below it, or the last one. `None` if the node is
    /// invalid.
    pub fn search(&self, key: u128) -> Option<FoundChild> {
        match self.header.kind {
            NodeForm::Coded => self.search_coded(key),
            NodeForm::Plain => {
                let below = self.keys_below(self.separators(), key)?;
                if below == self.separators() {
                    return Some(self.last_found(below));
                }
                let page = Some(self.plain_page(below)?);
                Some(FoundChild { position: ChildPosition { group: 0, place: below }, page })
            }
        }
    }

    fn search_coded(&self, key: u128) -> Option<FoundChild> {
        let groups = self.groups();
        // The group before the first one that begins at the key or above: its separators may reach the key.
        let next = self.keys_below(groups, key)?;
        let (group, place) = match next.checked_sub(1) {
            None => (0, 0),
            Some(group) => {
                let view = self.group(group)?;
                let below = view.below(key)?;
                if below < view.children() {
                    let page = Some(view.page(below)?);
                    return Some(FoundChild { position: ChildPosition { group, place: below as usize }, page });
                }
                (next, 0)
            }
        };
        if group == groups {
            return Some(self.last_found(0));
        }
        Some(FoundChild { position: ChildPosition { group, place }, page: Some(self.group(group)?.page(0)?) })
    }

    fn last_found(&self, place: usize) -> FoundChild {
        FoundChild { position: ChildPosition { group: self.groups(), place }, page: self.header.last }
    }

    /// Number of the first `count` keys after the header that are below `key`.
    fn keys_below(&self, count: usize, key: u128) -> Option<usize> {
        let keys = self.bytes.get(HEADER_BYTES..)?;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.width.load(keys, middle)? < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// Group `index`; `None` if there is none or it is invalid.
    pub fn group(&self, index: usize) -> Option<GroupView<'a>> {
        let start = self.start(index)?;
        GroupView::new(start, self.bytes.get(self.group_range(index)?)?)
    }

    /// The first separator of group `index`.
    pub(super) fn start(&self, index: usize) -> Option<u128> {
        if index >= self.groups() {
            return None;
        }
        self.width.load(self.bytes.get(HEADER_BYTES..)?, index)
    }

    /// The byte range of group `index`.
    pub(super) fn group_range(&self, index: usize) -> Option<std::ops::Range<usize>> {
        let first = self.offset(index)?;
        let end = if index + 1 < self.groups() { self.offset(index + 1)? } else { self.bytes.len() };
        (first <= end).then_some(first..end)
    }

    fn offset(&self, index: usize) -> Option<usize> {
        if index >= self.groups() {
            return None;
        }
        let at = HEADER_BYTES + self.groups() * self.width.bytes() + 2 * index;
        Some(usize::from(u16::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?)))
    }

    fn plain_page(&self, index: usize) -> Option<u32> {
        let at = HEADER_BYTES + self.separators() * self.width.bytes() + 4 * index;
        Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }

    /// Number of children before `position`.
    pub fn index_of(&self, position: ChildPosition) -> Option<usize> {
        if self.header.kind == NodeForm::Plain {
            return Some(position.place);
        }
        let mut index = position.place;
        for group in 0..position.group {
            index += self.group(group)?.children() as usize;
        }
        Some(index)
    }

    /// All children, validated: separators ascend strictly and fit their width, and the counts agree; otherwise `None`.
    pub fn children(&self) -> Option<Children> {
        let count = self.separators();
        let mut separators = Vec::with_capacity(count);
        let mut pages = Vec::with_capacity(count);
        match self.header.kind {
            NodeForm::Coded => {
                for index in 0..self.groups() {
                    let (more_separators, more_pages) = self.group_children(index)?;
                    separators.extend(more_separators);
                    pages.extend(more_pages);
                }
            }
            NodeForm::Plain => {
                let keys = self.bytes.get(HEADER_BYTES..)?;
                for index in 0..count {
                    separators.push(self.width.load(keys, index)?);
                    pages.push(self.plain_page(index)?);
                }
            }
        }
        let ascending = separators.windows(2).all(|pair| pair[0] < pair[1]);
        let fitting = separators.last().is_none_or(|&last| last <= self.greatest_key());
        (separators.len() == count && ascending && fitting).then_some(Children {
            level: self.header.level,
            separators,
            pages,
            last: self.header.last,
        })
    }

    /// The children of one group of a coded node, without validation.
    pub(super) fn group_children(&self, index: usize) -> Option<(Vec<u128>, Vec<u32>)> {
        let group = self.group(index)?;
        let mut separators = Vec::with_capacity(group.children() as usize + 1);
        let mut pages = Vec::with_capacity(group.children() as usize + 1);
        for j in 0..group.children() {
            separators.push(group.separator(j)?);
            pages.push(group.page(j)?);
        }
        Some((separators, pages))
    }

    fn greatest_key(&self) -> u128 {
        match self.width {
            KeyWidth::Eight => u128::from(u64::MAX),
            KeyWidth::Sixteen => u128::MAX,
        }
    }
}
