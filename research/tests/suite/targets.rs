//! Numeric targets of tables: index bytes per block, blocks per lookup, modelled times, memory. Counts only, no clock.
//!
//! The short versions run on a million keys, the long ones at the sizes of the stated targets.

use ogive::KeyType;
use ogive::io::{MemoryStorage, Profile, Purpose};
use ogive::table::{ReadTrace, Table, TableOptions, TableReport, TableWriteOptions, TableWriter};
use ogive::tune::TableSample;
use ogive_research::keys::{KeySet, open};
use std::sync::Arc;

const BLOCK_BYTES: u32 = 4096;

fn write(set: &KeySet, value_bytes: u32, options: TableWriteOptions) -> (Arc<MemoryStorage>, TableReport) {
    let storage = Arc::new(MemoryStorage::new());
    let options = options.key_type(KeyType::U64).value_width(value_bytes).coding(false);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    let value = vec![7; value_bytes as usize];
    for key in set.stream().unwrap() {
        writer.append(&key.unwrap().to_be_bytes(), &value).unwrap();
    }
    let report = writer.finish().unwrap();
    (storage, report)
}

/// Fixed blocks, coded separators in memory: full blocks, few bytes of index, one block for every lookup.
fn check_coded(spec: &str, most_bytes_a_block: f64) {
    let set = open(spec).unwrap();
    let options = TableWriteOptions::default().design("coded".parse().unwrap()).block_bytes(BLOCK_BYTES);
    let (storage, report) = write(&set, 8, options);
    let a_block = |bytes: u64| bytes as f64 / report.blocks as f64;
    let full = report.records as f64 * 16.0 / (report.blocks * u64::from(BLOCK_BYTES)) as f64;
    assert!(full >= 0.96, "{spec}: blocks are {full} full");
    let index = a_block(report.index_bytes);
    assert!(index <= most_bytes_a_block, "{spec}: {index} bytes of index a block");
    assert!(a_block(report.count_bytes) <= 1.0, "{spec}: {} bytes of counts a block", a_block(report.count_bytes));
    assert_eq!(report.location_bytes, 0);
    let table = Table::open((storage, "t"), &TableOptions::default().memory_bytes(0)).unwrap();
    let step = (report.records / 2000).max(1) as usize;
    for key in set.stream().unwrap().step_by(step) {
        let key = key.unwrap();
        for asked in [key, key.wrapping_add(1)] {
            let mut trace = ReadTrace::new();
            table.traced(&mut trace).get(&asked.to_be_bytes()).unwrap();
            let [read] = trace.reads[..] else { panic!("{spec}: {asked}: {:?}", trace.reads) };
            assert_eq!((read.purpose, read.bytes), (Purpose::Data, u64::from(BLOCK_BYTES)), "{spec}: {asked}");
            assert_eq!(trace.blocks(u64::from(BLOCK_BYTES)), 1, "{spec}: {asked}");
        }
    }
}

#[test]
fn coded_separators_take_less_than_a_byte_a_block_on_smooth_keys_and_lead_to_one_block() {
    check_coded("uniform:1M", 1.0);
    check_coded("lognormal:1M", 1.0);
}

#[test]
fn coded_separators_never_take_more_than_plain_ones() {
    for spec in ["step:300k", "clusters:300k", "dense-runs:300k", "staircase:300k", "poison:300k", "outliers:300k"] {
        check_coded(spec, 13.0);
    }
}

#[test]
#[ignore = "long: 1 minutes"]
fn coded_separators_keep_their_size_at_ten_million_keys() {
    for seed in 1..=3 {
        check_coded(&format!("uniform:10M:seed={seed}"), 1.0);
        check_coded(&format!("lognormal:10M:seed={seed}"), 1.0);
    }
}

/// A sample, as taken by a program that has the keys in memory.
fn sample(keys: &[u64]) -> TableSample {
    let apart = keys.len() / 16;
    let run = |i: usize| keys[i * apart..][..apart.min(1 << 15)].to_vec();
    TableSample {
        runs: (0..16).map(run).collect(),
        records: keys.len() as u64,
        record_bytes: 8.0,
        block_overhead_bytes: 8,
    }
}

/// AirIndex's own figures, in microseconds, as measured from its authors' code on ten million keys of eight bytes.
const AIRINDEX: [(&str, f64, f64); 3] =
    [("lognormal", 573.0, 101_100.0), ("uniform", 541.0, 100_600.0), ("step", 766.0, 106_500.0)];

#[test]
#[ignore = "long: 1 minutes"]
fn tuned_tables_cost_no_more_than_those_of_airindex() {
    for (name, ssd_us, nfs_us) in AIRINDEX {
        for (profile, most_us) in [("ssd", ssd_us), ("nfs", nfs_us)] {
            let profile = Profile::named(profile).unwrap();
            let mut costs: Vec<f64> = (1..=5)
                .map(|seed| {
                    let set = open(&format!("{name}:10M:seed={seed}")).unwrap();
                    let sample = Some(sample(&set.load().unwrap()));
                    let options =
                        TableWriteOptions::default().profile(profile.clone()).tuning(|tuning| tuning.sample(sample));
                    write(&set, 0, options).1.modelled_us(&profile)
                })
                .collect();
            costs.sort_by(f64::total_cmp);
            assert!(costs[2] <= most_us, "{name} on {}: {costs:?}, at most {most_us}", profile.name());
        }
    }
}
