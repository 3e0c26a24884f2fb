//! Copies of files with their checksums.

use crate::block::checksum::crc_of;
use crate::error::{Cause, Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage, remove_if_present};
use std::io::ErrorKind;

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
fn is_taken(error: &Error) -> bool {
    matches!(error, Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. })
}
