//! Making a backup: copies and verifies new files, then writes the record, then removes surplus backups.

use super::backups::{BackupInfo, BackupOptions, BackupSummary};
use super::catalog::{self, Catalog, RunningMark};
use super::copy::copy_checked;
use super::record::{BackupFile, BackupRecord, stored_name};
use crate::error::{Error, Result};
use crate::io::{Purpose, Storage, read_whole, remove_if_present, unix_time_ms};
use crate::lsm::images::closed_image::{COPY_TRIES_MIN, ClosedImage, closed_image};
use crate::lsm::open::newest_state::{attempts, changed, is_removal};
use crate::lsm::state::version::{FileKind, ManifestState, parse_file_name};
use crate::verify::verify_closed;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;

/// The identity of a table or a complete value file: its number, its kind, and the file id or the opening that wrote
/// it.
type ImmutableFileId = (u64, FileKind, u64);

/// Makes a backup of a store.
pub(super) fn create(
    storage: &Arc<dyn Storage>,
    source: &Arc<dyn Storage>,
    options: &BackupOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<BackupSummary> {
    Catalog::read(&**storage)?.check_purpose(&**storage)?;
    let _lock = catalog::lock(&**storage)?;
    let Begun { mut catalog, number, _mark } = begin(storage)?;
    catalog.remove_leftovers(&**storage, number)?;
    let mut run = BackupRun { storage, source, number, catalog: &catalog, known: BTreeMap::new(), made: Vec::new() };
    run.known = run.known_files()?;
    let made = run.make(progress).and_then(|(record, image)| run.publish(&record).map(|()| (record, image)));
    let (record, _image) = match made {
        Ok(made) => made,
        Err(error) => {
            run.take_back();
            return Err(error);
        }
    };
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
    }
}

/// A backup that is being made.
struct BackupRun<'a> {
    storage: &'a Arc<dyn Storage>,
    source: &'a Arc<dyn Storage>,
    number: u64,
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
        let mut names = image.data_names();
        names.sort_unstable();
        let known = |run: &Self, name: &String| identities.get(name).and_then(|id| run.known.get(id)).cloned();
        let mut total = 0;
        for name in names.iter().filter(|name| known(self, name).is_none()) {
            total += image.files.open(name)?.len();
        }
        // New files are written, and read back.
        total *= 2;
        let (mut done, mut files) = (0, Vec::new());
        for name in &names {
            let file = match known(self, name) {
                Some(file) => file,
                None => self.copy_file(image, name, &mut |bytes| {
                    done += bytes;
                    progress(done, total);
                })?,
            };
            if let Some(&identity) = identities.get(name) {
                self.known.insert(identity, file.clone());
            }
            files.push(file);
        }
        self.storage.sync_directory()?;
        let manifest = read_whole(&*image.files.open(&image.manifest_name())?, Purpose::Walk)?;
        let record = BackupRecord {
            store: image.state.owner,
            number: self.number,
            made_ms,
            files,
            manifest_number: image.number,
            manifest,
        };
        self.verify(&record, image, &mut |verified, _| progress(done + verified, total.max(done + verified)))?;
        Ok(record)
    }

    fn copy_file(&mut self, image: &ClosedImage, name: &str, advance: &mut dyn FnMut(u64)) -> Result<BackupFile> {
        let reader = image.files.open(name)?;
        let stored = stored_name(self.number, name);
        // A file of an earlier attempt, which had another end.
        if self.made.contains(&stored) {
            remove_if_present(&**self.storage, &stored)?;
        }
        let checksum = copy_checked(&*reader, &**self.storage, &stored, advance)?;
        self.made.push(stored);
        Ok(BackupFile { name: name.to_owned(), written_by: self.number, bytes: reader.len(), checksum })
    }

    /// Reads back what this backup has written.
    ///
    /// # Errors
    /// `Cause::Damaged` with the path of the damaged file: that of the store, unless only the copy is damaged.
    fn verify(&self, record: &BackupRecord, image: &ClosedImage, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let is_trusted = |file: &&BackupFile| file.written_by != self.number;
        let trusted: BTreeSet<u64> =
            record.files.iter().filter(is_trusted).filter_map(|file| Some(parse_file_name(&file.name)?.0)).collect();
        let report = verify_closed(&record.image(self.storage)?, trusted.clone(), progress)?;
        let Some(finding) = report.findings.first() else { return Ok(()) };
        let of_source = verify_closed(image, trusted, &mut |_, _| {});
        let in_source =
            of_source.ok().and_then(|report| report.findings.into_iter().find(|found| found.file == finding.file));
        let (path, found) = match &in_source {
            Some(found) => (self.source.path(&found.file), found),
            None => (self.storage.path(&stored_name(self.number, &finding.file)), finding),
        };
        let detail = format!("{}; no backup was made, and earlier ones are as they were", found.detail);
        Err(Error::damaged(path, found.offset, detail))
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
