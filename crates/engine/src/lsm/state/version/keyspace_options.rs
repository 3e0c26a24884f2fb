//! The options of a keyspace of its own, as programs set them and as the manifest records them.
//!
//! They are recorded as fields with a number each, and only those that are set. A program that does not know one of
//! them refuses the store by its format: it would not keep what the field asks for.

use super::table::{put_bytes, take_bytes};
use crate::block::compress::{CODEC_LZ4, CODEC_STORED, CODEC_ZSTD, Compression};
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use crate::lsm::state::expiry::rule::ExpiryRule;
use crate::lsm::state::expiry::store_time::millis;
use crate::table::BLOCK_BYTES;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::time::Duration;

/// Most bits per key of a filter.
const FILTER_BITS_MAX: u32 = 32;

/// The numbers of the fields in a record.
const COMPRESSION_FIELD: u64 = 1;
const FILTER_FIELD: u64 = 2;
const SEPARATION_FIELD: u64 = 3;
const BLOCK_FIELD: u64 = 4;
const EXPIRY_FIELD: u64 = 5;
const EXPIRY_AT_FIELD: u64 = 6;

/// Options of one keyspace, which the store records: see
/// [`Keyspace::set_options`](crate::lsm::Keyspace::set_options). A field that is `None` is as the
/// [options of the store](crate::DbOptions) say at each opening.
///
/// ```
/// use ogive::lsm::KeyspaceOptions;
///
/// let options = KeyspaceOptions::default().filter_bits_per_key(16).separation_bytes(64 << 10);
/// assert_eq!(options.block_bytes, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyspaceOptions {
    /// Compression of the blocks of its tables, and of its values in value files.
    pub compression: Option<Compression>,
    /// Bits per key of its filters, from 1 to 32; 0 for no filters.
    pub filter_bits_per_key: Option<u32>,
    /// Its values of at least this many bytes are stored in the value log; `u64::MAX` for none below 1 MiB.
    pub separation_bytes: Option<u64>,
    /// Size of its data blocks in bytes, a power of two.
    pub block_bytes: Option<u32>,
    /// When its records expire that are written without a time of their own: see
    /// [`Keyspace::expire_after`](crate::lsm::Keyspace::expire_after). The options of a store have no such rule.
    pub expiry: Option<ExpiryRule>,
    /// A recorded compression, as codec and level, that this program was built without: it is kept, and not used.
    unbuilt_compression: Option<(u8, i32)>,
}

setters! {
    KeyspaceOptions {
    } optional {
        compression: Compression,
        filter_bits_per_key: u32,
        separation_bytes: u64,
        block_bytes: u32,
        expiry: ExpiryRule,
    }
}

impl KeyspaceOptions {
    /// Whether all is as the options of the store say.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses invalid options.
    pub(in crate::lsm) fn check(&self) -> Result<()> {
        self.block_bytes.map_or(Ok(()), check_block_bytes)?;
        match self.filter_bits_per_key {
            Some(bits) if bits > FILTER_BITS_MAX => Err(Error::input(format!(
                "filters have 1 to {FILTER_BITS_MAX} bits per key, or 0 for none, not {bits}"
            ))),
            _ => Ok(()),
        }
    }

    /// The recorded codec and level of the compression.
    fn codec(&self) -> Option<(u8, i32)> {
        match self.compression {
            None => self.unbuilt_compression,
            Some(Compression::None) => Some((CODEC_STORED, 0)),
            #[cfg(feature = "lz4")]
            Some(Compression::Lz4) => Some((CODEC_LZ4, 0)),
            #[cfg(feature = "zstd")]
            Some(Compression::Zstd { level }) => Some((CODEC_ZSTD, level)),
        }
    }

    /// Sets the recorded compression; `None` for one that does not exist.
    fn set_codec(&mut self, codec: u8, level: i32) -> Option<()> {
        match codec {
            CODEC_STORED => self.compression = Some(Compression::None),
            #[cfg(feature = "lz4")]
            CODEC_LZ4 => self.compression = Some(Compression::Lz4),
            #[cfg(feature = "zstd")]
            CODEC_ZSTD => self.compression = Some(Compression::Zstd { level }),
            // Of a library with both, the arms above have them all.
            _ if matches!(codec, CODEC_LZ4 | CODEC_ZSTD) => self.unbuilt_compression = Some((codec, level)),
            _ => return None,
        }
        Some(())
    }

    /// The fields that are set, each behind its number, by ascending numbers.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some((codec, level)) = self.codec() {
            put_varint(&mut out, COMPRESSION_FIELD);
            put_varint(&mut out, u64::from(codec));
            put_varint(&mut out, u64::from(level.cast_unsigned()));
        }
        let numbers = [
            (FILTER_FIELD, self.filter_bits_per_key.map(u64::from)),
            (SEPARATION_FIELD, self.separation_bytes),
            (BLOCK_FIELD, self.block_bytes.map(u64::from)),
        ];
        for (field, number) in numbers {
            if let Some(number) = number {
                put_varint(&mut out, field);
                put_varint(&mut out, number);
            }
        }
        match &self.expiry {
            None => {}
            Some(ExpiryRule::After(after)) => {
                put_varint(&mut out, EXPIRY_FIELD);
                put_varint(&mut out, millis(*after));
            }
            Some(ExpiryRule::AtField(name)) => {
                put_varint(&mut out, EXPIRY_AT_FIELD);
                put_bytes(&mut out, name.as_bytes());
            }
        }
        out
    }

    /// Decodes all of `bytes`; `None` if they are no options, or have a field that is not known.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (mut options, at, mut last) = (Self::default(), &mut 0, 0);
        while *at < bytes.len() {
            let field = take_varint(bytes, at).filter(|&field| field > last)?;
            last = field;
            if field == EXPIRY_AT_FIELD {
                let name = std::str::from_utf8(take_bytes(bytes, at)?).ok()?;
                let is_first = options.expiry.replace(ExpiryRule::AtField(name.to_owned())).is_none();
                if is_first {
                    continue;
                }
                return None;
            }
            let number = take_varint(bytes, at)?;
            let short = || u32::try_from(number).ok();
            match field {
                COMPRESSION_FIELD => {
                    let level = u32::try_from(take_varint(bytes, at)?).ok()?.cast_signed();
                    options.set_codec(u8::try_from(number).ok()?, level)?;
                }
                FILTER_FIELD => options.filter_bits_per_key = Some(short()?),
                SEPARATION_FIELD => options.separation_bytes = Some(number),
                BLOCK_FIELD => options.block_bytes = Some(short()?),
                EXPIRY_FIELD => options.expiry = Some(ExpiryRule::After(Duration::from_millis(number))),
                _ => return None,
            }
        }
        options.check().is_ok().then_some(options)
    }
}

/// Refuses a size that data blocks cannot have.
pub(in crate::lsm::state) fn check_block_bytes(bytes: u32) -> Result<()> {
    if BLOCK_BYTES.contains(&bytes) && bytes.is_power_of_two() {
        return Ok(());
    }
    let (least, most) = (BLOCK_BYTES.start(), BLOCK_BYTES.end());
    Err(Error::input(format!("the block size is a power of two from {least} to {most} bytes, not {bytes}")))
}

/// The options that are set, by the names of the fields.
impl Serialize for KeyspaceOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(compression) = &self.compression {
            map.serialize_entry("compression", compression.name())?;
        }
        if let Some(bits) = self.filter_bits_per_key {
            map.serialize_entry("filter_bits_per_key", &bits)?;
        }
        if let Some(bytes) = self.separation_bytes {
            map.serialize_entry("separation_bytes", &bytes)?;
        }
        if let Some(bytes) = self.block_bytes {
            map.serialize_entry("block_bytes", &bytes)?;
        }
        match &self.expiry {
            None => {}
            Some(ExpiryRule::After(after)) => map.serialize_entry("expire_after_ms", &millis(*after))?,
            Some(ExpiryRule::AtField(name)) => map.serialize_entry("expire_at_field", name)?,
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> KeyspaceOptions {
        let options = KeyspaceOptions::default().filter_bits_per_key(12).separation_bytes(300).block_bytes(16 << 10);
        let options = options.expiry(ExpiryRule::After(Duration::from_millis(300)));
        KeyspaceOptions { unbuilt_compression: None, ..options.compression(Compression::None) }
    }

    #[test]
    fn options_are_decoded_as_they_were_encoded_and_nothing_else_is() {
        let code = all().encode();
        assert_eq!(KeyspaceOptions::decode(&code), Some(all()));
        assert_eq!(KeyspaceOptions::decode(&[]), Some(KeyspaceOptions::default()));
        assert!(KeyspaceOptions::default().encode().is_empty());
        for cut in 0..code.len() {
            // A cut between two fields leaves fewer of them.
            assert_ne!(KeyspaceOptions::decode(&code[..cut]), Some(all()), "{cut}");
        }
        let refused: [&[u8]; 7] = [
            &[2, 33],      // more bits than filters have
            &[4, 7],       // no block size
            &[3, 1, 2, 1], // not in order
            &[2, 1, 2, 1], // twice
            &[9, 1],       // not known
            &[1, 3, 0],    // no such codec
            &[0, 1],       // no such field
        ];
        for name in ["due", ""] {
            let at_field = all().expiry(ExpiryRule::AtField(name.to_owned()));
            assert_eq!(KeyspaceOptions::decode(&at_field.encode()), Some(at_field));
        }
        assert_eq!((KeyspaceOptions::decode(&[5, 1, 6, 0]), KeyspaceOptions::decode(&[6, 1, 0xff])), (None, None));
        for code in refused {
            assert_eq!(KeyspaceOptions::decode(code), None, "{code:?}");
        }
    }

    #[test]
    fn a_compression_that_this_program_has_not_is_kept_until_another_is_set() {
        let kept = KeyspaceOptions { unbuilt_compression: Some((CODEC_ZSTD, -3)), ..KeyspaceOptions::default() };
        let code = kept.encode();
        assert_eq!(KeyspaceOptions::decode(&code).unwrap().encode(), code);
        assert_eq!(kept.compression(Compression::None).encode(), [1, 0, 0]);
    }
}
