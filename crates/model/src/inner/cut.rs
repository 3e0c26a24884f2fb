//! The partition of children into groups, where that saves bytes, and into nodes of even size.

use super::fit::{self, Fit};
use super::group::GROUP_CHILDREN_MAX;
use super::node::{Children, HEADER_BYTES};
use super::write::{KeyWidth, encode};

/// Smallest number of children for which a split into two groups is tried.
const CUT_CHILDREN_MIN: usize = 12;
/// Ratio of a jump to the mean gap at which a split there is considered.
const JUMP_FACTOR_MIN: u128 = 4;

/// A group in its stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodedGroup {
    /// The first separator.
    pub start: u128,
    /// Number of children.
    pub children: usize,
    /// The stored form without `start`.
    pub bytes: Vec<u8>,
}

/// Codes children as groups. Separators ascend; there are as many of them as pages.
pub fn cut_groups(separators: &[u128], pages: &[u32], width: KeyWidth) -> Vec<CodedGroup> {
    let mut fits = Vec::new();
    cut(separators, pages, width.bytes() + 2, &mut fits);
    let mut first = 0;
    let groups = fits.iter().map(|fit: &Fit| {
        let range = first..first + fit.parameters.children as usize;
        first = range.end;
        let (separators, pages) = (separators.get(range.clone()).unwrap_or(&[]), pages.get(range).unwrap_or(&[]));
        let mut bytes = Vec::with_capacity(fit.stored_bytes);
        fit::store(fit, separators, pages, &mut bytes);
        CodedGroup { start: separators.first().copied().unwrap_or(0), children: separators.len(), bytes }
    });
    groups.collect()
}

/// Size of a node of these children in the smaller form, without a limit.
pub fn coded_bytes(children: &Children, width: KeyWidth) -> usize {
    let coded = cut(&children.separators, &children.pages, width.bytes() + 2, &mut Vec::new());
    HEADER_BYTES + coded.min(children.separators.len() * (width.bytes() + 4))
}

/// Appends the fits of the cheapest groups found; returns their size, including `entry_bytes` of the directory for
/// each. The recursion halves the children or splits them at a jump, so its depth is at most their number, and
/// [`MOST_IN_GROUP`] bounds the costly part.
fn cut(separators: &[u128], pages: &[u32], entry_bytes: usize, fits: &mut Vec<Fit>) -> usize {
    let children = separators.len();
    if children == 0 {
        return 0;
    }
    let whole = (children <= GROUP_CHILDREN_MAX).then(|| fit::fit(separators, pages));
    let header_bytes = entry_bytes + super::group::PARAMETER_BYTES;
    let whole_bytes = whole.map_or(usize::MAX, |fit| fit.stored_bytes + entry_bytes);
    if let Some(fit) = whole
        && (children < CUT_CHILDREN_MIN || whole_bytes <= 2 * header_bytes)
    {
        fits.push(fit);
        return whole_bytes;
    }
    let before = fits.len();
    let at = place_to_cut(separators);
    let (left, right) = (separators.split_at(at), pages.split_at(at));
    let bytes = cut(left.0, right.0, entry_bytes, fits) + cut(left.1, right.1, entry_bytes, fits);
    match whole {
        Some(fit) if whole_bytes <= bytes => {
            fits.truncate(before);
            fits.push(fit);
            whole_bytes
        }
        _ => bytes,
    }
}

/// The widest jump, if it is wide and not so close to an end that a group would be too small to pay off; else the
/// middle.
fn place_to_cut(separators: &[u128]) -> usize {
    let children = separators.len();
    let margin = children / 8;
    let middle = children / 2;
    let (Some(first), Some(last)) = (separators.first(), separators.last()) else { return middle };
    if children > 2 * GROUP_CHILDREN_MAX {
        return middle;
    }
    let inner = separators.get(margin..children - margin).unwrap_or(&[]);
    let jumps = (margin + 1..).zip(inner.windows(2)).map(|(at, pair)| (pair[1].wrapping_sub(pair[0]), at));
    match jumps.max_by_key(|&(jump, at)| (jump, std::cmp::Reverse(at.abs_diff(middle)))) {
        Some((jump, at)) if jump / JUMP_FACTOR_MIN > last.wrapping_sub(*first) / children as u128 => at,
        _ => middle,
    }
}

/// Distributes children over `nodes` nodes of even size, each within `room` bytes; `None` if some would take more.
/// Between two nodes lies a separator, which is not part of either: these separators are returned, too.
pub fn spread(row: &Children, nodes: usize, width: KeyWidth, room: usize) -> Option<(Vec<Vec<u8>>, Vec<u128>)> {
    let ends = even_ends(row, nodes, width);
    let mut encoded = Vec::with_capacity(nodes);
    let mut between = Vec::with_capacity(nodes.saturating_sub(1));
    let mut first = 0;
    for end in ends {
        // The child at the end of a node is its last one: its separator belongs to the level above.
        let part = Children {
            level: row.level,
            separators: row.separators.get(first..end)?.to_vec(),
            pages: row.pages.get(first..end)?.to_vec(),
            last: Some(*row.pages.get(end)?),
        };
        encoded.push(encode(&part, width, room)?);
        between.push(*row.separators.get(end)?);
        first = end + 1;
    }
    let rest = Children {
        level: row.level,
        separators: row.separators.get(first..)?.to_vec(),
        pages: row.pages.get(first..)?.to_vec(),
        last: row.last,
    };
    encoded.push(encode(&rest, width, room)?);
    Some((encoded, between))
}

/// The ends of all nodes but the last, such that each takes about the same number of bytes.
fn even_ends(row: &Children, nodes: usize, width: KeyWidth) -> Vec<usize> {
    let mut fits = Vec::new();
    let total = cut(&row.separators, &row.pages, width.bytes() + 2, &mut fits);
    let mut ends: Vec<usize> = Vec::with_capacity(nodes.saturating_sub(1));
    let (mut bytes, mut first) = (0, 0);
    for fit in fits {
        let (size, children) = (fit.stored_bytes + width.bytes() + 2, fit.parameters.children as usize);
        while ends.len() + 1 < nodes {
            let target = total * (ends.len() + 1) / nodes;
            if bytes + size < target {
                break;
            }
            let end = first + children * (target - bytes) / size.max(1);
            // Each node ends after the previous one.
            ends.push(end.max(ends.last().map_or(0, |last| last + 1)));
        }
        bytes += size;
        first += children;
    }
    ends
}
