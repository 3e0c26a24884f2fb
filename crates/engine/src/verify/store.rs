//! Verification of a whole store.

use super::report::{StoreReport, file_name_of, finding_of, folder};
use crate::block::BlockCache;
use crate::error::{Cause, Error, Result};
use crate::io::{LenientStorage, LongPieces, LongReads, PieceShape, Place, Storage, is_of_no_file};
use crate::lsm::images::closed_image::{COPY_TRIES_MIN, ClosedImage, no_store};
use crate::lsm::images::live::{StoreImage, all_names, named_files};
use crate::lsm::open::newest_state::{attempts, changed, is_removal};
use crate::lsm::open::unreferenced::UnreferencedFiles;
use crate::lsm::state::version::{
    ClosedLengths, FileKind, ManifestState, RecoveredManifest, file_name, final_name, parse_file_name,
};
use crate::lsm::{Db, DbOptions};
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Memory of a verification unless it is stated, in bytes: as much as an open store takes.
const MEMORY_BYTES: u64 = 256 << 20;

/// A part of the memory for pointers that wait to be followed. Half of all is for what is read, and the rest for open
/// tables.
const POINTERS_DIVISOR: u64 = 8;

/// A progress callback: bytes processed so far, and in total.
pub(crate) type VerifyProgress<'p> = &'p mut dyn FnMut(u64, u64);

/// A verification in progress.
pub(crate) struct StoreVerifier<'p> {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) state: ManifestState,
    pub(crate) report: StoreReport,
    pub(crate) options: DbOptions,
    pub(crate) cache: Arc<BlockCache>,
    /// The value files that could be opened.
    pub(crate) values: BTreeMap<u64, ValueFile>,
    pub(crate) progress: VerifyProgress<'p>,
    pub(crate) done_bytes: u64,
    pub(crate) total_bytes: u64,
    verified: VerifiedFiles,
    /// Whether the values of tables are read one by one.
    pub(crate) follows_pointers: bool,
    /// Memory for pointers that wait to be followed.
    pub(crate) pointers_bytes: u64,
}

/// Verifies the store at a [place](Place), whether or not it is open in this process or another: reads every byte of
/// every file, compares each file with the manifest, follows every pointer to its value, and checks the order of
/// entries. If all of this is sound, compares the indexes that the store keeps with their rows. `progress` receives the
/// bytes processed so far, and the total. Nothing is changed, and no lock is taken. Defects are listed in the report,
/// and the verification continues after them if possible.
///
/// Of a store that is written to meanwhile, this verifies what it contained at one moment after the call.
///
/// # Errors
/// [`Cause::NotAStore`]; an error of kind `ResourceBusy` if the writer of the store removes files too fast; errors of
/// the storage. A part of a file that the device cannot read is a finding, unless there are very many.
pub fn verify_store(place: impl Into<Place>, progress: &mut dyn FnMut(u64, u64)) -> Result<StoreReport> {
    verify_store_within(place, MEMORY_BYTES, progress)
}

/// As [`verify_store`], within about this much memory instead of 256 MiB, apart from the logs of the store. Behind a
/// URL, more memory allows longer reads, and more of them in flight.
///
/// # Errors
/// As there.
pub fn verify_store_within(
    place: impl Into<Place>,
    memory_bytes: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<StoreReport> {
    let storage = &LenientStorage::around(&place.into().folder()?);
    let mut report = verify_image(storage, memory_bytes, progress)?;
    report.add_unreadable(&**storage);
    Ok(report)
}

/// The names of the tables and complete value files, in the order of their verification, without those of these
/// numbers.
fn names_in_order(state: &ManifestState, without: &BTreeSet<u64>) -> Vec<String> {
    let tables = state.tables().map(|(_, _, table)| (table.number, FileKind::Table));
    let values = state.value_files.keys().map(|&number| (number, FileKind::Values));
    let wanted = tables.chain(values).filter(|(number, _)| !without.contains(number));
    wanted.map(|(number, kind)| file_name(number, kind)).collect()
}

/// The files of a state, read in long pieces where that pays.
fn read_long(
    files: &Arc<dyn Storage>,
    shape: Option<PieceShape>,
    state: &ManifestState,
    without: &BTreeSet<u64>,
) -> Arc<dyn Storage> {
    let Some(shape) = shape else { return Arc::clone(files) };
    let names = names_in_order(state, without);
    Arc::new(LongReads::around(files, &LongPieces::new(shape, None), &names))
}

/// Verifies an image of a store.
fn verify_image(
    storage: &Arc<dyn Storage>,
    memory_bytes: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<StoreReport> {
    let shape = PieceShape::for_storage(&**storage, memory_bytes / 2);
    let mut verified = VerifiedFiles::default();
    for _ in attempts(COPY_TRIES_MIN) {
        let names = all_names(storage)?;
        if !names.iter().any(|name| parse_file_name(name).is_some()) {
            return Err(no_store(&**storage));
        }
        let image = match StoreImage::take(storage) {
            Ok(Some(image)) => image,
            Ok(None) => return Err(no_store(&**storage)),
            Err(error) if is_removal(&error) && !is_of_no_file(&**storage, &error) => return Err(error),
            Err(error) => return manifest_report(&**storage, error),
        };
        let state = image.recovered.state.clone();
        let files = read_long(&image.storage(), shape, &state, &verified.numbers);
        let mut walk = StoreVerifier::new(&files, state, progress);
        walk.verified = std::mem::take(&mut verified);
        walk.pointers_bytes = memory_bytes / POINTERS_DIVISOR;
        match walk.files(&image.recovered, &image.names, &image.unnamed) {
            // The writer has removed files that this process had to close; those verified before are as they were.
            Err(error) if is_removal(&error) => verified = walk.verified,
            outcome => {
                outcome?;
                let (mut report, has_indexes) = (walk.report, walk.state.indexes().next().is_some());
                forget_named(storage, &mut report.orphans)?;
                if has_indexes && report.is_sound() {
                    let options = DbOptions::for_verification().memory_bytes(memory_bytes);
                    compare_indexes(&Db::open_read_only(Arc::clone(storage), &options)?, &mut report)?;
                }
                return Ok(report);
            }
        }
    }
    Err(changed(&**storage))
}

/// Compares the indexes that a store keeps with their rows.
fn compare_indexes(db: &Db, report: &mut StoreReport) -> Result<()> {
    db.compare_indexes(&mut |index: &str, detail: String| report.add_index_fault(index, &detail))
}

/// Forgets files that a writer has removed or added to the store since.
fn forget_named(storage: &Arc<dyn Storage>, orphans: &mut Vec<String>) -> Result<()> {
    if orphans.is_empty() {
        return Ok(());
    }
    let names = all_names(storage)?;
    let now = named_files(storage)?;
    orphans.retain(|name| names.contains(name) && !now.contains(name));
    Ok(())
}

/// Verifies all files that a manifest names.
pub(crate) fn verify_files(
    storage: &Arc<dyn Storage>,
    recovered: RecoveredManifest,
    names: &[String],
    progress: VerifyProgress<'_>,
) -> Result<StoreReport> {
    let mut walk = StoreVerifier::new(storage, recovered.state.clone(), progress);
    let unnamed = UnreferencedFiles::find(storage, &walk.state)?;
    walk.files(&recovered, names, &unnamed)?;
    walk.report.add_unreadable(&**storage);
    Ok(walk.report)
}

/// Verifies the files of a closed store, except for some tables and complete value files, by number. Pointers into
/// value files are not followed, since these are read to their ends. Files are read in pieces of this shape.
pub(crate) fn verify_closed(
    image: &ClosedImage,
    shape: Option<PieceShape>,
    trusted: BTreeSet<u64>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<StoreReport> {
    let files = read_long(&image.files, shape, &image.state, &trusted);
    let mut walk = StoreVerifier::new(&files, image.state.clone(), progress);
    walk.verified.numbers = trusted;
    walk.follows_pointers = false;
    let recovered =
        RecoveredManifest { state: image.state.clone(), number: image.number, closed: Some(image.lengths.clone()) };
    walk.files(&recovered, &[], &UnreferencedFiles::default())?;
    Ok(walk.report)
}

/// Tables and value files that need not be read again, and the report about them.
#[derive(Debug, Default)]
pub(crate) struct VerifiedFiles {
    numbers: BTreeSet<u64>,
    report: StoreReport,
}

impl Db {
    /// Verifies the current tables and complete value files while the store is in use: see [`verify_store`].
    ///
    /// # Errors
    /// As there.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<StoreReport> {
        let pinned = self.pin_files();
        let storage = LenientStorage::around(&pinned.storage);
        let shape = PieceShape::for_storage(&*storage, MEMORY_BYTES / 2);
        let storage = read_long(&storage, shape, &pinned.state, &BTreeSet::new());
        let mut walk = StoreVerifier::new(&storage, pinned.state.clone(), progress);
        walk.open_values()?;
        walk.tables()?;
        walk.value_files(None)?;
        walk.report.add_unreadable(&*storage);
        let mut report = walk.report;
        if report.is_sound() {
            compare_indexes(self, &mut report)?;
        }
        Ok(report)
    }
}

/// The report of a store whose manifest cannot be read.
fn manifest_report(storage: &dyn Storage, error: Error) -> Result<StoreReport> {
    let Some((offset, detail)) = finding_of(&error) else { return Err(error) };
    let mut report = StoreReport::default();
    let path = match &error {
        Error { cause: Cause::Damaged | Cause::Version { .. } | Cause::Io(_), .. } => error.place(),
        _ => folder(storage),
    };
    report.add(&file_name_of(&path), offset, detail);
    Ok(report)
}

impl<'p> StoreVerifier<'p> {
    pub(crate) fn new(storage: &Arc<dyn Storage>, state: ManifestState, progress: VerifyProgress<'p>) -> Self {
        let total_bytes = state.tables().map(|(_, _, table)| table.bytes).sum::<u64>()
            + state.value_files.values().map(|file| file.bytes).sum::<u64>();
        let report = StoreReport { keyspaces: state.keyspaces.len() as u64, ..StoreReport::default() };
        Self {
            storage: Arc::clone(storage),
            state,
            report,
            options: DbOptions::for_verification(),
            cache: Arc::new(BlockCache::none()),
            values: BTreeMap::new(),
            progress,
            done_bytes: 0,
            total_bytes,
            verified: VerifiedFiles::default(),
            follows_pointers: true,
            pointers_bytes: MEMORY_BYTES / POINTERS_DIVISOR,
        }
    }

    /// Verifies all files that a manifest names.
    fn files(&mut self, recovered: &RecoveredManifest, names: &[String], unnamed: &UnreferencedFiles) -> Result<()> {
        if !self.verified.numbers.is_empty() {
            self.report = self.verified.report.clone();
        }
        self.report.keyspaces = self.state.keyspaces.len() as u64;
        self.unnamed(names, recovered.number, unnamed);
        self.open_values()?;
        self.tables()?;
        self.value_files(recovered.closed.as_ref())?;
        self.logs(recovered.closed.as_ref(), unnamed)
    }

    /// Verifies an immutable file, unless that was done before.
    fn once(&mut self, number: u64, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.verified.numbers.contains(&number) {
            return Ok(());
        }
        work(self)?;
        self.verified.numbers.insert(number);
        self.verified.report = self.report.clone();
        Ok(())
    }

    /// Adds to the bytes processed.
    pub(crate) fn advance(&mut self, bytes: u64) {
        self.done_bytes += bytes;
        self.report.bytes += bytes;
        self.total_bytes = self.total_bytes.max(self.done_bytes);
        (self.progress)(self.done_bytes, self.total_bytes);
    }

    /// Lists unreferenced files: as orphans if a crash may have left them, and as findings otherwise.
    fn unnamed(&mut self, names: &[String], manifest: u64, unnamed: &UnreferencedFiles) {
        for stray in &unnamed.strays {
            self.report.add(&stray.name, 0, stray.detail.as_str());
        }
        let tables: BTreeSet<u64> = self.state.tables().map(|(_, _, table)| table.number).collect();
        let is_orphan = |name: &&String| match parse_file_name(name) {
            Some((number, FileKind::Table)) => !tables.contains(&number),
            Some((number, FileKind::Values)) => {
                // Files that only logs point into are not known yet; they are newer than all that were flushed.
                !self.state.value_files.contains_key(&number) && number < self.state.oldest_log
            }
            // Older logs are kept for recycling.
            Some((number, FileKind::Log)) => !self.state.logs.contains(&number) && number >= self.state.oldest_log,
            Some((number, FileKind::Manifest)) => number != manifest,
            Some((_, FileKind::NewManifest)) => true,
            // A table being written has a suffix after its name; other files with one are not the store's.
            None => matches!(parse_file_name(final_name(name)), Some((_, FileKind::Table))),
        };
        let is_stray = |name: &String| unnamed.strays.iter().any(|stray| stray.name == *name);
        self.report.orphans = names.iter().filter(|name| is_orphan(name) && !is_stray(name)).cloned().collect();
    }

    /// Opens the value files, to follow pointers.
    fn open_values(&mut self) -> Result<()> {
        let is_used = |number: &u64| self.follows_pointers || !self.verified.numbers.contains(number);
        for number in self.state.value_files.keys().copied().filter(is_used).collect::<Vec<_>>() {
            let opened = ValueFile::open(&*self.storage, self.state.binding_of(number), number);
            if let Some(file) = self.report.note(&file_name(number, FileKind::Values), opened)? {
                self.values.insert(number, file);
            }
        }
        Ok(())
    }

    fn tables(&mut self) -> Result<()> {
        let tables: Vec<_> = self.state.tables().map(|(_, _, table)| Arc::clone(table)).collect();
        tables.iter().try_for_each(|table| self.once(table.number, |walk| walk.table(table)))
    }

    fn value_files(&mut self, closed: Option<&ClosedLengths>) -> Result<()> {
        for (number, bytes) in
            self.state.value_files.iter().map(|(&number, file)| (number, file.bytes)).collect::<Vec<_>>()
        {
            self.once(number, |walk| walk.value_file(number, bytes))?;
        }
        for (number, bytes) in closed.map_or(&[][..], |lengths| &lengths.value_files) {
            if !self.state.value_files.contains_key(number) {
                let opened = ValueFile::open_of_store(&*self.storage, self.state.owner, *number);
                if let Some(file) = self.report.note(&file_name(*number, FileKind::Values), opened)? {
                    self.values.insert(*number, file);
                    self.value_file(*number, *bytes)?;
                }
            }
        }
        Ok(())
    }
}
