//! Data that change under an index: the goal is that a lookup in a file that was replaced, cut or removed is an error
//! that names it, and never a mixture; that folders of table formats are refused; that each file is taken once; and
//! that updates follow the files.

use crate::support::{Shelf, u64s};
use arrow_array::{ArrayRef, RecordBatch, StringArray, Time64MicrosecondArray, UInt64Array};
use ogive::table::TableOptions;
use ogive::{MemoryStorage, Storage};
use ogive_parquet::{BuildOptions, Folder, FolderMap, ParquetIndex, ParquetIndexError, PathFolder};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::Arc;

fn ids(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn rows(values: impl Iterator<Item = u64>) -> RecordBatch {
    columns([("id", ids(values))])
}

fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn properties() -> WriterProperties {
    WriterProperties::builder().set_data_page_row_count_limit(100).set_write_batch_size(50).build()
}

#[test]
fn a_file_that_was_cut_replaced_or_removed_is_an_error_that_names_it() {
    for (is_sorted, stride) in [(true, 1_u64), (false, 7919)] {
        let shelf = Shelf::new();
        shelf.write("a.parquet", &rows((0..1_000).map(|i| i * stride % 1_000)), properties());
        assert_eq!(shelf.build("a.parquet", &["id"], "i").is_sorted, is_sorted);
        let whole = shelf.memory.content("a.parquet").unwrap();
        shelf.put("a.parquet", whole[..whole.len() - 9].to_vec());
        let cut = shelf.open("i").get(&5_u64.to_be_bytes(), None).unwrap_err();
        assert!(matches!(&cut, ParquetIndexError::Changed { path, .. } if path.ends_with("a.parquet")), "{cut}");
        shelf.memory.remove("a.parquet").unwrap();
        let gone = shelf.open("i").get(&5_u64.to_be_bytes(), None).unwrap_err();
        assert!(matches!(&gone, ParquetIndexError::Gone { path } if path.ends_with("a.parquet")), "{gone}");
        assert!(!shelf.open("i").verify(&mut |_, _| ()).unwrap().is_sound());
        shelf.put("a.parquet", whole);
        assert_eq!(shelf.open("i").get(&5_u64.to_be_bytes(), None).unwrap().num_rows(), 1);
    }
}

#[test]
fn verification_finds_rows_of_other_keys_in_a_file_of_the_same_length() {
    let shelf = Shelf::new();
    shelf.write("a.parquet", &rows(0..1_000), properties().into_builder().set_dictionary_enabled(false).build());
    shelf.build("a.parquet", &["id"], "i");
    assert!(shelf.open("i").verify(&mut |_, _| ()).unwrap().is_sound());
    let mut bytes = shelf.memory.content("a.parquet").unwrap();
    let seven = 700_u64.to_le_bytes();
    let at = bytes.windows(8).position(|window| window == seven).unwrap();
    bytes[at] ^= 1;
    shelf.put("a.parquet", bytes);
    let report = shelf.open("i").verify(&mut |_, _| ()).unwrap();
    assert!(report.findings.iter().any(|finding| finding.contains("have changed")), "{report:?}");
}

#[test]
fn an_update_takes_in_new_files_drops_those_gone_and_reads_the_rest_no_more() {
    let shelf = Shelf::new();
    let shuffled = |from: u64| rows((0..500).map(move |i| from + i * 7919 % 500));
    for (name, from) in [("a.parquet", 0), ("b.parquet", 500), ("c.parquet", 1_000)] {
        shelf.write(name, &shuffled(from), properties());
    }
    shelf.build("", &["id"], "i");
    shelf.memory.remove("b.parquet").unwrap();
    shelf.write("d.parquet", &shuffled(1_500), properties());
    let before = shelf.open("i");
    let report = ParquetIndex::update(shelf.storage(), "i", shelf.folder(), BuildOptions::new("", &[])).unwrap();
    assert_eq!((report.kept_files, report.files, report.rows), (2, 3, 1_500));
    let index = shelf.open("i");
    for (id, expected) in [(3, 1), (503, 0), (1_003, 1), (1_999, 1)] {
        assert_eq!(index.get(&u64::to_be_bytes(id), None).unwrap().num_rows(), expected, "{id}");
    }
    assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
    // A reader of the index before goes on with the files that are there.
    assert_eq!(u64s(&before.get(&3_u64.to_be_bytes(), None).unwrap(), "id"), [3]);
    assert!(matches!(before.get(&503_u64.to_be_bytes(), None), Err(ParquetIndexError::Gone { .. })));
}

/// A folder whose listing is older than a file.
#[derive(Debug)]
struct Omitting(Arc<FolderMap>, &'static str);

impl Folder for Omitting {
    fn storage(&self, path: &str) -> ogive_parquet::Result<Arc<dyn Storage>> {
        self.0.storage(path)
    }

    fn list(&self, path: &str) -> ogive_parquet::Result<Vec<String>> {
        Ok(self.0.list(path)?.into_iter().filter(|path| path != self.1).collect())
    }
}

#[test]
fn an_update_keeps_a_file_that_a_listing_leaves_out() {
    for stride in [1_u64, 7919] {
        let shelf = Shelf::new();
        for (name, from) in [("a.parquet", 0), ("b.parquet", 500)] {
            shelf.write(name, &rows((0..500).map(|i| from + i * stride % 500)), properties());
        }
        assert_eq!(shelf.build("", &["id"], "i").is_sorted, stride == 1);
        // As an old listing: the newest file is not in it either.
        shelf.write("c.parquet", &rows((0..500).map(|i| 1_000 + i * stride % 500)), properties());
        let update = |folder: Arc<dyn Folder>| {
            ParquetIndex::update(shelf.storage(), "i", folder, BuildOptions::new("", &[])).unwrap()
        };
        let report = update(Arc::new(Omitting(shelf.folder(), "b.parquet")));
        assert_eq!((report.files, report.rows), (3, 1_500));
        let index = shelf.open("i");
        for id in [3_u64, 503, 1_003] {
            assert_eq!(index.get(&id.to_be_bytes(), None).unwrap().num_rows(), 1, "{id}");
        }
        assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
        shelf.memory.remove("b.parquet").unwrap();
        assert_eq!(update(shelf.folder()).files, 2);
    }
}

#[test]
fn folders_of_table_formats_are_refused_unless_files_are_listed() {
    let data = Arc::new(MemoryStorage::new());
    data.put("a.parquet", crate::support::parquet_bytes(&rows(0..10), properties())).unwrap();
    for (inner, name, format) in
        [("t/_delta_log", "00000000000000000000.json", "Delta Lake"), ("t/metadata", "v1.metadata.json", "Iceberg")]
    {
        let log = Arc::new(MemoryStorage::new());
        log.put(name, br#"{"protocol":{"minReaderVersion":1},"format-version":1}"#.to_vec()).unwrap();
        let folder = Arc::new(FolderMap::default().with("t", data.clone()).with(inner, log));
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let build = |options| ParquetIndex::build(storage.clone(), "i", folder.clone(), options);
        let refused = build(BuildOptions::new("t", &["id"])).unwrap_err();
        assert!(matches!(&refused, ParquetIndexError::TableFormat { format: found, .. } if *found == format));
        build(BuildOptions::new("t", &["id"]).files(vec!["a.parquet".into()])).unwrap();
        let index = ParquetIndex::open(storage.clone(), "i", folder.clone(), &TableOptions::default()).unwrap();
        assert_eq!(index.get(&7_u64.to_be_bytes(), None).unwrap().num_rows(), 1);
    }
}

#[test]
fn parts_of_paths_are_columns_that_are_read_and_may_be_keys() {
    let mut folder = FolderMap::default();
    for (day, from) in [("2026-01-01", 0_u64), ("2026-01-02", 100)] {
        let day_folder = Arc::new(MemoryStorage::new());
        day_folder.put("x.parquet", crate::support::parquet_bytes(&rows(from..from + 100), properties())).unwrap();
        folder = folder.with(&format!("events/dt={day}"), day_folder);
    }
    let (folder, storage) = (Arc::new(folder), Arc::new(MemoryStorage::new()));
    let options = BuildOptions::new("events", &["dt", "id"]);
    assert!(ParquetIndex::build(storage.clone(), "i", folder.clone(), options).unwrap().is_sorted);
    let index = ParquetIndex::open(storage, "i", folder, &TableOptions::default()).unwrap();
    assert_eq!(index.key_type().to_string(), "(date, u64)");
    let key = index.key_type().parse("2026-01-02,105").unwrap();
    let found = index.get(&key, None).unwrap();
    assert_eq!((u64s(&found, "id"), found.num_columns()), (vec![105], 2));
    let before = index.key_type().parse("2026-01-02,0").unwrap();
    assert_eq!(index.rank(&before).unwrap(), 100);
}

#[test]
fn data_and_index_may_lie_in_an_object_store_by_url() {
    let objects = Arc::new(MemoryStorage::objects());
    for (name, from) in [("a.parquet", 0), ("b.parquet", 100)] {
        objects.put(name, crate::support::parquet_bytes(&rows(from..from + 100), properties())).unwrap();
    }
    let found = objects.clone();
    ogive::io::register_scheme("shelf", move |url| {
        let is_data = !["_delta_log", ".hoodie", "metadata"]
            .iter()
            .any(|inner| url.to_string().trim_end_matches('/').ends_with(inner));
        Ok(if is_data { found.clone() } else { Arc::new(MemoryStorage::objects()) } as Arc<dyn Storage>)
    });
    let folder = Arc::new(PathFolder::new("shelf://bucket/events"));
    ParquetIndex::build(objects.clone(), "i", folder.clone(), BuildOptions::new("", &["id"])).unwrap();
    let index = ParquetIndex::open(objects.clone(), "i", folder.clone(), &TableOptions::default()).unwrap();
    assert_eq!(u64s(&index.get(&150_u64.to_be_bytes(), None).unwrap(), "id"), [150]);
    assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
    let by_url = BuildOptions::new("shelf://bucket/events/a.parquet", &["id"]);
    assert_eq!(ParquetIndex::build(objects, "one", folder, by_url).unwrap().rows, 100);
}

#[test]
fn a_file_that_is_listed_in_two_spellings_is_indexed_once() {
    let shelf = Shelf::new();
    shelf.write("a.parquet", &rows(0..10), properties());
    let listed = |files: &[&str]| {
        let options = BuildOptions::new("", &["id"]).files(files.iter().map(|it| (*it).to_owned()).collect());
        ParquetIndex::build(shelf.storage(), "i", shelf.folder(), options)
    };
    assert_eq!(listed(&["a.parquet", "./a.parquet", "x/..//a.parquet"]).unwrap().rows, 10);
    for outside in ["../a.parquet", "/a.parquet"] {
        assert!(matches!(listed(&[outside]), Err(ParquetIndexError::NotIndexable { .. })), "{outside}");
    }
}

#[test]
fn an_update_forgets_columns_of_files_that_are_gone() {
    let shelf = Shelf::new();
    let number: ArrayRef = ids(0..3);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    shelf.write("a.parquet", &columns([("id", ids([5, 1, 3]))]), properties());
    shelf.write("b.parquet", &columns([("id", ids([9, 7, 8])), ("x", number.clone()), ("y", number)]), properties());
    assert!(!shelf.build("", &["id"], "i").is_sorted);
    shelf.memory.remove("b.parquet").unwrap();
    shelf.write("c.parquet", &columns([("id", ids([6, 2, 4])), ("x", text)]), properties());
    ParquetIndex::update(shelf.storage(), "i", shelf.folder(), BuildOptions::new("", &[])).unwrap();
    let index = shelf.open("i");
    let names: Vec<String> = index.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "x"]);
    assert_eq!(u64s(&index.get(&2_u64.to_be_bytes(), None).unwrap(), "id"), [2]);
    assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
}

#[test]
fn an_update_keeps_the_type_of_the_key() {
    let without_statistics = || {
        let builder = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None);
        builder.set_data_page_row_count_limit(3).set_write_batch_size(1).build()
    };
    let nullable = |ids: Vec<Option<u64>>| {
        let ids: ArrayRef = Arc::new(UInt64Array::from(ids));
        RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).unwrap()
    };
    let update = |shelf: &Shelf| ParquetIndex::update(shelf.storage(), "i", shelf.folder(), BuildOptions::new("", &[]));
    for (first, second) in [([1, 2, 3], [4, 5, 6]), ([3, 1, 2], [5, 6, 4])] {
        let shelf = Shelf::new();
        let some = |ids: [u64; 3]| nullable(ids.map(Some).to_vec());
        shelf.write("a.parquet", &some(first), properties());
        let before = shelf.build("", &["id"], "i").key_type;
        let finds = |ids: &[u64]| {
            let index = shelf.open("i");
            assert_eq!(index.key_type(), before);
            assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
            for id in ids {
                assert_eq!(u64s(&index.get(&id.to_be_bytes(), None).unwrap(), "id"), [*id]);
            }
        };
        finds(&[1, 2, 3]);
        // A file without statistics might have nulls, and has none.
        shelf.write("b.parquet", &some(second), without_statistics());
        update(&shelf).unwrap();
        finds(&[1, 2, 3, 4, 5, 6]);
        for (refused, word) in
            [(nullable(vec![Some(7), None]), "has a null"), (columns([("other", ids([7]))]), "has a null")]
        {
            for properties in [properties(), without_statistics()] {
                shelf.write("c.parquet", &refused, properties);
                let error = update(&shelf).unwrap_err().to_string();
                assert!(error.contains(word) && error.contains("c.parquet") && error.contains("'id'"), "{error}");
            }
        }
        shelf.memory.remove("c.parquet").unwrap();
        finds(&[1, 2, 3, 4, 5, 6]);
        // All files are others, of another type.
        shelf.memory.remove("b.parquet").unwrap();
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
        shelf.write("a.parquet", &columns([("id", texts)]), properties());
        let error = update(&shelf).unwrap_err().to_string();
        assert!(error.contains("a.parquet") && error.contains("which an update does not change"), "{error}");
    }
    // A key with nulls keeps them, though there are none any more, and their place.
    for (nulls, key_type) in [([None, Some(1)], "(u64? nulls first)"), ([Some(1), None], "(u64?)")] {
        let shelf = Shelf::new();
        shelf.write("a.parquet", &nullable(nulls.to_vec()), properties());
        let before = shelf.build("", &["id"], "i").key_type;
        assert_eq!(before, key_type.parse().unwrap());
        shelf.write("a.parquet", &nullable(vec![Some(1), Some(2)]), properties());
        assert_eq!(update(&shelf).unwrap().key_type, before);
        assert_eq!(shelf.open("i").get(&before.parse("2").unwrap(), None).unwrap().num_rows(), 1);
    }
}

#[test]
fn an_update_with_other_data_is_refused() {
    let shelf = Shelf::new();
    shelf.write("a.parquet", &rows(0..10), properties());
    shelf.write("b.parquet", &rows(0..20), properties());
    shelf.build("a.parquet", &["id"], "i");
    let update = |root| ParquetIndex::update(shelf.storage(), "i", shelf.folder(), BuildOptions::new(root, &[]));
    assert!(matches!(update("b.parquet"), Err(ParquetIndexError::NotIndexable { .. })));
    assert_eq!(update("a.parquet").unwrap().rows, 10);
}

#[test]
fn tables_are_found_in_object_stores_and_above_the_folder() {
    let (data, log) = (Arc::new(MemoryStorage::objects()), Arc::new(MemoryStorage::objects()));
    data.put("a.parquet", crate::support::parquet_bytes(&rows(0..10), properties())).unwrap();
    log.put("00000000000000000000.json", b"{}".to_vec()).unwrap();
    let (found, logs) = (data.clone(), log.clone());
    ogive::io::register_scheme("lake", move |url| {
        let storage: Arc<MemoryStorage> =
            if url.to_string().contains("_delta_log") { logs.clone() } else { found.clone() };
        Ok(storage as Arc<dyn Storage>)
    });
    let folder = Arc::new(PathFolder::new("lake://bucket/events"));
    let build = |root| ParquetIndex::build(data.clone(), "i", folder.clone(), BuildOptions::new(root, &["id"]));
    assert!(matches!(build(""), Err(ParquetIndexError::TableFormat { .. })));

    let metadata = Arc::new(MemoryStorage::new());
    metadata.put("v1.metadata.json", b"{}".to_vec()).unwrap();
    let folder = FolderMap::default().with("t/data/dt=1", data.clone()).with("t/metadata", metadata);
    let folder = Arc::new(folder);
    for root in ["t/data", "t/data/dt=1"] {
        let built =
            ParquetIndex::build(Arc::new(MemoryStorage::new()), "i", folder.clone(), BuildOptions::new(root, &["id"]));
        assert!(matches!(built, Err(ParquetIndexError::TableFormat { format: "Iceberg", .. })), "{root}");
    }
}

#[test]
fn values_that_no_key_has_are_not_taken_for_nulls() {
    let times: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![None, Some(-5), Some(7)]));
    let shelf = Shelf::new();
    shelf.write("a.parquet", &columns([("id", times)]), properties());
    let refused =
        ParquetIndex::build(shelf.storage(), "i", shelf.folder(), BuildOptions::new("a.parquet", &["id"])).unwrap_err();
    assert!(refused.to_string().contains("is not of type"), "{refused}");
}
