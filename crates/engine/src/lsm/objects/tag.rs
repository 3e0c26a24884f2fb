//! The tag: what each part of a chain but the first begins with, `magic | store: u64 | place: u32 | checksum: u32`. It
//! is no byte of the file.
//!
//! It says whose the part is, and which one, as the header of the file does of the first part: where a store is removed
//! and another one is made in its place, a writer of the first one may still put parts there.

use super::stub;
use crate::block::checksum;
use crate::file_format::PART_MAGIC;
use crate::lsm::state::log_header;
use crate::lsm::state::version::{ChainId, parse_part_name};
use crate::lsm::state::version::{FileKind, manifest_store};

/// Length of a tag in bytes.
pub(super) const TAG_BYTES: usize = 24;

/// Identity to which the checksum of a tag is bound.
const TAG_IDENTITY: u64 = 0x7a9;

/// What a tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    store: u64,
    place: u32,
}

/// The tag of a part of a store.
pub(super) fn encode(store: u64, chain: ChainId, part: u64) -> [u8; TAG_BYTES] {
    let mut bytes = [0; TAG_BYTES];
    bytes[..8].copy_from_slice(&PART_MAGIC);
    bytes[8..16].copy_from_slice(&store.to_le_bytes());
    bytes[16..20].copy_from_slice(&checksum::place_of(&chain.part_name(part)).to_le_bytes());
    checksum::seal(TAG_IDENTITY, 0, &mut bytes);
    bytes
}

fn decode(part: &[u8]) -> Option<Tag> {
    let tag = part.first_chunk::<TAG_BYTES>()?;
    let is_one = tag.starts_with(&PART_MAGIC) && checksum::check(TAG_IDENTITY, 0, tag);
    let store = u64::from_le_bytes(*tag.get(8..)?.first_chunk()?);
    let place = u32::from_le_bytes(*tag.get(16..)?.first_chunk()?);
    is_one.then_some(Tag { store, place })
}

/// Where the contents of a part begin: behind its tag. No contents are taken for one, since they would have to begin a
/// record longer than any.
pub(super) fn length(part: &[u8]) -> usize {
    decode(part).map_or(0, |_| TAG_BYTES)
}

/// Whether a part is that of this name, as far as its tag says.
pub(super) fn is_of(part: &[u8], name: &str) -> bool {
    decode(part).is_none_or(|tag| tag.place == checksum::place_of(name))
}

/// The store of the part of this name; `None` if it does not say: a seal, or a damaged part.
pub(super) fn store_of(name: &str, bytes: &[u8]) -> Option<u64> {
    match parse_part_name(name)? {
        (ChainId { kind: FileKind::Manifest, number }, 0) => {
            stub::store_of(bytes).or_else(|| manifest_store(bytes, number))
        }
        (chain, 0) => log_header::store_of(bytes, chain.number),
        _ => decode(bytes).map(|tag| tag.store),
    }
}

#[cfg(test)]
mod tests {
    use super::super::seal;
    use super::*;

    const CHAIN: ChainId = ChainId { kind: FileKind::Log, number: 65 };

    #[test]
    fn a_tag_tells_the_store_and_the_place_and_every_bit_counts() {
        let name = CHAIN.part_name(2);
        let part = [&encode(7, CHAIN, 2)[..], b"contents"].concat();
        assert_eq!((length(&part), store_of(&name, &part)), (TAG_BYTES, Some(7)));
        assert!(is_of(&part, &name) && !is_of(&part, &CHAIN.part_name(3)) && !seal::is_seal(&part[..TAG_BYTES]));
        for bit in 0..TAG_BYTES * 8 {
            let mut damaged = part.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!((length(&damaged), store_of(&name, &damaged)), (0, None), "bit {bit}");
        }
        for other in [&b"contents"[..], &[], &part[..TAG_BYTES - 1], &seal::encode(7, &name)] {
            assert_eq!((length(other), store_of(&name, other), is_of(other, "any")), (0, None, true));
        }
    }
}
