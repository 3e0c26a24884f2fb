//! Fuzz target: packed blocks.

use crate::input::{take_u8, take_u64};
use ogive::block::compress::{Compression, decompress};

/// The largest block of the format.
const MAX_BLOCK_BYTES: u64 = 1 << 20;

/// Unpacks any bytes with any codec to any length. Input: codec u8, length u64, the packed block.
///
/// # Panics
/// When a block unpacks to another length than it should: the broken promise.
pub fn unpack(mut data: &[u8]) {
    let codec = take_u8(&mut data);
    let raw_length = (take_u64(&mut data) % (MAX_BLOCK_BYTES + 1)) as usize;
    let mut raw = Vec::new();
    match decompress(codec, data, raw_length, &mut raw) {
        Ok(()) => assert_eq!(raw.len(), raw_length),
        Err(_) => assert!(raw.is_empty()),
    }
}

/// One block for each codec.
pub fn unpack_seeds() -> Vec<Vec<u8>> {
    let raw: Vec<u8> = (0..4096_u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
    let pack = |compression: Compression| {
        let mut packed = Vec::new();
        let codec = compression.compress(&raw, &mut packed)?;
        let mut seed = vec![codec];
        seed.extend_from_slice(&(raw.len() as u64).to_le_bytes());
        seed.append(&mut packed);
        Some(seed)
    };
    [Compression::Lz4, Compression::Zstd { level: 3 }].into_iter().filter_map(pack).collect()
}
