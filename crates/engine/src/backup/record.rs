//! The record of a backup: the files of a closed store, where they are, and its manifest. The layout is in
//! `docs/format/backup.md`.

use crate::block::checksum::{CHECKSUM_BYTES, check, identity, seal};
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use crate::file_format::{BACKUP_MAGIC, check_not_of_development};
use crate::io::{FrozenFiles, Storage};
use crate::lsm::images::closed_image::ClosedImage;
use crate::lsm::state::version::{FileKind, file_name, parse_file_name};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The newest supported version.
const VERSION: u32 = 1;

/// `magic | version: u32 | zero: u32 | store: u64 | number: u64 | time: u64`.
const HEADER_BYTES: usize = 40;

/// Suffix of the names of records.
const SUFFIX: &str = ".backup";

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackupFile {
    /// Its name in the store.
    pub(super) name: String,
    /// Number of the backup that wrote it.
    pub(super) written_by: u64,
    pub(super) bytes: u64,
    /// CRC-32C of all bytes; `None` if they were never read.
    pub(super) checksum: Option<u32>,
    /// Whether the copy was read and verified.
    pub(super) is_verified: bool,
}

/// Flags of a file: its checksum follows; it was verified.
const HAS_CHECKSUM: u8 = 1;
const IS_VERIFIED: u8 = 2;
const VERIFIED: u8 = HAS_CHECKSUM | IS_VERIFIED;

impl BackupFile {
    /// Its name among the backups.
    pub(super) fn stored_name(&self) -> String {
        stored_name(self.written_by, &self.name)
    }
}

/// The name of a store's file among the backups.
pub(super) fn stored_name(written_by: u64, name: &str) -> String {
    format!("{written_by:06}-{name}")
}

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackupRecord {
    /// Identity of the store.
    pub(super) store: u64,
    /// Number of the backup.
    pub(super) number: u64,
    /// When it was begun, in milliseconds since the start of 1970.
    pub(super) made_ms: u64,
    pub(super) files: Vec<BackupFile>,
    /// Number of the manifest.
    pub(super) manifest_number: u64,
    /// The manifest of the closed store.
    pub(super) manifest: Vec<u8>,
}

impl BackupRecord {
    /// The name of the record of a backup.
    pub(super) fn name_of(number: u64) -> String {
        format!("{number:06}{SUFFIX}")
    }

    /// The number of the backup whose record has this name.
    pub(super) fn number_in(name: &str) -> Option<u64> {
        let number = name.strip_suffix(SUFFIX)?.parse().ok()?;
        (Self::name_of(number) == name).then_some(number)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = BACKUP_MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for word in [self.store, self.number, self.made_ms] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        put_varint(&mut bytes, self.files.len() as u64);
        for file in &self.files {
            put_bytes(&mut bytes, file.name.as_bytes());
            put_varint(&mut bytes, file.written_by);
            put_varint(&mut bytes, file.bytes);
            let has_checksum = if file.checksum.is_some() { HAS_CHECKSUM } else { 0 };
            bytes.push(has_checksum | if file.is_verified { IS_VERIFIED } else { 0 });
            bytes.extend(file.checksum.iter().flat_map(|checksum| checksum.to_le_bytes()));
        }
        put_varint(&mut bytes, self.manifest_number);
        put_bytes(&mut bytes, &self.manifest);
        bytes.extend_from_slice(&[0; CHECKSUM_BYTES]);
        seal(identity(self.store, self.number), 0, &mut bytes);
        bytes
    }

    /// Decodes the record of backup `number`.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged), [`Cause::Version`](crate::Cause::Version).
    pub(super) fn decode(bytes: &[u8], number: u64, path: &Path) -> Result<Self> {
        let word = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()).map(|w| u64::from_le_bytes(*w));
        let damaged = || Error::damaged(path, 0, "it is not the record of this backup, or it is damaged");
        check_not_of_development(path, bytes)?;
        let store = word(16).filter(|_| bytes.starts_with(&BACKUP_MAGIC)).ok_or_else(damaged)?;
        if !check(identity(store, number), 0, bytes) {
            return Err(damaged());
        }
        let found = word(8).unwrap_or(0) as u32;
        if found != VERSION {
            return Err(Error::version(path, found, VERSION));
        }
        let body = bytes.get(HEADER_BYTES..bytes.len() - CHECKSUM_BYTES);
        let decoded = body.and_then(|body| Self::decode_body(body, store, number, word(32)?));
        // One record has one form.
        decoded.filter(|record| record.encode() == bytes).ok_or_else(damaged)
    }

    fn decode_body(body: &[u8], store: u64, number: u64, made_ms: u64) -> Option<Self> {
        let at = &mut 0;
        let count = take_varint(body, at)?;
        let mut files = Vec::new();
        for _ in 0..count {
            let name = String::from_utf8(take_bytes(body, at)?.to_vec()).ok()?;
            let is_data =
                matches!(parse_file_name(&name), Some((_, FileKind::Table | FileKind::Values | FileKind::Log)));
            let written_by = take_varint(body, at).filter(|&by| is_data && by <= number)?;
            let bytes = take_varint(body, at)?;
            let flags = *body.get(*at)?;
            *at += 1;
            // What was verified was read.
            let checksum = match flags {
                0 => None,
                HAS_CHECKSUM | VERIFIED => Some(u32::from_le_bytes(*body.get(*at..)?.first_chunk()?)),
                _ => return None,
            };
            *at += checksum.map_or(0, |_| CHECKSUM_BYTES);
            let is_verified = flags & IS_VERIFIED != 0;
            files.push(BackupFile { name, written_by, bytes, checksum, is_verified });
        }
        let manifest_number = take_varint(body, at)?;
        let manifest = take_bytes(body, at)?.to_vec();
        let record = Self { store, number, made_ms, files, manifest_number, manifest };
        (*at == body.len()).then_some(record)
    }

    /// Length of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The numbers of those files.
    pub(super) fn numbers_of(&self, is_wanted: impl Fn(&BackupFile) -> bool) -> BTreeSet<u64> {
        let wanted = self.files.iter().filter(|file| is_wanted(file));
        wanted.filter_map(|file| Some(parse_file_name(&file.name)?.0)).collect()
    }

    /// The file of the store with this name.
    pub(super) fn file(&self, name: &str) -> Option<&BackupFile> {
        self.files.iter().find(|file| file.name == name)
    }

    /// The store in the backup. Its files are opened when they are read.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) if the manifest does not fit the files.
    pub(super) fn image(&self, storage: &Arc<dyn Storage>) -> Result<ClosedImage> {
        let mut files = FrozenFiles::new(storage);
        for file in &self.files {
            files.add_named(&file.name, file.stored_name(), file.bytes);
        }
        files.add_bytes(&file_name(self.manifest_number, FileKind::Manifest), self.manifest.clone());
        let image = ClosedImage::open(Arc::new(files))?;
        let mut names = image.data_names();
        names.sort_unstable();
        if image.state.owner != self.store || !names.iter().eq(self.files.iter().map(|file| &file.name)) {
            let detail = "its list of files differs from that of its manifest";
            return Err(Error::damaged(storage.path(&Self::name_of(self.number)), 0, detail));
        }
        Ok(image)
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes, at)?).ok()?;
    let end = at.checked_add(length)?;
    let taken = bytes.get(*at..end)?;
    *at = end;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use proptest::prelude::*;

    pub(crate) fn example() -> BackupRecord {
        let file = |name: &str, written_by, bytes, checksum: Option<u32>| {
            let is_verified = checksum.is_some();
            BackupFile { name: name.to_owned(), written_by, bytes, checksum, is_verified }
        };
        BackupRecord {
            store: 0x0123_4567_89ab_cdef,
            number: 2,
            made_ms: 1_790_000_000_000,
            files: vec![
                file("000005.table", 1, 4096, Some(0x1122_3344)),
                file("000006.log", 2, 300, Some(0x5566_7788)),
                file("000008.table", 2, 512, None),
            ],
            manifest_number: 7,
            manifest: b"manifest".to_vec(),
        }
    }

    #[test]
    fn the_example_of_the_document_is_what_is_written() {
        let document = include_str!("../../../../docs/format/backup.md");
        let dump = document.split("```hex record\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let bytes: Vec<u8> = dump
            .lines()
            .flat_map(|line| line.split_whitespace().skip(1))
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
        let written = example().encode();
        let shown: Vec<String> = written
            .chunks(16)
            .enumerate()
            .map(|(i, row)| {
                let row: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{:08x}  {}", i * 16, row.join(" "))
            })
            .collect();
        assert_eq!(bytes, written, "\n{}", shown.join("\n"));
        assert_eq!(BackupRecord::decode(&bytes, 2, Path::new("x")).unwrap(), example());
    }

    #[test]
    fn every_changed_byte_and_every_length_is_damage() {
        let bytes = example().encode();
        let decode = |bytes: &[u8], number| BackupRecord::decode(bytes, number, Path::new("x"));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(decode(&changed, 2).is_err(), "byte {at}");
            assert!(decode(&bytes[..at], 2).is_err(), "length {at}");
        }
        assert!(decode(&bytes, 3).is_err(), "a record under another name");
    }

    #[test]
    fn a_newer_version_is_a_clear_error() {
        let mut bytes = example().encode();
        bytes[8] = 2;
        seal(identity(example().store, 2), 0, &mut bytes);
        let error = BackupRecord::decode(&bytes, 2, Path::new("x")).unwrap_err();
        assert!(matches!(error, Error { cause: Cause::Version { found: 2, supported: 1 }, .. }), "{error}");
    }

    proptest! {
        #[test]
        fn sealed_garbage_is_refused_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 44..200)) {
            bytes[..8].copy_from_slice(&BACKUP_MAGIC);
            bytes[8..16].copy_from_slice(&1_u64.to_le_bytes());
            let store = u64::from_le_bytes(*bytes[16..].first_chunk().unwrap());
            seal(identity(store, 2), 0, &mut bytes);
            let decoded = BackupRecord::decode(&bytes, 2, Path::new("x"));
            prop_assert!(decoded.map_or(true, |record| record.encode() == bytes));
        }
    }
}
