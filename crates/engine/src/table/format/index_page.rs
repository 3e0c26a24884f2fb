//! Index pages: checksummed pages of 512 B to 4 KiB that hold whole nodes of a layer. The root is a single run of nodes
//! of any size.
//!
//! ```text
//! | nodes | zeros | nodes u32 | end child u40 | zeros u24 | end separator u64 | checksum u32 |
//! ```
//!
//! The *end separator* is the first key, as a u64, that belongs to the next page, so that a page determines by itself
//! which keys it covers; the *end child* is the first child of the next page. In the last page, and in pages of
//! byte-string nodes, which are always exact, the end separator is `u64::MAX`. The root has no such trailer: the
//! metadata describes its nodes.

use super::meta::NodeKind;
use crate::block::checksum;
use crate::error::{Error, Result};
use crate::table::block::key::KeyBound;
use ogive_model::{coded, line, step};

pub(in crate::table) const INDEX_PAGE_TRAILER_BYTES: usize = 24;

/// The children that may hold a target, according to a run of nodes, and whether that is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct ChildWindow {
    pub(in crate::table) first: u64,
    pub(in crate::table) last: u64,
    pub(in crate::table) is_exact: bool,
}

/// A run of nodes of one layer, in stored form.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct StoredNodes<'a> {
    pub(in crate::table) kind: NodeKind,
    pub(in crate::table) granule: u64,
    pub(in crate::table) payload: &'a [u8],
    pub(in crate::table) count: usize,
    /// First child after the run.
    pub(in crate::table) end_child: u64,
    /// Number of children of the whole layer.
    pub(in crate::table) children: u64,
}

/// A bound with its u64 key, if keys are numeric.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct RouteTarget<'a> {
    pub(in crate::table) probe: KeyBound<'a>,
    pub(in crate::table) x: u64,
}

impl StoredNodes<'_> {
    /// The children that may hold the target. `None` if the nodes are malformed, which with a valid checksum means they
    /// are corrupt.
    pub(in crate::table) fn search(&self, target: &RouteTarget<'_>) -> Option<ChildWindow> {
        // Keys before the first node are routed by the first node.
        let x = if self.kind == NodeKind::CodedStrings { 0 } else { target.x.max(self.start()?) };
        let (first, last, is_exact) = match self.kind {
            NodeKind::Step => {
                let (first, next) = step::search(self.payload, self.count, x)?;
                (first, next.unwrap_or(self.end_child).checked_sub(1)?, true)
            }
            NodeKind::Line => {
                let (node, next) = line::search(self.payload, self.count, x)?;
                // The last node of a page extends to the first child of the next page, as every node extends to its
                // successor.
                let last_child = next.unwrap_or(self.end_child).min(self.children.checked_sub(1)?);
                let window = node.window(x, last_child);
                (*window.start(), *window.end(), false)
            }
            NodeKind::Coded => self.granules(coded::search(self.payload, self.count, x)?)?,
            NodeKind::CodedStrings => {
                let KeyBound { key, after } = target.probe;
                let child = match after {
                    true => coded::search_strings(self.payload, self.count, &[key, &[0]].concat())?,
                    false => coded::search_strings(self.payload, self.count, key)?,
                };
                // After the last group of a page there are zeros, which look like further separators equal to the last.
                self.granules(child.min(self.end_child.checked_sub(1)?))?
            }
        };
        (first <= last).then_some(ChildWindow { first, last, is_exact })
    }

    fn granules(&self, child: u64) -> Option<(u64, u64, bool)> {
        let first = child.checked_mul(self.granule)?;
        Some((first, first.checked_add(self.granule - 1)?, true))
    }

    /// The smallest key of the run as a u64.
    pub(in crate::table) fn start(&self) -> Option<u64> {
        Some(u64::from_le_bytes(self.payload.get(..8)?.try_into().ok()?))
    }
}

/// A checked index page.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct IndexPageView<'a> {
    pub(in crate::table) nodes: StoredNodes<'a>,
    pub(in crate::table) end_separator: u64,
}

impl<'a> IndexPageView<'a> {
    /// Decodes a page with a verified checksum; `None` if it is malformed anyway.
    pub(in crate::table) fn parse(kind: NodeKind, granule: u64, children: u64, bytes: &'a [u8]) -> Option<Self> {
        let (payload, trailer) = bytes.split_at_checked(bytes.len().checked_sub(INDEX_PAGE_TRAILER_BYTES)?)?;
        let word = |at: usize| -> Option<u64> { Some(u64::from_le_bytes(trailer.get(at..at + 8)?.try_into().ok()?)) };
        let count = (word(0)? & 0xFFFF_FFFF) as usize;
        let end_child = word(4)? & ((1 << 40) - 1);
        let nodes = StoredNodes { kind, granule, payload, count, end_child, children };
        Some(Self { nodes, end_separator: word(12)? })
    }

    /// Whether the target lies before, in or after the range of this page.
    pub(in crate::table) fn side(&self, target: &RouteTarget<'_>) -> Option<std::cmp::Ordering> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        if self.nodes.kind == NodeKind::CodedStrings {
            let first = coded::first_string(self.nodes.payload, self.nodes.count)?;
            return Some(if first <= target.probe.key { Equal } else { Less });
        }
        Some(match target.x {
            x if x < self.nodes.start()? => Less,
            // In the last page the largest u64 counts as after it, too; no other page covers it.
            x if x >= self.end_separator => Greater,
            _ => Equal,
        })
    }
}

/// The stored form of a page at `offset`: `payload` padded to `page_bytes`.
///
/// # Errors
/// `Cause::Input` if the payload does not fit. The writer prevents it; a page that was cut would deny keys.
pub(in crate::table) fn encode_index_page(
    (file_id, offset): (u64, u64),
    page_bytes: usize,
    mut payload: Vec<u8>,
    count: usize,
    (end_child, end_separator): (u64, u64),
) -> Result<Vec<u8>> {
    let room = page_bytes.saturating_sub(INDEX_PAGE_TRAILER_BYTES);
    if payload.len() > room {
        let detail = format!(
            "nodes of {} bytes do not fit an index page of {page_bytes} bytes; choose another design for the table",
            payload.len()
        );
        return Err(Error::input(detail));
    }
    payload.resize(room, 0);
    payload.extend_from_slice(&(count as u32).to_le_bytes());
    payload.extend_from_slice(&end_child.to_le_bytes()[..5]);
    payload.extend_from_slice(&[0; 3]);
    payload.extend_from_slice(&end_separator.to_le_bytes());
    payload.extend_from_slice(&[0; 4]);
    checksum::seal(file_id, offset, &mut payload);
    Ok(payload)
}
