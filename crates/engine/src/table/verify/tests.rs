//! Tests of table verification. Goal: false data behind valid checksums changes no answer where it is in approximate
//! nodes, and is reported where it is in exact nodes or in anything else that readers trust. Method: tables are
//! written, parts of them are changed and sealed again.

use super::super::{Table, TableOptions, TableVerifyReport, TableWriteOptions, TableWriter};
use crate::block::checksum;
use crate::io::MemoryStorage;
use crate::table::format::index_page::INDEX_PAGE_TRAILER_BYTES;
use crate::table::format::meta::{NodeKind, TableMeta, encode_tail};
use crate::types::KeyType;
use ogive_model::line::{self, LineNode};
use ogive_model::step;
use std::sync::Arc;

fn write(options: &TableWriteOptions, records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Vec<u8> {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), options.clone()).unwrap();
    records.into_iter().for_each(|(key, value)| writer.append(&key, &value).unwrap());
    writer.finish().unwrap();
    storage.content("t").unwrap()
}

fn open_with(content: Vec<u8>, memory_bytes: u64) -> Table {
    let storage = Arc::new(MemoryStorage::new());
    storage.put("t", content).unwrap();
    Table::open((storage, "t"), &TableOptions { memory_bytes, ..TableOptions::default() }).unwrap()
}

fn open(content: &[u8]) -> Table {
    open_with(content.to_vec(), 64 << 20)
}

fn numeric(design: &str) -> TableWriteOptions {
    TableWriteOptions {
        key_type: KeyType::U64,
        value_width: Some(8),
        block_bytes: Some(512),
        design: design.parse().unwrap(),
        coding: false,
        ..TableWriteOptions::default()
    }
}

/// The key of a record: a curve with gaps of many widths, which no single line fits.
fn key(i: u64) -> u64 {
    i * 1000 + i * i % 701 + ((i / 97) << 20)
}

fn numbers(count: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    (0..count).map(|i| (key(i).to_be_bytes().to_vec(), i.to_le_bytes().to_vec())).collect()
}

fn words(count: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    (0..count).map(|i| (format!("name {:06} of many", i * 37).into_bytes(), vec![i as u8; 10])).collect()
}

/// The table with a changed root or changed metadata of the same length.
fn with_tail(content: &[u8], change: impl FnOnce(&mut Vec<u8>, &mut TableMeta)) -> Vec<u8> {
    let table = open(content);
    let inner = &*table.inner;
    let (mut root, mut meta) = (inner.root.clone(), inner.meta.clone());
    let locations = match &inner.locations {
        crate::table::format::locations::BlockLocations::Coded { stored, .. } => stored.clone(),
        _ => Vec::new(),
    };
    change(&mut root, &mut meta);
    let tail = encode_tail(inner.files.id(), inner.files.tail_offset(), &root, &locations, &meta);
    let at = inner.files.tail_offset() as usize;
    assert_eq!(tail.len(), content.len() - at, "a forged tail must fit its place");
    [&content[..at], &tail].concat()
}

/// The table with other bytes at `offset`, sealed again.
fn with_section(content: &[u8], offset: u64, bytes: u64, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let file_id = open(content).inner.files.id();
    let mut forged = content.to_vec();
    let section = &mut forged[offset as usize..(offset + bytes) as usize];
    change(section);
    checksum::seal(file_id, offset, section);
    forged
}

/// The table with other nodes in each page of a layer below the root.
fn with_pages(content: &[u8], layer: usize, mut change: impl FnMut(usize, &mut [u8])) -> Vec<u8> {
    let table = open(content);
    let meta = table.inner.meta.layers[layer - 1].clone();
    (0..meta.pages).fold(content.to_vec(), |content, page| {
        with_section(&content, meta.offset + page * meta.page_bytes, meta.page_bytes, |bytes| {
            let trailer = bytes.len() - INDEX_PAGE_TRAILER_BYTES;
            let count = u32::from_le_bytes(bytes[trailer..trailer + 4].try_into().unwrap());
            change(count as usize, bytes);
        })
    })
}

fn verify(content: &[u8]) -> TableVerifyReport {
    open(content).verify(&mut |_, _| {}).unwrap()
}

fn assert_found(content: &[u8], words: &str) {
    let report = verify(content);
    assert!(
        report.findings.iter().any(|finding| finding.detail.contains(words)),
        "{words:?} is not among {:?}",
        report.findings.iter().take(5).collect::<Vec<_>>()
    );
}

/// Small pseudo-random numbers.
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Nodes with the same starts as these and random content.
fn lies(nodes: &[LineNode], children: u64, state: &mut u64) -> Vec<u8> {
    let mut first_child = 0;
    let lies: Vec<LineNode> = nodes
        .iter()
        .map(|node| {
            first_child += 1 + noise(state) % (2 * children / nodes.len() as u64 + 2);
            LineNode {
                first_child,
                slope: [0.0, 1e-9, 0.001, 1.0, f32::MAX][noise(state) as usize % 5],
                window: 1 + (noise(state) % 9) as u16,
                drop: noise(state) as u16,
                ..*node
            }
        })
        .collect();
    let mut bytes = Vec::new();
    line::encode(&lies, &mut bytes);
    bytes
}

fn with_lies(content: &[u8], mut state: u64) -> Vec<u8> {
    let table = open(content);
    let (top, state) = (table.inner.meta.layers.len() - 1, &mut state);
    let mut forged = with_tail(content, |root, meta| {
        let nodes = line::decode(root, meta.layers[top].nodes as usize).unwrap();
        *root = lies(&nodes, table.inner.children(top), state);
    });
    for layer in 1..=top {
        forged = with_pages(&forged, layer, |count, page| {
            let lies = lies(&line::decode(page, count).unwrap(), table.inner.children(layer - 1), state);
            page[..lies.len()].copy_from_slice(&lies);
        });
    }
    forged
}

#[test]
fn hints_that_lie_change_no_answer() {
    let records = numbers(4000);
    for (design, filter) in
        [("layers=1,builder=gband,lambda=1024", None), ("layers=2,builder=gband,lambda=512", Some(10))]
    {
        let content = write(&TableWriteOptions { filter_bits_per_key: filter, ..numeric(design) }, records.clone());
        assert!(verify(&content).is_sound(), "{design}: {:?}", verify(&content).findings);
        for state in 0..8 {
            let forged = with_lies(&content, state);
            assert!(!verify(&forged).is_sound());
            // With enough memory for everything, and with so little that windows are too large to be read at once.
            for budget in [64 << 20, 64 << 10] {
                let table = open_with(forged.clone(), budget);
                for i in (0..4000).step_by(61) {
                    let (present, absent) = (key(i).to_be_bytes(), (key(i) + 1).to_be_bytes());
                    assert_eq!(table.get(&present).unwrap(), Some(i.to_le_bytes().to_vec()), "{design}, {state}, {i}");
                    assert_eq!(table.get(&absent).unwrap(), None, "{design}, {state}, {i}");
                    assert_eq!(table.rank(&absent).unwrap(), i + 1, "{design}, {state}, {i}");
                    assert_eq!(table.range(present..absent).count(), 1);
                }
                let keys: Vec<[u8; 8]> = (0..4000).step_by(7).map(|i| key(i).to_be_bytes()).collect();
                let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
                assert!(table.multi_get(&keys).unwrap().iter().all(Option::is_some));
            }
        }
    }
}

#[test]
fn a_plain_separator_beyond_its_gap_is_found() {
    // No gap is wider than the shifts below.
    let even = (0..6000_u64).map(|i| ((i * 1000 + i * i % 701).to_be_bytes().to_vec(), vec![0; 8]));
    let content = write(&numeric("layers=2,builder=gstep,lambda=512"), even);
    assert!(verify(&content).is_sound(), "{:?}", verify(&content).findings);
    let layers = open(&content).inner.meta.layers.clone();
    assert!(layers.len() == 2 && layers.iter().all(|layer| layer.kind == NodeKind::Step));
    for (shift, up) in [(2000, true), (2000, false), (1, true), (1 << 17, true)] {
        let moved = |payload: &mut [u8], piece: usize| {
            let at = piece * step::PIECE_BYTES;
            let separator = u64::from_le_bytes(payload[at..at + 8].try_into().unwrap());
            // By one: the separator of `gstep` is the first key of its child.
            let forged = if up { separator + shift } else { separator - shift };
            payload[at..at + 8].copy_from_slice(&forged.to_le_bytes());
        };
        assert_found(&with_tail(&content, |root, _| moved(root, 1)), "");
        let mut pages = 0;
        let forged = with_pages(&content, 1, |count, page| {
            if pages == 1 {
                moved(page, count - 1);
            }
            pages += 1;
        });
        assert_found(&forged, "");
    }
}

#[test]
fn a_coded_separator_beyond_its_gap_is_found() {
    let content = write(&numeric("coded"), numbers(30_000));
    assert!(verify(&content).is_sound());
    for group in 1..4 {
        let forged = with_tail(&content, |root, _| {
            let start = &mut root[group * 16..group * 16 + 8];
            let moved = u64::from_le_bytes((&*start).try_into().unwrap()) + 3000;
            start.copy_from_slice(&moved.to_le_bytes());
        });
        assert_found(&forged, "the index leads it");
    }
    // A residual: some bits far after the headers.
    let forged = with_tail(&content, |root, _| {
        let at = root.len() - 40;
        root[at..at + 8].iter_mut().for_each(|byte| *byte ^= 0xA5);
    });
    assert!(!verify(&forged).is_sound());
}

#[test]
fn a_separator_of_strings_beyond_its_gap_is_found() {
    let options = TableWriteOptions { block_bytes: Some(512), ..TableWriteOptions::default() };
    let content = write(&options, words(5000));
    assert!(verify(&content).is_sound(), "{:?}", verify(&content).findings);
    // Larger digits of separators: some then lie beyond their gaps.
    let forged = with_tail(&content, |root, _| {
        let at = root.len() * 2 / 3;
        let digit = root[at..].iter().position(|byte| (b'1'..b'8').contains(byte)).unwrap() + at;
        root[digit] += 2;
    });
    assert!(!verify(&forged).is_sound());
}

#[test]
fn units_that_do_not_follow_each_other_are_found() {
    for design in ["layers=2,builder=gstep,lambda=512", "layers=2,builder=gband,lambda=512"] {
        let content = write(&numeric(design), numbers(6000));
        for (at, detail) in [(4, "does not begin and end"), (12, "does not begin and end"), (0, "")] {
            let mut pages = 0;
            let forged = with_pages(&content, 1, |_, page| {
                let trailer = page.len() - INDEX_PAGE_TRAILER_BYTES;
                if pages == 1 {
                    page[trailer + at] ^= 1;
                }
                pages += 1;
            });
            assert_found(&forged, detail);
        }
    }
}

#[test]
fn records_out_of_order_and_repeats_are_found() {
    let content = write(&numeric("coded"), numbers(300));
    let forged = with_section(&content, 512, 512, |block| {
        let (left, right) = block.split_at_mut(16);
        left.swap_with_slice(&mut right[..16]);
    });
    assert_found(&forged, "smaller key");
    let forged = with_section(&content, 512, 512, |block| block.copy_within(0..8, 16));
    assert_found(&forged, "distinct");
    let forged = with_section(&content, 512, 512, |block| block[500] = 1);
    assert_found(&forged, "canonical");
}

#[test]
fn what_metadata_say_wrongly_is_found() {
    let content = write(&numeric("coded"), numbers(3000));
    assert_found(&with_tail(&content, |_, meta| meta.records -= 1), "number");
    assert_found(&with_tail(&content, |_, meta| meta.max_read_bytes -= 1), "stated");
    assert_found(&with_tail(&content, |_, meta| meta.data_bytes -= 512), "");
    let duplicates = numbers(300).into_iter().flat_map(|record| [record.clone(), record]);
    let forged = with_tail(&write(&numeric("coded"), duplicates), |_, meta| meta.distinct = true);
    assert_found(&forged, "distinct");
}

#[test]
fn counts_and_filters_that_lie_are_found() {
    let options =
        TableWriteOptions { block_bytes: Some(512), filter_bits_per_key: Some(10), ..TableWriteOptions::default() };
    let records = (0..600_u32).map(|i| (format!("{i:06}").into_bytes(), vec![1; i as usize % 50]));
    let content = write(&options, records);
    assert!(verify(&content).is_sound(), "{:?}", verify(&content).findings);
    let meta = open(&content).inner.meta.clone();
    let counts = meta.counts;
    assert!(counts.bytes > 0);
    assert_found(
        &with_section(&content, counts.offset, counts.bytes, |bytes| bytes[5] += 1),
        "the counts state another number",
    );
    let filter = meta.filter.unwrap().section;
    let forged = with_section(&content, filter.offset, 4096, |page| page[..2000].fill(0));
    assert_found(&forged, "filter rejects");
}

#[test]
fn hostile_metadata_are_refused_or_found_and_never_panic() {
    let content = write(&numeric("layers=2,builder=gband,lambda=512"), numbers(3000));
    let hostile = [0, 1, 255, 512, 1 << 20, 1 << 32, 1 << 40, u64::MAX / 2, u64::MAX];
    type Change = fn(&mut TableMeta, u64);
    let changes: [Change; 14] = [
        |meta, value| meta.value_width = Some(value.min(u64::MAX - 1)),
        |meta, value| meta.records = value,
        |meta, value| meta.blocks = value,
        |meta, value| meta.block_bytes = value,
        |meta, value| meta.largest_block_bytes = value,
        |meta, value| meta.data_bytes = value,
        |meta, value| meta.layers[0].pages = value,
        |meta, value| meta.layers[0].page_bytes = value,
        |meta, value| meta.layers[0].offset = value,
        |meta, value| meta.layers[1].nodes = value,
        |meta, value| meta.layers[1].granule = value.max(1),
        |meta, value| (meta.counts.offset, meta.counts.bytes) = (value, value),
        |meta, value| meta.per_block = value,
        |meta, value| meta.max_read_bytes = value,
    ];
    for (which, change) in changes.into_iter().enumerate() {
        for value in hostile {
            let forged = with_longer_tail(&content, |meta| change(meta, value));
            let storage = Arc::new(MemoryStorage::new());
            storage.put("t", forged).unwrap();
            let Ok(table) = Table::open((storage, "t"), &TableOptions::default()) else { continue };
            for i in [0, 1, 1500, 2999] {
                _ = table.get(&key(i).to_be_bytes());
                _ = table.rank(&key(i).to_be_bytes());
                _ = table.nth(i);
            }
            _ = (table.iter().take(4000).count(), table.iter().rev().take(4000).count());
            let report = table.verify(&mut |_, _| {}).unwrap_or_else(|error| panic!("{which}, {value}: {error}"));
            let changed = table.inner.meta != open(&content).inner.meta;
            assert!(
                !report.is_sound() || !changed || which == 13 || which == 4 || (which, value) == (11, 0),
                "{which}, {value}"
            );
        }
    }
}

/// The table with changed metadata of any length, in a file that grows to fit.
fn with_longer_tail(content: &[u8], change: impl FnOnce(&mut TableMeta)) -> Vec<u8> {
    let table = open(content);
    let inner = &*table.inner;
    let mut meta = inner.meta.clone();
    change(&mut meta);
    let mut forged = content[..inner.files.tail_offset() as usize].to_vec();
    let draft = encode_tail(inner.files.id(), 0, &inner.root, &[], &meta);
    let zeros = crate::table::format::meta::padding(forged.len() as u64, draft.len() as u64);
    forged.resize(forged.len() + zeros as usize, 0);
    let tail = encode_tail(inner.files.id(), forged.len() as u64, &inner.root, &[], &meta);
    [forged, tail].concat()
}
