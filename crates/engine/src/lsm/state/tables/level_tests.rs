//! Tests of levels against sorted lists, and of ingested tables.

use super::level::{LevelCursor, LevelTables};
use super::table_file::TableFile;
use crate::block::cache::BlockCache;
use crate::lsm::compact::LevelsBelow;
use crate::lsm::compact::test_support::{OWNER, TestFolder, entries};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{SEQUENCE_MAX, Sequence, ValueKind};
use crate::lsm::state::test_model::{History, keys, steps};
use crate::lsm::state::version::{FileKind, TableFileMeta, file_name};
use crate::table::{TableWriteOptions, TableWriter};
use proptest::prelude::*;
use std::sync::Arc;

fn shown(cursor: &dyn EntryCursor) -> Option<(Vec<u8>, Sequence, ValueKind, Vec<u8>)> {
    cursor.entry().map(|entry| (entry.key.to_vec(), entry.sequence, entry.kind, entry.value.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// A level is read as one list of entries in both directions, and each key leads to its table.
    #[test]
    fn a_level_is_one_list(
        operations in steps(150), prefix in proptest::collection::vec(any::<u8>(), 0..12),
        walk in proptest::collection::vec((0..6_u8, keys(), 0..160_u64), 0..40),
        ahead in proptest::option::of(0..3000_u64),
    ) {
        let folder = TestFolder::new(1);
        let mut history = History::of(&operations, 1);
        let with_prefix = |key: &[u8]| [&prefix, key].concat();
        history.versions.iter_mut().for_each(|version| version.key = with_prefix(&version.key));
        history.tombstones = Default::default();
        let every: Vec<u64> = (0..160).collect();
        let tables = folder.run(&history, 1, &every, LevelsBelow::default()).unwrap().tables;
        let level = Arc::new(LevelTables::new(tables.iter().map(|meta| folder.open(meta)).collect()));
        let kept = folder.read(&tables);
        let mut cursor = LevelCursor::new(Arc::clone(&level), ahead);
        let mut model = kept.cursor();
        for (step, key, sequence) in walk {
            let probe = if key.first() == Some(&b'k') { with_prefix(&key) } else { key };
            let naive = tables.iter().find(|meta| meta.smallest <= probe && !meta.ends_before(&probe));
            prop_assert_eq!(level.find(&probe).map(|file| file.meta.number), naive.map(|meta| meta.number));
            for cursor in [&mut cursor as &mut dyn EntryCursor, &mut *model] {
                match step {
                    0 => cursor.seek(&probe, sequence),
                    1 => cursor.seek_before(&probe),
                    2 => cursor.first(),
                    3 => cursor.last(),
                    4 => cursor.next(),
                    _ => cursor.prev(),
                }.unwrap();
            }
            prop_assert_eq!(shown(&cursor), shown(&*model));
            prop_assert_eq!(cursor.value_slice().map(|value| value.to_vec()), shown(&*model).map(|entry| entry.3));
        }
        for file in level.tables() {
            for entry in entries(file) {
                let found = file.get(&entry.key, entry.sequence, None, None, |_| {}, |value| value.into_slice());
                let found = found.unwrap().unwrap();
                prop_assert_eq!((found.0, found.1, &found.2[..]), (entry.kind, entry.sequence, &entry.value[..]));
            }
        }
    }
}

#[test]
fn a_level_without_tables_has_no_entries() {
    let mut cursor = LevelCursor::new(Arc::new(LevelTables::new(Vec::new())), None);
    for _ in 0..2 {
        cursor.first().unwrap();
        cursor.last().unwrap();
        cursor.seek(b"a", 5).unwrap();
        cursor.seek_before(b"a").unwrap();
        cursor.next().unwrap();
        cursor.prev().unwrap();
        assert!(cursor.entry().is_none());
    }
}

#[test]
fn entries_of_an_ingested_table_have_the_sequence_number_of_the_table() {
    let folder = TestFolder::new(1000);
    let name = file_name(9, FileKind::Table);
    let mut writer = TableWriter::create((folder.storage.clone(), &name), TableWriteOptions::default()).unwrap();
    for key in [b"a", b"b", b"c"] {
        writer.append(key, &key.repeat(3)).unwrap();
    }
    let report = writer.finish().unwrap();
    let meta = TableFileMeta {
        number: 9,
        bytes: report.file_bytes,
        records: 3,
        smallest: b"a".to_vec(),
        largest: b"c".to_vec(),
        smallest_sequence: 7,
        largest_sequence: 7,
        global_sequence: Some(7),
        ..TableFileMeta::default()
    };
    let cache = Arc::new(BlockCache::for_blocks_of(1 << 20, 4096));
    let file =
        TableFile::open(&folder.storage, OWNER, Arc::new(meta.clone()), &cache, &folder.options.of_tables(), None)
            .unwrap();
    assert!(file.get(b"b", 6, None, None, |_| {}, |value| value.into_slice()).unwrap().is_none());
    let (kind, sequence, value) = file.get(b"b", 7, None, None, |_| {}, |value| value.into_slice()).unwrap().unwrap();
    assert_eq!((kind, sequence, &value[..]), (ValueKind::Value, 7, &b"bbb"[..]));
    assert!(entries(&file).iter().all(|entry| (entry.kind, entry.sequence) == (ValueKind::Value, 7)));
    let mut cursor = file.cursor(None);
    for (sequence, expected) in [(SEQUENCE_MAX, b"b"), (7, b"b"), (6, b"c")] {
        cursor.seek(b"b", sequence).unwrap();
        assert_eq!(cursor.entry().map(|entry| entry.key), Some(&expected[..]), "at {sequence}");
    }
    let tagged = TableFileMeta { global_sequence: None, ..meta };
    assert!(
        TableFile::open(&folder.storage, OWNER, Arc::new(tagged), &cache, &folder.options.of_tables(), None).is_err()
    );
}
