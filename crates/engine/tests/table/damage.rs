//! Damage tests of table files. Goal: no damage to a table file leads to a wrong answer, a panic, or a verification
//! without findings. Method: small tables of every layout; every bit flipped, every truncation, garbage at the end,
//! blocks swapped and taken from another table of the same shape. Each damaged file is opened, searched and verified.

use ogive::block::compress::Compression;
use ogive::io::MemoryStorage;
use ogive::table::external::{RecordFile, index_records};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType, Result};
use ogive_testkit::Random;
use std::sync::Arc;

type Record = (Vec<u8>, Vec<u8>);

struct Sample {
    name: &'static str,
    records: Vec<Record>,
    options: TableWriteOptions,
}

fn numbers(count: u64, value_bytes: usize) -> Vec<Record> {
    let mut random = Random::new(count);
    let mut keys: Vec<u64> = (0..count).map(|_| random.next_u64() >> 20).collect();
    keys.sort_unstable();
    keys.iter().map(|key| (key.to_be_bytes().to_vec(), vec![*key as u8; value_bytes])).collect()
}

fn words(count: u32) -> Vec<Record> {
    (0..count).map(|i| (format!("folder/{:04}/name", i * 7).into_bytes(), vec![(i % 5) as u8; 20])).collect()
}

fn samples() -> Vec<Sample> {
    let base = TableWriteOptions::default().block_bytes(512);
    let dense = base.clone().key_type(KeyType::U64).value_width(8);
    let sample = |name, records, options| Sample { name, records, options };
    let mut long = words(12);
    long[5].1 = (0..1500).map(|i| (i % 251) as u8).collect();
    let compressed = base.clone().compression(Compression::Lz4);
    vec![
        sample("dense, coded", numbers(130, 8), dense.clone().design("coded".parse().unwrap())),
        sample("dense, two layers", numbers(1300, 8), two_layers()),
        sample("dense, without index", numbers(70, 8), dense.design("none".parse().unwrap())),
        sample("strings", words(45), base.clone()),
        sample("strings, compressed", words(60), compressed),
        sample("a long value", long, base.clone()),
        sample("empty", vec![], base),
    ]
}

fn two_layers() -> TableWriteOptions {
    TableWriteOptions::default()
        .key_type(KeyType::U64)
        .value_width(8)
        .block_bytes(512)
        .coding(false)
        .design("layers=2,builder=gstep/gband,lambda=512/512".parse().unwrap())
}

fn filtered() -> Sample {
    let records = words(20);
    let options = TableWriteOptions::default().block_bytes(512).filter_bits_per_key(10);
    Sample { name: "filtered", records, options }
}

fn write(sample: &Sample) -> Vec<u8> {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), sample.options.clone()).unwrap();
    sample.records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    storage.content("t").unwrap()
}

fn open(content: Vec<u8>) -> Result<Table> {
    let storage = Arc::new(MemoryStorage::new());
    storage.put("t", content)?;
    Table::open((storage, "t"), &TableOptions::default())
}

/// Whether an error says that the file is at fault.
fn is_typed(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::Damaged | Cause::NotATable | Cause::Version { .. }, .. })
}

/// Queries a table for everything; every answer must be right, or an error that says that the file is damaged.
fn ask(table: &Table, records: &[Record], what: &dyn Fn() -> String) {
    let fine = |error: &Error| assert!(is_typed(error), "{}: {error}", what());
    for (key, value) in records.iter().step_by(1 + records.len() / 24) {
        match table.get(key) {
            Ok(found) => assert_eq!(found.as_ref(), Some(value), "{}: get {key:?}", what()),
            Err(error) => fine(&error),
        }
        let absent = [&key[..key.len() - 1], &[key[key.len() - 1].wrapping_add(1)]].concat();
        if records.binary_search_by(|record| record.0.cmp(&absent)).is_err() {
            match table.get(&absent) {
                Ok(found) => assert_eq!(found, None, "{}: get {absent:?}", what()),
                Err(error) => fine(&error),
            }
        }
    }
    for backward in [false, true] {
        let all: Result<Vec<Record>> = if backward { table.iter().rev().collect() } else { table.iter().collect() };
        match all {
            Ok(found) if backward => assert!(found.iter().eq(records.iter().rev()), "{}: backward", what()),
            Ok(found) => assert!(found == records, "{}: {} records", what(), found.len()),
            Err(error) => fine(&error),
        }
    }
    match table.rank(&[0xFF; 8]) {
        Ok(rank) => assert_eq!(rank, records.len() as u64, "{}: rank", what()),
        Err(error) => fine(&error),
    }
    match table.nth(records.len() as u64 / 2) {
        Ok(found) => assert_eq!(found.as_ref(), records.get(records.len() / 2), "{}: nth", what()),
        Err(error) => fine(&error),
    }
}

/// Opens and queries a damaged file, and checks that the damage is detected.
fn check(content: Vec<u8>, records: &[Record], what: &dyn Fn() -> String) {
    match open(content) {
        Err(error) => assert!(is_typed(&error), "{}: {error}", what()),
        Ok(table) => {
            ask(&table, records, what);
            let report = table.verify(&mut |_, _| {}).unwrap_or_else(|error| panic!("{}: {error}", what()));
            assert!(!report.is_sound(), "{}: nothing was found", what());
        }
    }
}

#[test]
fn a_whole_table_is_sound_and_every_part_of_it_was_looked_at() {
    for sample in samples().into_iter().chain([filtered()]) {
        let table = open(write(&sample)).unwrap();
        let layers =
            if sample.name.contains("two layers") { 2 } else { usize::from(table.explain().layers.len() == 1) };
        assert_eq!(table.explain().layers.len(), layers, "{}", sample.name);
        let mut last = (0, 0);
        let report = table.verify(&mut |done, total| last = (done, total)).unwrap();
        assert!(report.is_sound(), "{}: {:?}", sample.name, report.findings);
        let records = sample.records.len() as u64;
        assert_eq!((report.records, report.blocks), (records, table.explain().blocks), "{}", sample.name);
        assert!(report.routes >= records, "{}", sample.name);
        assert!(last.0 == last.1 && last.1 > 0, "{}: {last:?}", sample.name);
        ask(&table, &sample.records, &|| sample.name.to_owned());
    }
}

/// Tables up to this size are damaged at every bit.
const ALL_BITS_BYTES_MAX: usize = 3_000;

#[test]
fn every_flipped_bit_is_seen() {
    for sample in samples() {
        let content = write(&sample);
        let (all_bits, data_bytes) =
            (content.len() <= ALL_BITS_BYTES_MAX, open(content.clone()).unwrap().explain().data_bytes as usize);
        for bit in 0..content.len() * 8 {
            // For a larger table, one bit of each byte, a different one in each; and every fifth byte of the many
            // blocks.
            let byte = bit / 8;
            if all_bits || bit % 8 == byte % 8 && (byte >= data_bytes || byte % 5 == 0) {
                let mut damaged = content.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                check(damaged, &sample.records, &|| format!("{}, bit {bit} of {}", sample.name, content.len() * 8));
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_filter_is_seen() {
    let sample = filtered();
    let content = write(&sample);
    // The 4 KiB of a filter page are uniform: one bit of each byte there, all bits elsewhere.
    for byte in 0..content.len() {
        for bit in if (4096..content.len() - 600).contains(&byte) { byte % 8..byte % 8 + 1 } else { 0..8 } {
            let mut damaged = content.clone();
            damaged[byte] ^= 1 << bit;
            check(damaged, &sample.records, &|| format!("filter, bit {bit} of byte {byte} of {}", content.len()));
        }
    }
}

#[test]
fn every_truncation_and_whatever_is_appended_is_seen() {
    for sample in samples().into_iter().chain([filtered()]) {
        let content = write(&sample);
        for length in 0..content.len() {
            check(content[..length].to_vec(), &sample.records, &|| format!("{}, cut to {length}", sample.name));
        }
        let mut random = Random::new(5);
        for extra in [1, 2, 100, 511, 512, 513, 4096, 100_000] {
            let noise: Vec<u8> = (0..extra).map(|_| random.next_u64() as u8).collect();
            for tail in [noise, vec![0; extra], content[content.len().saturating_sub(extra)..].to_vec()] {
                let longer = [content.as_slice(), &tail].concat();
                check(longer, &sample.records, &|| format!("{}, {extra} bytes more", sample.name));
            }
        }
    }
}

#[test]
fn a_block_in_the_place_of_another_is_seen() {
    for sample in samples().iter().filter(|sample| sample.name.starts_with("dense") || sample.name == "strings") {
        let (content, stranger) = (write(sample), write(sample));
        let blocks = open(content.clone()).unwrap().explain().blocks as usize;
        let places: Vec<usize> = (0..blocks).collect();
        assert!(places.len() >= 3, "{}", sample.name);
        for &a in &places {
            let (at, block) = (a * 512, a * 512..a * 512 + 512);
            for &b in places.iter().filter(|&&b| b > a) {
                let mut swapped = content.clone();
                swapped.copy_within(b * 512..b * 512 + 512, at);
                swapped[b * 512..b * 512 + 512].copy_from_slice(&content[block.clone()]);
                check(swapped, &sample.records, &|| format!("{}, {a} and {b} swapped", sample.name));
            }
            let mut mixed = content.clone();
            mixed[block.clone()].copy_from_slice(&stranger[block.clone()]);
            if mixed != content {
                check(mixed, &sample.records, &|| format!("{}, block {a} of another table", sample.name));
            }
        }
    }
}

#[test]
fn damage_to_an_index_beside_other_data_and_to_the_data_is_seen() {
    let records = numbers(150, 8);
    let data: Vec<u8> = 150_u64
        .to_le_bytes()
        .into_iter()
        .chain(records.iter().flat_map(|(key, value)| key.iter().rev().chain(value).copied().collect::<Vec<u8>>()))
        .collect();
    let storage = Arc::new(MemoryStorage::new());
    storage.put("data", data.clone()).unwrap();
    let options = TableWriteOptions::default().block_bytes(512);
    index_records(storage.clone(), "data", "t", RecordFile::sosd(8), options).unwrap();
    let index = storage.content("t").unwrap();
    let open = |index: Vec<u8>, data: Vec<u8>| {
        let storage = Arc::new(MemoryStorage::new());
        storage.put("data", data).unwrap();
        storage.put("t", index).unwrap();
        Table::open((storage, "t"), &TableOptions::default())
    };
    let whole = open(index.clone(), data.clone()).unwrap();
    assert!(whole.verify(&mut |_, _| {}).unwrap().is_sound());
    for bit in 0..index.len() * 8 {
        let mut damaged = index.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let what = || format!("bit {bit} of the index");
        match open(damaged, data.clone()) {
            Err(error) => assert!(is_typed(&error), "{}: {error}", what()),
            Ok(table) => {
                ask(&table, &records, &what);
                assert!(!table.verify(&mut |_, _| {}).unwrap().is_sound(), "{}", what());
            }
        }
    }
    // Without checksums in the data, changes are detected only by comparison. The count before the records was checked
    // when the index was built.
    for bit in 8 * 8..data.len() * 8 {
        let mut damaged = data.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let table = open(index.clone(), damaged).unwrap();
        assert!(!table.verify(&mut |_, _| {}).unwrap().is_sound(), "bit {bit} of the data");
    }
    for length in [0, 8, 500, data.len() - 1] {
        assert!(matches!(open(index.clone(), data[..length].to_vec()), Err(Error { cause: Cause::Changed, .. })));
    }
}
