//! Restoring a backup as a store of its own, and verification of all backups.

use super::backups::{BackupFinding, BackupInfo};
use super::catalog::Catalog;
use super::check::{CheckedFiles, check_files};
use super::copy::{PIECES_BYTES, checked_pieces, checksum_of, checksum_of_pieces, copy_checked};
use super::record::{BackupFile, BackupRecord};
use crate::error::{Cause, Error, Result};
use crate::io::{ListedFile, LongFile, LongPieces, LongReads, PieceShape, Storage, open_expected, remove_if_present};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;

/// Restores a backup, or the newest one, to a storage without a store.
pub(super) fn restore(
    storage: &Arc<dyn Storage>,
    number: Option<u64>,
    target: &Arc<dyn Storage>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<BackupInfo> {
    let mut record = Catalog::read(&**storage)?.into_record(&**storage, number)?;
    let info = BackupInfo::of(&record);
    add_checksums(storage, &mut record)?;
    let image = record.image(storage)?;
    let files = match PieceShape::for_storage(&**storage, PIECES_BYTES) {
        Some(shape) => LongReads::around(&image.files, &LongPieces::new(shape, None), &image.data_names()),
        None => LongReads::of(&image.files, BTreeMap::new()),
    };
    let (mut done, total) = (0, record.bytes());
    image.copy_to(target, &mut |name, target| {
        // An image has exactly the files of its record.
        let Some(file) = record.file(name) else { return Err(Error::damaged(storage.path(name), 0, "it is unlisted")) };
        let reader = files.open(name)?;
        let checksum = copy_checked(&*reader, target, name, &mut |bytes| {
            done += bytes;
            progress(done, total);
        })?;
        match difference(file, reader.len(), checksum) {
            None => Ok(()),
            Some(detail) => {
                _ = remove_if_present(target, name);
                Err(Error::damaged(storage.path(&file.stored_name()), 0, detail))
            }
        }
    })?;
    Ok(info)
}

/// Verifies the files of which a record has no checksums, and takes these.
///
/// # Errors
/// [`Cause::Damaged`] with the path of a damaged file; errors of the storage.
fn add_checksums(storage: &Arc<dyn Storage>, record: &mut BackupRecord) -> Result<()> {
    if record.files.iter().all(|file| file.checksum.is_some()) {
        return Ok(());
    }
    let CheckedFiles { report, checksums } = check_unread(storage, record, &|file| file.checksum.is_some())?;
    if let Some(found) = report.findings.first() {
        let name = record.file(&found.file).map_or_else(|| found.file.clone(), BackupFile::stored_name);
        return Err(Error::damaged(storage.path(&name), found.offset, found.detail.as_str()));
    }
    for file in record.files.iter_mut().filter(|file| file.checksum.is_none()) {
        file.checksum = checksums.get(&file.name).copied();
    }
    Ok(())
}

/// Verifies files that no backup has read.
fn check_unread(
    storage: &Arc<dyn Storage>,
    record: &BackupRecord,
    is_known: &dyn Fn(&BackupFile) -> bool,
) -> Result<CheckedFiles> {
    let open = |file: &BackupFile| open_expected(&**storage, &file.stored_name(), file.bytes);
    check_files(storage, record, is_known, &open, &mut |_, _| ())
}

/// Compares all files of all backups with their records.
pub(super) fn verify(storage: &Arc<dyn Storage>, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<BackupFinding>> {
    let catalog = Catalog::read(&**storage)?;
    let mut findings = Vec::new();
    for (&number, error) in &catalog.damaged {
        let file = BackupRecord::name_of(number);
        findings.push(BackupFinding { file, backups: vec![number], detail: error.message() });
    }
    let mut files = NeededFiles::new();
    for record in catalog.records.values() {
        if let Err(error) = record.image(storage) {
            let file = BackupRecord::name_of(record.number);
            findings.push(BackupFinding { file, backups: vec![record.number], detail: error.message() });
        }
        for file in &record.files {
            files.entry(file.stored_name()).or_insert_with(|| (file.clone(), Vec::new())).1.push(record.number);
        }
    }
    findings.extend(unread_findings(storage, &catalog, &files)?);
    files.retain(|_, (file, _)| file.checksum.is_some());
    let (mut done, total) = (0, files.values().map(|(file, _)| file.bytes).sum());
    let mut long = open_long(storage, &catalog, files.values().map(|(file, _)| file));
    for (name, (file, backups)) in files {
        let checked = match long.remove(&name).map(|long| checksum_of_pieces(&long)) {
            Some(Ok(checksum)) => difference(&file, file.bytes, checksum),
            // The listing may have been wrong.
            Some(Err(error)) if !is_of_another(&error) => return Err(error),
            _ => check_file(storage, &name, &file, &mut |bytes| progress(done + bytes, total))?,
        };
        findings.extend(checked.map(|detail| BackupFinding { file: name, backups, detail }));
        done += file.bytes;
        progress(done, total);
    }
    Ok(findings)
}

/// The files of all backups by name, with the numbers of those that need them.
type NeededFiles = BTreeMap<String, (BackupFile, Vec<u64>)>;

/// Defects of files of which no record has a checksum.
fn unread_findings(storage: &Arc<dyn Storage>, catalog: &Catalog, files: &NeededFiles) -> Result<Vec<BackupFinding>> {
    let (mut findings, mut checked) = (Vec::new(), BTreeSet::new());
    for record in catalog.records.values() {
        let is_known = |file: &BackupFile| file.checksum.is_some() || checked.contains(&file.stored_name());
        if record.files.iter().all(is_known) || record.image(storage).is_err() {
            continue;
        }
        let report = check_unread(storage, record, &is_known)?.report;
        for found in report.findings {
            let Some(file) = record.file(&found.file).filter(|file| !is_known(file)) else { continue };
            let name = file.stored_name();
            let backups = files.get(&name).map_or_else(Vec::new, |(_, backups)| backups.clone());
            findings.push(BackupFinding { file: name, backups, detail: found.detail });
        }
        checked.extend(record.files.iter().map(BackupFile::stored_name));
    }
    Ok(findings)
}

/// The files that are as long as they should be, to be read in long pieces, where that pays.
fn open_long<'f>(
    storage: &Arc<dyn Storage>,
    catalog: &Catalog,
    files: impl Iterator<Item = &'f BackupFile>,
) -> BTreeMap<String, Arc<LongFile>> {
    let Some(pieces) = checked_pieces(&**storage) else { return BTreeMap::new() };
    let long = |file: &BackupFile| {
        let name = file.stored_name();
        catalog.listed_bytes(&name).filter(|&bytes| bytes == file.bytes)?;
        let known = ListedFile { length_bytes: Some(file.bytes), ..ListedFile::named(&*name) };
        Some((name, pieces.file(storage.open_known(&known).ok()?)))
    };
    files.filter_map(long).collect()
}

/// Whether an error is of a file that is missing, or another one than was listed.
fn is_of_another(error: &Error) -> bool {
    matches!(error.cause, Cause::Io(ErrorKind::NotFound) | Cause::ObjectChanged)
}

/// What is wrong with a file, if anything.
fn check_file(
    storage: &Arc<dyn Storage>,
    name: &str,
    file: &BackupFile,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<String>> {
    let reader = match open_expected(&**storage, name, file.bytes) {
        Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => {
            return Ok(Some("it is missing".to_owned()));
        }
        opened => opened?,
    };
    if reader.len() != file.bytes {
        return Ok(difference(file, reader.len(), 0));
    }
    let mut done = 0;
    let checksum = checksum_of(&*reader, &mut |bytes| {
        done += bytes.len() as u64;
        progress(done);
        Ok(())
    })?;
    Ok(difference(file, reader.len(), checksum))
}

fn difference(file: &BackupFile, bytes: u64, checksum: u32) -> Option<String> {
    if bytes != file.bytes {
        return Some(format!("it has {bytes} bytes, but had {} when the backup was made", file.bytes));
    }
    (file.checksum.is_some_and(|stated| stated != checksum))
        .then(|| "its content has changed since the backup was made".to_owned())
}
