//! The checksum of all stored data: CRC-32C, seeded with file identity and offset.
//!
//! A checksum of the bytes alone cannot detect a *misplaced* or *stale* block: an intact block that a faulty disk or a
//! bad copy put where another belongs. The checksum therefore begins with the identity of the file and the offset:
//!
//! ```text
//! CRC-32C( file_id: u64 LE | offset: u64 LE | bytes )
//! ```
//!
//! Guarantee: for a given file and offset, every change of up to 32 consecutive bits is detected, and every block moved
//! by less than 4 GiB within its file; any other damage passes with a probability of 2^-32. There is no protection
//! against an adversary, who can compute the checksum.
//!
//! CRC-32C (Castagnoli) is the polynomial of iSCSI, RFC 3720, and of SSE 4.2 and ARMv8.

/// Size of a stored checksum in bytes.
pub const CHECKSUM_BYTES: usize = 4;

/// The checksum identity of one of several files: `number` is the file's number among all files of `owner`, and is
/// never reused.
#[must_use]
pub fn identity(owner: u64, number: u64) -> u64 {
    // An odd factor, so that distinct numbers stay distinct; the constant is 2^64 divided by the golden ratio.
    owner ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The checksum of `bytes` at `offset` (in bytes) of the file `file_id`.
pub fn checksum(file_id: u64, offset: u64, bytes: &[u8]) -> u32 {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&file_id.to_le_bytes());
    place[8..].copy_from_slice(&offset.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&place), bytes)
}

/// The CRC-32C of `bytes` after bytes with the CRC-32C `before`, which is 0 for none: of whole files, whatever their
/// format.
pub(crate) fn crc_of(before: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(before, bytes)
}

/// The CRC-32C of bytes with the CRC-32C `before`, followed by `length_bytes` bytes with the CRC-32C `after`.
pub(crate) fn joined_crc(before: u32, after: u32, length_bytes: u64) -> u32 {
    crc32c::crc32c_combine(before, after, length_bytes as usize)
}

/// The checksum of the name of an object, as a place; never 0.
pub(crate) fn place_of(name: &str) -> u32 {
    // The identity of seals, the first ones with a place.
    checksum(0x5ea1, 0, name.as_bytes()).max(1)
}

/// Writes the checksum of all but the last four bytes of `block` into those four, little-endian.
///
/// `offset` is the position of the block's first byte in the file. A block of less than four bytes has no room for a
/// checksum: it is left unchanged, and [`check`] rejects it.
pub fn seal(file_id: u64, offset: u64, block: &mut [u8]) {
    if let Some((bytes, stored)) = block.split_last_chunk_mut::<CHECKSUM_BYTES>() {
        *stored = checksum(file_id, offset, bytes).to_le_bytes();
    }
}

/// Whether `block`, read from `offset` of the file `file_id`, is what [`seal`] produced.
#[must_use]
pub fn check(file_id: u64, offset: u64, block: &[u8]) -> bool {
    block
        .split_last_chunk::<CHECKSUM_BYTES>()
        .is_some_and(|(bytes, stored)| checksum(file_id, offset, bytes) == u32::from_le_bytes(*stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE_ID: u64 = 0x0123_4567_89ab_cdef;

    fn sealed(file_id: u64, offset: u64, length: usize) -> Vec<u8> {
        let mut block: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
        seal(file_id, offset, &mut block);
        block
    }

    #[test]
    fn the_sum_is_the_standard_one_over_place_and_bytes() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283, "the check value of the CRC-32C standard");
        let mut whole = FILE_ID.to_le_bytes().to_vec();
        whole.extend_from_slice(&4096_u64.to_le_bytes());
        whole.extend_from_slice(b"some bytes");
        assert_eq!(checksum(FILE_ID, 4096, b"some bytes"), crc32c::crc32c(&whole));
    }

    #[test]
    fn crcs_of_parts_make_that_of_the_whole() {
        let bytes: Vec<u8> = (0..10_000_u32).map(|i| (i * i % 251) as u8).collect();
        for cut in [0, 1, 7, 4096, 9_999, 10_000] {
            let (first, rest) = bytes.split_at(cut);
            let joined = joined_crc(crc_of(0, first), crc_of(0, rest), rest.len() as u64);
            assert_eq!(joined, crc_of(0, &bytes), "{cut}");
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        for length in [4, 5, 64, 512] {
            let block = sealed(FILE_ID, 8192, length);
            assert!(check(FILE_ID, 8192, &block));
            for bit in 0..length * 8 {
                let mut damaged = block.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(!check(FILE_ID, 8192, &damaged), "bit {bit} of {length} bytes");
            }
        }
    }

    #[test]
    fn a_block_in_the_place_of_another_is_found() {
        let block = sealed(FILE_ID, 0, 512);
        for offset in (512..1 << 22).step_by(512) {
            assert!(!check(FILE_ID, offset, &block), "a block of offset 0 at {offset}");
        }
    }

    #[test]
    fn a_block_of_another_file_is_found() {
        let block = sealed(FILE_ID, 4096, 512);
        for bit in 0..64 {
            assert!(!check(FILE_ID ^ (1 << bit), 4096, &block));
        }
    }

    #[test]
    fn what_is_too_short_for_a_checksum_never_passes() {
        for length in 0..CHECKSUM_BYTES {
            let mut block = vec![0; length];
            seal(FILE_ID, 0, &mut block);
            assert!(!check(FILE_ID, 0, &block));
        }
    }

    #[test]
    fn a_block_of_zeros_never_passes_at_a_block_boundary() {
        for offset in (0..1_u64 << 26).step_by(512) {
            assert!(!check(0, offset, &[0; 512]), "a hole in the file at {offset} passed for a block");
        }
    }

    proptest! {
        #[test]
        fn every_burst_of_up_to_32_bits_is_found(
            bytes in proptest::collection::vec(any::<u8>(), 8..600),
            start in any::<prop::sample::Index>(),
            burst in 1_u32..,
        ) {
            let mut block = bytes;
            seal(FILE_ID, 77, &mut block);
            let start = start.index(block.len() - 3);
            for (byte, flips) in block[start..start + 4].iter_mut().zip(burst.to_le_bytes()) {
                *byte ^= flips;
            }
            prop_assert!(!check(FILE_ID, 77, &block));
        }

        #[test]
        fn what_was_sealed_passes_in_its_place_only(
            mut block in proptest::collection::vec(any::<u8>(), 4..600), offset: u64, moved in 1_u64..1 << 32,
        ) {
            seal(FILE_ID, offset, &mut block);
            prop_assert!(check(FILE_ID, offset, &block));
            prop_assert!(!check(FILE_ID, offset ^ moved, &block));
        }
    }
}
