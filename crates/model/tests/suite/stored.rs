//! Tests of stored nodes: a search in the stored form finds what was built, and arbitrary bytes give at worst `None`.

use crate::common::{Random, fences_of, nasty_sets};
use ogive_model::{FenceRun, band, line, step};
use proptest::prelude::*;

#[test]
fn line_nodes_come_back_as_they_were_built() {
    for (name, keys) in nasty_sets(2000) {
        let fences = fences_of(&keys, 2);
        for build in [band::greedy, band::equal] {
            for argument in [1, 3, 70, 1000] {
                let nodes = build(&FenceRun::whole(&fences), argument);
                let mut bytes = Vec::new();
                line::encode(&nodes, &mut bytes);
                assert_eq!(bytes.len(), nodes.len() * line::NODE_BYTES);
                assert_eq!(line::decode(&bytes, nodes.len()).as_ref(), Some(&nodes), "{name} {argument}");
                for (i, node) in nodes.iter().enumerate() {
                    let next = nodes.get(i + 1);
                    let last = next.map_or(u64::MAX, |next| next.start - 1);
                    for x in [node.start, last] {
                        let found = line::search(&bytes, nodes.len(), x);
                        assert_eq!(found, Some((*node, next.map(|next| next.first_child))), "{name} {x}");
                    }
                }
            }
        }
    }
}

#[test]
fn step_pieces_come_back_as_they_were_built() {
    for (name, keys) in nasty_sets(2000) {
        let fences = fences_of(&keys, 2);
        let pieces = step::greedy(&FenceRun::whole(&fences), 3);
        let mut bytes = Vec::new();
        step::encode(&pieces, &mut bytes);
        assert_eq!(bytes.len(), pieces.len() * step::PIECE_BYTES);
        assert_eq!(step::decode(&bytes, pieces.len()).as_ref(), Some(&pieces), "{name}");
        for (i, piece) in pieces.iter().enumerate() {
            let next = pieces.get(i + 1);
            for x in [piece.separator, next.map_or(u64::MAX, |next| next.separator - 1)] {
                let found = step::search(&bytes, pieces.len(), x);
                assert_eq!(found, Some((piece.first_child, next.map(|next| next.first_child))), "{name} {x}");
            }
        }
    }
}

#[test]
fn a_key_before_the_first_node_finds_a_hint_but_no_proof() {
    let pieces = [step::StepPiece { separator: 10, first_child: 0 }];
    let nodes = [line::LineNode { start: 10, first_child: 4, slope: 1.0, window: 1, drop: 0 }];
    let (mut proof, mut hint) = (Vec::new(), Vec::new());
    step::encode(&pieces, &mut proof);
    line::encode(&nodes, &mut hint);
    assert_eq!(step::search(&proof, 1, 9), None);
    assert_eq!(line::search(&hint, 1, 9), Some((nodes[0], None)));
    assert_eq!(nodes[0].window(9, 20), 4..=4);
}

#[test]
fn a_child_number_beyond_40_bits_is_refused() {
    for first_child in [(1 << 40) - 1, 1 << 40, u64::MAX] {
        let mut bytes = Vec::new();
        step::encode(&[step::StepPiece { separator: 0, first_child }], &mut bytes);
        assert_eq!(step::search(&bytes, 1, 5), None);
        let mut bytes = Vec::new();
        line::encode(&[line::LineNode { start: 0, first_child, slope: 0.0, window: 1, drop: 0 }], &mut bytes);
        assert_eq!(line::search(&bytes, 1, 5), None);
    }
}

#[test]
fn slopes_that_are_no_rising_number_are_refused() {
    for slope in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, -0.0] {
        let mut bytes = Vec::new();
        line::encode(&[line::LineNode { start: 0, first_child: 0, slope, window: 1, drop: 0 }], &mut bytes);
        assert_eq!(line::search(&bytes, 1, 5), None, "{slope}");
        assert_eq!(line::decode(&bytes, 1), None, "{slope}");
    }
}

#[test]
fn more_nodes_than_bytes_are_refused() {
    let mut bytes = Vec::new();
    step::encode(&[step::StepPiece { separator: 0, first_child: 0 }; 3], &mut bytes);
    let many = usize::MAX / step::PIECE_BYTES + 2;
    assert_eq!(
        (step::search(&bytes, 4, 1), step::search(&bytes, many, 1), step::decode(&bytes, many)),
        (None, None, None)
    );
    assert_eq!((line::search(&bytes, 2, 1), line::decode(&bytes, usize::MAX / line::NODE_BYTES + 2)), (None, None));
}

#[test]
fn nodes_out_of_order_are_refused() {
    let piece = |separator, first_child| step::StepPiece { separator, first_child };
    let mut bytes = Vec::new();
    step::encode(&[piece(0, 5), piece(10, 5)], &mut bytes);
    assert_eq!((step::decode(&bytes, 2), step::search(&bytes, 2, 3)), (None, None));
}

proptest! {
    #[test]
    fn no_bytes_make_a_search_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        count in 0..20usize,
        seed: u64,
    ) {
        let mut random = Random(seed);
        for x in [0, u64::MAX, random.next()] {
            for count in [count, usize::MAX, usize::MAX / 13] {
                let _ = step::decode(&bytes, count);
                let _ = step::search(&bytes, count, x);
                let _ = line::decode(&bytes, count);
                if let Some((node, next)) = line::search(&bytes, count, x) {
                    for last_child in [0, next.unwrap_or(1 << 39), u64::MAX] {
                        let window = node.window(x, last_child);
                        prop_assert!(window.start() <= window.end());
                        prop_assert!(*window.start() >= node.first_child);
                    }
                }
            }
        }
    }

    #[test]
    fn the_stored_window_is_the_next_that_can_be_stored(window in 1..=4096u16) {
        let node = line::LineNode { start: 0, first_child: 0, slope: 1.0, window, drop: 9 };
        let mut bytes = Vec::new();
        line::encode(&[node], &mut bytes);
        let stored = line::search(&bytes, 1, 0).map(|(node, _)| node.window);
        prop_assert!(stored.is_some_and(|stored| stored >= window && stored <= window + window / 32));
        prop_assert!(window > 64 || stored == Some(window));
    }
}
