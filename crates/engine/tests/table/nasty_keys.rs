//! Tests of tables over hard keys. Goal: a table answers every query like a sorted vector, whatever its index. Method:
//! tables of every design, with all other options drawn at random, are compared with the reference of the test kit.
//! `ogive-research` runs the same tests with the designs of papers.

use crate::named::{layered, named};
use crate::support::{Drawn, check, numbers, value_bytes, value_width};
use ogive::KeyType;
use ogive::table::TableWriteOptions;
use ogive_testkit::{Random, Record, Repeat, key_sets, named_seed};

/// The random source for options, and the command that repeats the run.
pub(crate) fn draws() -> (Random, Repeat) {
    let seed = named_seed().unwrap_or(1);
    (Random::new(seed), Repeat::new(env!("CARGO_CRATE_NAME"), seed))
}

/// Checks a table of these records, with random options except those of keys, values and the index.
pub(crate) fn check_drawn(random: &mut Random, like: TableWriteOptions, records: &[Record], name: &str) {
    let drawn = Drawn::new(random, like);
    let name = format!("{name}, {}", drawn.describe());
    let built = drawn.build(records);
    check(&built.table, records, &name);
}

fn check_on_nasty_keys(designs: &[&str]) {
    let (mut random, _repeat) = draws();
    for (name, keys) in key_sets::nasty(2000) {
        for design in designs {
            let bytes = value_bytes(&mut random);
            let options = TableWriteOptions::default()
                .key_type(KeyType::U64)
                .value_width(value_width(&mut random, bytes))
                .design(design.parse().unwrap());
            let records = numbers(&keys, bytes as usize);
            check_drawn(&mut random, options, &records, &format!("{name}, {design}"));
        }
    }
}

// Tests run side by side, and these are the longest ones.
#[test]
fn every_named_design_answers_as_a_sorted_vector_on_nasty_keys() {
    check_on_nasty_keys(named());
}

#[test]
fn every_layered_design_answers_as_a_sorted_vector_on_nasty_keys() {
    check_on_nasty_keys(layered());
}
