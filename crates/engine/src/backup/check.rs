//! The verification of files of a backup, and their checksums, from one read of each.

use super::copy::{checked_pieces, checksum_of, checksum_of_pieces};
use super::record::{BackupFile, BackupRecord};
use crate::error::{Cause, Error, Result};
use crate::io::{LongFile, LongReads, ReadableFile, Storage};
use crate::verify::{StoreReport, verify_closed};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

/// The outcome of a verification.
pub(super) struct CheckedFiles {
    pub(super) report: StoreReport,
    /// The CRC-32C of each file by its name in the store; none if there are findings.
    pub(super) checksums: BTreeMap<String, u32>,
}

/// Verifies the files of a backup as those of a store, apart from tables and complete value files that are known to be
/// sound. `open` opens a file where the storage is an object store.
///
/// # Errors
/// [`Cause::Damaged`](crate::Cause::Damaged) for the manifest; errors of the storage.
pub(super) fn check_files(
    storage: &Arc<dyn Storage>,
    record: &BackupRecord,
    is_known: &dyn Fn(&BackupFile) -> bool,
    open: &dyn Fn(&BackupFile) -> Result<Arc<dyn ReadableFile>>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<CheckedFiles> {
    let mut image = record.image(storage)?;
    let mut long: BTreeMap<String, Arc<LongFile>> = BTreeMap::new();
    if let Some(pieces) = checked_pieces(&**storage) {
        for name in image.data_names() {
            if let Some(file) = record.file(&name).filter(|file| !is_known(file)) {
                match open(file) {
                    // That is a finding.
                    Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => continue,
                    opened => _ = long.insert(name, pieces.file(opened?)),
                }
            }
        }
    }
    image.files = Arc::new(LongReads::of(&image.files, long.clone()));
    let report = verify_closed(&image, None, record.numbers_of(is_known), progress)?;
    let mut checksums = BTreeMap::new();
    for file in record.files.iter().filter(|file| report.is_sound() && !is_known(file)) {
        let checksum = match (long.get(&file.name), file.checksum) {
            (Some(long), _) => checksum_of_pieces(long)?,
            (None, Some(checksum)) => checksum,
            (None, None) => checksum_of(&*image.files.open(&file.name)?, &mut |_| Ok(()))?,
        };
        checksums.insert(file.name.clone(), checksum);
    }
    Ok(CheckedFiles { report, checksums })
}
