//! The step node: an exact node with one plain separator for each piece.

use crate::FenceRun;
use crate::bytes::{NO_CHILD, put_child, read_child, read_u64, upper_bound};

/// One piece of a step function: keys from `separator` on, up to the next piece's, lie in the children from
/// `first_child` up to the next piece's `first_child`.
///
/// Source: AirIndex, Section 4.1 (step nodes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPiece {
    /// Smallest key of the piece.
    pub separator: u64,
    /// First child of the piece.
    pub first_child: u64,
}

/// Stored size of a piece: separator (8 bytes, little-endian), first child (5 bytes, little-endian).
pub const PIECE_BYTES: usize = 13;

/// Greedy step: pieces of `children_per_piece` children.
///
/// ```text
///   children    0   1   2 | 3   4   5 | 6        children_per_piece = 3
///   separators  start       high of     high of
///                           fence 2     fence 5
/// ```
///
/// If equal keys cross a border, the next piece begins after them, one key later, so a piece may be longer than
/// requested. The keys of such a piece all belong to its first `children_per_piece` children: the others hold only
/// further equal keys.
///
/// Source: AirIndex, Appendix A.1 (GStep). Takes O(n) time.
///
/// ```
/// use ogive_model::{Fence, FenceRun, step};
/// let fences = [Fence { low: 10, high: 20 }, Fence { low: 29, high: 30 }, Fence { low: 35, high: 40 }];
/// let pieces = step::greedy(&FenceRun::whole(&fences), 2);
/// assert_eq!(pieces.len(), 2);
/// assert_eq!((pieces[1].separator, pieces[1].first_child), (30, 2));
/// ```
pub fn greedy(run: &FenceRun<'_>, children_per_piece: u64) -> Vec<StepPiece> {
    if run.children() == 0 {
        return Vec::new();
    }
    let length = usize::try_from(children_per_piece.max(1)).unwrap_or(usize::MAX);
    let mut pieces = Vec::with_capacity(run.fences.len() / length + 1);
    pieces.push(StepPiece { separator: run.start, first_child: run.first_child });
    // The last fence of a run, except the last run, begins the next run's first piece.
    let borders = run.fences.len() - usize::from(!run.at_end);
    let mut k = length - 1;
    while k < borders {
        let Some(separator) = run.node_start_after(k) else {
            k += 1;
            continue;
        };
        pieces.push(StepPiece { separator, first_child: run.first_child + k as u64 + 1 });
        k = k.saturating_add(length);
    }
    pieces
}

/// Appends the pieces in their stored form, [`PIECE_BYTES`] each.
///
/// A child number that does not fit 40 bits is stored as one that [`search`] rejects.
pub fn encode(pieces: &[StepPiece], bytes: &mut Vec<u8>) {
    bytes.reserve(pieces.len() * PIECE_BYTES);
    for piece in pieces {
        bytes.extend_from_slice(&piece.separator.to_le_bytes());
        put_child(bytes, piece.first_child);
    }
}

/// Decodes the pieces of a stored page; `None` for malformed bytes.
pub fn decode(payload: &[u8], count: usize) -> Option<Vec<StepPiece>> {
    let records = payload.get(..count.checked_mul(PIECE_BYTES)?)?;
    let pieces: Vec<StepPiece> = records.chunks_exact(PIECE_BYTES).map(read_piece).collect::<Option<_>>()?;
    let rises = |pair: &[StepPiece]| pair[0].separator < pair[1].separator && pair[0].first_child < pair[1].first_child;
    pieces.windows(2).all(rises).then_some(pieces)
}

/// Finds the piece of key `x` among `count` stored pieces, without decoding the others: its first child, and the first
/// child of the next piece in this payload.
///
/// `None` if the bytes are malformed or `x` lies before the first piece.
pub fn search(payload: &[u8], count: usize, x: u64) -> Option<(u64, Option<u64>)> {
    let records = payload.get(..count.checked_mul(PIECE_BYTES)?)?;
    let index = upper_bound(records, PIECE_BYTES, x).checked_sub(1)?;
    let piece = read_piece(records.get(index * PIECE_BYTES..)?)?;
    let Some(rest) = records.get((index + 1) * PIECE_BYTES..).filter(|rest| !rest.is_empty()) else {
        return Some((piece.first_child, None));
    };
    let next = read_piece(rest)?;
    (next.first_child > piece.first_child).then_some((piece.first_child, Some(next.first_child)))
}

fn read_piece(record: &[u8]) -> Option<StepPiece> {
    let first_child = read_child(record, 8)?;
    (first_child != NO_CHILD).then_some(StepPiece { separator: read_u64(record, 0)?, first_child })
}
