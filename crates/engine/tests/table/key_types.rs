//! Tests of key types. Goal: a table answers like a sorted vector whatever the width of its keys. Method: tables of
//! each type of 1 to 16 bytes, of no, one, few and 100,000 random and consecutive keys with repeats, with every design
//! that takes all keys, dense, by column and compressed, are compared with the reference of the test kit.

use crate::support::{Drawn, check, value_bytes};
use ogive::io::{MemoryStorage, Storage};
use ogive::table::external::index_table;
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType};
use ogive_testkit::{Random, Record, Repeat, named_seed};
use std::sync::Arc;

const TYPES: [KeyType; 10] = [
    KeyType::U32,
    KeyType::I128,
    KeyType::FixedBytes(1),
    KeyType::FixedBytes(2),
    KeyType::FixedBytes(3),
    KeyType::FixedBytes(7),
    KeyType::FixedBytes(8),
    KeyType::FixedBytes(9),
    KeyType::FixedBytes(13),
    KeyType::FixedBytes(16),
];
const DESIGNS: [&str; 3] = ["tuned", "coded", "none"];
const MANY: usize = 100_000;
/// Types of which there are tables of many keys.
const TYPES_OF_MANY: [KeyType; 5] =
    [KeyType::U32, KeyType::I128, KeyType::FixedBytes(1), KeyType::FixedBytes(7), KeyType::FixedBytes(13)];

/// Sorted keys of a width, about half of them consecutive, some of them repeated.
fn keys(width: usize, count: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let start = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    let mut keys: Vec<Vec<u8>> = Vec::with_capacity(count);
    for number in 0..count {
        let key = match random.below(8) {
            0 => keys.last().cloned(),
            1..5 => Some((start + number as u128).to_be_bytes()[16 - width..].to_vec()),
            _ => None,
        };
        let drawn = || (0..width).map(|_| random.next_u64() as u8).collect();
        keys.push(key.unwrap_or_else(drawn));
    }
    keys.sort();
    keys
}

fn records(keys: Vec<Vec<u8>>, value_bytes: usize) -> Vec<Record> {
    let value = |i: usize| i.to_le_bytes().iter().cycle().take(value_bytes).copied().collect();
    keys.into_iter().enumerate().map(|(i, key)| (key, value(i))).collect()
}

/// Checks a table of a type with random options, by column if `value_width` is not given.
fn check_type(random: &mut Random, key_type: KeyType, design: &str, count: usize, is_dense: bool) {
    let bytes = value_bytes(random);
    let records = records(keys(key_type.width().unwrap(), count, random), bytes as usize);
    let like = TableWriteOptions::default()
        .key_type(key_type)
        .design(design.parse().unwrap())
        .value_width(is_dense.then_some(bytes));
    let drawn = Drawn::new(random, like);
    let name = format!("{design}, {count} records, {}", drawn.describe());
    let built = drawn.build(&records);
    assert_eq!(built.table.key_type(), key_type, "{name}");
    check(&built.table, &records, &name);
}

#[test]
fn every_key_type_answers_as_a_sorted_vector() {
    let seed = named_seed().unwrap_or(1);
    let (mut random, _repeat) = (Random::new(seed), Repeat::new(env!("CARGO_CRATE_NAME"), seed));
    for key_type in TYPES {
        for design in DESIGNS {
            for (count, is_dense) in [(0, true), (1, true), (1, false), (7, true), (1000, true), (1000, false)] {
                let count = if design == "none" { count / 5 } else { count };
                check_type(&mut random, key_type, design, count, is_dense);
            }
        }
    }
}

#[test]
fn tables_of_many_keys_of_each_type_answer_as_a_sorted_vector() {
    let seed = named_seed().unwrap_or(1);
    let (mut random, _repeat) = (Random::new(seed), Repeat::new(env!("CARGO_CRATE_NAME"), seed));
    for (number, key_type) in TYPES_OF_MANY.into_iter().enumerate() {
        let design = DESIGNS[number % 2];
        let records = records(keys(key_type.width().unwrap(), MANY, &mut random), number % 5);
        let options = TableWriteOptions::default()
            .key_type(key_type)
            .design(design.parse().unwrap())
            .value_width([Some(number as u32 % 5), None][number / 2 % 2]);
        let storage = Arc::new(MemoryStorage::new());
        let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
        records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
        writer.finish().unwrap();
        let table = Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap();
        check(&table, &records, &format!("{key_type}, {design}"));
        assert!(table.range(&[][..]..).next().is_some_and(|first| first.is_err()), "{key_type}");
        let all: Vec<Record> = table.range::<&[u8]>(..).map(Result::unwrap).collect();
        assert!(all == records, "{key_type}, {design}");
        // A second index takes the type of the table.
        let storage: Arc<dyn Storage> = storage;
        index_table(storage.clone(), "t", "second", TableWriteOptions::default()).unwrap();
        let second = Table::open((storage, "second"), &TableOptions::default()).unwrap();
        assert_eq!(second.key_type(), key_type);
        let (key, _) = &records[MANY / 2];
        assert_eq!(second.rank(key).unwrap(), table.rank(key).unwrap(), "{key_type}");
    }
}

/// Blocks of 1 MiB hold more than a million such records.
#[test]
fn records_of_one_byte_fill_the_largest_blocks() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::FixedBytes(1)).value_width(0);
    // Coded, all of them would fit one block.
    let options = options.block_bytes(1 << 20).coding(false);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    const EACH: u64 = 10_000;
    for byte in 0..=255_u8 {
        (0..EACH).for_each(|_| writer.append(&[byte], b"").unwrap());
    }
    assert!(writer.finish().unwrap().blocks > 1);
    let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
    for byte in [0, 1, 127, 254, 255] {
        assert_eq!(table.rank(&[byte]).unwrap(), u64::from(byte) * EACH);
        assert_eq!(table.count([byte]..=[byte]).unwrap(), EACH);
    }
    assert!(table.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn widths_that_no_key_type_has_are_refused() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::FixedBytes(0));
    let refused = TableWriter::create((storage.clone(), "t"), options).map(drop);
    assert!(matches!(refused, Err(Error { cause: Cause::Input, .. })), "{refused:?}");
    assert_eq!(storage.list().unwrap(), [""; 0]);
}
