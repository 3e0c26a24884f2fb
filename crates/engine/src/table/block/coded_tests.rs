//! Coded blocks against sorted records: shapes of keys and values at random, through the writer and all readers.

use super::key::KeyBound;
use super::view::{BlockView, Layout, TRAILER_BYTES, trailer};
use crate::io::MemoryStorage;
use crate::table::read::context::ReadContext;
use crate::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use crate::types::KeyType;
use proptest::prelude::*;
use std::sync::Arc;

/// A generator of pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 29)
    }
}

/// Text of up to four words.
fn words(number: u64) -> Vec<u8> {
    const WORDS: [&str; 8] = ["a", "an", "and", "inter", "internal", "internationalization", "zoo", "~"];
    let count = number % 4 + 1;
    let text: Vec<&str> = (0..count).map(|word| WORDS[(number >> (3 * word + 2)) as usize % WORDS.len()]).collect();
    text.join("-").into_bytes()
}

/// A key of a form.
fn key(form: u8, number: u64) -> Vec<u8> {
    match form % 14 {
        0 => number.to_be_bytes().to_vec(),
        1 => (number >> 40).to_be_bytes()[4..].to_vec(),
        2 => [[0; 8], number.to_be_bytes()].concat(),
        3 => [(number % 5).to_be_bytes(), (number >> 8).to_be_bytes()].concat(),
        4 => format!("user{:012}", number % 1_000_000_000).into_bytes(),
        5 => format!("{:08x}-{:04x}-{:04x}", number as u32, (number >> 32) as u16, (number >> 48) as u16).into_bytes(),
        6 => format!("{:X}", number | 1 << 63).into_bytes(),
        7 => format!("2026-11-{:02}T{:02}:{:02}", number % 28 + 1, number % 24, number % 60).into_bytes(),
        8 => format!("{number}").into_bytes(),
        9 => [&[7; 30][..], &number.to_be_bytes()[..]].concat(),
        10 => words(number),
        11 => format!("https://example.org/{}/{number:x}", String::from_utf8_lossy(&words(number >> 20))).into_bytes(),
        12 => vec![b'a' + (number % 3) as u8; (number % 700 / 10) as usize + 1],
        _ => words(number).into_iter().cycle().take(24).collect(),
    }
}

fn value(form: u8, number: u64, row: u64) -> Vec<u8> {
    match form % 8 {
        0 => Vec::new(),
        1 => row.to_le_bytes().to_vec(),
        2 => row.to_be_bytes()[3..].to_vec(),
        3 => [number.to_le_bytes(), (row / 7).to_le_bytes()].concat(),
        4 => vec![number as u8; (number % 40) as usize],
        5 => number.to_be_bytes().to_vec(),
        6 => vec![b'x'; 100],
        _ => (row as u32).to_le_bytes().to_vec(),
    }
}

/// Sorted records of a shape: numbers that are smooth, random, repeated or clustered.
fn records(key_form: u8, value_form: u8, curve: u8, count: u64, seed: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut numbers = Numbers(seed);
    let mut keys: Vec<(Vec<u8>, u64)> = (0..count)
        .map(|row| {
            let random = numbers.next();
            let number = match curve % 4 {
                0 => random,
                1 => row * 10_007 + random % 1000,
                2 => random % 50,
                _ => ((random % 4) << 61) + row * 3,
            };
            (key(key_form, number), random)
        })
        .collect();
    keys.sort();
    (0..).zip(keys).map(|(row, (key, random))| (key, value(value_form, random, row))).collect()
}

fn written(records: &[(Vec<u8>, Vec<u8>)], options: TableWriteOptions, versioned: bool) -> Table {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), options.versioned(versioned)).unwrap();
    for (row, (key, value)) in (0_u64..).zip(records) {
        if versioned {
            writer.append_version(key, (row % 3 / 2) as u8, u64::MAX / 2 - row, value).unwrap();
        } else {
            writer.append(key, value).unwrap();
        }
    }
    writer.finish().unwrap();
    Table::open((storage, "t"), &TableOptions::default()).unwrap()
}

/// Number of coded blocks, and of all.
fn coded_blocks(table: &Table) -> (usize, usize) {
    let blocks = (0..table.inner.meta.blocks).map(|block| {
        let bytes = table.inner.child(0, block, &mut ReadContext::default()).unwrap();
        usize::from(table.inner.view(block, &bytes).unwrap().coded().is_some())
    });
    let forms: Vec<usize> = blocks.collect();
    (forms.iter().sum(), forms.len())
}

fn check(table: &Table, records: &[(Vec<u8>, Vec<u8>)]) {
    assert_eq!(table.len(), records.len() as u64);
    let report = table.verify(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let scanned: Vec<(Vec<u8>, Vec<u8>)> = table.iter().map(Result::unwrap).collect();
    assert!(scanned == records, "a scan differs");
    let backwards: Vec<(Vec<u8>, Vec<u8>)> = table.iter().rev().map(Result::unwrap).collect();
    assert!(backwards.iter().eq(records.iter().rev()), "a scan backwards differs");
    for (key, _) in records.iter().step_by(7) {
        let first = records.partition_point(|(other, _)| other < key);
        assert_eq!(table.get(key).unwrap().as_ref(), Some(&records[first].1));
        let mut other = key.clone();
        for at in [key.len() - 1, key.len() / 2] {
            other[at] = other[at].wrapping_add(1);
            let place = records.partition_point(|(stored, _)| *stored < other);
            assert_eq!(table.rank(&other).unwrap(), place as u64, "{other:?}");
            let is_there = records.get(place).is_some_and(|(stored, _)| *stored == other);
            assert_eq!(table.contains_key(&other).unwrap(), is_there);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tables_of_any_shape_hold_their_records(
        key_form in 0_u8..14,
        value_form in 0_u8..8,
        curve in 0_u8..4,
        count in 1_u64..3000,
        block_bits in 9_u32..16,
        seed: u64,
        typed: bool,
        versioned: bool,
    ) {
        let records = records(key_form, value_form, curve, count, seed);
        let mut options = TableWriteOptions::default().block_bytes(1 << block_bits);
        if typed && !versioned {
            let width = records[0].0.len();
            if records.iter().all(|(key, _)| key.len() == width) {
                options = options.key_type(if width == 8 { KeyType::U64 } else { KeyType::FixedBytes(width as u8) });
            }
            let width = records[0].1.len();
            if width + 40 < 512 && records.iter().all(|(_, value)| value.len() == width) {
                options = options.value_width(width as u32);
            }
        }
        let table = written(&records, options.clone(), versioned);
        check(&table, &records);
        let plain = written(&records, options.coding(false), versioned);
        prop_assert_eq!(coded_blocks(&plain).0, 0);
        // Blocks end early where separators get shorter, so that one more may be needed.
        let most = plain.explain().data_bytes + (plain.explain().data_bytes / 32).max(1 << block_bits);
        prop_assert!(table.explain().data_bytes <= most, "coding takes more space");
    }

    #[test]
    fn no_bytes_make_a_coded_block_panic(
        records in (0_u8..14, 0_u8..8, 0_u8..4, 20_u64..400, any::<u64>())
            .prop_map(|(key, value, curve, count, seed)| records(key, value, curve, count, seed)),
        changes in proptest::collection::vec((0_usize..300, any::<u8>()), 0..6),
        probe in proptest::collection::vec(any::<u8>(), 0..24),
    ) {
        let table = written(&records, TableWriteOptions::default().block_bytes(2048), true);
        let bytes = table.inner.child(0, 0, &mut ReadContext::default()).unwrap();
        let mut raw = bytes.to_vec();
        let length = raw.len();
        changes.iter().for_each(|&(at, byte)| raw[at % length] = byte);
        let Some((_, _, count)) = trailer(&raw) else { return Ok(()) };
        if count < 100_000 && let Some(view) = BlockView::new(Layout::Columns, true, &raw) {
            for row in 0..=view.count().min(2000) {
                _ = (view.key(row).map(|key| key.to_vec()), view.value(row), view.tag(row));
            }
            _ = (view.lower_bound(&KeyBound { key: &probe, after: true }), view.is_canonical());
            _ = view.lower_bound_of_version(&probe, 7, 0);
            if let Some(coded) = view.coded() {
                let widths = (probe.len(), 8);
                _ = coded.append_dense(&raw, 0..count, widths, &mut Vec::new());
                prop_assert!(raw.len() > TRAILER_BYTES);
            }
        }
    }
}

#[test]
fn numbers_in_disguise_and_text_are_coded() {
    for (key_form, share) in [(0, 0.8), (2, 0.5), (4, 0.4), (5, 0.6), (6, 0.7), (7, 0.4), (8, 0.7), (11, 0.6)] {
        let records = records(key_form, 0, 1, 20_000, 3);
        let table = written(&records, TableWriteOptions::default(), false);
        let plain = written(&records, TableWriteOptions::default().coding(false), false);
        let (coded, all) = coded_blocks(&table);
        // The last block may hold too few records.
        assert!(coded + 1 >= all, "keys of form {key_form}: {coded} of {all} blocks");
        let taken = table.explain().data_bytes as f64 / plain.explain().data_bytes as f64;
        assert!(taken < share, "keys of form {key_form} take {taken:.2}");
    }
}
