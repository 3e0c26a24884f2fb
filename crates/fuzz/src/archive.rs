//! Fuzz target: segments of archives.

use crate::changes::contents;
use crate::input::take_u8;
use ogive::Durability;
use ogive::backup::{BackupOptions, Backups, Moment};
use ogive::block::checksum::{CHECKSUM_BYTES, identity, seal};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::verify::verify_store;
use std::sync::{Arc, OnceLock};

/// The segment that is made of an input, behind an intact one.
const NAME: &str = "000002.archive";
const NUMBER: u64 = 2;

/// Length of the header with its checksum, and of the last frame.
const HEAD_BYTES: usize = 60;
const END_BYTES: usize = 33;
/// The kinds of frames that are told apart here.
const BATCH: u8 = 2;
const FOOTER: u8 = 4;

/// A backup with an archive of two segments: its files, by name.
fn files() -> &'static Vec<(String, Vec<u8>)> {
    static FILES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let (store, target) = (Arc::new(MemoryStorage::new()), Arc::new(MemoryStorage::new()));
        let made = (|| {
            let options = DbOptions::default().memory_bytes(1 << 20).durability(Durability::Buffered).threads(0);
            let db = Db::open(store.clone(), &options.writes(|writes| writes.memtable_bytes(8 << 10)))?;
            let source: Arc<dyn Storage> = store;
            db.insert("apple", "red")?;
            let backups = Backups::at(target.clone() as Arc<dyn Storage>)?;
            let archived = BackupOptions::default().archive_logs(BackupOptions::ARCHIVE);
            backups.create(&source, &archived, &mut |_, _| ())?;
            let mut batch = db.batch();
            batch.insert(&db.keyspace("fruit")?, "fig", vec![7; 60]).insert(&db, "apple", "green");
            batch.remove(&db, "pear").remove_range(&db, "a".."b");
            batch.commit()?;
            db.insert_with(
                "lime",
                "sour",
                std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 40),
            )?;
            db.drop_keyspace("fruit")?;
            db.persist()?;
            backups.archive(&source, BackupOptions::ARCHIVE)
        })();
        assert!(made.is_ok(), "{made:?}");
        contents(&target)
    })
}

/// Lists, verifies and restores an archive whose last segment is any bytes. Input: how much later it ends u8; how many
/// more batches its end states u8; then frames, each the length of its body u8 (of which 255 takes all that is left),
/// and the body. The head, the end and all checksums are made right.
///
/// # Panics
/// When a damaged store is restored: the broken promise.
pub fn segment(data: &[u8]) {
    let memory = MemoryStorage::new();
    let mut own = 0;
    for (name, bytes) in files() {
        let is_this = name == NAME;
        own += u32::from(is_this);
        let put = memory.put(name, if is_this { made_of(data, bytes) } else { bytes.clone() });
        assert!(put.is_ok(), "{put:?}");
    }
    assert_eq!(own, 1, "the archive has no second segment");
    let Ok(backups) = Backups::at(Arc::new(memory) as Arc<dyn Storage>) else { return };
    let found = backups.verify(&mut |_, _| ());
    let Ok(list) = backups.list() else { return };
    let positions: Vec<_> = list.archived.iter().map(|moment| moment.position).collect();
    for moment in list.archived {
        let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let restored = backups.restore_until(Moment::Position(moment.position), Arc::clone(&target), &mut |_, _| ());
        if restored.is_ok() {
            let report = verify_store(&target, &mut |_, _| ());
            assert!(report.as_ref().is_ok_and(|report| report.is_sound()), "{report:?}");
        } else {
            let left = target.list().unwrap_or_default();
            assert!(left.iter().all(|name| name == "LOCK"), "a failed restore has left {left:?}");
        }
        // The last of those that end at one position leads there.
        if moment.segment != NUMBER && positions.iter().filter(|&&position| position == moment.position).count() == 1 {
            assert!(restored.is_ok(), "an intact segment leads nowhere: {restored:?}, {found:?}");
        }
    }
}

/// A segment with the head of another one.
fn made_of(mut data: &[u8], like: &[u8]) -> Vec<u8> {
    let word = |at: usize| like.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u64::from_le_bytes(*it));
    let (own, start) = (identity(word(16), NUMBER), word(48));
    let (later, more_batches) = (u64::from(take_u8(&mut data)), u64::from(take_u8(&mut data)));
    let (mut bytes, mut batches) = (like.get(..HEAD_BYTES).unwrap_or_default().to_vec(), more_batches);
    let frame = |bytes: &mut Vec<u8>, body: &[u8]| {
        let at = bytes.len();
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(body);
        bytes.resize(bytes.len() + CHECKSUM_BYTES, 0);
        seal(own, at as u64, &mut bytes[at..]);
    };
    while !data.is_empty() {
        let length = match take_u8(&mut data) {
            255 => data.len(),
            length => usize::from(length).min(data.len()),
        };
        let (body, rest) = data.split_at(length);
        data = rest;
        batches += u64::from(body.first() == Some(&BATCH));
        frame(&mut bytes, body);
    }
    let made_ms = like.len().checked_sub(END_BYTES).map_or(0, |at| word(at + 4 + 1 + 8));
    let mut end = vec![FOOTER];
    [start + later, made_ms, batches].iter().for_each(|word| end.extend_from_slice(&word.to_le_bytes()));
    frame(&mut bytes, &end);
    bytes
}

/// The second segment as it is, and without its last frames.
pub fn segment_seeds() -> Vec<Vec<u8>> {
    let Some((_, bytes)) = files().iter().find(|(name, _)| name == NAME) else { return Vec::new() };
    let word = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u64::from_le_bytes(*it));
    let end_at = bytes.len().saturating_sub(END_BYTES);
    let (mut frames, mut at) = (vec![vec![word(end_at + 5).saturating_sub(word(48)) as u8, 0]], HEAD_BYTES);
    while at < end_at {
        let length = word(at) as u32 as usize;
        let Some(body) = bytes.get(at + 4..at + 4 + length) else { break };
        // No frame of this archive is as long as that.
        frames.push([&[u8::try_from(length).unwrap_or(255)][..], body].concat());
        at += length + 4 + CHECKSUM_BYTES;
    }
    let whole = frames.concat();
    vec![whole, frames[..frames.len().min(3)].concat()]
}
