//! Test support: small stores on an object store, their contents, and what of their objects is in use.

use ogive::Result;
use ogive::io::Storage;
use ogive::lsm::{Db, DbOptions};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive_testkit::SimulatedObjects;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The records of a store.
pub(crate) type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// The first bytes of a seal, and of a stub.
const STAYING_MAGICS: [&[u8]; 2] = [b"\x89OGVSEA\n", b"\x89OGVSTB\n"];

/// The name of the first part of the first manifest, and of its stub.
pub(crate) const STUB: &str = "manifest-000001-00000000";

/// A small store on the thread of its caller. Memtables are flushed when a test asks for it.
pub(crate) fn small() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(2 << 10).level_bytes(4 << 10).level_factor(2).block_bytes(512))
        .objects(|objects| objects.gather_ms(0))
        .values(|values| values.separation_bytes(100))
}

/// All records, as scans from both ends find them.
pub(crate) fn records(db: &Db) -> Result<Records> {
    let found: Records =
        db.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect::<Result<_>>()?;
    let reversed = db.iter().rev().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())));
    let mut reversed = reversed.collect::<Result<Vec<_>>>()?;
    reversed.reverse();
    assert!(reversed.iter().map(|(key, value)| (key, value)).eq(&found), "a scan from the end finds other records");
    Ok(found)
}

/// Opens a store.
pub(crate) fn open(storage: &Arc<dyn Storage>) -> Result<Db> {
    Db::open(Arc::clone(storage), &small())
}

/// A client of the server, as a storage.
pub(crate) fn client(server: &SimulatedObjects) -> Arc<dyn Storage> {
    Arc::new(server.client())
}

/// The objects that neither an opening nor a scan reads, and that are no seals and no stub: they should have been
/// removed.
pub(crate) fn leaks(server: &SimulatedObjects) -> Vec<String> {
    server.take_read();
    let reader = Db::open_read_only(client(server), &small()).unwrap();
    records(&reader).unwrap();
    let read = server.take_read();
    let objects = server.objects().into_iter();
    // Tables are opened from the manifest; one whose records are all hidden is not read.
    let is_leak = |name: &String, bytes: &[u8]| {
        !read.contains(name)
            && !STAYING_MAGICS.iter().any(|magic| bytes.starts_with(magic))
            && !name.ends_with(".table")
    };
    let mut leaks: Vec<String> = objects.filter(|(name, bytes)| is_leak(name, bytes)).map(|(name, _)| name).collect();
    let tables = server.objects().keys().filter(|name| name.ends_with(".table")).count() as u64;
    let known: u64 =
        reader.stats().keyspaces.iter().flat_map(|keyspace| &keyspace.levels).map(|level| level.tables).sum();
    if tables != known {
        leaks.push(format!("{tables} tables, but the store has {known}"));
    }
    leaks
}

/// Puts a table below the URL of a store, as a worker does.
pub(crate) fn put_part(server: &SimulatedObjects, number: u64) -> (Arc<dyn Storage>, String, Records) {
    let (storage, name) = (client(server), format!("part-{number}.table"));
    let part: Records =
        (0..4).map(|i| (format!("key {}", 3 * i + number % 3).into_bytes(), b"part".to_vec())).collect();
    let mut writer = TableWriter::create((Arc::clone(&storage), &name), TableWriteOptions::default()).unwrap();
    part.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    (storage, name, part)
}
