//! The stub: what stays of the first manifest of a store, `magic | store: u64 | zero: u32 | checksum: u32`.
//!
//! It takes the place of the first part of manifest 1 when that is not needed any more, and is never removed. So the
//! name stays taken, and a writer that is told by a listing that there is no store cannot create one.

use crate::block::checksum;
use crate::file_format::STUB_MAGIC;
use crate::lsm::state::version::ChainId;
use crate::lsm::state::version::FileKind;

/// Length of a stub in bytes; the first part of a manifest is longer.
pub(super) const STUB_BYTES: usize = 24;

/// Identity to which the checksum of a stub is bound; its name is what binds it to a place.
const STUB_IDENTITY: u64 = 0x57ab;

/// The first manifest of a store.
pub(super) const FIRST_MANIFEST: ChainId = ChainId { kind: FileKind::Manifest, number: 1 };

/// The name of the stub: that of the first part of the first manifest.
pub(in crate::lsm) fn stub_name() -> String {
    FIRST_MANIFEST.part_name(0)
}

/// The stub of a store.
pub(super) fn encode(store: u64) -> [u8; STUB_BYTES] {
    let mut bytes = [0; STUB_BYTES];
    bytes[..8].copy_from_slice(&STUB_MAGIC);
    bytes[8..16].copy_from_slice(&store.to_le_bytes());
    checksum::seal(STUB_IDENTITY, 0, &mut bytes);
    bytes
}

/// Whether a part is a stub.
pub(super) fn is_stub(part: &[u8]) -> bool {
    part.len() == STUB_BYTES && part.starts_with(&STUB_MAGIC) && checksum::check(STUB_IDENTITY, 0, part)
}

/// The store of a stub; `None` for another part.
pub(super) fn store_of(part: &[u8]) -> Option<u64> {
    is_stub(part).then(|| part.get(8..16)?.first_chunk().map(|store| u64::from_le_bytes(*store)))?
}

#[cfg(test)]
mod tests {
    use super::super::seal;
    use super::*;

    #[test]
    fn only_a_whole_stub_is_one_and_no_seal_is() {
        let stub = encode(7);
        assert!(is_stub(&stub) && stub != encode(8));
        assert!(!is_stub(&stub[..STUB_BYTES - 1]) && !is_stub(&[]) && !is_stub(&seal::encode(7, &stub_name())));
        assert!(!seal::is_seal(&stub));
        for bit in 0..STUB_BYTES * 8 {
            let mut damaged = stub;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_stub(&damaged), "bit {bit}");
        }
    }
}
