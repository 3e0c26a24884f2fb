//! The formats of Ogive files, recognised by their magic numbers.

use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::{LocatedFile, Place, Purpose, ReadRequest, ReadableFile};
use std::io::ErrorKind;
use std::path::Path;

/// Begins the footer of a table.
pub(crate) const TABLE_MAGIC: [u8; 8] = *b"\x89OGVTBL\n";
/// Begins each slot of the header of a page file.
pub(crate) const PAGE_FILE_MAGIC: [u8; 8] = *b"\x89OGVPGF\n";
/// Begins a segment of the log of a page file.
pub(crate) const PAGE_LOG_MAGIC: [u8; 8] = *b"\x89OGVPGL\n";
/// Begins the manifest of a store.
pub(crate) const MANIFEST_MAGIC: [u8; 8] = *b"\x89OGVMAN\n";
/// Begins a log of a store.
pub(crate) const STORE_LOG_MAGIC: [u8; 8] = *b"\x89OGVWAL\n";
/// Begins a value file.
pub(crate) const VALUE_FILE_MAGIC: [u8; 8] = *b"\x89OGVVAL\n";
/// Begins the record of the changes that a store keeps.
pub(crate) const CHANGES_MAGIC: [u8; 8] = *b"\x89OGVCHG\n";
/// Begins the file of a subscriber to the changes of a store.
pub(crate) const SUBSCRIBER_MAGIC: [u8; 8] = *b"\x89OGVSUB\n";
/// Begins the record of a backup.
pub(crate) const BACKUP_MAGIC: [u8; 8] = *b"\x89OGVBAK\n";
/// Begins a segment of an archive of changes beside backups.
pub(crate) const ARCHIVE_MAGIC: [u8; 8] = *b"\x89OGVARC\n";
/// Begins the footer of a value file; no chunk begins with it.
pub(crate) const VALUE_FILE_FOOTER_MAGIC: [u8; 8] = *b"\xffOGVVFT\n";

/// Begins the seal that ends a chain of objects.
pub(crate) const SEAL_MAGIC: [u8; 8] = *b"\x89OGVSEA\n";
/// Begins the stub of the first manifest of a store on an object store.
pub(crate) const STUB_MAGIC: [u8; 8] = *b"\x89OGVSTB\n";
/// The tag of a part of a log or a manifest on an object store.
pub(crate) const PART_MAGIC: [u8; 8] = *b"\x89OGVPRT\n";

/// The magic numbers of development versions before 0.1, whose formats are not read.
const DEVELOPMENT_MAGICS: [[u8; 8]; 11] = [
    *b"OgiveTbl",
    *b"OGIVEPGS",
    *b"OGIVELOG",
    *b"OGIVEDBM",
    *b"OGIVEWAL",
    *b"OGIVEVAL",
    *b"OGIVEBKP",
    *b"\xffOGIVEVF",
    *b"OGIVSEAL",
    *b"OGIVSTUB",
    *b"OGIVPART",
];

/// Refuses bytes that begin with the magic number of a development version: they are neither damaged nor of another
/// kind.
///
/// # Errors
/// [`Cause::Version`], with version 0.
pub(crate) fn check_not_of_development(path: &Path, first: &[u8]) -> Result<()> {
    match DEVELOPMENT_MAGICS.iter().any(|magic| first.starts_with(magic)) {
        true => Err(Error::development_version(path)),
        false => Ok(()),
    }
}

/// Bytes at each end of a file that are searched: both slots of the header of a page file, and the padded tail of a
/// damaged table.
const SEARCHED_BYTES: u64 = 8 << 10;

/// The format of a file of Ogive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// A [`Table`](crate::Table).
    Table,
    /// A page file, such as an [`Index`](crate::Index).
    PageFile,
    /// A segment of the log of a page file.
    PageLog,
    /// A manifest, log or value file of a store; its tables are [`FileFormat::Table`].
    StoreFile,
    /// The record of a backup of a store, or a segment of the archive beside it.
    Backup,
}

impl FileFormat {
    const MAGICS: [(Self, [u8; 8]); 9] = [
        // Before those of a store: the record of a backup contains a manifest.
        (Self::Backup, BACKUP_MAGIC),
        (Self::Backup, ARCHIVE_MAGIC),
        (Self::Table, TABLE_MAGIC),
        (Self::PageFile, PAGE_FILE_MAGIC),
        (Self::PageLog, PAGE_LOG_MAGIC),
        (Self::StoreFile, MANIFEST_MAGIC),
        (Self::StoreFile, STORE_LOG_MAGIC),
        (Self::StoreFile, VALUE_FILE_MAGIC),
        (Self::StoreFile, VALUE_FILE_FOOTER_MAGIC),
    ];

    /// The format of a file, even a damaged one, by a magic number and a version within 8 KiB of its ends; `None` for a
    /// file without any, such as a table that was cut before its footer. Reads no more than those bytes, and proves
    /// nothing about the others. Text is never taken for a file of Ogive: a version has bytes of zero.
    ///
    /// # Errors
    /// [`crate::Cause::Version`] for a file of a development version before 0.1; [`crate::Cause::Io`].
    pub fn of_file(file: &dyn ReadableFile) -> Result<Option<Self>> {
        let length = file.len();
        let parts = match length <= 2 * SEARCHED_BYTES {
            true => [0..length, length..length],
            false => [0..SEARCHED_BYTES, length - SEARCHED_BYTES..length],
        };
        for part in parts {
            let mut bytes = vec![0; (part.end - part.start) as usize];
            file.read(ReadRequest { offset: part.start, buffer: &mut bytes, purpose: Purpose::Open })?;
            if let Some(&(format, _)) = Self::MAGICS.iter().find(|(_, magic)| contains(&bytes, magic)) {
                return Ok(Some(format));
            }
            if DEVELOPMENT_MAGICS.iter().any(|magic| contains(&bytes, magic)) {
                return Err(Error::development_version(file.path()));
            }
        }
        Ok(None)
    }

    /// [`Self::of_file`] of the file at a place.
    ///
    /// # Errors
    /// Those of [`Self::of_file`] and of [`Place::file`].
    pub fn at(place: impl Into<Place>) -> Result<Option<Self>> {
        let LocatedFile { storage, name } = place.into().file()?;
        match storage.open(&name) {
            // A pipe or a device.
            Err(Error { cause: Cause::Io(ErrorKind::NotSeekable), .. }) => Ok(None),
            file => Self::of_file(&*file?),
        }
    }

    /// What the file is, and how to open it, for a message about a file of another format.
    pub(crate) fn advice(self) -> (&'static str, Advice) {
        let (what, call) = match self {
            Self::Table => ("it is a table", Call::OpenTable),
            Self::PageFile => ("it is an index", Call::OpenIndex),
            Self::PageLog => ("it is a log segment of an index", Call::OpenIndex),
            Self::StoreFile => ("it is a file of a store", Call::OpenStore),
            Self::Backup => ("it is the record of a backup", Call::RestoreBackup),
        };
        (what, Advice::Use(call))
    }
}

/// Whether a magic number occurs with a version behind it, a little-endian u32 below 256; the footer of a value file
/// has none, and its magic number is no text.
fn contains(bytes: &[u8], magic: &[u8; 8]) -> bool {
    bytes.windows(magic.len()).enumerate().any(|(at, window)| {
        let version = || bytes.get(at + 8..at + 12).is_some_and(|version| version[1..] == [0; 3]);
        window == magic && (magic[0] == VALUE_FILE_FOOTER_MAGIC[0] || version())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStorage, Storage};

    fn format_of(content: Vec<u8>) -> Option<FileFormat> {
        let storage = MemoryStorage::new();
        storage.put("f", content).unwrap();
        FileFormat::of_file(&*storage.open("f").unwrap()).unwrap()
    }

    #[test]
    fn a_format_is_recognised_at_either_end_and_nowhere_else() {
        for (format, magic) in FileFormat::MAGICS {
            let mark = [&magic[..], &2_u32.to_le_bytes()].concat();
            for length in [12, 13, 8192, 8193, 9000, 16_384, 16_385, 100_000_usize] {
                for at in [0, 4096, 8186, length / 2, length.saturating_sub(40), length - 12] {
                    if at + 12 > length {
                        continue;
                    }
                    let mut content = vec![b'x'; length];
                    content[at..at + 12].copy_from_slice(&mark);
                    let seen = length <= 16_384 || at + 12 <= 8192 || at >= length - 8192;
                    assert_eq!(format_of(content), seen.then_some(format), "{format:?} at {at} of {length}");
                }
            }
        }
        assert_eq!(format_of(Vec::new()), None);
        for (_, magic) in &FileFormat::MAGICS[..8] {
            assert_eq!(format_of([&magic[..], b"\n1\n2\n"].concat().repeat(1000)), None);
        }
    }
}
