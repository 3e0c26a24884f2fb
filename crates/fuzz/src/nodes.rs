//! Fuzz target: nodes of index layers: steps and lines.

use crate::input::{take_u8, take_u64};
use ogive_model::step::StepPiece;
use ogive_model::{Fence, FenceRun, band, line, step};

/// Searches forged step nodes. Input: nodes u8, key u64, the stored nodes.
///
/// # Panics
/// When nodes that decode do not lead a key to their piece: the broken promise.
pub fn steps(mut data: &[u8]) {
    let count = usize::from(take_u8(&mut data));
    let x = take_u64(&mut data);
    for x in [x, 0, u64::MAX] {
        let found = step::search(data, count, x);
        let Some(pieces) = step::decode(data, count) else { continue };
        let piece = pieces.iter().rposition(|piece| piece.separator <= x);
        let next = |piece: usize| pieces.get(piece + 1).map(|next| next.first_child);
        assert_eq!(found, piece.map(|piece| (pieces[piece].first_child, next(piece))), "{x}");
    }
}

/// Separators in even steps, and the largest ones.
pub fn step_seeds() -> Vec<Vec<u8>> {
    let even = (0..100).map(|child| StepPiece { separator: child * 1000, first_child: child * 3 }).collect();
    let large = vec![StepPiece { separator: u64::MAX, first_child: (1 << 40) - 2 }];
    let seed = |pieces: Vec<StepPiece>| {
        let mut bytes = head(pieces.len(), pieces[pieces.len() / 2].separator);
        step::encode(&pieces, &mut bytes);
        bytes
    };
    [even, large].into_iter().map(seed).collect()
}

/// Searches forged line nodes. Input: nodes u8, key u64, last child u64, the stored nodes.
///
/// # Panics
/// When a window leaves the children of its node: the broken promise.
pub fn lines(mut data: &[u8]) {
    let count = usize::from(take_u8(&mut data));
    let (x, last_child) = (take_u64(&mut data), take_u64(&mut data));
    let _ = line::decode(data, count);
    for x in [x, 0, u64::MAX] {
        if let Some((node, _)) = line::search(data, count, x) {
            let window = node.window(x, last_child);
            let (first, last) = (node.first_child, last_child.max(node.first_child));
            assert!(first <= *window.start() && window.start() <= window.end() && *window.end() <= last, "{window:?}");
        }
    }
}

/// Lines over even and over spread fences.
pub fn line_seeds() -> Vec<Vec<u8>> {
    let even = (1..500).map(|child| Fence { low: child * 1000 - 7, high: child * 1000 }).collect();
    let spread = (1..300).map(|child: u64| Fence { low: child.pow(5), high: child.pow(5) + 1 }).collect();
    let seed = |fences: Vec<Fence>| {
        let nodes = band::greedy(&FenceRun::whole(&fences), 4);
        let nodes = &nodes[..nodes.len().min(255)];
        let mut bytes = head(nodes.len(), fences[fences.len() / 2].high);
        bytes.extend_from_slice(&(fences.len() as u64).to_le_bytes());
        line::encode(nodes, &mut bytes);
        bytes
    };
    [even, spread].into_iter().map(seed).collect()
}

fn head(count: usize, x: u64) -> Vec<u8> {
    [&[count as u8][..], &x.to_le_bytes()].concat()
}
