//! Fuzz target: records of backups.

use ogive::backup::Backups;
use ogive::block::checksum;
use ogive::io::{MemoryStorage, Storage};
use std::sync::Arc;

const STORE: u64 = 0x0123_4567_89ab_cdef;
const NUMBER: u64 = 2;

/// Lists, verifies and restores a backup of nothing but a record. Input: its time, its list of files and its manifest;
/// the head and the checksum are made right.
pub fn record(data: &[u8]) {
    let mut file = b"\x89OGVBAK\n".to_vec();
    file.extend_from_slice(&1_u64.to_le_bytes());
    file.extend_from_slice(&STORE.to_le_bytes());
    file.extend_from_slice(&NUMBER.to_le_bytes());
    file.extend_from_slice(data);
    file.resize(file.len() + checksum::CHECKSUM_BYTES, 0);
    checksum::seal(checksum::identity(STORE, NUMBER), 0, &mut file);
    let memory = MemoryStorage::new();
    if memory.put("000002.backup", file).is_err() {
        return;
    }
    let Ok(backups) = Backups::at(Arc::new(memory)) else { return };
    let listed = backups.list();
    let target: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let restored = backups.restore(None, &target, &mut |_, _| ());
    let found = backups.verify(&mut |_, _| ());
    // Not one file is there.
    let is_empty = listed.is_ok_and(|list| list.backups.iter().all(|backup| backup.files == 0));
    assert!(restored.is_err() || is_empty, "a backup without its files was restored");
    assert!(found.is_ok_and(|found| !found.is_empty()) || is_empty, "missing files were not found");
}

/// The record of the document.
pub fn record_seeds() -> Vec<Vec<u8>> {
    let time = 1_790_000_000_000_u64.to_le_bytes();
    let files = b"\x02\x0c000005.table\x01\x80\x20\x44\x33\x22\x11\x0a000006.log\x02\xac\x02\x88\x77\x66\x55";
    vec![[&time[..], files, b"\x07\x08manifest"].concat(), [&time[..], b"\x00\x07\x00"].concat()]
}
