//! Fuzz target: manifests of stores.

use crate::input::take_u8;
use ogive::block::checksum;
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::repair::repair_store;
use ogive::verify::verify_store;
use std::sync::Arc;

/// The file of the manifest that is made of an input, and its number.
const NAME: &str = "000007.manifest";
const NUMBER: u64 = 7;
const OWNER: u64 = 0x0123_4567_89ab_cdef;

/// Kinds of frames: the state, an edit, a mark, lengths.
const KINDS: [u8; 4] = [0xd0, 0xd1, 0xd2, 0xd3];
/// Bytes ahead of a frame's body.
const FRAME_HEAD_BYTES: usize = 13;
/// Bytes of the header.
const HEAD_BYTES: usize = 44;
const NONCE: u64 = 0x1111_2222_3333_4444;

/// Opens, checks and repairs a store of nothing but a manifest. Input: flags u8, of which the lowest bit says that it
/// is closed; then frames, each a kind u8, the length of its body u8 (of which 255 takes all that is left), and the
/// body. All checksums are made right.
pub fn open(data: &[u8]) {
    let memory = MemoryStorage::new();
    if memory.put(NAME, manifest(data)).is_err() {
        return;
    }
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let options = DbOptions::default().memory_bytes(4 << 20).writes(|writes| writes.memtable_bytes(1 << 20)).threads(0);
    if let Ok(db) = Db::open_read_only(Arc::clone(&storage), &options) {
        let _ = (db.get("key"), db.iter().take(10).count(), db.keyspaces(), db.stats());
    }
    let _ = verify_store(&storage, &mut |_, _| ());
    let _ = repair_store(&storage, &mut |_, _| ());
}

fn manifest(mut data: &[u8]) -> Vec<u8> {
    let flags = take_u8(&mut data);
    let identity = checksum::identity(OWNER ^ NONCE, NUMBER);
    let mut file = b"\x89OGVMAN\n".to_vec();
    file.extend_from_slice(&1_u32.to_le_bytes());
    file.extend_from_slice(&u32::from(flags & 1).to_le_bytes());
    file.extend_from_slice(&OWNER.to_le_bytes());
    file.extend_from_slice(&NUMBER.to_le_bytes());
    file.extend_from_slice(&NONCE.to_le_bytes());
    file.resize(HEAD_BYTES, 0);
    checksum::seal(identity, 0, &mut file);
    while !data.is_empty() {
        let kind = KINDS[usize::from(take_u8(&mut data)) % KINDS.len()];
        let length = match take_u8(&mut data) {
            255 => data.len(),
            length => usize::from(length).min(data.len()),
        };
        let (body, rest) = data.split_at(length);
        data = rest;
        let start = file.len();
        file.extend_from_slice(&(body.len() as u32).to_le_bytes());
        file.push(kind);
        file.resize(start + FRAME_HEAD_BYTES, 0);
        file.extend_from_slice(body);
        file.resize(file.len() + checksum::CHECKSUM_BYTES, 0);
        checksum::seal(identity, start as u64, &mut file[start..]);
    }
    file
}

/// The manifests of the document, without what is the same in all.
pub fn open_seeds() -> Vec<Vec<u8>> {
    let state = b"\x01\x00\x07default\x00\x00\x00\x00\x00\x01\x03\x04\x05\x01\x02";
    let edit = b"\x00\x00\x00\x01\x00\x00\x05\x80\x20\x03\x01\x00\x03ada\x03eve\x00\x01\x03\x01\x04\xdc\x0b\
        \x01\x04\x9c\x0c\x00\x01\x06\x07\x08\x04\x00";
    let frame = |kind: u8, body: &[u8]| [&[kind, body.len() as u8][..], body].concat();
    let open = [&[0][..], &frame(0, state), &frame(1, edit), &frame(2, b"")].concat();
    let closed = [&[1][..], &frame(0, state), &frame(3, b"\x01\x03\x28\x00")].concat();
    // Version 2: numbers are reserved; no file is of another opening, no log has ended, no opening is known.
    let second = |body: &[u8], reserved: u8| [body, &[reserved, 0, 0, 0]].concat();
    let frames = [frame(0, &second(state, 68)), frame(1, &second(edit, 0)), frame(2, b"")];
    let open_second = [&[2][..], &frames.concat()].concat();
    let closed_second = [&[3][..], &frame(0, &second(state, 68)), &frame(3, b"\x01\x03\x40\x00")].concat();
    vec![open, closed, open_second, closed_second]
}
