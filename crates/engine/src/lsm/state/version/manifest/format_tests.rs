//! Tests of `docs/format/manifest.md` against the code. Goal: neither changes without the other. Method: a manifest
//! written as the page describes must equal the example bytes of the page, and these bytes must be read as the page
//! describes.

use super::{ClosedLengths, Manifest, recover};
use crate::block::compress::Compression;
use crate::io::{MemoryStorage, SinceBoot, Storage};
use crate::lsm::objects::ObjectFolder;
use crate::lsm::state::expiry::rule::ExpiryRule;
use crate::lsm::state::expiry::store_time::RecordedTimes;
use crate::lsm::state::value_forms::ValueForms;
use crate::lsm::state::version::{
    ALTERED_FORMAT, EXPIRING_FORMAT, INDEXED_FORMAT, IndexRecord, KeptChanges, KeptLogs, KeyspaceOptions, ManifestEdit,
    ManifestState, OPTIONS_FORMAT, StatedTypes, TableFileMeta,
};
use crate::types::{IndexDefinition, KeyType, RecordType, ValueType};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

const DOCUMENT: &str = include_str!("../../../../../../../docs/format/manifest.md");

/// The bytes of the page's block that begins with "```hex name": lines of an offset and up to sixteen bytes.
fn example(name: &str) -> Vec<u8> {
    let (_, rest) = DOCUMENT.split_once(&format!("```hex {name}\n")).unwrap_or_else(|| panic!("no example {name}"));
    let (block, _) = rest.split_once("```").unwrap();
    let mut bytes = Vec::new();
    for line in block.lines() {
        let mut words = line.split(';').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        assert_eq!(usize::from_str_radix(first, 16), Ok(bytes.len()), "line {line:?} of {name}");
        bytes.extend(words.map(|word| u8::from_str_radix(word, 16).unwrap()));
    }
    bytes
}

/// The format that [`example`] reads, for updates of the page.
fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (row, line) in bytes.chunks(16).enumerate() {
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "{:08x}  {}", row * 16, hex.join(" ")).unwrap();
    }
    out
}

/// The edit that the page describes.
fn flush() -> ManifestEdit {
    let table = TableFileMeta {
        number: 5,
        bytes: 4096,
        records: 3,
        tombstones: 1,
        smallest: b"ada".to_vec(),
        largest: b"eve".to_vec(),
        smallest_sequence: 1,
        largest_sequence: 3,
        values: vec![(4, 1500)],
        file_id: Some(0x0102_0304_0506_0708),
        ..TableFileMeta::default()
    };
    let types = RecordType::new(KeyType::U32, "{a: text?}".parse::<ValueType>().unwrap());
    ManifestEdit {
        added: vec![(0, 0, Arc::new(table))],
        value_files_added: vec![(4, 1564)],
        logs_added: vec![6],
        oldest_log: Some(6),
        next_file: Some(7),
        last_sequence: Some(3),
        types: vec![(0, StatedTypes { generation: 1, ..StatedTypes::next(Arc::new(types)) })],
        ..ManifestEdit::default()
    }
}

fn new_store() -> ManifestState {
    let first_log = ManifestEdit {
        logs_added: vec![3],
        oldest_log: Some(3),
        next_file: Some(4),
        reserved: Some(67),
        ..ManifestEdit::default()
    };
    let state = ManifestState { nonce: 0x1111_2222_3333_4444, ..ManifestState::new(0x0123_4567_89ab_cdef) };
    state.apply(&first_log).unwrap()
}

fn check(name: &str, bytes: &[u8]) {
    assert_eq!(example(name), bytes, "the example {name} should be\n{}", dump(bytes));
}

#[test]
fn the_documents_manifest_of_an_open_store_is_what_the_code_writes_and_reads() {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let mut manifest = Manifest::create(&storage, 2, &new_store(), None).unwrap();
    manifest.append(&flush()).unwrap();
    manifest.sync().unwrap();
    check("open", &memory.content("000002.manifest").unwrap());
    let recovered = recover(&memory).unwrap().unwrap();
    let state = ManifestState { next_file: 67, ..new_store().apply(&flush()).unwrap() };
    assert_eq!((recovered.state, recovered.closed), (state, None));
}

#[test]
fn the_documents_manifest_on_an_object_store_is_what_the_code_writes_and_reads() {
    let memory = MemoryStorage::objects();
    let folder = ObjectFolder::new(Arc::new(memory.clone()), new_store().owner);
    let storage: Arc<dyn Storage> = Arc::new(folder);
    let state = ManifestState { retired: [("000001.log".to_owned(), 1_700_000_000)].into(), ..new_store() };
    let mut manifest = Manifest::create(&storage, 2, &state, None).unwrap();
    let mut edit = flush();
    let (_, _, table) = &mut edit.added[0];
    *table = Arc::new(TableFileMeta { bytes: 8, tail: Some(b"tail-end"[..].into()), ..TableFileMeta::clone(table) });
    manifest.append(&edit).unwrap();
    manifest.sync().unwrap();
    let parts = ["manifest-000002-00000000", "manifest-000002-00000001"].map(|name| memory.content(name).unwrap());
    check("objects", &parts.concat());
    let recovered = recover(&*storage).unwrap().unwrap();
    let state = ManifestState { next_file: 67, ..state.apply(&edit).unwrap() };
    assert_eq!((recovered.state, recovered.closed), (state, None));
}

/// A stub takes the place of the first manifest when that is collected, and is not read as one.
#[test]
fn the_documents_stub_is_what_the_code_writes_and_reads() {
    let memory = MemoryStorage::objects();
    let folder = Arc::new(ObjectFolder::new(Arc::new(memory.clone()), new_store().owner));
    let storage: Arc<dyn Storage> = folder.clone();
    let state = new_store();
    for number in [1, 2] {
        Manifest::create(&storage, number, &state, None).unwrap();
    }
    folder.collect(state.owner, None, |_| false, |_| Ok(BTreeSet::new())).unwrap();
    let name = "manifest-000001-00000000";
    check("stub", &memory.content(name).unwrap());
    assert_eq!(recover(&*storage).unwrap().unwrap().number, 2);
    let stub_alone = MemoryStorage::objects();
    stub_alone.put(name, example("stub")).unwrap();
    let outcome = recover(&ObjectFolder::new(Arc::new(stub_alone), new_store().owner));
    assert!(matches!(outcome, Ok(None)), "{outcome:?}");
}

#[test]
fn the_documents_manifest_of_a_closed_store_is_what_the_code_writes_and_reads() {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let next = ManifestEdit { next_file: Some(8), ..ManifestEdit::default() };
    let mut state = new_store().apply(&flush()).unwrap().apply(&next).unwrap();
    state.begin_opening(0x5555_6666_7777_8888);
    let lengths = ClosedLengths { logs: vec![(6, 64)], value_files: vec![(4, 1564)], ..ClosedLengths::default() };
    Manifest::create(&storage, 7, &state, Some(&lengths)).unwrap();
    check("closed", &memory.content("000007.manifest").unwrap());
    let recovered = recover(&memory).unwrap().unwrap();
    assert_eq!((recovered.state, recovered.closed), (ManifestState { next_file: 67, ..state }, Some(lengths)));
}

#[test]
fn the_documents_forms_are_what_the_code_writes_and_reads_in_a_manifest_of_the_second_version() {
    let values = |text: &str| text.parse::<ValueType>().unwrap();
    let forms = ValueForms { current: 2, older: vec![(0, values("{a: text?}"))] };
    let mut code = Vec::new();
    forms.encode(&mut code);
    check("forms", &code);
    for cut in 0..code.len() {
        assert_eq!(ValueForms::decode(&code[..cut], &mut 0), None, "{cut}");
    }
    let types = Arc::new(RecordType::new(KeyType::U32, values("{a: text?, b: u8?}")));
    let altered = StatedTypes { generation: 2, types, forms };
    let edit = ManifestEdit { types: vec![(0, altered.clone())], ..ManifestEdit::default() };
    let state = new_store().apply(&flush()).unwrap().apply(&edit).unwrap();
    assert_eq!((state.format, &state.keyspaces[&0].types), (ALTERED_FORMAT, &altered));
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let mut manifest = Manifest::create(&storage, 2, &state, None).unwrap();
    let again = StatedTypes { generation: 3, ..altered };
    let edit = ManifestEdit { types: vec![(0, again)], ..ManifestEdit::default() };
    manifest.append(&edit).unwrap();
    manifest.sync().unwrap();
    assert_eq!(memory.content("000002.manifest").unwrap()[8..12], ALTERED_FORMAT.to_le_bytes());
    let state = ManifestState { next_file: 67, ..state.apply(&edit).unwrap() };
    assert_eq!(recover(&memory).unwrap().unwrap().state, state);
}

#[test]
fn the_documents_index_is_what_the_code_writes_and_reads_in_a_manifest_of_the_third_version() {
    let definition = IndexDefinition::by("lower(email), joined desc").unwrap().unique().where_not_null("email");
    let index = IndexRecord { owner: 0, definition, is_complete: false, is_repaired: false };
    let mut code = Vec::new();
    index.encode(&mut code);
    check("index", &code);
    for cut in 0..code.len() {
        assert_eq!(IndexRecord::decode(&code[..cut], &mut 0), None, "{cut}");
    }
    let repaired = IndexRecord { is_repaired: true, ..index.clone() };
    let mut other = Vec::new();
    repaired.encode(&mut other);
    assert_eq!(IndexRecord::decode(&other, &mut 0), Some(repaired));
    let edit = ManifestEdit {
        keyspaces_created: vec![(1, "ogive.index.by_email".to_owned())],
        next_keyspace: Some(2),
        indexes: vec![(1, Arc::new(index.clone()))],
        ..ManifestEdit::default()
    };
    let state = new_store().apply(&edit).unwrap();
    assert_eq!(state.format, INDEXED_FORMAT);
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let mut manifest = Manifest::create(&storage, 4, &state, None).unwrap();
    let complete = Arc::new(IndexRecord { is_complete: true, ..index });
    let edit = ManifestEdit { indexes: vec![(1, Arc::clone(&complete))], ..ManifestEdit::default() };
    manifest.append(&edit).unwrap();
    manifest.sync().unwrap();
    assert_eq!(memory.content("000004.manifest").unwrap()[8..12], INDEXED_FORMAT.to_le_bytes());
    let recovered = recover(&memory).unwrap().unwrap().state;
    assert_eq!(recovered.indexes().collect::<Vec<_>>(), [(1, &complete)]);
    let dropped = ManifestEdit { keyspaces_dropped: vec![1], ..ManifestEdit::default() };
    assert_eq!(recovered.apply(&dropped).unwrap().indexes().count(), 0);
    let of_itself = IndexRecord { owner: 1, ..IndexRecord::clone(&complete) };
    let edit = ManifestEdit { indexes: vec![(1, Arc::new(of_itself))], ..ManifestEdit::default() };
    assert!(recovered.apply(&edit).is_err());
}

#[test]
fn the_documents_kept_changes_are_what_the_code_writes_and_reads_in_an_edit() {
    let (last, since_s, bytes) = (42, 1_800_000_000, 300);
    let set = KeptLogs { last, since_s, bytes, logs: vec![(7, 0x1111)], values: Vec::new() };
    let kept = KeptChanges { after: 40, sets: [set].into(), ..KeptChanges::default() };
    let edit = ManifestEdit { kept: Some(kept.clone()), ..ManifestEdit::default() };
    let (mut code, mut plain) = (Vec::new(), Vec::new());
    edit.encode(&mut code);
    ManifestEdit::default().encode(&mut plain);
    check("kept", &code[plain.len()..]);
    assert_eq!(ManifestEdit::decode(&code), Some(edit.clone()));
    let times = Some(RecordedTimes { told_ms: 2, base_ms: 1, since_boot: None });
    let both = ManifestEdit { times, ..edit.clone() };
    code.clear();
    both.encode(&mut code);
    assert_eq!(ManifestEdit::decode(&code), Some(both));
    // What is kept within what is kept is refused: an edit of dropped keyspaces has none.
    assert!(ManifestEdit::decode_without_kept(&code).is_none());
    let state = new_store().apply(&edit).unwrap();
    let next = ManifestEdit { kept: Some(KeptChanges { after: 42, ..KeptChanges::default() }), ..edit };
    let after = state.apply(&next).unwrap();
    assert_eq!((&state.kept, after.kept.after, after.kept.sets.len()), (&kept, 42, 0));
    // A manifest of the whole state has it.
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    Manifest::create(&storage, 2, &state, None).unwrap();
    assert_eq!(recover(&*storage).unwrap().unwrap().state.kept, kept);
}

#[test]
fn the_documents_times_and_rules_are_what_the_code_writes_and_reads_in_a_manifest_of_the_fifth_version() {
    let times = RecordedTimes {
        told_ms: 1_700_000_000_123,
        base_ms: 1_700_000_000_000,
        since_boot: Some(SinceBoot { boot: 0x0807_0605_0403_0201, ms: 86_400_000 }),
    };
    let after = KeyspaceOptions::default().expiry(ExpiryRule::After(Duration::from_secs(1800)));
    let edit = ManifestEdit { times: Some(times), options: vec![(0, after.clone())], ..ManifestEdit::default() };
    let (mut code, mut plain) = (Vec::new(), Vec::new());
    edit.encode(&mut code);
    ManifestEdit::default().encode(&mut plain);
    check("times", &code[plain.len()..]);
    let state = new_store().apply(&edit).unwrap();
    assert_eq!((state.format, state.times, &state.keyspaces[&0].options), (EXPIRING_FORMAT, Some(times), &after));
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let mut manifest = Manifest::create(&storage, 4, &state, None).unwrap();
    let earlier = RecordedTimes { told_ms: 5, base_ms: 5, since_boot: None };
    let edit = ManifestEdit {
        times: Some(earlier),
        options: vec![(0, KeyspaceOptions::default())],
        ..ManifestEdit::default()
    };
    manifest.append(&edit).unwrap();
    manifest.sync().unwrap();
    assert_eq!(memory.content("000004.manifest").unwrap()[8..12], EXPIRING_FORMAT.to_le_bytes());
    let recovered = recover(&memory).unwrap().unwrap().state;
    assert_eq!((recovered.times, &recovered.keyspaces[&0].options.expiry), (Some(times), &None), "times never go back");
}

#[test]
fn the_documents_options_are_what_the_code_writes_and_reads_in_a_manifest_of_the_fourth_version() {
    let options = KeyspaceOptions::default().filter_bits_per_key(12).separation_bytes(4096).block_bytes(16 << 10);
    let options = options.compression(Compression::Lz4);
    check("options", &options.encode());
    let edit = ManifestEdit { options: vec![(0, options.clone())], ..ManifestEdit::default() };
    let state = new_store().apply(&edit).unwrap();
    assert_eq!((state.format, &state.keyspaces[&0].options), (OPTIONS_FORMAT, &options));
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let mut manifest = Manifest::create(&storage, 4, &state, None).unwrap();
    let edit = ManifestEdit { options: vec![(0, options.block_bytes(None))], ..ManifestEdit::default() };
    manifest.append(&edit).unwrap();
    manifest.sync().unwrap();
    assert_eq!(memory.content("000004.manifest").unwrap()[8..12], OPTIONS_FORMAT.to_le_bytes());
    let state = ManifestState { next_file: 67, ..state.apply(&edit).unwrap() };
    assert_eq!(recover(&memory).unwrap().unwrap().state, state);
}
