//! The seal: a part that ends a chain, `magic | nonce: u64 | place: u32 | checksum: u32`.
//!
//! The nonce is that of the opening that put it, so that an opening whose request was repeated recognises its own. The
//! place is a checksum of the name of the part: an answer with the seal of another chain ends nothing.

use crate::block::checksum;
use crate::file_format::SEAL_MAGIC;

/// Length of a seal in bytes.
pub(super) const SEAL_BYTES: usize = 24;

/// Identity to which the checksum of a seal is bound.
const SEAL_IDENTITY: u64 = 0x5ea1;

/// The seal of an opening, as the part of this name.
pub(super) fn encode(nonce: u64, name: &str) -> [u8; SEAL_BYTES] {
    let mut bytes = [0; SEAL_BYTES];
    bytes[..8].copy_from_slice(&SEAL_MAGIC);
    bytes[8..16].copy_from_slice(&nonce.to_le_bytes());
    bytes[16..20].copy_from_slice(&checksum::place_of(name).to_le_bytes());
    checksum::seal(SEAL_IDENTITY, 0, &mut bytes);
    bytes
}

/// Whether a part is a seal. No part with contents of a file is one: it would have to begin a record longer than any.
pub(super) fn is_seal(part: &[u8]) -> bool {
    part.len() == SEAL_BYTES && part.starts_with(&SEAL_MAGIC) && checksum::check(SEAL_IDENTITY, 0, part)
}

/// Whether a seal is that of the part of this name.
pub(super) fn is_of(seal: &[u8], name: &str) -> bool {
    let place = seal.get(16..20).and_then(|place| place.first_chunk()).map(|place| u32::from_le_bytes(*place));
    place == Some(checksum::place_of(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "wal-000065-00000002";

    #[test]
    fn only_a_whole_seal_is_one() {
        let seal = encode(7, NAME);
        assert!(is_seal(&seal) && seal != encode(8, NAME));
        assert!(!is_seal(&seal[..SEAL_BYTES - 1]) && !is_seal(&[]));
        for bit in 0..SEAL_BYTES * 8 {
            let mut damaged = seal;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_seal(&damaged), "bit {bit}");
        }
    }

    #[test]
    fn a_seal_is_of_one_part() {
        let seal = encode(7, NAME);
        assert!(is_of(&seal, NAME) && !is_of(&[], NAME));
        for other in ["wal-000065-00000003", "wal-000064-00000002", "manifest-000065-00000002"] {
            assert!(!is_of(&seal, other), "{other}");
        }
    }
}
