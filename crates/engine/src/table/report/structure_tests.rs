//! Tests of the decoded structure: its nodes lead where lookups go, and the designs that a build compared are kept.

use super::structure::{IndexNodes, LayerKind};
use crate::io::{FastPaths, MemoryStorage, Purpose};
use crate::table::{ReadTrace, Table, TableOptions, TableTuningOptions, TableWriteOptions, TableWriter};
use crate::tune::DesignRequest;
use crate::types::KeyType;
use std::sync::Arc;

fn keys() -> Vec<u64> {
    // Quadratic with noise: lines bend, and gaps differ.
    (0..20_000_u64).map(|i| i * i / 7 + i * 3 + (i * 2_654_435_761) % 3).collect()
}

fn table(design: &str, key_type: KeyType, resident: Option<u64>) -> Table {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions {
        design: design.parse::<DesignRequest>().unwrap(),
        tuning: TableTuningOptions::default().resident_bytes(resident),
        ..TableWriteOptions::default()
    };
    let options = options.key_type(key_type).value_width(24).block_bytes(512);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    for key in keys() {
        let bytes = key.to_be_bytes();
        let text = format!("user/{key:012}");
        let key = if key_type == KeyType::U64 { &bytes[..] } else { text.as_bytes() };
        writer.append(key, &[key[key.len() - 1]; 24]).unwrap();
    }
    writer.finish().unwrap();
    let uncached = TableOptions::default().fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
    Table::open((storage, "t"), &uncached).unwrap()
}

/// First children of all nodes of a page; of coded separators, of all separators.
fn children(nodes: &IndexNodes, granule: u64) -> Vec<u64> {
    match nodes {
        IndexNodes::Steps(pieces) => pieces.iter().map(|piece| piece.first_child).collect(),
        IndexNodes::Lines(lines) => lines.iter().map(|line| line.first_child).collect(),
        IndexNodes::Coded(groups) => {
            let of = |group: &ogive_model::coded::DecodedGroup| {
                (group.first_child..group.first_child + u64::from(group.header.count)).map(|child| child * granule)
            };
            groups.iter().flat_map(|group| of(group).collect::<Vec<_>>()).collect()
        }
        IndexNodes::Strings(separators) => separators.iter().map(|separator| separator.0).collect(),
    }
}

#[test]
fn decoded_nodes_of_every_kind_lead_to_all_children_in_order() {
    let layered = "layers=2,builder=gband,lambda=4096";
    for (design, key_type, resident, kind) in [
        ("btree", KeyType::U64, None, LayerKind::Steps),
        (layered, KeyType::U64, None, LayerKind::Lines),
        ("coded", KeyType::U64, None, LayerKind::Coded),
        ("coded", KeyType::Text, None, LayerKind::Strings),
        ("tuned", KeyType::Text, Some(256), LayerKind::Strings),
    ] {
        let table = table(design, key_type, resident);
        let structure = table.structure();
        assert_eq!(structure.layers[0].kind, kind, "{design}");
        let top = structure.layers.len() - 1;
        for (at, layer) in structure.layers.iter().enumerate() {
            let mut found = Vec::new();
            let mut end = 0;
            if at == top {
                let root = table.root_nodes().unwrap().unwrap();
                found.extend(children(&root.nodes, layer.granule));
                end = root.end_child;
            } else {
                let all = 0..layer.pages;
                table
                    .visit_index_pages(at + 1, all, |page| {
                        found.extend(children(&page.nodes, layer.granule));
                        end = page.end_child;
                        Ok(())
                    })
                    .unwrap();
            }
            assert!(found[0] == 0 && found.is_sorted_by(|a, b| a < b), "{design}, layer {at}");
            assert_eq!(end, layer.children, "{design}, layer {at}");
        }
    }
}

#[test]
fn routes_and_places_are_those_of_the_reads_of_a_lookup() {
    for (design, key_type) in
        [("layers=2,builder=gband,lambda=4096", KeyType::U64), ("btree", KeyType::U64), ("coded", KeyType::Text)]
    {
        let table = table(design, key_type, None);
        let structure = table.structure();
        for key in keys().into_iter().step_by(997) {
            let bytes = match key_type {
                KeyType::U64 => key.to_be_bytes().to_vec(),
                _ => format!("user/{key:012}").into_bytes(),
            };
            let mut trace = ReadTrace::new();
            assert!(table.traced(&mut trace).contains_key(&bytes).unwrap());
            let expected: Vec<(u64, u64)> = table
                .route(&bytes)
                .unwrap()
                .iter()
                .map(|step| match step.level {
                    0 => {
                        let (first, last) =
                            (table.block_part(step.first).unwrap(), table.block_part(step.last).unwrap());
                        (first.offset, last.offset + last.bytes - first.offset)
                    }
                    level => {
                        let layer = &structure.layers[level - 1];
                        (layer.offset + step.first * layer.page_bytes, (step.last - step.first + 1) * layer.page_bytes)
                    }
                })
                .collect();
            let reads: Vec<(u64, u64)> = trace.reads.iter().map(|read| (read.offset, read.bytes)).collect();
            assert_eq!(reads, expected, "{design}, {key}");
            assert!(trace.reads.iter().all(|read| read.purpose != Purpose::Open));
        }
    }
}

#[test]
fn a_tuned_build_records_what_it_compared_and_others_record_nothing() {
    // Few string separators fit the root alone, unless it must be short; then the design that was built is not the
    // fastest one. Where the opening read has no room, nothing is recorded.
    let mut recorded = 0;
    for (key_type, resident) in [(KeyType::U64, None), (KeyType::Text, Some(256))] {
        let report = table("tuned", key_type, resident).explain();
        recorded += report.designs.len();
        assert!(report.designs.len() != 1, "{key_type}: {:?}", report.designs);
        assert!(report.designs.is_sorted_by(|a, b| a.modelled_us <= b.modelled_us));
        if key_type == KeyType::U64 && !report.designs.is_empty() {
            let built: Vec<&str> = report.layers.iter().rev().map(|layer| layer.kind.as_str()).collect();
            assert_eq!(report.designs[0].name, built.join("/"));
        }
        assert!(report.metadata_bytes < 1024, "{}", report.metadata_bytes);
        assert!(table("coded", key_type, resident).explain().designs.is_empty());
    }
    assert!(recorded > 1, "{recorded}");
}
