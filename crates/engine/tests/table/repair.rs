//! Tests of the repair of tables. Goal: every record of an undamaged block is saved, nothing else is, and the lost
//! ranges cover every lost record. Method: tables of several key types, dense, of varying and of long values,
//! compressed, with repeats and filters; bytes, blocks and runs of bytes are damaged at random. The model knows the
//! place of each record from the reads of the sound table.

use ogive::block::compress::Compression;
use ogive::io::{FastPaths, LenientStorage, MemoryStorage, Purpose, Storage};
use ogive::repair::{FileRepairReport, LostRange, repair_table};
use ogive::table::external::index_table;
use ogive::table::{ReadTrace, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Advice, Call, Cause, Error, KeyType};
use ogive_testkit::{BadSectors, Random, Record};
use std::ops::Range;
use std::sync::Arc;

const ROUNDS: usize = 60;
const RECORDS: u64 = 400;

/// A sound table, its records, and the places of each: its block, and its value if that is stored outside.
struct Sample {
    content: Vec<u8>,
    options: TableWriteOptions,
    records: Vec<(Record, Vec<Range<usize>>)>,
    /// Offset behind the last byte that repair can do without.
    tail: usize,
}

fn key(key_type: KeyType, number: u64) -> Vec<u8> {
    match key_type.width() {
        Some(width) => u128::from(number * 999).to_be_bytes()[16 - width..].to_vec(),
        None => format!("key {:06}", number * 7).into_bytes(),
    }
}

/// Draws the records of a table; a fifth of the keys repeat.
fn records(options: &TableWriteOptions, longest: u64, random: &mut Random) -> Vec<Record> {
    let mut number = 0;
    let records = (0..RECORDS).map(|i| {
        number += u64::from(!random.one_in(5));
        let length = match options.value_width {
            Some(width) => u64::from(width),
            None if random.one_in(40) => longest,
            None => random.below(40),
        };
        let start = random.next_u64() as u8;
        let value = (0..length).map(|at| start.wrapping_add((at * (i + 1)) as u8)).collect();
        (key(options.key_type, number), value)
    });
    records.collect()
}

fn open(content: &[u8]) -> Table {
    let storage = Arc::new(MemoryStorage::new());
    storage.put("t", content.to_vec()).unwrap();
    let options = TableOptions::default().fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
    Table::open((storage, "t"), &options).unwrap()
}

fn sample(options: &TableWriteOptions, longest: u64, random: &mut Random) -> Sample {
    let records = records(options, longest, random);
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), options.clone()).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    let content = storage.content("t").unwrap();
    let table = open(&content);
    let place = |number: usize, value: &[u8]| {
        let mut trace = ReadTrace::new();
        table.traced(&mut trace).nth(number as u64).unwrap();
        let block = trace.reads.iter().rfind(|read| read.purpose == Purpose::Data).unwrap();
        let block = block.offset as usize..(block.offset + block.bytes) as usize;
        let mut places: Vec<Range<usize>> = std::iter::once(block).collect();
        if value.len() as u64 == longest && longest > 1000 {
            // The first chunk; the others follow, each with its checksum.
            let begin = content.windows(1000).position(|window| *window == value[..1000]).unwrap();
            places.push(begin..begin + value.len() + value.len().div_ceil(65_532) * 4);
        }
        places
    };
    let records = records.into_iter().enumerate();
    let records = records.map(|(i, record)| (record.clone(), place(i, &record.1))).collect();
    Sample { tail: table.opening().offset as usize, records, options: options.clone(), content }
}

fn samples(random: &mut Random) -> Vec<Sample> {
    let base = TableWriteOptions::default().block_bytes(512);
    let of = |name: &str| base.clone().key_type(name.parse().unwrap());
    let plans = [
        (of("u64").value_width(8).value_type("u64".parse().unwrap()), 0),
        (of("i128").value_width(3).compression(Compression::Lz4), 0),
        (of("bytes7").filter_bits_per_key(10), 90),
        (of("u32"), 3000),
        (of("text").compression(Compression::Lz4).filter_bits_per_key(12), 200),
        (of("text").properties(vec![("made by".into(), b"a test".to_vec())]), 140_000),
        (of("bytes"), 50),
        (of("timestamp(us)").compression(Compression::Lz4), 2500),
    ];
    plans.iter().map(|(options, longest)| sample(options, *longest, random)).collect()
}

fn repair(content: Vec<u8>) -> ogive::Result<(FileRepairReport, Arc<MemoryStorage>)> {
    let storage = Arc::new(MemoryStorage::new());
    storage.put("t", content.clone())?;
    let shared: Arc<dyn Storage> = storage.clone();
    let report = repair_table((&shared, "t"), (&shared, "new"), &mut |done, total| assert!(done <= total))?;
    assert_eq!(storage.content("t")?, content, "the damaged table changed");
    Ok((report, storage))
}

/// A lost range of the model: after, before, number.
type LostRecords = (Option<Vec<u8>>, Option<Vec<u8>>, u64);

/// The lost ranges of the model.
fn ranges(sample: &Sample, is_saved: &dyn Fn(usize) -> bool) -> Vec<LostRecords> {
    let mut ranges: Vec<LostRecords> = Vec::new();
    let (mut last, mut count) = (None, 0);
    for (i, ((key, _), _)) in sample.records.iter().enumerate() {
        if !is_saved(i) {
            count += 1;
            continue;
        }
        if count > 0 {
            ranges.push((last, Some(key.clone()), std::mem::take(&mut count)));
        }
        last = Some(key.clone());
    }
    if count > 0 {
        ranges.push((last, None, count));
    }
    ranges
}

fn compare(sample: &Sample, damaged: Vec<u8>, what: &str) {
    let is_saved = |i: usize| {
        let places = &sample.records[i].1;
        places.iter().all(|place| damaged[place.clone()] == sample.content[place.clone()])
    };
    let expected: Vec<Record> =
        (0..sample.records.len()).filter(|&i| is_saved(i)).map(|i| sample.records[i].0.clone()).collect();
    let (report, storage) = repair(damaged.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let lost = (sample.records.len() - expected.len()) as u64;
    assert_eq!((report.saved_records, report.lost_records), (expected.len() as u64, lost), "{what}");
    let model = ranges(sample, &is_saved);
    let of = |range: &LostRange| (range.after.clone(), range.before.clone());
    let found: Vec<_> = report.lost_ranges.iter().map(of).collect();
    assert_eq!(found, model.iter().map(|(after, before, _)| (after.clone(), before.clone())).collect::<Vec<_>>());
    assert_eq!(report.lost_ranges.iter().map(|range| range.records).sum::<u64>(), lost, "{what}");
    for (range, (.., count)) in report.lost_ranges.iter().zip(&model) {
        assert!(!range.is_exact || range.records == *count, "{what}: {range:?} has {count}");
    }
    if expected.is_empty() {
        assert!(!storage.exists("new").unwrap());
        return;
    }
    let table = Table::open((storage, "new"), &TableOptions::default()).unwrap();
    let saved: Vec<Record> = table.iter().map(Result::unwrap).collect();
    assert!(saved == expected, "{what}: {} records rather than {}", saved.len(), expected.len());
    assert!(table.verify(&mut |_, _| {}).unwrap().is_sound(), "{what}");
    assert_eq!(table.key_type(), sample.options.key_type);
    assert_eq!(table.value_type(), &sample.options.value_type);
    for (name, value) in &sample.options.properties {
        assert_eq!(table.property(name), Some(value.as_slice()));
    }
}

/// Damages a table before its tail.
fn damage(sample: &Sample, random: &mut Random) -> Vec<u8> {
    let mut content = sample.content.clone();
    for _ in 0..=random.below(6) {
        let at = random.below(sample.tail as u64) as usize;
        let block = at / 512 * 512..(at / 512 * 512 + 512).min(sample.tail);
        match random.below(4) {
            0 => content[at] ^= 1 << random.below(8),
            1 => content[block].fill(0),
            2 => {
                let from = random.below((sample.tail - block.len()) as u64) as usize / 512 * 512;
                content.copy_within(from..from + block.len(), block.start);
            }
            _ => {
                let end = (at + random.below(5000) as usize).min(sample.tail);
                content[at..end].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
            }
        }
    }
    content
}

#[test]
fn all_records_of_undamaged_blocks_are_saved_and_nothing_else() {
    let mut random = Random::new(3);
    for sample in samples(&mut random) {
        let of = sample.options.key_type;
        compare(&sample, sample.content.clone(), &format!("{of}, sound"));
        for round in 0..ROUNDS {
            let damaged = damage(&sample, &mut random);
            compare(&sample, damaged, &format!("{of}, round {round}"));
        }
    }
}

#[test]
fn a_table_without_any_sound_block_is_not_written_again() {
    let mut random = Random::new(4);
    let sample = sample(&TableWriteOptions::default().block_bytes(512), 30, &mut random);
    let mut damaged = sample.content.clone();
    damaged[..sample.tail].iter_mut().for_each(|byte| *byte ^= 1);
    compare(&sample, damaged, "all blocks");
}

#[test]
fn a_sector_that_cannot_be_read_costs_what_it_costs_where_it_is_zeros() {
    const SECTOR_BYTES: usize = 4096;
    let (mut random, mut handles) = (Random::new(8), 0);
    for sample in samples(&mut random) {
        for start in (0..sample.tail).step_by(SECTOR_BYTES) {
            let what = format!("{}, from {start}", sample.options.key_type);
            let end = (start + SECTOR_BYTES).min(sample.content.len());
            let mut zeroed = sample.content.clone();
            zeroed[start..end].fill(0);
            let memory = Arc::new(MemoryStorage::new());
            memory.put("t", sample.content.clone()).unwrap();
            let device = BadSectors::new(memory.clone()).with("t", start as u64..end as u64);
            let device: Arc<dyn Storage> = Arc::new(device);
            let verified = |storage| {
                let table = Table::open((storage, "t"), &TableOptions::default()).ok()?;
                let found = table.verify(&mut |_, _| {}).unwrap_or_else(|error| panic!("{what}: {error}")).findings;
                let is_it = |offset, detail: &str| offset == start as u64 && detail.contains("cannot be read");
                assert!(found.first().is_some_and(|it| is_it(it.offset, &it.detail)), "{what}: {found:?}");
                Some(found)
            };
            let found = verified(LenientStorage::around(&device));
            // A table that was opened before the sector failed finds the same.
            if let Some(by_handle) = verified(Arc::clone(&device)) {
                handles += 1;
                assert_eq!(Some(by_handle), found, "{what}");
            }
            let repaired = repair_table((&device, "t"), (&device, "new"), &mut |_, _| {});
            match (repair(zeroed), repaired) {
                (Ok((expected, new)), Ok(found)) => {
                    assert_eq!(found, expected, "{what}");
                    assert!(
                        memory.content("new").ok().map(|it| it.len()) == new.content("new").ok().map(|it| it.len())
                    );
                }
                (Err(Error { cause: Cause::NotRepairable, .. }), Err(Error { cause: Cause::NotRepairable, .. })) => {}
                (expected, found) => panic!("{what}: {found:?}, not {expected:?}"),
            }
        }
    }
    assert!(handles > 20, "{handles} tables could be opened");
}

#[test]
fn damage_to_the_tail_is_a_typed_error() {
    let mut random = Random::new(5);
    let sample = sample(&TableWriteOptions::default().block_bytes(512), 30, &mut random);
    let refused = |content: Vec<u8>| match repair(content) {
        Err(error @ Error { cause: Cause::NotRepairable, .. }) => assert!(error.detail().contains("tail"), "{error}"),
        other => panic!("{other:?}"),
    };
    refused(sample.content[..sample.tail].to_vec());
    let mut damaged = sample.content.clone();
    damaged[sample.content.len() - 40] ^= 1;
    refused(damaged);
}

#[test]
fn files_whose_records_are_elsewhere_and_taken_names_are_refused() {
    let mut random = Random::new(6);
    let content = sample(&TableWriteOptions::default().key_type(KeyType::U64), 30, &mut random).content;
    let storage = Arc::new(MemoryStorage::new());
    storage.put("t", content).unwrap();
    index_table(storage.clone(), "t", "x", TableWriteOptions::default()).unwrap();
    let mut writer = TableWriter::create((storage.clone(), "v"), TableWriteOptions::default().versioned(true)).unwrap();
    writer.append_version(b"a", 1, 2, b"b").unwrap();
    writer.finish().unwrap();
    let shared: Arc<dyn Storage> = storage;
    let repair = |name: &str, new_name: &str| repair_table((&shared, name), (&shared, new_name), &mut |_, _| {});
    assert!(matches!(repair("x", "new"), Err(error @ Error { cause: Cause::NotRepairable, .. })
            if error.detail().contains("index of")));
    assert!(matches!(repair("v", "new"), Err(error @ Error { cause: Cause::NotRepairable, .. })
            if error.advice() == Some(&Advice::Use(Call::RepairStore))));
    assert!(matches!(repair("t", "x"), Err(Error { cause: Cause::Io(_), .. })));
    assert!(!shared.exists("new").unwrap());
}
