//! The header of files that one owner numbers: write-ahead logs and value files of a store.

use super::checksum::{CHECKSUM_BYTES, check, identity, seal};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile};

/// `magic | version: u32 | zero: u32 | owner: u64 | number: u64 | notes: u64, u64 | zero: u32 | checksum: u32`.
pub(crate) const HEADER_BYTES: usize = 56;

/// What a file of one kind begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderKind {
    pub(crate) magic: &'static [u8; 8],
    /// The newest version of its format that is known here.
    pub(crate) version: u32,
}

impl HeaderKind {
    /// The header of file `number` of `owner`; `notes` are what the owner wants to find here again.
    pub(crate) fn encode(self, owner: u64, number: u64, notes: [u64; 2]) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(self.magic);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        for (slot, word) in bytes[16..48].chunks_exact_mut(8).zip([owner, number, notes[0], notes[1]]) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        seal(identity(owner, number), 0, &mut bytes);
        bytes
    }

    /// The notes in the header of file `number` of `owner`; `None` where the file does not begin with one, as after a crash.
    ///
    /// # Errors
    /// [`Error::UnknownVersion`]; whatever the storage reports.
    pub(crate) fn read(self, file: &dyn ReadableFile, owner: u64, number: u64) -> Result<Option<[u64; 2]>> {
        if file.len() < HEADER_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER_BYTES];
        file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Open })?;
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if bytes[..8] == self.magic[..] && version > self.version && is_sound(&bytes) {
            return Err(Error::UnknownVersion { path: file.path().into(), found: version, supported: self.version });
        }
        let notes = [word(&bytes, 32), word(&bytes, 40)];
        // Older versions have the same header.
        let kind = Self { version: version.clamp(1, self.version), ..self };
        Ok((bytes == kind.encode(owner, number, notes)).then_some(notes))
    }

    /// The owner that a file says it has, where nobody else knows; `None` where it does not begin with a sound header.
    pub(crate) fn owner(self, file: &dyn ReadableFile) -> Result<Option<u64>> {
        if file.len() < HEADER_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER_BYTES];
        file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Open })?;
        Ok((bytes[..8] == self.magic[..] && is_sound(&bytes)).then(|| word(&bytes, 16)))
    }
}

/// Whether the header is that of the file that it names, of whatever version.
fn is_sound(bytes: &[u8; HEADER_BYTES]) -> bool {
    check(identity(word(bytes, 16), word(bytes, 24)), 0, bytes)
}

fn word(bytes: &[u8; HEADER_BYTES], offset: usize) -> u64 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk::<8>()).map_or(0, |word| u64::from_le_bytes(*word))
}

const _: () = assert!(HEADER_BYTES == 8 + 4 + 4 + 4 * 8 + 4 + CHECKSUM_BYTES);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStorage, Storage};

    const KIND: HeaderKind = HeaderKind { magic: b"OGIVETST", version: 3 };

    fn read(bytes: &[u8], number: u64) -> Result<Option<[u64; 2]>> {
        let storage = MemoryStorage::new();
        storage.put("f", bytes.to_vec()).unwrap();
        KIND.read(&*storage.open("f").unwrap(), 7, number)
    }

    #[test]
    fn only_the_header_of_the_very_file_is_read_and_every_bit_counts() {
        let header = KIND.encode(7, u64::MAX, [1, u64::MAX]);
        assert_eq!(read(&header, u64::MAX).unwrap(), Some([1, u64::MAX]));
        assert_eq!(read(&header, 8).unwrap(), None);
        assert_eq!(read(&header[..HEADER_BYTES - 1], u64::MAX).unwrap(), None);
        for bit in 0..HEADER_BYTES * 8 {
            let mut damaged = header;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&damaged, u64::MAX).unwrap(), None, "bit {bit}");
        }
    }

    #[test]
    fn a_newer_version_is_a_clear_error() {
        let newer = HeaderKind { version: 4, ..KIND }.encode(7, 1, [0, 0]);
        assert!(matches!(read(&newer, 1), Err(Error::UnknownVersion { found: 4, supported: 3, .. })));
    }
}
