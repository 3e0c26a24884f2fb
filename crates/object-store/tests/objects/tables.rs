//! Tables of random shape. Goal: a table in an object store answers as its sorted rows do. Method: shapes drawn from
//! fixed seeds are written to a store and read back through it, while some of the requests fail.

use crate::faulty_store::{Fault, FaultyStore, Lacks};
use ogive::io::Profile;
use ogive_object_store::ObjectOptions;
use ogive_testkit::Random;
use ogive_testkit::shapes::{Effort, Shape};

const SHAPES: u64 = 24;
const EFFORT: Effort = Effort { gets: 200, places: 10 };

fn check(seed: u64) {
    let mut random = Random::new(seed);
    let lacks = Lacks {
        suffix_ranges: random.one_in(4),
        e_tags: random.one_in(4),
        conditions: random.one_in(4),
        ..Lacks::default()
    };
    let store = FaultyStore::lacking(lacks);
    // Opening reads from 16 KiB to 1 MiB, and gaps that are bridged or not.
    let profile = Profile::affine("drawn", 10_f64.powi(1 + random.below(4) as i32), 10.0, 1 + random.below(64) as u32);
    let options = ObjectOptions::default().profile(profile.unwrap()).part_bytes(1 << (10 + random.below(13)));
    let storage = store.storage(options);
    for _ in 0..random.below(40) {
        let fault = [Fault::SlowDown, Fault::Reset, Fault::Short(7), Fault::LateReset][random.below(4) as usize];
        store.fail_gets_after(random.below(20) as usize, &[fault]);
    }
    let shape = Shape::of_seed(seed);
    if let Err(failure) = shape.check_in(&storage, EFFORT) {
        panic!("seed {seed}: {failure}");
    }
}

#[test]
fn tables_of_random_shape_in_object_stores_answer_as_their_rows_do() {
    (0..SHAPES).for_each(check);
}
