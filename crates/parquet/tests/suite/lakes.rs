//! Files of lake tables, and columns that paths state: the goal is that rows which the table no longer has are not
//! indexed without a word, and that types of paths stay. Method: logs as the formats define them, written here, each
//! with one thing changed.

use crate::support::{parquet_bytes, u64s};
use arrow_array::{
    ArrayRef, Int32Array, LargeListArray, ListArray, RecordBatch, StringArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use ogive::table::TableWriteOptions;
use ogive::{MemoryStorage, Storage};
use ogive_parquet::{BuildOptions, BuildReport, Folder, FolderMap, ParquetIndex};
use parquet::file::properties::WriterProperties;
use std::io::ErrorKind;
use std::sync::Arc;

/// Files by their paths.
type Files<'a> = &'a [(&'a str, &'a [u8])];

/// Folders of files in memory, each with its files.
fn folders(files: &[(&str, &[u8])]) -> Arc<dyn Folder> {
    let mut map = FolderMap::default();
    let mut known: Vec<(String, Arc<MemoryStorage>)> = Vec::new();
    for (path, bytes) in files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let storage = known.iter().find(|(of, _)| of == folder).map(|(_, storage)| storage.clone());
        let storage = storage.unwrap_or_else(|| {
            let storage = Arc::new(MemoryStorage::new());
            known.push((folder.to_owned(), storage.clone()));
            storage
        });
        storage.put(name, bytes.to_vec()).unwrap();
        map = map.with(folder, storage);
    }
    Arc::new(map)
}

fn rows(ids: &[u64]) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(UInt64Array::from(ids.to_vec()));
    parquet_bytes(&RecordBatch::try_from_iter([("id", ids)]).unwrap(), WriterProperties::default())
}

fn build(
    folder: &Arc<dyn Folder>,
    options: impl Fn(BuildOptions) -> BuildOptions,
) -> Result<(BuildReport, ParquetIndex), String> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = options(BuildOptions::new("t", &["id"]).table(TableWriteOptions::default().replace(true)));
    let report =
        ParquetIndex::build(storage.clone(), "i", folder.clone(), options).map_err(|error| error.to_string())?;
    let index = ParquetIndex::open(storage, "i", folder.clone(), &Default::default()).map_err(|it| it.to_string())?;
    Ok((report, index))
}

/// Builds an index of the listed file of a table whose log has these files.
fn of_table(log: &[(&str, &[u8])], ignores: bool) -> Result<BuildReport, String> {
    let data = rows(&[1, 2]);
    let log = log.iter().map(|(name, bytes)| (format!("t/{name}"), *bytes)).collect::<Vec<_>>();
    let all = log.iter().map(|(name, bytes)| (name.as_str(), *bytes)).chain([("t/a/x.parquet", &data[..])]);
    let folder = folders(&all.collect::<Vec<_>>());
    let listed = |options: BuildOptions| options.files(vec!["a/x.parquet".to_owned()]).ignore_table_log(ignores);
    build(&folder, listed).map(|(report, _)| report)
}

fn commit(version: u64) -> String {
    format!("_delta_log/{version:020}.json")
}

/// A checkpoint with a protocol in its second row.
fn checkpoint(reader: i32, features: &[&str]) -> Vec<u8> {
    let values: ArrayRef = Arc::new(StringArray::from(features.to_vec()));
    let field = Arc::new(Field::new("element", DataType::Utf8, true));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 0, features.len() as i32].into());
    checkpoint_of(Arc::new(Int32Array::from(vec![0, reader])), Arc::new(ListArray::new(field, offsets, values, None)))
}

fn checkpoint_of(versions: ArrayRef, features: ArrayRef) -> Vec<u8> {
    let fields = [
        (Arc::new(Field::new("minReaderVersion", versions.data_type().clone(), true)), versions),
        (Arc::new(Field::new("readerFeatures", features.data_type().clone(), true)), features),
    ];
    let (fields, arrays): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let nulls = Some(vec![false, true].into());
    let protocols: ArrayRef = Arc::new(StructArray::new(fields.into(), arrays, nulls));
    parquet_bytes(&RecordBatch::try_from_iter([("protocol", protocols)]).unwrap(), WriterProperties::default())
}

#[test]
fn files_of_a_delta_table_are_indexed_if_its_newest_protocol_allows_it() {
    let plain = br#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#;
    let vectors = br#"{"commitInfo":{}}
{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":[]}}"#;
    let mapped = br#"{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}"#;
    let add = br#"{"add":{"path":"a/x.parquet"}}"#;
    let (zero, one, eleven) = (commit(0), commit(1), commit(11));
    let (zero, one, eleven) = (zero.as_str(), one.as_str(), eleven.as_str());
    let of_ten = "_delta_log/00000000000000000010.checkpoint.parquet";
    let part = "_delta_log/00000000000000000010.checkpoint.0000000001.0000000002.parquet";
    let other = "_delta_log/00000000000000000010.checkpoint.0000000002.0000000002.parquet";
    let named = "_delta_log/00000000000000000010.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json";
    let (good, bad) = (checkpoint(1, &[]), checkpoint(3, &["deletionVectors"]));
    let sound: [&[(&str, &[u8])]; 6] = [
        &[(zero, plain)],
        &[(zero, plain), (one, add)],
        &[(zero, vectors), (one, plain)],
        &[(of_ten, &good), (eleven, add)],
        &[(part, &good), (other, &good)],
        &[(named, plain)],
    ];
    for log in sound {
        assert_eq!(of_table(log, false).unwrap().warnings, [""; 0]);
    }
    for (log, reason) in [
        (&[(zero, &vectors[..])][..], "names deletionVectors"),
        (&[(zero, plain), (one, vectors)], "names deletionVectors"),
        (&[(zero, mapped)], "has minReaderVersion 2, with which columns may have other names"),
        (&[(of_ten, &bad), (eleven, add)], "names deletionVectors"),
        (&[(of_ten, &good), (eleven, vectors)], "names deletionVectors"),
        (&[(part, &good), (eleven, plain)], "lacks commit 0"),
        (&[(zero, plain), (commit(2).as_str(), plain)], "lacks commit 1"),
        (&[(zero, add)], "has no protocol"),
        (&[(zero, b"{")], "cannot be read"),
        (&[(of_ten, b"PAR1")], "cannot be read"),
        (&[(named, add)], "has no protocol"),
    ] {
        let refused = of_table(log, false).unwrap_err();
        assert!(refused.contains(reason) && refused.contains("`ignore_table_log`"), "{reason}: {refused}");
        assert!(of_table(log, true).unwrap().warnings[0].contains(reason));
    }
}

#[test]
fn a_checkpoint_whose_columns_are_of_other_types_cannot_be_read() {
    let name = "_delta_log/00000000000000000010.checkpoint.parquet";
    let values: ArrayRef = Arc::new(StringArray::from(vec!["deletionVectors"]));
    let field = Arc::new(Field::new("element", DataType::Utf8, true));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0_i64, 0, 1].into());
    let large: ArrayRef = Arc::new(LargeListArray::new(field, offsets, values, None));
    let none: ArrayRef = Arc::new(ListArray::new_null(Arc::new(Field::new("element", DataType::Utf8, true)), 2));
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![0, 1]));
    let wide: ArrayRef = Arc::new(UInt64Array::from(vec![0, 2]));
    of_table(&[(name, &checkpoint_of(narrow.clone(), none.clone()))], false).unwrap();
    for bytes in [checkpoint_of(narrow, large), checkpoint_of(wide, none)] {
        let refused = of_table(&[(name, &bytes)], false).unwrap_err();
        assert!(refused.contains("cannot be read"), "{refused}");
    }
}

/// Metadata of Iceberg with these schemas and this summary of the newest snapshot.
fn iceberg(version: u64, schemas: &str, summary: &str) -> Vec<u8> {
    format!(
        r#"{{"format-version":{version},"current-snapshot-id":7,"schemas":[{schemas}],
            "snapshots":[{{"snapshot-id":6,"summary":{{"total-delete-files":"1"}}}},
            {{"snapshot-id":7,"summary":{summary}}}]}}"#
    )
    .into_bytes()
}

#[test]
fn files_of_an_iceberg_table_are_indexed_if_its_newest_snapshot_has_no_deletes() {
    let schema =
        |name: &str, id: u64| format!(r#"{{"type":"struct","fields":[{{"id":{id},"name":"{name}","type":"long"}}]}}"#);
    let nested = |name: &str| {
        format!(
            r#"{{"type":"struct","fields":[{{"id":1,"name":"l","type":{{"type":"list","element-id":2,"element":
                {{"type":"struct","fields":[{{"id":3,"name":"{name}","type":"long"}}]}}}}}}]}}"#
        )
    };
    let none = r#"{"total-delete-files":"0","total-position-deletes":"0","total-equality-deletes":"0"}"#;
    let of = |metadata: Vec<u8>| of_table(&[("metadata/00001-a.metadata.json", &metadata)], false).map(drop);
    let one = schema("id", 1);
    of(iceberg(2, &one, none)).unwrap();
    of(iceberg(2, &format!("{one},{one},{}", schema("more", 2)), none)).unwrap();
    of(iceberg(1, &one, r#"{"operation":"append"}"#)).unwrap();
    of(iceberg(2, &format!("{},{}", nested("x"), nested("x")), r#"{"total-delete-files":"0"}"#)).unwrap();
    for (metadata, reason) in [
        (iceberg(2, &one, r#"{"total-delete-files":"1"}"#), "has deletes"),
        (iceberg(2, &one, r#"{"total-position-deletes":"0","total-equality-deletes":"2"}"#), "has deletes"),
        (iceberg(2, &one, r#"{"operation":"append"}"#), "does not count"),
        (iceberg(2, &format!("{one},{}", schema("key", 1)), none), "column key that was id"),
        (iceberg(2, &format!("{one},{}", schema("id", 2)), none), "replaced one of that name"),
        (iceberg(2, &format!("{},{}", nested("x"), nested("y")), none), "column l.element.y that was l.element.x"),
        (b"no json".to_vec(), "cannot be read"),
    ] {
        let refused = of(metadata).unwrap_err();
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
    // Compressed metadata cannot be read, and a hint may name metadata that are not there.
    let sound = iceberg(2, &one, none);
    for (newer, reason) in [("v2.metadata.json.gz", "cannot be read"), ("v2.gz.metadata.json", "cannot be read")] {
        let newer = format!("metadata/{newer}");
        let refused = of_table(&[("metadata/v1.metadata.json", &sound), (&newer, b"\x1f\x8b")], false).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
        assert!(of_table(&[(&newer, b"\x1f\x8b")], false).is_err(), "{newer}");
    }
    let hinted = |hint: &[u8]| {
        of_table(&[("metadata/v1.metadata.json", &sound), ("metadata/version-hint.text", hint)], false).map(drop)
    };
    hinted(b"1").unwrap();
    assert!(hinted(b"2\n").unwrap_err().contains("lacks the metadata of version 2"));
    // The newest metadata count, and of two of one version both.
    let (good, bad) = (iceberg(2, &one, none), iceberg(2, &one, r#"{"total-delete-files":"1"}"#));
    for (names, is_sound) in [
        (["v9.metadata.json", "v10.metadata.json"], true),
        (["v10.metadata.json", "v9.metadata.json"], false),
        (["00002-a.metadata.json", "00002-b.metadata.json"], false),
    ] {
        let names = names.map(|name| format!("metadata/{name}"));
        let found = of_table(&[(names[0].as_str(), &bad), (names[1].as_str(), &good)], false);
        assert_eq!(found.is_ok(), is_sound, "{names:?}");
    }
}

#[test]
fn columns_of_paths_keep_their_types_when_files_come() {
    let data = rows(&[1]);
    let with = |months: &[&str]| {
        let paths: Vec<String> = months.iter().map(|month| format!("t/month={month}/x.parquet")).collect();
        folders(&paths.iter().map(|path| (path.as_str(), &data[..])).collect::<Vec<_>>())
    };
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let options = || BuildOptions::new("t", &["month", "id"]).table(TableWriteOptions::default().replace(true));
    for (first, more, key_type, key) in
        [(&["10", "11"][..], &["01", "10", "11"][..], "i64", "1,1"), (&["01", "1x"], &["01", "02"], "text", "01,1")]
    {
        ParquetIndex::build(storage.clone(), "i", with(first), options()).unwrap();
        ParquetIndex::update(storage.clone(), "i", with(more), BuildOptions::new("", &[])).unwrap();
        let index = ParquetIndex::open(storage.clone(), "i", with(more), &Default::default()).unwrap();
        assert_eq!(index.key_type(), format!("({key_type}, u64)").parse().unwrap());
        let found = index.get(&index.key_type().parse(key).unwrap(), None).unwrap();
        assert_eq!(u64s(&found, "id"), [1]);
    }
    let refused = ParquetIndex::build(storage.clone(), "i", with(&["01", "1"]), options()).unwrap_err().to_string();
    assert!(
        refused.contains("month=01") && refused.contains("month=1 ") && refused.contains("`BuildOptions::partitions`"),
        "{refused}"
    );
    let of = |key_type: &str| vec![("month".to_owned(), key_type.parse().unwrap())];
    for key_type in ["text", "i64"] {
        ParquetIndex::build(storage.clone(), "i", with(&["01", "1"]), options().partitions(of(key_type))).unwrap();
    }
    let wrong = BuildOptions::new("", &[]).partitions(of("text"));
    let refused = ParquetIndex::update(storage.clone(), "i", with(&["01", "1"]), wrong).unwrap_err().to_string();
    assert!(refused.contains("is of type i64, which an update does not change"), "{refused}");
    let refused = ParquetIndex::update(storage, "i", with(&["01", "x"]), BuildOptions::new("", &[])).unwrap_err();
    assert!(refused.to_string().contains("folder month=x is not of type i64"), "{refused}");
}

/// Folders of which one cannot be listed, for a reason.
#[derive(Debug)]
struct Unlistable(FolderMap, &'static str, ErrorKind);

impl Folder for Unlistable {
    fn storage(&self, path: &str) -> ogive_parquet::Result<Arc<dyn Storage>> {
        match path == self.1 {
            true => Err(ogive::Error::io("list", path, self.2.into()).into()),
            false => self.0.storage(path),
        }
    }

    fn list(&self, path: &str) -> ogive_parquet::Result<Vec<String>> {
        self.0.list(path)
    }
}

#[test]
fn a_log_that_cannot_be_listed_tells_nothing() {
    let data = Arc::new(MemoryStorage::new());
    data.put("x.parquet", rows(&[1])).unwrap();
    for (kind, is_there) in
        [(ErrorKind::PermissionDenied, true), (ErrorKind::TimedOut, true), (ErrorKind::NotFound, false)]
    {
        for log in ["t/_delta_log", "t/metadata"] {
            let of = FolderMap::default().with("t", data.clone());
            let folder: Arc<dyn Folder> = Arc::new(Unlistable(of, log, kind));
            let listed = |ignores: bool| {
                let options = |of: BuildOptions| of.files(vec!["x.parquet".to_owned()]).ignore_table_log(ignores);
                build(&folder, options).map(|(report, _)| report.warnings)
            };
            if is_there {
                assert!(listed(false).unwrap_err().contains("cannot be read"), "{kind} {log}");
                assert!(listed(true).unwrap()[0].contains("cannot be read"), "{kind} {log}");
            } else {
                assert_eq!(listed(false).unwrap(), [""; 0]);
            }
        }
    }
}

#[test]
fn a_path_that_states_two_values_of_a_column_is_refused() {
    let data = rows(&[1]);
    let of = |path: &str| build(&folders(&[(&format!("t/{path}"), &data)]), |options| options).map(|(_, index)| index);
    let refused = of("month=1/month=2/x.parquet").unwrap_err();
    assert!(refused.contains("month=1/month=2/x.parquet") && refused.contains("'month'"), "{refused}");
    let index = of("month=1/month=1/x.parquet").unwrap();
    assert_eq!(index.schema().fields().len(), 2);
}

#[test]
fn a_column_that_files_and_paths_have_must_be_the_same_in_both() {
    let batch = |ids: &[u64], months: &[Option<u64>]| {
        let ids: ArrayRef = Arc::new(UInt64Array::from(ids.to_vec()));
        let months: ArrayRef = Arc::new(UInt64Array::from(months.to_vec()));
        let columns = RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("month", months, true)]);
        parquet_bytes(&columns.unwrap(), WriterProperties::default())
    };
    let (one, two) = (batch(&[1, 2], &[Some(1), Some(1)]), batch(&[3], &[Some(2)]));
    let (none, mixed) = (batch(&[4], &[None]), batch(&[5, 6], &[Some(1), Some(2)]));
    let without = rows(&[7]);
    let of = |files: &[(&str, &[u8])]| build(&folders(files), |options| options).map(|(_, index)| index);
    let sound: [Files<'_>; 3] = [
        &[("t/month=1/x.parquet", &one), ("t/month=2/x.parquet", &two)],
        &[("t/month=01/x.parquet", &one), ("t/month=02/x.parquet", &two)],
        &[("t/month=__HIVE_DEFAULT_PARTITION__/x.parquet", &none), ("t/x.parquet", &mixed)],
    ];
    for files in sound {
        let index = of(files).unwrap();
        assert_eq!(index.schema().fields().len(), 2, "the column is there once");
        assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
    }
    let contradicting: [(Files<'_>, &str); 6] = [
        (&[("t/month=2/x.parquet", &one)], "row 1 has 1"),
        (&[("t/month=1/x.parquet", &one), ("t/month=1/y.parquet", &mixed)], "row 2 has 2"),
        (&[("t/month=1/x.parquet", &none)], "row 1 has no value"),
        (&[("t/month=__HIVE_DEFAULT_PARTITION__/x.parquet", &two)], "row 1 has 2"),
        (&[("t/month=may/x.parquet", &two)], "row 1 has 2"),
        (&[("t/month=1/x.parquet", &one), ("t/month=2/y.parquet", &without)], "this file does not have"),
    ];
    for (files, reason) in contradicting {
        let refused = of(files).unwrap_err();
        assert!(refused.contains(reason) && refused.contains("month="), "{reason}: {refused}");
    }
    // An update looks at what is new.
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let first: [(&str, &[u8]); 1] = [("t/month=1/x.parquet", &one)];
    ParquetIndex::build(storage.clone(), "i", folders(&first), BuildOptions::new("t", &["id"])).unwrap();
    let more: [(&str, &[u8]); 2] = [("t/month=1/x.parquet", &one), ("t/month=1/y.parquet", &two)];
    let refused = ParquetIndex::update(storage, "i", folders(&more), BuildOptions::new("", &[])).unwrap_err();
    assert!(refused.to_string().contains("row 1 has 2"), "{refused}");
}
