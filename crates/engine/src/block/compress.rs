//! The compression of single blocks.
//!
//! Each block stores its codec in one byte, so that blocks of one file may differ: a block that would not shrink by at
//! least an eighth is stored uncompressed, since decompressing it would cost time at every lookup and save hardly a
//! read. LZ4 data is in the *LZ4 block format*, zstd data is one frame of RFC 8878 without a dictionary.

use crate::error::Error;
use std::fmt;
use std::path::Path;

/// Codec byte of an uncompressed block.
pub const CODEC_STORED: u8 = 0;
/// Codec byte of an LZ4 block.
pub const CODEC_LZ4: u8 = 1;
/// Codec byte of a zstd frame.
pub const CODEC_ZSTD: u8 = 2;

/// A block is stored compressed only if it shrinks to at most `raw - raw / SAVING_DIVISOR` bytes.
const SAVING_DIVISOR: usize = 8;

/// The compression of a writer's blocks. Readers need no such option: each block states its codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// LZ4, the faster codec.
    #[cfg(feature = "lz4")]
    Lz4,
    /// zstd, the codec with the better ratio.
    #[cfg(feature = "zstd")]
    Zstd {
        /// Compression level, from 1 (fast) to 22 (small); zstd's default is 3. Other values are clamped.
        level: i32,
    },
}

/// An error of decompression. Every variant except [`CodecError::NotBuilt`] indicates a damaged or hostile block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// Unknown codec byte.
    Unknown {
        /// The byte found.
        codec: u8,
    },
    /// This program was built without the codec.
    NotBuilt {
        /// The cargo feature that enables it.
        feature: &'static str,
    },
    /// The body does not decompress to the expected length.
    Length {
        /// The actual length in bytes, if known.
        found: Option<usize>,
        /// The expected length in bytes.
        expected: usize,
    },
    /// The codec rejected the body.
    Malformed {
        /// The codec's message.
        detail: String,
    },
}

impl CodecError {
    /// The error of a block of a file: the damage that it is, unless this program was built without the codec.
    pub(crate) fn in_file(&self, path: &Path, damaged: impl FnOnce() -> Error) -> Error {
        match self {
            Self::NotBuilt { .. } => {
                let hint = format!("{self}; read it with one that has it");
                Error::unsupported(path, "read", hint)
            }
            _ => damaged(),
        }
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { codec } => write!(f, "no codec has the number {codec}"),
            Self::NotBuilt { feature } => {
                write!(
                    f,
                    "the block is packed with {feature}, and this program was built without its feature {feature}"
                )
            }
            Self::Length { found: Some(found), expected } => {
                write!(f, "the block decompresses to {found} bytes instead of {expected}")
            }
            Self::Length { found: None, expected } => write!(f, "the block does not decompress to {expected} bytes"),
            Self::Malformed { detail } => write!(f, "the compressed block is malformed: {detail}"),
        }
    }
}

impl std::error::Error for CodecError {}

impl Compression {
    /// The name of the compression: `none`, `lz4` or `zstd`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            #[cfg(feature = "lz4")]
            Self::Lz4 => "lz4",
            #[cfg(feature = "zstd")]
            Self::Zstd { .. } => "zstd",
        }
    }

    /// Compresses `raw` into `packed` (which is cleared first) and returns the codec byte.
    ///
    /// Returns `None` if the block is to be stored uncompressed, with [`CODEC_STORED`]: because that was requested, or
    /// because it would not shrink by at least an eighth. The content of `packed` is then unspecified. The memory used
    /// beyond `packed` does not depend on the data; `packed` grows to at most about `1.1 * raw.len() + 20` bytes.
    pub fn compress(&self, raw: &[u8], packed: &mut Vec<u8>) -> Option<u8> {
        packed.clear();
        // Fewer bytes cannot be reduced by a whole byte.
        if raw.len() < SAVING_DIVISOR {
            return None;
        }
        let (codec, length) = self.pack(raw, packed)?;
        if length > largest_packed(raw.len()) {
            return None;
        }
        packed.truncate(length);
        Some(codec)
    }

    /// The codec byte and the compressed length; `packed` may be longer. `None` if the codec failed.
    #[cfg_attr(
        not(any(feature = "lz4", feature = "zstd")),
        expect(unused_variables, clippy::ptr_arg, reason = "no codec uses them")
    )]
    fn pack(&self, raw: &[u8], packed: &mut Vec<u8>) -> Option<(u8, usize)> {
        match *self {
            Self::None => None,
            #[cfg(feature = "lz4")]
            Self::Lz4 => {
                packed.resize(lz4_flex::block::get_maximum_output_size(raw.len()), 0);
                lz4_flex::block::compress_into(raw, packed).ok().map(|length| (CODEC_LZ4, length))
            }
            #[cfg(feature = "zstd")]
            Self::Zstd { level } => {
                // An error here means that the buffer is too small.
                packed.resize(largest_packed(raw.len()), 0);
                let level = level.clamp(1, 22);
                zstd::bulk::compress_to_buffer(raw, packed.as_mut_slice(), level)
                    .ok()
                    .map(|length| (CODEC_ZSTD, length))
            }
        }
    }
}

/// The largest compressed length that is stored.
fn largest_packed(raw_length: usize) -> usize {
    raw_length - raw_length / SAVING_DIVISOR
}

/// Decompresses `body` into `raw` (which is cleared first), to exactly `raw_length` bytes.
///
/// The caller must bound `raw_length` by the largest possible block; no more than that is allocated for the result,
/// whatever `body` states.
///
/// # Errors
/// A [`CodecError`] if `body` does not decompress to `raw_length` bytes; `raw` is then empty.
pub fn decompress(codec: u8, body: &[u8], raw_length: usize, raw: &mut Vec<u8>) -> Result<(), CodecError> {
    raw.clear();
    // Checked before anything is allocated.
    check_codec(codec)?;
    if codec == CODEC_STORED && body.len() != raw_length {
        return Err(CodecError::Length { found: Some(body.len()), expected: raw_length });
    }
    raw.resize(raw_length, 0);
    let unpacked = unpack(codec, body, raw).and_then(|found| match found {
        _ if found == raw_length => Ok(()),
        _ => Err(CodecError::Length { found: Some(found), expected: raw_length }),
    });
    if unpacked.is_err() {
        raw.clear();
    }
    unpacked
}

fn check_codec(codec: u8) -> Result<(), CodecError> {
    match codec {
        CODEC_STORED => Ok(()),
        CODEC_LZ4 if cfg!(feature = "lz4") => Ok(()),
        CODEC_LZ4 => Err(CodecError::NotBuilt { feature: "lz4" }),
        CODEC_ZSTD if cfg!(feature = "zstd") => Ok(()),
        CODEC_ZSTD => Err(CodecError::NotBuilt { feature: "zstd" }),
        _ => Err(CodecError::Unknown { codec }),
    }
}

/// Decompresses into a buffer of the expected length and returns the number of bytes written.
fn unpack(codec: u8, body: &[u8], raw: &mut [u8]) -> Result<usize, CodecError> {
    match codec {
        CODEC_STORED => {
            raw.copy_from_slice(body);
            Ok(body.len())
        }
        #[cfg(feature = "lz4")]
        CODEC_LZ4 => lz4_flex::block::decompress_into(body, raw).map_err(|error| match error {
            lz4_flex::block::DecompressError::OutputTooSmall { .. } => {
                CodecError::Length { found: None, expected: raw.len() }
            }
            other => CodecError::Malformed { detail: other.to_string() },
        }),
        #[cfg(feature = "zstd")]
        CODEC_ZSTD => zstd::bulk::decompress_to_buffer(body, raw)
            .map_err(|error| CodecError::Malformed { detail: error.to_string() }),
        _ => Err(CodecError::Unknown { codec }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use proptest::prelude::*;

    /// Every compression that this build supports.
    fn compressions() -> Vec<Compression> {
        vec![
            Compression::None,
            #[cfg(feature = "lz4")]
            Compression::Lz4,
            #[cfg(feature = "zstd")]
            Compression::Zstd { level: 1 },
            #[cfg(feature = "zstd")]
            Compression::Zstd { level: 19 },
        ]
    }

    fn built_codecs() -> Vec<u8> {
        (0..=u8::MAX).filter(|&codec| codec != CODEC_STORED && check_codec(codec).is_ok()).collect()
    }

    fn round_trip(compression: Compression, raw: &[u8]) -> Option<u8> {
        let (mut packed, mut unpacked) = (vec![7; 3], vec![7; 3]);
        let codec = compression.compress(raw, &mut packed);
        let body = if codec.is_some() { packed.as_slice() } else { raw };
        assert!(
            codec.is_none() || body.len() <= raw.len() - raw.len() / 8,
            "{compression:?} kept a block that it did not shrink"
        );
        decompress(codec.unwrap_or(CODEC_STORED), body, raw.len(), &mut unpacked).unwrap();
        assert_eq!(unpacked, raw);
        codec
    }

    /// Bytes without any regularity that a codec could use.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn a_regular_block_is_packed_and_noise_is_stored() {
        let regular: Vec<u8> = (0..4096_u32).map(|i| (i / 16) as u8).collect();
        for compression in compressions() {
            let codec = round_trip(compression, &regular);
            assert_eq!(codec.is_some(), compression != Compression::None);
            assert_eq!(round_trip(compression, &noise(4096)), None);
        }
    }

    #[test]
    fn a_block_that_shrinks_by_less_than_an_eighth_is_stored() {
        for compression in compressions() {
            let mut nearly = noise(4096);
            nearly[..300].fill(0);
            assert_eq!(round_trip(compression, &nearly), None);
        }
    }

    #[test]
    fn lengths_around_nothing_and_the_largest_block_come_back() {
        for compression in compressions() {
            for length in (0..40).chain([511, 512, 65_535, 65_536, 65_537, 1 << 20]) {
                round_trip(compression, &vec![42; length]);
                round_trip(compression, &noise(length));
            }
        }
    }

    #[test]
    fn an_unknown_codec_is_an_error() {
        for codec in 3..=u8::MAX {
            assert_eq!(decompress(codec, b"body", 4, &mut Vec::new()), Err(CodecError::Unknown { codec }));
        }
    }

    #[test]
    fn a_codec_that_was_not_built_is_named() {
        for (codec, feature, built) in
            [(CODEC_LZ4, "lz4", cfg!(feature = "lz4")), (CODEC_ZSTD, "zstd", cfg!(feature = "zstd"))]
        {
            if !built {
                assert_eq!(decompress(codec, b"body", 4, &mut Vec::new()), Err(CodecError::NotBuilt { feature }));
            }
        }
    }

    #[test]
    fn a_wrong_raw_length_is_an_error() {
        for compression in compressions() {
            let raw = vec![1; 1000];
            let mut packed = Vec::new();
            let codec = compression.compress(&raw, &mut packed).unwrap_or(CODEC_STORED);
            let body = if codec == CODEC_STORED { &raw } else { &packed };
            for wrong in [0, 1, 999, 1001, 4096] {
                let mut unpacked = Vec::new();
                assert!(decompress(codec, body, wrong, &mut unpacked).is_err(), "{compression:?} gave {wrong} bytes");
                assert!(unpacked.is_empty());
            }
        }
    }

    #[test]
    fn a_body_that_claims_a_gigabyte_allocates_what_the_caller_allows() {
        for compression in compressions() {
            let mut packed = Vec::new();
            // A megabyte of equal bytes compresses so well that its header claims far more than the caller allows.
            let Some(codec) = compression.compress(&vec![9; 1 << 20], &mut packed) else { continue };
            let mut unpacked = Vec::new();
            assert!(decompress(codec, &packed, 512, &mut unpacked).is_err());
            assert!(unpacked.capacity() <= 512, "{} bytes for a block of 512", unpacked.capacity());
        }
    }

    #[test]
    fn every_truncation_and_flipped_bit_is_an_error_or_a_block_of_the_right_length() {
        let raw: Vec<u8> = (0..600_u32).map(|i| (i % 7 * (i / 50)) as u8).collect();
        for compression in compressions() {
            let mut packed = Vec::new();
            let Some(codec) = compression.compress(&raw, &mut packed) else { continue };
            for length in 0..packed.len() {
                assert!(decompress(codec, &packed[..length], raw.len(), &mut Vec::new()).is_err());
            }
            for bit in 0..packed.len() * 8 {
                let mut damaged = packed.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let mut unpacked = Vec::new();
                let length = decompress(codec, &damaged, raw.len(), &mut unpacked).map(|()| raw.len()).unwrap_or(0);
                assert_eq!(unpacked.len(), length);
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_is_packed_comes_back(raw in proptest::collection::vec(0_u8..6, 0..3000)) {
            for compression in compressions() {
                round_trip(compression, &raw);
            }
        }

        #[test]
        fn hostile_bodies_neither_panic_nor_overflow(
            body in proptest::collection::vec(any::<u8>(), 0..300),
            raw_length in 0_usize..5000,
        ) {
            for codec in built_codecs() {
                let mut unpacked = Vec::new();
                let length = decompress(codec, &body, raw_length, &mut unpacked).map(|()| raw_length).unwrap_or(0);
                prop_assert_eq!(unpacked.len(), length);
            }
        }
    }

    #[test]
    fn a_codec_that_is_not_built_in_is_no_damage() {
        let damaged = || Error::damaged("x.ogive", 0, "it cannot be decompressed");
        let missing = CodecError::NotBuilt { feature: "zstd" }.in_file(Path::new("x.ogive"), damaged).to_string();
        assert!(missing.starts_with("cannot read x.ogive: the block is packed with zstd"), "{missing}");
        let error = CodecError::Unknown { codec: 9 }.in_file(Path::new("x.ogive"), damaged);
        assert!(matches!(error, Error { cause: Cause::Damaged, .. }));
    }
}
