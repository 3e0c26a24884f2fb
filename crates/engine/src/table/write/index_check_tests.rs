//! Tests of the index check. Goal: a table whose index does not lead to its blocks is never published. Method: writers
//! whose separators are corrupted before the table ends, and layers whose nodes are shifted by one.

use super::index_check::{coded_lead, steps_lead};
use crate::error::{Cause, Error};
use crate::io::{MemoryStorage, Storage};
use crate::table::format::options::{TableOptions, TableWriteOptions};
use crate::table::{Table, TableWriter};
use crate::tune::DesignRequest;
use crate::types::KeyType;
use ogive_model::coded::{CodedLayer, Effort, StringLayer, encode_row};
use ogive_model::{Fence, FenceRun, step};
use std::sync::Arc;

fn text_key(i: u64) -> Vec<u8> {
    format!("user{i:010}").into_bytes()
}

/// A writer of 20,000 records under `name`, all appended.
fn full_writer(storage: &Arc<MemoryStorage>, options: TableWriteOptions) -> TableWriter {
    let key_type = options.key_type;
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    for i in 0..20_000_u64 {
        let key = if key_type == KeyType::Text { text_key(i) } else { (i * i).to_be_bytes().to_vec() };
        writer.append(&key, &i.to_le_bytes()).unwrap();
    }
    writer
}

fn options(key_type: KeyType, design: DesignRequest) -> TableWriteOptions {
    TableWriteOptions { key_type, design, block_bytes: Some(1024), ..TableWriteOptions::default() }
}

/// Separators as the writer makes them, but all one block too far to the left.
fn shifted_strings(blocks: u64) -> StringLayer {
    let separators: Vec<Vec<u8>> = (0..blocks).map(|block| text_key(block * 7)).collect();
    StringLayer::from_separators(&separators)
}

fn check_all(storage: &Arc<MemoryStorage>, key_type: KeyType) {
    let table = Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap();
    assert_eq!(table.verify(&mut |_, _| {}).unwrap().findings, []);
    for i in (0..20_000_u64).step_by(7) {
        let key = if key_type == KeyType::Text { text_key(i) } else { (i * i).to_be_bytes().to_vec() };
        assert_eq!(table.get(&key).unwrap(), Some(i.to_le_bytes().to_vec()), "record {i}");
    }
}

#[test]
fn a_table_whose_separators_were_spoiled_is_written_again_with_plain_ones() {
    for design in [DesignRequest::Tuned, DesignRequest::Coded] {
        let storage = Arc::new(MemoryStorage::new());
        let mut writer = full_writer(&storage, options(KeyType::Text, design.clone()));
        writer.corrupt_separators(|strings, _| *strings = shifted_strings(strings.children()));
        writer.finish().unwrap();
        check_all(&storage, KeyType::Text);

        let storage = Arc::new(MemoryStorage::new());
        let mut writer = full_writer(&storage, options(KeyType::U64, design));
        let fences: Vec<Fence> = (0..900).map(|i| Fence { low: i * 1000, high: i * 1000 + 1 }).collect();
        writer.corrupt_separators(|_, coded| *coded = encode_row(0, &fences, 1, Effort::Full));
        writer.finish().unwrap();
        check_all(&storage, KeyType::U64);
        assert_eq!(storage.list().unwrap(), ["t"], "no temporary file stays");
    }
}

/// An object cannot be read before it is published, so it is not written again.
#[test]
fn a_table_whose_separators_were_spoiled_is_never_published_as_an_object() {
    let storage = Arc::new(MemoryStorage::objects());
    for _ in 0..2 {
        let mut writer = full_writer(&storage, options(KeyType::Text, DesignRequest::Tuned));
        writer.corrupt_separators(|strings, _| *strings = shifted_strings(strings.children()));
        assert!(matches!(writer.finish(), Err(Error { cause: Cause::Bug, .. })));
        assert_eq!(storage.list().unwrap(), Vec::<String>::new());
    }
    full_writer(&storage, options(KeyType::Text, DesignRequest::Tuned)).finish().unwrap();
    check_all(&storage, KeyType::Text);
}

#[test]
fn a_table_whose_plain_separators_are_wrong_too_is_refused_and_leaves_nothing() {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = full_writer(&storage, options(KeyType::Text, DesignRequest::Tuned));
    writer.corrupt_separators(|strings, _| *strings = shifted_strings(strings.children()));
    writer.take_for_second_try();
    match writer.finish() {
        Err(error @ Error { cause: Cause::Bug, .. }) => assert!(error.path().unwrap().ends_with("t")),
        other => panic!("{other:?}"),
    }
    assert_eq!(storage.list().unwrap(), Vec::<String>::new());
}

#[test]
fn nodes_that_lead_beyond_a_border_are_seen() {
    let fences: Vec<Fence> = (1..500_u64).map(|i| Fence { low: i * i, high: i * i + i }).collect();
    let encoded = |layer: &CodedLayer| {
        let mut stored = Vec::new();
        layer.encode(0..layer.groups(), &mut stored);
        stored
    };
    for granule in [1, 3, 64] {
        let right = encode_row(0, &fences, granule, Effort::Full);
        assert!(coded_lead(&encoded(&right), right.groups(), granule as u64, &fences));
        let behind = encode_row(0, &fences[1..], granule, Effort::Full);
        assert!(!coded_lead(&encoded(&behind), behind.groups(), granule as u64, &fences), "granule {granule}");
    }
    let right = step::greedy(&FenceRun::whole(&fences), 5);
    assert!(steps_lead(&right, &fences));
    for i in 1..right.len() {
        let mut wrong = right.clone();
        wrong[i].separator += 1000;
        assert!(!steps_lead(&wrong, &fences), "piece {i} too far right");
        let mut wrong = right.clone();
        wrong[i].first_child += 1;
        assert!(!steps_lead(&wrong, &fences), "piece {i} leads to the next child");
    }
}
