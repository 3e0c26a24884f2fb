//! Tests of read counts. Goal: opening is one read, and a lookup makes one read for each layer below the root and one
//! for the data, for present and absent keys, within the sizes that the file states. Method: read traces of uncached
//! lookups, for every design and key type.

use crate::named::read;
use ogive::KeyType;
use ogive::io::{MemoryStorage, Meter, ModelledClock, Profile, Purpose, Storage};
use ogive::table::{ReadTrace, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive_testkit::{Random, key_sets};
use std::sync::Arc;

/// Opens without a cache, so that every read is in the trace.
fn reopen(storage: &Arc<MemoryStorage>) -> Table {
    let budget = TableOptions::default().memory_bytes(8 << 20);
    Table::open((storage.clone(), "t"), &budget).unwrap()
}

fn write(records: &[(Vec<u8>, Vec<u8>)], options: TableWriteOptions) -> Arc<MemoryStorage> {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    storage
}

/// Looks a key up with nothing cached, and compares its trace with the stated reads.
fn check_reads(storage: &Arc<MemoryStorage>, key: &[u8], is_present: bool, name: &str) -> ReadTrace {
    let table = reopen(storage);
    let report = table.explain();
    let mut trace = ReadTrace::new();
    let found = table.traced(&mut trace).contains_key(key).unwrap();
    assert_eq!(found, is_present, "{name}: {key:?}");
    let purposes: Vec<Purpose> = trace.reads.iter().map(|read| read.purpose).collect();
    let layers = (1..report.layers.len()).rev().map(|layer| Purpose::Layer(layer as u8));
    let expected: Vec<Purpose> = layers.chain([Purpose::Data]).collect();
    assert_eq!(purposes, expected, "{name}: {key:?}: {trace:?}");
    for read in &trace.reads {
        let most = match read.purpose {
            Purpose::Layer(layer) => report.layers[usize::from(layer) - 1].max_read_bytes,
            _ => report.data_max_read_bytes,
        };
        assert!(read.bytes <= most, "{name}: {key:?}: {read:?}, and {most} bytes were promised");
    }
    trace
}

/// The hard key sets without repeats, as keys and as records, except those of fewer than `least` keys.
fn distinct_sets(
    size: usize,
    least: usize,
) -> impl Iterator<Item = (&'static str, Vec<u64>, Vec<ogive::table::Record>)> {
    key_sets::nasty(size).into_iter().filter_map(move |(name, mut keys)| {
        keys.dedup();
        let records = keys.iter().map(|key| (key.to_be_bytes().to_vec(), vec![1; 8])).collect();
        (keys.len() >= least).then_some((name, keys, records))
    })
}

#[test]
fn a_look_up_makes_one_read_for_each_layer_below_the_root_and_one_for_the_data() {
    let mut random = Random::new(1);
    for (name, keys, records) in distinct_sets(4000, 100) {
        for design in read() {
            let name = format!("{name}, {design}");
            let options = TableWriteOptions::default()
                .key_type(KeyType::U64)
                .value_width(8)
                .block_bytes(512)
                .design(design.parse().unwrap());
            let storage = write(&records, options);
            for _ in 0..25 {
                let key = keys[random.below(keys.len() as u64) as usize];
                check_reads(&storage, &key.to_be_bytes(), true, &name);
                for absent in [key.wrapping_add(1), key.wrapping_sub(1), random.next_u64()] {
                    if keys.binary_search(&absent).is_err() {
                        check_reads(&storage, &absent.to_be_bytes(), false, &name);
                    }
                }
            }
        }
    }
}

#[test]
fn byte_strings_take_as_many_reads() {
    let keys: Vec<Vec<u8>> = (0..20_000_u32).map(|i| format!("user/{:07}/profile", i * 13).into_bytes()).collect();
    let records: Vec<_> = keys.iter().map(|key| (key.clone(), vec![2; 8])).collect();
    for design in ["tuned", "coded"] {
        let options = TableWriteOptions::default().block_bytes(1024).design(design.parse().unwrap());
        let storage = write(&records, options);
        for key in keys.iter().step_by(997) {
            check_reads(&storage, key, true, design);
            check_reads(&storage, &[key.as_slice(), b"x"].concat(), false, design);
        }
    }
}

#[test]
fn coded_steps_fetch_exactly_one_block_of_the_device_for_every_key() {
    let mut random = Random::new(2);
    for (name, keys, records) in distinct_sets(60_000, 10_000) {
        let options = TableWriteOptions::default()
            .key_type(KeyType::U64)
            .value_width(8)
            .block_bytes(4096)
            .design("coded".parse().unwrap());
        let storage = write(&records, options);
        for _ in 0..60 {
            let present = keys[random.below(keys.len() as u64) as usize];
            for key in [present, present.wrapping_add(1), random.next_u64()] {
                let is_present = keys.binary_search(&key).is_ok();
                let trace = check_reads(&storage, &key.to_be_bytes(), is_present, name);
                assert_eq!((trace.blocks(4096), trace.bytes()), (1, 4096), "{name}: {key}");
                assert_eq!(trace.reads[0].offset % 4096, 0, "{name}: a block is not where the device has one");
            }
        }
    }
}

#[test]
fn an_index_of_coded_blocks_is_the_one_that_was_asked_for() {
    let mut random = Random::new(5);
    for bits in [20, 40] {
        let mut key = 0_u64;
        let records: Vec<_> = (0..100_000)
            .map(|_| {
                key += 1 + (random.next_u64() >> (64 - 1 - random.below(bits - 1)));
                (key.to_be_bytes().to_vec(), (key + 1).to_le_bytes().to_vec())
            })
            .collect();
        for block_bytes in [512, 1024, 4096] {
            let options = TableWriteOptions::default()
                .key_type(KeyType::U64)
                .value_width(8)
                .block_bytes(block_bytes)
                .design("coded".parse().unwrap());
            let storage = write(&records, options);
            let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
            let report = table.explain();
            let kinds: Vec<String> = report.layers.iter().map(|layer| layer.kind.clone()).collect();
            assert!(kinds.iter().all(|kind| kind.starts_with("coded")), "{bits} bits, {block_bytes} B: {kinds:?}");
            for (key, value) in records.iter().step_by(997) {
                assert_eq!(table.get(key).unwrap().as_deref(), Some(&value[..]));
            }
        }
    }
}

#[test]
fn opening_is_one_read_at_the_end_whose_size_follows_from_the_length_of_the_file() {
    for design in read() {
        for count in [0, 1, 100, 30_000_u64] {
            let records: Vec<_> = (0..count).map(|i| ((i * i).to_be_bytes().to_vec(), vec![1; 8])).collect();
            let options =
                TableWriteOptions::default().key_type(KeyType::U64).value_width(8).design(design.parse().unwrap());
            let storage = write(&records, options);
            let meter = Meter::new(storage);
            let table = Table::open((Arc::new(meter.clone()), "t"), &TableOptions::default()).unwrap();
            let reads = meter.snapshot().reads;
            assert_eq!(reads.requests, 1, "{design}, {count} records");
            let opening = table.opening();
            let report = table.explain();
            assert_eq!((opening.bytes, opening.offset + opening.bytes), (report.opening_bytes(), report.file_bytes));
            assert_eq!(reads.bytes, opening.bytes);
        }
    }
}

#[test]
fn a_batch_reads_nothing_twice_even_without_a_cache() {
    let records: Vec<_> = (0..20_000_u64).map(|i| ((i * 7).to_be_bytes().to_vec(), vec![1; 8])).collect();
    for design in ["layers=2,builder=gband/gband,lambda=4096/512", "coded"] {
        let options = TableWriteOptions::default()
            .key_type(KeyType::U64)
            .value_width(8)
            .block_bytes(512)
            .design(design.parse().unwrap());
        let storage = write(&records, options);
        let table = reopen(&storage);
        for step in [400, 50, 7] {
            let keys: Vec<[u8; 8]> = (0..300_u64).map(|i| (i * step).to_be_bytes()).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
            let mut trace = ReadTrace::new();
            table.traced(&mut trace).multi_get(&keys).unwrap();
            let mut ranges: Vec<(u64, u64)> =
                trace.reads.iter().map(|read| (read.offset, read.offset + read.bytes)).collect();
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{design}, {step}: something was read twice");
        }
    }
}

#[test]
fn both_ends_of_a_range_and_several_positions_are_read_side_by_side() {
    // Values of several lengths make blocks of several numbers of records, which are then counted in a section.
    let records: Vec<_> =
        (0..20_000_u64).map(|i| ((i * 7).to_be_bytes().to_vec(), vec![1; (i % 5) as usize])).collect();
    for design in ["tuned", "btree", "layers=3,builder=eband/coded/gband,lambda=4096/512/512"] {
        let options = TableWriteOptions::default().key_type(KeyType::U64).block_bytes(512);
        let storage = write(&records, options.design(design.parse().unwrap()));
        // A read takes a microsecond, whatever its size, and any number of them take as long as one.
        let clock = ModelledClock::new(storage, Profile::affine("rounds", 1.0, 1e9, 1 << 16).unwrap());
        let open = || Table::open((Arc::new(clock.clone()), "t"), &TableOptions::default()).unwrap();
        let rounds = || clock.reset().round() as usize;

        let table = open();
        let layers = table.explain().layers.len() - 1;
        rounds();
        assert_eq!(table.positions(1000_u64.to_be_bytes()..=100_000_u64.to_be_bytes()).unwrap(), 143..14_286);
        // The counts are read at the same time, which the clock takes for another round.
        assert_eq!(rounds(), 1 + layers + 1, "{design}: both ends");
        let keys = table.keys_at(&[5, 10_000, 19_999, 20_000, 0]).unwrap();
        let numbers: Vec<_> = keys.iter().map(|key| key.as_deref().map(|key| key.try_into().unwrap())).collect();
        assert_eq!(
            numbers,
            [Some(35), Some(70_000), Some(139_993), None, Some(0)].map(|key| key.map(u64::to_be_bytes))
        );
        assert_eq!(rounds(), 1, "{design}: several positions");

        let table = open();
        rounds();
        assert!(table.keys_at(&[0, 19_999]).unwrap().iter().all(Option::is_some));
        assert_eq!(rounds(), 1, "{design}: the ends of all records, without the counts");
    }
}

#[test]
fn a_warmed_table_has_its_upper_layers_first_and_then_its_blocks() {
    let mut random = Random::new(3);
    let mut keys: Vec<u64> = (0..100_000).map(|_| random.next_u64()).collect();
    keys.sort_unstable();
    keys.dedup();
    let records: Vec<_> = keys.iter().map(|key| (key.to_be_bytes().to_vec(), vec![3; 8])).collect();
    let design = "layers=3,builder=eband/eband/gband,lambda=512/512/512".parse().unwrap();
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8).block_bytes(512).design(design);
    let storage = write(&records, options);
    let file_bytes = storage.open("t").unwrap().len();
    let opened = |warm_bytes: u64| {
        let options = TableOptions::default().memory_bytes(8 << 20).warm_bytes(warm_bytes);
        Table::open((storage.clone(), "t"), &options).unwrap()
    };
    let purposes = |table: &Table, key: u64| {
        let mut trace = ReadTrace::new();
        assert!(table.traced(&mut trace).contains_key(&key.to_be_bytes()).unwrap());
        trace.reads.iter().map(|read| read.purpose).collect::<Vec<_>>()
    };
    let report = reopen(&storage).explain();
    assert_eq!(report.layers.len(), 3);
    let (lower, upper) = (report.layers[0].size_bytes, report.layers[1].size_bytes);
    for key in keys.iter().step_by(19_999).copied() {
        assert_eq!(purposes(&opened(0), key), [Purpose::Layer(2), Purpose::Layer(1), Purpose::Data]);
        assert_eq!(purposes(&opened(upper), key), [Purpose::Layer(1), Purpose::Data]);
        assert_eq!(purposes(&opened(upper + lower), key), [Purpose::Data]);
        assert_eq!(purposes(&opened(file_bytes), key), []);
    }
    // As many of the first blocks as were asked for, and whole.
    let some = opened(upper + lower + 10 * 512 + 511);
    assert_eq!(purposes(&some, keys[0]), []);
    assert_eq!(purposes(&some, keys[keys.len() - 1]), [Purpose::Data]);
    assert_eq!(some.warm(upper).unwrap(), upper, "what is there already counts");
    // Less memory than the file.
    let options = TableOptions::default().memory_bytes(file_bytes / 2);
    let short = Table::open((storage.clone(), "t"), &options).unwrap();
    assert!((1..file_bytes / 2).contains(&short.warm(u64::MAX).unwrap()));
}
