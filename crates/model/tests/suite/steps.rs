//! Tests of step nodes: each key's piece holds the child that the key belongs to.

use crate::common::{fences_of, nasty_sets, needed, probes};
use ogive_model::step::{self, StepPiece};
use ogive_model::{Fence, FenceRun};

fn build(fences: &[Fence], parts: usize, children: u64) -> Vec<StepPiece> {
    FenceRun::split(fences, parts).iter().flat_map(|run| step::greedy(run, children)).collect()
}

#[test]
fn every_present_key_is_at_home_among_the_first_children_of_its_piece() {
    for (name, keys) in nasty_sets(3000) {
        for keys_per_block in [1, 2, 7, 64] {
            let fences = fences_of(&keys, keys_per_block);
            for children in [1, 2, 16, 10_000] {
                for parts in [1, 4] {
                    let pieces = build(&fences, parts, children);
                    assert_eq!(pieces[0], StepPiece { separator: 0, first_child: 0 });
                    assert!(pieces.windows(2).all(|pair| pair[0].separator < pair[1].separator), "{name}");
                    assert!(pieces.windows(2).all(|pair| pair[0].first_child < pair[1].first_child), "{name}");
                    for &x in &keys {
                        let i = pieces.partition_point(|piece| piece.separator <= x) - 1;
                        let (home, _) = needed(&fences, x);
                        let end = pieces.get(i + 1).map_or(u64::MAX, |next| next.first_child);
                        let reach = end.min(pieces[i].first_child.saturating_add(children));
                        assert!(pieces[i].first_child <= home && home < reach, "{name}: {x} at home in {home}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_child_next_door_never_holds_a_key_of_the_piece() {
    // An absent key of a gap belongs to one side only: nothing beyond the piece is equal to it.
    for (name, keys) in nasty_sets(1000) {
        let fences = fences_of(&keys, 3);
        let pieces = build(&fences, 2, 1);
        for x in probes(&fences) {
            let i = pieces.partition_point(|piece| piece.separator <= x) - 1;
            let first_key = keys.partition_point(|&key| key < x);
            if keys.get(first_key) == Some(&x) {
                let home = (first_key / 3) as u64;
                let end = pieces.get(i + 1).map_or(u64::MAX, |next| next.first_child);
                assert!(pieces[i].first_child <= home && home < end, "{name}: {x}");
            }
        }
    }
}

#[test]
fn pieces_have_the_length_asked_for_where_fences_separate() {
    let fences: Vec<Fence> = (1..1000).map(|i| Fence { low: 10 * i - 1, high: 10 * i }).collect();
    let pieces = step::greedy(&FenceRun::whole(&fences), 7);
    assert!(pieces.iter().enumerate().all(|(i, piece)| piece.first_child == 7 * i as u64));
    assert_eq!(pieces.len(), 143);
}

#[test]
fn a_run_without_children_has_no_piece_and_one_child_has_one() {
    let nothing = FenceRun { start: 9, first_child: 3, fences: &[], at_end: false };
    assert_eq!(step::greedy(&nothing, 1), []);
    assert_eq!(step::greedy(&FenceRun { at_end: true, ..nothing }, 1), [StepPiece { separator: 9, first_child: 3 }]);
}
