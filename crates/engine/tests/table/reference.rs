//! Tests of tables against a reference. Goal: a table answers every query like a sorted vector, whatever its keys,
//! layout and index. Method: tables over hard, clustered and repeated keys with every design are compared with the
//! reference of the test kit, for present, absent and extreme keys. All other options are drawn at random for each
//! table: blocks, memory, compression, filter, layout, direct or cached reads.

use crate::nasty_keys::{check_drawn, draws};
use crate::support::{Drawn, check, value_width, words};
use ogive::KeyType;
use ogive::block::compress::Compression;
use ogive::io::MemoryStorage;
use ogive::table::{RecordVersion, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::tune::DesignRequest;
use ogive_testkit::{Random, Record};
use std::sync::Arc;

fn write(records: &[Record], options: TableWriteOptions) -> Table {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    Table::open((storage, "t"), &TableOptions::default()).unwrap()
}

#[test]
fn byte_strings_of_any_kind_are_found() {
    let (mut draws, _repeat) = draws();
    let mut random = Random::new(3);
    let mut sets = vec![("words", words(6000, &mut random))];
    let mut distinct = words(6000, &mut random);
    distinct.dedup();
    sets.push(("distinct", distinct));
    sets.push(("long", (0..300_u32).map(|i| [vec![b'p'; 3000], i.to_be_bytes().to_vec()].concat()).collect()));
    sets.push(("prefixes", (0..800).map(|i| vec![0; i]).collect()));
    sets.push(("huge", (0..9_u8).map(|i| [vec![i / 3; 40_000], vec![i]].concat()).collect()));
    sets.push(("equal", vec![b"same".to_vec(); 3000]));
    sets.push(("few", vec![vec![], vec![0], vec![0, 0]]));
    for (name, keys) in sets {
        for design in ["tuned", "coded", "none"] {
            let options = TableWriteOptions::default().design(design.parse().unwrap());
            let records: Vec<Record> =
                keys.iter().enumerate().map(|(i, key)| (key.clone(), vec![i as u8; i % 40])).collect();
            check_drawn(&mut draws, options, &records, &format!("{name}, {design}"));
        }
    }
}

#[test]
fn compressed_and_filtered_tables_and_long_values_answer_alike() {
    let mut random = Random::new(5);
    let keys = words(3000, &mut random);
    let value = |i: usize| vec![(i % 7) as u8; if i % 500 == 499 { 200_000 } else { i % 90 }];
    let records: Vec<Record> = keys.iter().enumerate().map(|(i, key)| (key.clone(), value(i))).collect();
    let (mut draws, _repeat) = draws();
    for filter in [None, Some(10)] {
        for compression in [Compression::None, Compression::Lz4] {
            let mut drawn = Drawn::new(&mut draws, TableWriteOptions::default());
            (drawn.written.filter_bits_per_key, drawn.written.compression) = (filter, compression);
            let name = drawn.describe();
            check(&drawn.build(&records).table, &records, &name);
        }
    }
}

#[test]
fn versions_of_a_key_are_found_by_suffix() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().versioned(true).block_bytes(512);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    for key in [b"a", b"b"] {
        for suffix in (1..200_u64).rev() {
            writer.append_version(key, (suffix % 3) as u8, suffix * 10, &suffix.to_le_bytes()).unwrap();
        }
    }
    assert!(writer.append_version(b"b", 0, 10_000, b"").is_err(), "a larger suffix belongs first");
    writer.finish().unwrap();
    let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
    for at in [9, 10, 11, 500, 1990, u64::MAX] {
        let newest = (at / 10).min(199);
        let expected = (newest > 0).then(|| RecordVersion {
            kind: (newest % 3) as u8,
            sequence: newest * 10,
            value: newest.to_le_bytes().to_vec(),
        });
        assert_eq!(table.get_version(b"b", at).unwrap(), expected, "at {at}");
    }
    assert_eq!(table.get(b"a").unwrap(), Some(199_u64.to_le_bytes().to_vec()));
    assert_eq!(table.get_all(b"a").unwrap().len(), 199);
}

#[test]
fn a_table_without_records_answers() {
    let (mut random, _repeat) = draws();
    for key_type in [KeyType::U64, KeyType::Bytes, KeyType::U128] {
        for design in [DesignRequest::Tuned, DesignRequest::None] {
            let options = TableWriteOptions::default().key_type(key_type).design(design);
            check_drawn(&mut random, options, &[], "empty");
        }
    }
}

#[test]
fn keys_of_sixteen_bytes_are_found() {
    let mut random = Random::new(11);
    let mut wide: Vec<u128> =
        (0..4000).map(|_| u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())).collect();
    wide.extend((0..3000_u128).map(|i| (7 << 100) + i));
    wide.extend([0, u128::MAX]);
    wide.sort_unstable();
    let records: Vec<Record> = wide.iter().map(|key| (key.to_be_bytes().to_vec(), vec![1; 4])).collect();
    let (mut draws, _repeat) = draws();
    for design in ["tuned", "coded"] {
        let options = TableWriteOptions::default()
            .key_type(KeyType::U128)
            .value_width(value_width(&mut draws, 4))
            .design(design.parse().unwrap());
        check_drawn(&mut draws, options, &records, &format!("u128, {design}"));
    }
}

/// A layer over a single page has a single page, too: stacking more of them cannot meet a smaller budget.
#[test]
fn a_root_that_is_to_take_nothing_is_as_small_as_it_can_be() {
    let keys = words(2000, &mut Random::new(9));
    let records: Vec<Record> = keys.into_iter().map(|key| (key, vec![7; 20])).collect();
    for design in ["tuned", "coded"] {
        let options = TableWriteOptions::default()
            .design(design.parse().unwrap())
            .block_bytes(512)
            .tuning(|tuning| tuning.resident_bytes(0));
        let table = write(&records, options);
        assert!(table.explain().layers.len() <= 3, "{design}: {:?}", table.explain().layers);
        check(&table, &records, design);
    }
}
