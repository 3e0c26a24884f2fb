//! Fuzz target: the small files about what a store keeps for its followers.

use crate::input::take_u8;
use crate::store::options;
use ogive::block::checksum;
use ogive::io::{MemoryStorage, Purpose, ReadRequest, Storage};
use ogive::lsm::Db;
use std::sync::{Arc, OnceLock};

/// The files of a store with a subscriber, by name.
type FollowedFiles = Vec<(String, Vec<u8>)>;

const RECORD: &str = "CHANGES";
const SUBSCRIBER: &str = "search.subscriber";

/// `magic | version | store`.
const HEAD_BYTES: usize = 20;

/// Batches that are read at most.
const BATCHES_MAX: usize = 100;

/// A small store that keeps logs, values and a dropped keyspace for a subscriber.
fn files() -> &'static FollowedFiles {
    static FILES: OnceLock<FollowedFiles> = OnceLock::new();
    FILES.get_or_init(|| {
        let storage = Arc::new(MemoryStorage::new());
        let made = (|| {
            let db = Db::open(storage.clone(), &options().create(true))?;
            db.subscribe("search")?;
            for round in 0..3_u32 {
                for i in 0..20_u32 {
                    db.insert(format!("key {i:03}"), vec![round as u8; if i % 8 == 0 { 300 } else { 10 }])?;
                }
                db.keyspace("other")?.insert("a", "b")?;
                db.flush()?;
                db.drop_keyspace("other")?;
            }
            db.close()
        })();
        assert!(made.is_ok(), "{made:?}");
        contents(&storage)
    })
}

/// All files of a storage that have a content.
pub(crate) fn contents(storage: &MemoryStorage) -> FollowedFiles {
    let read = |name: String| {
        let file = storage.open(&name).ok()?;
        let mut bytes = vec![0; file.len() as usize];
        file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Walk }).ok()?;
        (!bytes.is_empty()).then_some((name, bytes))
    };
    storage.list().unwrap_or_default().into_iter().filter_map(read).collect()
}

/// The records of a store.
fn records(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    db.iter().map_while(Result::ok).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Follows a store with any record of what it keeps, or any subscriber, opens it for writing, and follows it again.
/// Input: which file u8, its body; the head and the checksum are made right.
///
/// # Panics
/// When the store has other records than with its own files, or refuses a write: the broken promise.
pub fn follow(mut data: &[u8]) {
    let name = if take_u8(&mut data).is_multiple_of(2) { RECORD } else { SUBSCRIBER };
    let memory = MemoryStorage::new();
    for (own, bytes) in files() {
        let mut bytes = bytes.clone();
        if own == name {
            let store = bytes[12..HEAD_BYTES].first_chunk().map_or(0, |store| u64::from_le_bytes(*store));
            bytes.truncate(HEAD_BYTES);
            bytes.extend_from_slice(data);
            bytes.resize(bytes.len() + checksum::CHECKSUM_BYTES, 0);
            checksum::seal(store, 0, &mut bytes);
        }
        let put = memory.put(own, bytes);
        assert!(put.is_ok(), "{put:?}");
    }
    let follow = |db: &Db| {
        let _ = db.subscribers();
        let start = format!("{:016x}-0", db.identity()).parse().ok();
        if let Ok(changes) = db.changes_since(start) {
            // A table of an ingestion may be any file that is kept.
            let _ = changes.take(BATCHES_MAX).map_while(Result::ok).count();
        }
    };
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let Ok(reader) = Db::open_read_only(Arc::clone(&storage), &options()) else { return };
    let expected = records(&reader);
    assert_eq!(expected.len(), 20, "records are missing");
    follow(&reader);
    drop(reader);
    let writer = Db::open(storage, &options());
    let outcome = writer.and_then(|db| {
        follow(&db);
        db.insert("key 000", "new")?;
        db.flush()?;
        db.compact()?;
        follow(&db);
        db.remove("key 000")?;
        assert_eq!(records(&db)[..], expected[1..], "other records");
        db.close()
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// The record and the subscriber of the store, and the record of the document.
pub fn follow_seeds() -> Vec<Vec<u8>> {
    let body = |(which, name): (u8, &str)| {
        let (_, bytes) = files().iter().find(|(own, _)| own == name)?;
        let end = bytes.len().checked_sub(checksum::CHECKSUM_BYTES)?;
        Some([&[which][..], bytes.get(HEAD_BYTES..end)?].concat())
    };
    let document = b"\x00\x01\x2a\x80\xa4\xa7\xda\x06\xac\x02\x01\x07\x91\x22\x01\x09\x01\x2b\x00\x0c\x80\x20\x01\x2d\
        \x25\x01\x02\x05fruit\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\x0a\x01\x07\x06\x01\x01\x61\
        \x85\x80\x01\x00\x01\x00\x01\x2e\x30";
    let own = [(0, RECORD), (1, SUBSCRIBER)].into_iter().filter_map(body);
    own.chain([document.to_vec()]).collect()
}
