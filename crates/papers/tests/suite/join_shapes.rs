//! Goal: what joins by the methods of this crate write can be read back, for every shape of input. Method: the random
//! shapes of the test kit that come out of such a join, and nested keys, whose separators are long.

use ogive::KeyType;
use ogive::io::FastPaths;
use ogive::join::{JoinKind, JoinMethod};
use ogive_papers::joins::{BTREE, METHODS};
use ogive_papers::register;
use ogive_testkit::shapes::{Effort, Ends, JoinForm, Relation, Shape, TableForm, Values, Way};

/// Seeds of the random shapes, and the limit in bytes of their rows.
const SEEDS: std::ops::Range<u64> = 0..600;
const BYTES_MAX: u64 = 160 << 10;

/// Separators so long that the index has several layers, of which joins read the lowest.
#[test]
fn nested_keys_looked_up_by_joins() {
    register();
    for kind in [JoinKind::Inner, JoinKind::Semi, JoinKind::Anti] {
        let way = Way::Join(JoinForm {
            memory_bytes: 256 << 20,
            method: BTREE,
            kind,
            threads: 1,
            relations: (Relation::Table, Relation::Table),
            right_one_in: 1,
        });
        let table = TableForm {
            design: "tuned",
            block_bytes: Some(4096),
            states_value_width: false,
            coded: true,
            compressed: false,
            filtered: false,
        };
        let shape = Shape {
            key_type: KeyType::Text,
            ends: Ends::Nested,
            prefix_bytes: 0,
            prefixes: 1,
            rows: 2_900,
            values: Values::Empty,
            seed: 1,
            table,
            way,
            fast_paths: FastPaths::ALL,
        };
        if let Err(failure) = shape.check(Effort::QUICK) {
            panic!("{failure}");
        }
    }
}

#[test]
fn shapes_that_are_drawn_come_out_of_joins() {
    register();
    let mut done = 0;
    for seed in SEEDS {
        let shape = Shape::of_seed(seed);
        let is_ours = |method: JoinMethod| METHODS.iter().any(|own| own.to_string() == method.to_string());
        if matches!(&shape.way, Way::Join(form) if is_ours(form.method)) && shape.bytes() <= BYTES_MAX {
            if let Err(failure) = shape.check(Effort::QUICK) {
                panic!("seed {seed}: {failure}");
            }
            done += 1;
        }
    }
    assert!(done > 5, "{done}");
}
