//! The header of numbered files of a store: write-ahead logs and value files.
//!
//! A file is bound to its store and to the writable opening of the store that created it ([`StoreBinding`]), so that
//! after a store was copied, files of one copy are never mistaken for files of the other.

use super::checksum::{CHECKSUM_BYTES, check, identity, seal};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, random_u64};
use std::path::Path;

/// ```text
/// magic | version: u32 | zero: u32 | store: u64 | number: u64 | notes: u64, u64
/// | nonce: u64 | zero: u32 | checksum: u32
/// ```
pub(crate) const HEADER_BYTES: usize = 64;

/// The store, and the opening of it, to which a file is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StoreBinding {
    /// Identity of the store: 64 random bits.
    pub(crate) store: u64,
    /// Identity of the writable opening that created the file: 64 random bits.
    pub(crate) nonce: u64,
}

impl StoreBinding {
    /// The checksum identity of file `number`.
    pub(crate) fn identity(self, number: u64) -> u64 {
        identity(self.store ^ self.nonce, number)
    }
}

/// A nonce for a new opening.
pub(crate) fn new_nonce() -> u64 {
    random_u64().max(1)
}

/// The magic bytes and version of one kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderKind {
    pub(crate) magic: &'static [u8; 8],
    /// The magic bytes of development versions before 0.1.
    pub(crate) development_magic: &'static [u8; 8],
    /// The newest format version known here.
    pub(crate) version: u32,
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) binding: StoreBinding,
    pub(crate) number: u64,
    /// Numbers stored by the owner.
    pub(crate) notes: [u64; 2],
}

impl HeaderKind {
    /// Encodes the header of file `number`; `notes` are numbers stored for the owner.
    pub(crate) fn encode(self, binding: StoreBinding, number: u64, notes: [u64; 2]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..8].copy_from_slice(self.magic);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        let words = [binding.store, number, notes[0], notes[1], binding.nonce];
        for (slot, word) in bytes[16..HEADER_BYTES - 8].chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        seal(binding.identity(number), 0, &mut bytes);
        bytes
    }

    /// Reads the header of any file of this kind; `None` if the file does not begin with a valid one.
    ///
    /// # Errors
    /// [`Cause::Version`](crate::Cause::Version); storage errors.
    pub(crate) fn read(self, file: &dyn ReadableFile) -> Result<Option<FileHeader>> {
        let mut bytes = [0; HEADER_BYTES];
        let length = file.len().min(HEADER_BYTES as u64) as usize;
        file.read(ReadRequest { offset: 0, buffer: &mut bytes[..length], purpose: Purpose::Open })?;
        self.decode(&bytes[..length], file.path())
    }

    /// As [`Self::read`], of the first bytes of the file at `path`.
    ///
    /// # Errors
    /// [`Cause::Version`](crate::Cause::Version).
    pub(crate) fn decode(self, found: &[u8], path: &Path) -> Result<Option<FileHeader>> {
        let mut bytes = [0; HEADER_BYTES];
        let length = found.len().min(HEADER_BYTES);
        bytes[..length].copy_from_slice(&found[..length]);
        if bytes.starts_with(self.development_magic) {
            return Err(Error::development_version(path));
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if bytes[..8] != self.magic[..] || length < HEADER_BYTES {
            return Ok(None);
        }
        let binding = StoreBinding { store: word(&bytes, 16), nonce: word(&bytes, 48) };
        let number = word(&bytes, 24);
        if !check(binding.identity(number), 0, &bytes) {
            return Ok(None);
        }
        if version > self.version {
            return Err(Error::version(path, version, self.version));
        }
        let header = FileHeader { binding, number, notes: [word(&bytes, 32), word(&bytes, 40)] };
        Ok((bytes[..] == self.encode(binding, number, header.notes)).then_some(header))
    }

    /// Reads the header of file `number` of a binding; `None` if the file does not begin with it.
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_bound(
        self,
        file: &dyn ReadableFile,
        binding: StoreBinding,
        number: u64,
    ) -> Result<Option<FileHeader>> {
        Ok(self.read(file)?.filter(|header| header.binding == binding && header.number == number))
    }
}

fn word(bytes: &[u8; HEADER_BYTES], offset: usize) -> u64 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk::<8>()).map_or(0, |word| u64::from_le_bytes(*word))
}

const _: () = assert!(HEADER_BYTES == 8 + 4 + 4 + 5 * 8 + 4 + CHECKSUM_BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::io::{MemoryStorage, Storage};

    const KIND: HeaderKind = HeaderKind { magic: b"OGIVETST", development_magic: b"OGIVEOLD", version: 3 };

    fn read(bytes: &[u8], nonce: u64, number: u64) -> Result<Option<[u64; 2]>> {
        let storage = MemoryStorage::new();
        storage.put("f", bytes.to_vec()).unwrap();
        let header = KIND.read_bound(&*storage.open("f").unwrap(), StoreBinding { store: 7, nonce }, number)?;
        Ok(header.map(|header| header.notes))
    }

    #[test]
    fn only_the_header_of_the_very_file_is_read_and_every_bit_counts() {
        for nonce in [u64::MAX, 1] {
            let header = KIND.encode(StoreBinding { store: 7, nonce }, u64::MAX, [1, u64::MAX]);
            assert_eq!(read(&header, nonce, u64::MAX).unwrap(), Some([1, u64::MAX]));
            assert_eq!(read(&header, nonce, 8).unwrap(), None);
            assert_eq!(read(&header, nonce ^ 2, u64::MAX).unwrap(), None);
            assert_eq!(read(&header[..HEADER_BYTES - 1], nonce, u64::MAX).unwrap(), None);
            for bit in 0..HEADER_BYTES * 8 {
                let mut damaged = header.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read(&damaged, nonce, u64::MAX).unwrap(), None, "bit {bit}");
                // Data after the header does not compensate for damage.
                damaged.extend_from_slice(&[0; 100]);
                assert_eq!(read(&damaged, nonce, u64::MAX).unwrap(), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn a_newer_version_is_a_clear_error() {
        let newer = HeaderKind { version: 4, ..KIND }.encode(StoreBinding { store: 7, nonce: 1 }, 1, [0, 0]);
        assert!(matches!(read(&newer, 1, 1), Err(Error { cause: Cause::Version { found: 4, supported: 3 }, .. })));
    }
}
