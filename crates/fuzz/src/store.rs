//! Fuzz target: stores with one file of arbitrary bytes.

use crate::input::take_u8;
use ogive::Durability;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::verify::verify_store;
use std::sync::{Arc, OnceLock};

/// The files of a store, by name.
type Files = Vec<(String, Vec<u8>)>;

/// Options of stores of which some files have few bytes.
pub(crate) fn options() -> DbOptions {
    DbOptions::default()
        .memory_bytes(1 << 20)
        .writes(|writes| writes.memtable_bytes(8 << 10))
        .levels(|levels| levels.table_bytes(8 << 10).block_bytes(512))
        .values(|values| values.separation_bytes(200))
        .durability(Durability::Buffered)
        .threads(0)
        .create(false)
}

/// A small store that was closed: tables, a log with groups, value files, a manifest.
fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let storage = Arc::new(MemoryStorage::new());
        let made = (|| {
            let db = Db::open(storage.clone(), &options().create(true))?;
            for i in 0..40_u32 {
                db.insert(format!("key {i:03}"), vec![i as u8; if i % 8 == 0 { 300 } else { 10 }])?;
            }
            db.remove_range("key 010".."key 013")?;
            db.flush()?;
            db.keyspace("other")?.insert("in the log", vec![7; 250])?;
            db.remove("key 001")?;
            db.close()
        })();
        assert!(made.is_ok(), "{made:?}");
        let names = storage.list().unwrap_or_default();
        let read = |name: &String| {
            let file = storage.open(name).ok()?;
            let mut bytes = vec![0; file.len() as usize];
            let request = ogive::io::ReadRequest { offset: 0, buffer: &mut bytes, purpose: ogive::io::Purpose::Walk };
            file.read(request).ok()?;
            Some((name.clone(), bytes))
        };
        names.iter().filter(|name| name.contains('.')).filter_map(read).collect()
    })
}

/// Opens a store, one of whose files is any bytes, and asks everything. Input: which file u8, the file.
///
/// # Panics
/// When a store that verifies denies a key that it shows: the broken promise.
pub fn open(mut data: &[u8]) {
    let files = files();
    let which = usize::from(take_u8(&mut data)) % files.len().max(1);
    let storage = Arc::new(MemoryStorage::new());
    for (number, (name, bytes)) in files.iter().enumerate() {
        let put = storage.put(name, if number == which { data.to_vec() } else { bytes.clone() });
        assert!(put.is_ok(), "{put:?}");
    }
    let shared: Arc<dyn Storage> = storage.clone();
    let is_sound = verify_store(&shared, &mut |_, _| ()).is_ok_and(|report| report.is_sound());
    let Ok(db) = Db::open_read_only(storage, &options()) else { return };
    for name in db.keyspaces() {
        let Ok(keyspace) = db.keyspace(&name) else { continue };
        let shown: Vec<_> = keyspace.iter().map_while(Result::ok).map(|(key, _)| key).collect();
        assert!(
            !is_sound || keyspace.iter().rev().map_while(Result::ok).count() == shown.len(),
            "{name}: other records backwards"
        );
        for key in shown {
            let found = keyspace.get(&key);
            assert!(!is_sound || found.is_ok_and(|found| found.is_some()), "{key:?} is not found");
        }
    }
}

/// A log, a value file and the manifest of a sound store; tables have a target of their own.
pub fn open_seeds() -> Vec<Vec<u8>> {
    let one_of = |kind: &str| files().iter().position(|(name, _)| name.ends_with(kind));
    let places = [".log", ".values", ".manifest"].into_iter().filter_map(one_of);
    places.map(|place| [&[place as u8], &files()[place].1[..]].concat()).collect()
}
