//! Copies of files with their checksums.

use crate::block::checksum::{crc_of, joined_crc};
use crate::error::{Cause, Error, Result};
use crate::io::{LongFile, LongPieces, PieceShape, Purpose, ReadRequest, ReadableFile, Storage, remove_if_present};
use std::io::ErrorKind;
use std::sync::Arc;

/// Bytes read at a time.
const READ_BYTES: u64 = 1 << 20;

/// Reads a file in order, and returns the CRC-32C of its bytes.
///
/// # Errors
/// Errors of the storage and of `visit`.
pub(super) fn checksum_of(file: &dyn ReadableFile, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u32> {
    let (mut buffer, mut offset, mut crc) = (Vec::new(), 0, 0);
    while offset < file.len() {
        buffer.resize((file.len() - offset).min(READ_BYTES) as usize, 0);
        file.read(ReadRequest { offset, buffer: &mut buffer, purpose: Purpose::Walk })?;
        crc = crc_of(crc, &buffer);
        visit(&buffer)?;
        offset += buffer.len() as u64;
    }
    Ok(crc)
}

/// Memory for the pieces of files that are read in long reads, in bytes: some pieces of the longest in flight.
pub(super) const PIECES_BYTES: u64 = 128 << 20;

/// The pieces of files of a storage, with their checksums, where long reads pay.
pub(super) fn checked_pieces(storage: &dyn Storage) -> Option<Arc<LongPieces>> {
    let shape = PieceShape::for_storage(storage, PIECES_BYTES)?;
    Some(LongPieces::new(shape, Some(|bytes| crc_of(0, bytes))))
}

/// The CRC-32C of the bytes of a file of [`checked_pieces`]. What was read of it already is not read again.
///
/// # Errors
/// Errors of the storage.
pub(super) fn checksum_of_pieces(file: &LongFile) -> Result<u32> {
    let digests = file.digests()?;
    Ok(digests.into_iter().fold(0, |before, (digest, length)| joined_crc(before, digest, length)))
}

/// Copies a file, durably but for its name, and returns the CRC-32C of its bytes; after an error no file is left.
///
/// # Errors
/// Errors of the storages; an error of kind `AlreadyExists` if the name is taken.
pub(super) fn copy_checked(
    source: &dyn ReadableFile,
    target: &dyn Storage,
    name: &str,
    advance: &mut dyn FnMut(u64),
) -> Result<u32> {
    let mut file = target.create(name)?;
    let copied = checksum_of(source, &mut |bytes| {
        file.append(bytes)?;
        advance(bytes.len() as u64);
        Ok(())
    });
    let outcome = copied.and_then(|checksum| file.sync().map(|()| checksum));
    if let Err(error) = &outcome
        && !is_taken(error)
    {
        drop(file);
        // If the removal fails too, the first error is reported.
        _ = remove_if_present(target, name);
    }
    outcome
}

/// Whether an error says that the name is taken: then the file is another one's.
pub(super) fn is_taken(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })
}
