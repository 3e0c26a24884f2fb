//! Files of development versions before 0.1. Goal: they are refused as what they are, never taken for damaged or for
//! other files, and nothing of them is changed. Method: the first and last bytes of one file of each kind, as a
//! development version wrote them, with zeros between.

use ogive::FileFormat;
use ogive::backup::{BackupOptions, Backups};
use ogive::index::{Index, IndexOptions};
use ogive::io::{MemoryStorage, Purpose, ReadRequest, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::page::PageOptions;
use ogive::repair::repair_store;
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::verify::verify_store;
use ogive::{Cause, Error, Result};
use std::sync::Arc;

struct DevelopmentFile {
    kind: &'static str,
    bytes: usize,
    /// In hexadecimal.
    first: &'static str,
    last: &'static str,
}

const FILES: &[DevelopmentFile] = &[
    DevelopmentFile {
        kind: "table",
        bytes: 4608,
        first: "800000000000000180000000000000020000000000000000000000000000000000000000000000000000000000000000",
        last: "802000010080a01f8004046e766d65004f6769766554626c030000001dc9eb1dd07e41e44900000029000000ad05ef08",
    },
    DevelopmentFile {
        kind: "index",
        bytes: 12288,
        first: "4f47495645504753020000000010000009f127a565ec04ba020000000000000000000000000000000000000001000000",
        last: "0000000000000000000000000000000000000000000000000000000000000000000000000000000001000000b4d9a335",
    },
    DevelopmentFile {
        kind: "log of an index",
        bytes: 219,
        first: "4f474956454c4f47020000000100000009f127a565ec04ba000000000000000001000000000000000000000000000000",
        last: "0000000000000000000000611c610318000000c0010000000000000040000000000000004000000000000000b9a95bb5",
    },
    DevelopmentFile {
        kind: "manifest",
        bytes: 122,
        first: "4f4749564544424d0600000001000000608c3446ef2718910400000000000000affc9d66fb04e171e2a781d524000000",
        last: "01060102060000000100060105020005000100d9fbe9a508000000d300000000000000000102b5010103f1271bd69266",
    },
    DevelopmentFile {
        kind: "log",
        bytes: 181,
        first: "4f4749564557414c0200000000000000608c3446ef271891020000000000000000000000000000000000000000000000",
        last: "00000000000100016301646ddc5d6218000000c002000000000000007d000000000000007d0000000000000065d8cf3e",
    },
    DevelopmentFile {
        kind: "values",
        bytes: 5105,
        first: "4f4749564556414c0200000000000000608c3446ef271891030000000000000000000000000000000000000000000000",
        last: "6262626262626262626262625ef32c47ff4f4749564556460100000000000000881300000000000000000000d668efd2",
    },
    DevelopmentFile {
        kind: "backup",
        bytes: 228,
        first: "4f47495645424b500100000000000000608c3446ef271891010000000000000071de7127a2010000020a303030303032",
        last: "9fc1f0710100060105020005000100345d8bb908000000d300000000000000000102b5010103f127b24faee5534275a2",
    },
];

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn content(kind: &str) -> Vec<u8> {
    let file = FILES.iter().find(|file| file.kind == kind).unwrap();
    let (first, last) = (bytes_of(file.first), bytes_of(file.last));
    [&first[..], &vec![0; file.bytes - first.len() - last.len()], &last].concat()
}

fn with(files: &[(&str, &str)]) -> Arc<dyn Storage> {
    let storage = MemoryStorage::new();
    files.iter().for_each(|(name, kind)| storage.put(name, content(kind)).unwrap());
    Arc::new(storage)
}

fn is_refused<T>(what: &str, result: Result<T>) {
    let error = result.err().unwrap_or_else(|| panic!("{what} is taken"));
    assert!(matches!(error, Error { cause: Cause::Version { found: 0, .. }, .. }), "{what}: {error:?}");
    let message = error.to_string();
    for part in ["development version of Ogive before 0.1", "export it with that version and import it here"] {
        assert!(message.contains(part), "{what}: {message}");
    }
}

#[test]
fn files_of_development_versions_are_recognised_whatever_their_kind() {
    for file in FILES {
        let storage = with(&[("f", file.kind)]);
        is_refused(file.kind, FileFormat::of_file(&*storage.open("f").unwrap()));
    }
}

#[test]
fn a_table_of_a_development_version_is_refused_and_not_replaced() {
    let storage = with(&[("f", "table")]);
    is_refused("a table", Table::open((storage.clone(), "f"), &TableOptions::default()));
    let options = TableWriteOptions::default();
    let writer = TableWriter::create((storage.clone(), "f"), options.clone());
    assert!(matches!(writer, Err(Error { cause: Cause::Io(_), .. })), "its name is taken");
    is_refused("a table to be replaced", TableWriter::create((storage, "f"), options.replace(true)));
}

#[test]
fn an_index_of_a_development_version_is_refused_with_its_log() {
    let storage = with(&[("f", "index"), ("f.log-1", "log of an index")]);
    let options = PageOptions::default();
    is_refused(
        "an index",
        Index::<u64, u64>::open((storage.clone(), "f"), &IndexOptions::default().pages(options.clone())),
    );
    is_refused(
        "a reader of one",
        Index::<u64, u64>::open_read_only((storage.clone(), "f"), &IndexOptions::default().pages(options.clone())),
    );
    is_refused("an index as a table", Table::open((storage, "f"), &TableOptions::default()));
    is_refused(
        "a table as an index",
        Index::<u64, u64>::open((with(&[("f", "table")]), "f"), &IndexOptions::default().pages(options.clone())),
    );
}

#[test]
fn a_store_of_a_development_version_is_refused_by_whatever_opens_it() {
    let files = [("000002.log", "log"), ("000003.values", "values"), ("000004.manifest", "manifest")];
    let storage = with(&files);
    let options = DbOptions::default().threads(0);
    is_refused("a store", Db::open(storage.clone(), &options));
    is_refused("a reader", Db::open_read_only(storage.clone(), &options));
    is_refused("verify", verify_store(&storage, &mut |_, _| {}));
    is_refused("repair", repair_store(&storage, &mut |_, _| {}));
    for (name, kind) in files {
        let file = storage.open(name).unwrap();
        let mut bytes = vec![0; file.len() as usize];
        file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Log }).unwrap();
        assert_eq!(bytes, content(kind), "{name}");
    }
}

#[test]
fn a_backup_of_a_development_version_is_refused() {
    let backups = Backups::at(with(&[("000001.backup", "backup"), ("000001-000002.log", "log")])).unwrap();
    is_refused("a restore", backups.restore(Some(1), with(&[]), &mut |_, _| {}));
    is_refused("a list", backups.list());
    is_refused("one more", backups.create(with(&[]), &BackupOptions::default(), &mut |_, _| {}));
}
