//! The seal: a part that ends a chain, `magic | nonce: u64 | zero: u32 | checksum: u32`.
//!
//! The nonce is that of the opening that put it, so that an opening whose request was repeated recognises its own.

use crate::block::checksum;
use crate::file_format::SEAL_MAGIC;

/// Length of a seal in bytes.
pub(super) const SEAL_BYTES: usize = 24;

/// Identity to which the checksum of a seal is bound; its name is what binds it to a place.
const SEAL_IDENTITY: u64 = 0x5ea1;

/// The seal of an opening.
pub(super) fn encode(nonce: u64) -> [u8; SEAL_BYTES] {
    let mut bytes = [0; SEAL_BYTES];
    bytes[..8].copy_from_slice(&SEAL_MAGIC);
    bytes[8..16].copy_from_slice(&nonce.to_le_bytes());
    checksum::seal(SEAL_IDENTITY, 0, &mut bytes);
    bytes
}

/// Whether a part is a seal. No part with contents of a file is one: it would have to begin a record longer than any.
pub(super) fn is_seal(part: &[u8]) -> bool {
    part.len() == SEAL_BYTES && part.starts_with(&SEAL_MAGIC) && checksum::check(SEAL_IDENTITY, 0, part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_seal_is_one() {
        let seal = encode(7);
        assert!(is_seal(&seal) && seal != encode(8));
        assert!(!is_seal(&seal[..SEAL_BYTES - 1]) && !is_seal(&[]));
        for bit in 0..SEAL_BYTES * 8 {
            let mut damaged = seal;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_seal(&damaged), "bit {bit}");
        }
    }
}
