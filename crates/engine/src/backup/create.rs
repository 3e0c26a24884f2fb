//! Making a backup: copies and verifies new files, then writes the record, then removes surplus backups.
//!
//! Within an object store, tables and complete value files are copied by a request each, and their checksums are taken
//! when the copies are verified.

use super::backups::{BackupInfo, BackupOptions, BackupSummary};
use super::catalog::{self, Catalog, RunningMark};
use super::check::{CheckedFiles, check_files};
use super::copy::{PIECES_BYTES, copy_checked, is_taken};
use super::record::{BackupFile, BackupRecord, stored_name};
use crate::error::{Error, Result};
use crate::io::{
    FileCopy, ListedFile, LongPieces, LongReads, PieceShape, Purpose, Storage, read_whole, remove_if_present,
    unix_time_ms,
};
use crate::lsm::images::closed_image::{COPY_TRIES_MIN, ClosedImage, closed_image};
use crate::lsm::open::newest_state::{attempts, changed, is_removal};
use crate::lsm::state::version::{FileKind, ManifestState};
use crate::verify::{StoreFinding, verify_closed};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

/// The identity of a table or a complete value file: its number, its kind, and the file id or the opening that wrote
/// it.
type ImmutableFileId = (u64, FileKind, u64);

/// Makes a backup of a store.
pub(super) fn create(
    storage: &Arc<dyn Storage>,
    source: &Arc<dyn Storage>,
    options: &BackupOptions,
    wait: Duration,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<BackupSummary> {
    Catalog::read(&**storage)?.check_purpose(&**storage)?;
    let _lock = catalog::lock(&**storage, wait)?;
    let Begun { mut catalog, number, _mark } = begin(storage)?;
    catalog.remove_leftovers(&**storage, number)?;
    let (trust, known, made) = (options.trust, BTreeMap::new(), Vec::new());
    let mut run = BackupRun { storage, source, number, trust, catalog: &catalog, known, made };
    run.known = run.known_files()?;
    let (record, _image) = match run.make(progress) {
        Ok(made) => made,
        Err(error) => {
            run.take_back();
            return Err(error);
        }
    };
    if let Err(error) = run.publish(&record) {
        // A put that failed may still arrive: the files stay for its record. If there is none, the next backup removes
        // them.
        if !storage.is_object_store() {
            run.take_back();
        }
        return Err(error);
    }
    let mut summary = summary(&record, &catalog);
    let mut after = Catalog::read(&**storage)?;
    if let Some(keep) = options.keep {
        match after.keep_newest(&**storage, keep, number) {
            Ok(removed) => summary.removed = removed,
            Err(error) => summary.removal_failure = Some(error.message()),
        }
    }
    Ok(summary)
}

/// The beginning of a backup: its number, which is greater than those of all files, and the catalog as it was after the
/// number was claimed. So no other backup that has ended since is unknown, and none that begins later shares a file
/// that this one removes.
struct Begun {
    catalog: Catalog,
    number: u64,
    _mark: Option<RunningMark>,
}

fn begin(storage: &Arc<dyn Storage>) -> Result<Begun> {
    let mut catalog = Catalog::read(&**storage)?;
    loop {
        let number = catalog.next_number();
        let Some(mark) = RunningMark::set(storage, number)? else { return Ok(Begun { catalog, number, _mark: None }) };
        catalog = Catalog::read(&**storage)?;
        catalog.forget_mark(number);
        if catalog.next_number() <= number {
            return Ok(Begun { catalog, number, _mark: Some(mark) });
        }
        // Another backup has used the number meanwhile.
    }
}

fn summary(record: &BackupRecord, before: &Catalog) -> BackupSummary {
    let copied = record.files.iter().filter(|file| file.written_by == record.number);
    BackupSummary {
        backup: BackupInfo::of(record),
        copied_files: copied.clone().count() as u64,
        copied_bytes: copied.map(|file| file.bytes).sum(),
        removed: Vec::new(),
        removal_failure: None,
        damaged: before.damaged.keys().copied().collect(),
        archive: None,
        archive_failure: None,
    }
}

/// A backup that is being made.
struct BackupRun<'a> {
    storage: &'a Arc<dyn Storage>,
    source: &'a Arc<dyn Storage>,
    number: u64,
    /// Whether new files are not verified.
    trust: bool,
    catalog: &'a Catalog,
    /// The files that this and earlier backups have.
    known: BTreeMap<ImmutableFileId, BackupFile>,
    /// The names that this backup has written.
    made: Vec<String>,
}

impl BackupRun<'_> {
    /// The files of the earlier backups that are still there.
    fn known_files(&self) -> Result<BTreeMap<ImmutableFileId, BackupFile>> {
        let mut known = BTreeMap::new();
        for record in self.catalog.records.values() {
            let image = record.image(self.storage)?;
            for (name, identity) in identities(&image.state) {
                if let Some(file) = record.file(&name).filter(|file| self.catalog.has(&file.stored_name())) {
                    known.insert(identity, file.clone());
                }
            }
        }
        Ok(known)
    }

    /// Copies and verifies what no earlier backup has.
    fn make(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<(BackupRecord, ClosedImage)> {
        let made_ms = unix_time_ms();
        for _ in attempts(COPY_TRIES_MIN) {
            let image = closed_image(self.source)?;
            self.catalog.check_store(&**self.storage, image.state.owner)?;
            match self.copy(&image, made_ms, progress) {
                // The writer has removed a file that this process had to close. What was copied remains known.
                Err(error) if is_removal(&error) => {}
                outcome => {
                    let record = outcome?;
                    self.drop_unused(&record)?;
                    return Ok((record, image));
                }
            }
        }
        Err(changed(&**self.source))
    }

    /// Removes the files of earlier attempts that the record does not name.
    fn drop_unused(&mut self, record: &BackupRecord) -> Result<()> {
        let used: BTreeSet<String> = record.files.iter().map(BackupFile::stored_name).collect();
        let unused = self.made.iter().filter(|name| !used.contains(*name));
        unused.clone().try_for_each(|name| remove_if_present(&**self.storage, name))
    }

    fn copy(&mut self, image: &ClosedImage, made_ms: u64, progress: &mut dyn FnMut(u64, u64)) -> Result<BackupRecord> {
        let identities: BTreeMap<String, ImmutableFileId> = identities(&image.state).collect();
        self.copy_within(image, &identities)?;
        let known = |run: &Self, name: &String| identities.get(name).and_then(|id| run.known.get(id)).cloned();
        let mut names = image.data_names();
        names.sort_unstable();
        let moved: Vec<String> = names.iter().filter(|name| known(self, name).is_none()).cloned().collect();
        let files = self.in_long_reads(image, &moved);
        let moved_bytes = moved.iter().try_fold(0, |sum, name| Ok::<_, Error>(sum + files.open(name)?.len()))?;
        let unread = names.iter().filter_map(|name| known(self, name)).filter(|file| !file.is_verified);
        let read_bytes = moved_bytes + unread.map(|file| file.bytes).sum::<u64>();
        // What is new is written, and read back.
        let total = moved_bytes + if self.trust { 0 } else { read_bytes };
        let (mut done, mut copied) = (0, Vec::new());
        for name in &names {
            let file = match known(self, name) {
                Some(file) => file,
                None => self.copy_file(&*files, name, &mut |bytes| {
                    done += bytes;
                    progress(done, total);
                })?,
            };
            if let Some(&identity) = identities.get(name) {
                self.known.insert(identity, file.clone());
            }
            copied.push(file);
        }
        self.storage.sync_directory()?;
        let manifest = read_whole(&*image.files.open(&image.manifest_name())?, Purpose::Walk)?;
        let mut record = BackupRecord {
            store: image.state.owner,
            number: self.number,
            made_ms,
            files: copied,
            manifest_number: image.number,
            manifest,
        };
        match self.trust {
            true => self.check_lengths(&record)?,
            false => self.verify(&mut record, image, &mut |read, _| progress(done + read, total.max(done + read)))?,
        }
        Ok(record)
    }

    /// Copies the new tables and complete value files by requests, where the store and the backups are in one object
    /// store.
    fn copy_within(&mut self, image: &ClosedImage, identities: &BTreeMap<String, ImmutableFileId>) -> Result<()> {
        let new = identities.iter().filter(|(_, identity)| !self.known.contains_key(identity));
        let mut files = Vec::new();
        for (name, _) in new {
            let new_name = stored_name(self.number, name);
            files.push(FileCopy { length_bytes: image.files.open(name)?.len(), name: name.clone(), new_name });
        }
        for file in files.iter().filter(|file| self.made.contains(&file.new_name)) {
            // An earlier attempt at it has failed.
            remove_if_present(&**self.storage, &file.new_name)?;
        }
        let mut failure = None;
        for (file, copied) in files.iter().zip(image.files.copy_within(&files, &**self.storage)) {
            match copied {
                Ok(false) => continue,
                Ok(true) => {
                    let FileCopy { name, length_bytes: bytes, .. } = file.clone();
                    let copy = BackupFile { name, written_by: self.number, bytes, checksum: None, is_verified: false };
                    identities.get(&file.name).map(|&identity| self.known.insert(identity, copy));
                }
                // What has the name is another one's.
                Err(error) if is_taken(&error) => {
                    failure.get_or_insert(error);
                    continue;
                }
                Err(error) => _ = failure.get_or_insert(error),
            }
            self.made.push(file.new_name.clone());
        }
        failure.map_or(Ok(()), Err)
    }

    /// The files of the store, of which these are read in order.
    fn in_long_reads(&self, image: &ClosedImage, names: &[String]) -> Arc<dyn Storage> {
        match PieceShape::for_storage(&**self.source, PIECES_BYTES) {
            Some(shape) => Arc::new(LongReads::around(&image.files, &LongPieces::new(shape, None), names)),
            None => Arc::clone(&image.files),
        }
    }

    fn copy_file(&mut self, files: &dyn Storage, name: &str, advance: &mut dyn FnMut(u64)) -> Result<BackupFile> {
        let reader = files.open(name)?;
        let stored = stored_name(self.number, name);
        // A file of an earlier attempt, which had another end.
        if self.made.contains(&stored) {
            remove_if_present(&**self.storage, &stored)?;
        }
        let checksum = Some(copy_checked(&*reader, &**self.storage, &stored, advance)?);
        self.made.push(stored);
        let (name, bytes) = (name.to_owned(), reader.len());
        Ok(BackupFile { name, written_by: self.number, bytes, checksum, is_verified: false })
    }

    /// Reads what was not verified yet, of this backup and of earlier ones.
    ///
    /// # Errors
    /// `Cause::Damaged` with the path of the damaged file: that of the store, unless only the copy is damaged.
    fn verify(&self, record: &mut BackupRecord, image: &ClosedImage, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let is_known = |file: &BackupFile| file.is_verified;
        // Lengths are known, so that opening takes no request.
        let open = |file: &BackupFile| {
            let listed = ListedFile { length_bytes: Some(file.bytes), ..ListedFile::named(file.stored_name()) };
            self.storage.open_known(&listed)
        };
        let CheckedFiles { report, checksums } = check_files(self.storage, record, &is_known, &open, progress)?;
        if let Some(finding) = report.findings.first() {
            return Err(self.damage(record, image, finding));
        }
        for file in &mut record.files {
            let Some(&checksum) = checksums.get(&file.name) else { continue };
            if file.checksum.is_some_and(|copied| copied != checksum) {
                let detail =
                    "its content is not what was copied; no backup was made, and earlier ones are as they were";
                return Err(Error::damaged(self.storage.path(&file.stored_name()), 0, detail));
            }
            (file.checksum, file.is_verified) = (Some(checksum), true);
        }
        Ok(())
    }

    /// The error of a defect of the copies, or of the store if it has it too.
    fn damage(&self, record: &BackupRecord, image: &ClosedImage, finding: &StoreFinding) -> Error {
        let shape = PieceShape::for_storage(&**self.source, PIECES_BYTES);
        let of_source = verify_closed(image, shape, record.numbers_of(|file| file.is_verified), &mut |_, _| {});
        let in_source =
            of_source.ok().and_then(|report| report.findings.into_iter().find(|found| found.file == finding.file));
        let stored = record.file(&finding.file).map_or_else(|| finding.file.clone(), BackupFile::stored_name);
        let (path, found) = match &in_source {
            Some(found) => (self.source.path(&found.file), found),
            None => (self.storage.path(&stored), finding),
        };
        let detail = format!("{}; no backup was made, and earlier ones are as they were", found.detail);
        Error::damaged(path, found.offset, detail)
    }

    /// Compares the lengths of new files in an object store, which are not read.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`](crate::Cause::WrongAnswer) for a file of another length.
    fn check_lengths(&self, record: &BackupRecord) -> Result<()> {
        if !self.storage.is_object_store() {
            return Ok(());
        }
        let listed: BTreeMap<String, Option<u64>> =
            self.storage.list_files()?.files.into_iter().map(|file| (file.name, file.length_bytes)).collect();
        for file in record.files.iter().filter(|file| file.written_by == self.number) {
            let stored = file.stored_name();
            if listed.get(&stored) == Some(&Some(file.bytes)) {
                continue;
            }
            // The listing may be out of date.
            let found = self.storage.find_file(&stored)?.map(|found| found.length_bytes.unwrap_or(file.bytes));
            if found != Some(file.bytes) {
                let has = found.map_or("none of them".to_owned(), |bytes| bytes.to_string());
                let detail = format!("it says that it has stored {} bytes, but has {has}", file.bytes);
                return Err(Error::wrong_answer(self.storage.path(&stored), detail));
            }
        }
        Ok(())
    }

    /// Writes the record.
    fn publish(&self, record: &BackupRecord) -> Result<()> {
        catalog::publish(&**self.storage, record)?;
        if !self.storage.is_object_store() {
            return Ok(());
        }
        // Another backup may have removed files that this one shares.
        let names: BTreeSet<String> = self.storage.list()?.into_iter().collect();
        match record.files.iter().find(|file| !names.contains(&file.stored_name())) {
            None => Ok(()),
            Some(file) => {
                self.storage.remove(&BackupRecord::name_of(self.number))?;
                let lost =
                    std::io::Error::new(ErrorKind::ResourceBusy, "another backup removed it meanwhile; try again");
                Err(Error::io("back up", self.storage.path(&file.stored_name()), lost))
            }
        }
    }

    /// Removes what was written, unless the record may be durable.
    fn take_back(&self) {
        let name = BackupRecord::name_of(self.number);
        if matches!(self.storage.exists(&name), Ok(false)) {
            // Failures are ignored in favour of the first error; the next backup removes what remains.
            self.made.iter().for_each(|name| _ = remove_if_present(&**self.storage, name));
        }
    }
}

/// The identities of tables and complete value files, by name.
fn identities(state: &ManifestState) -> impl Iterator<Item = (String, ImmutableFileId)> {
    let tables = state.tables().filter_map(|(_, _, table)| Some((table.number, FileKind::Table, table.file_id?)));
    let values = state.value_files.keys().filter_map(|&number| {
        let nonce = state.binding_of(number).nonce;
        (nonce != 0).then_some((number, FileKind::Values, nonce))
    });
    tables.chain(values).map(|identity| (crate::lsm::state::version::file_name(identity.0, identity.1), identity))
}
