//! Store repair: the entry point, the choice of a method, and the context that both methods share.
//!
//! With an intact manifest, only damaged files are rewritten (`repair_in_place`). With a lost or outdated one, the
//! store is rebuilt (`rebuild`).

use super::foreign::FOREIGN_SUFFIX;
use super::recovering_cursor::{RecoveredCount, RecoveringCursor, ValueEvidence};
use super::{foreign, in_place as repair_in_place, rebuild};
use crate::block::header::StoreBinding;
use crate::error::{Cause, Error, Result};
use crate::io::{LenientStorage, Place, Storage, UnreadablePart};
use crate::lsm::compact::{CollectedFiles, JobContext, JobOutput, JobRange, LevelsBelow, MergeJob, TableForm, run_job};
use crate::lsm::core::wal;
use crate::lsm::images::closed_image::no_store;
use crate::lsm::open::unreferenced::{UnreferencedFiles, is_table_of};
use crate::lsm::state::cursor::EntryCursor;
use crate::lsm::state::entry::{KeyspaceId, Sequence, decode_group};
use crate::lsm::state::file_numbers::FileNumberSource;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::range_tombstones::RangeTombstones;
use crate::lsm::state::tables::table_file::{KeyspaceStatement, OPENINGS_PROPERTY, Openings, TableFile, TableOrigin};
use crate::lsm::state::version::{
    FileKind, ManifestState, RecoveredManifest, file_name, manifest_numbers, parse_file_name, recover, recover_at,
    recover_with_true_version, remove_leftovers,
};
use crate::lsm::{DbOptions, LOCK_NAME};
use crate::table::{Table, TableOptions};
use crate::verify::report::finding_of;
use crate::verify::store::{VerifyProgress, verify_files};
use crate::vlog::{ValueFile, ValueFilePointer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// The files that were damaged or missing; empty if there was nothing to repair. A missing manifest, whose number
    /// is unknown, is listed as `*.manifest`.
    pub damaged_files: Vec<String>,
    /// Files of another store, or of a copy of this one that was written to separately, and manifests that are none or
    /// are damaged, though the store has an intact one. Their contents were not used; they are kept, with the suffix
    /// `.foreign`.
    pub foreign_files: Vec<String>,
    /// Ingested tables of a store whose manifest is lost: no file tells their keyspace, nor whether their records are
    /// older than others. They were not used; they are kept, with the suffix `.ingested`, to be ingested again.
    pub ingested_files: Vec<String>,
    /// Entries recovered from damaged files, and from the files rewritten with them.
    pub saved_entries: u64,
    /// Entries known to be lost: those of damaged tables, and those whose values are lost.
    pub lost_entries: u64,
    /// Whether `lost_entries` is complete. The contents of a damaged log after its last intact group are unknown, and
    /// so are the missing files of a store without a manifest.
    pub is_loss_known: bool,
    /// Whether the manifest was lost, or older than other files. If it was lost, all keyspaces except the default one
    /// are named after their numbers. In either case removed entries may reappear, and an old table that was still in
    /// the folder may bring back older values.
    pub manifest_rebuilt: bool,
}

/// Stands for a missing manifest, whose number is unknown.
const NO_MANIFEST: &str = "*.manifest";

/// Repairs a damaged store, given by its [place](Place), that is not open: keeps all entries that checksums prove, and
/// drops the rest. Damaged files are removed, so back up the folder first. If the newest version of a key is lost, an
/// older one may reappear.
///
/// `progress` receives the bytes processed so far, and the total.
///
/// # Errors
/// [`Cause::NotAStore`]; [`Cause::Locked`] while another process has the store open; [`Cause::Version`]; errors
/// of the storage. The store is then unchanged, except for additional files that the next repair removes.
pub fn repair_store(place: impl Into<Place>, progress: &mut dyn FnMut(u64, u64)) -> Result<RepairReport> {
    let storage = &LenientStorage::around(&place.into().folder()?);
    let names = storage.list()?;
    if !names.iter().any(|name| parse_file_name(name).is_some()) {
        return Err(no_store(&**storage));
    }
    let lock = storage.lock(LOCK_NAME)?;
    remove_leftovers(&**storage)?;
    let repaired = repair(storage, &names, progress);
    drop(lock);
    repaired
}

fn repair(storage: &Arc<dyn Storage>, names: &[String], progress: VerifyProgress<'_>) -> Result<RepairReport> {
    match recover(&**storage) {
        Ok(Some(recovered)) => {
            if let Some(part) = unreadable_part(&**storage, recovered.number) {
                // What cannot be read of it looks like an edit that a crash cut short.
                let file = file_name(recovered.number, FileKind::Manifest);
                return rebuild::rebuild(storage, names, (part.to_error(), vec![file]), Some(&recovered.state));
            }
            let unnamed = UnreferencedFiles::find(storage, &recovered.state)?;
            if let Err(error) = unnamed.check(&**storage) {
                let strays: Vec<String> = unnamed.strays.into_iter().map(|stray| stray.name).collect();
                return repair_among(storage, names, (recovered, strays, error), progress);
            }
            let again = recover(&**storage)?;
            let report = verify_files(storage, recovered, names, progress)?;
            let Some(again) = again.filter(|_| !report.is_sound()) else { return Ok(unchanged()) };
            match missing_named_file(storage, &again.state)? {
                Some(missing) => {
                    let error = Error::damaged(storage.path(&missing), 0, "a file that the manifest names is missing");
                    rebuild::rebuild(storage, names, (error, vec![missing]), Some(&again.state))
                }
                None => repair_in_place::repair_in_place(storage, again, &report),
            }
        }
        Ok(None) => Err(no_store(&**storage)),
        Err(error @ Error { cause: Cause::Version { .. }, .. }) => Err(error),
        Err(error) if finding_of(&error).is_some() => repair_without_newest(storage, names, error, progress),
        Err(error) => Err(error),
    }
}

/// Repairs a store whose newest manifest is missing, damaged or none at all; `error` says so.
fn repair_without_newest(
    storage: &Arc<dyn Storage>,
    names: &[String],
    error: Error,
    progress: VerifyProgress<'_>,
) -> Result<RepairReport> {
    let mut damaged = Vec::new();
    for number in manifest_numbers(names) {
        match recover_at(&**storage, number) {
            Ok(older) if unreadable_part(&**storage, number).is_some() => {
                damaged.push(file_name(number, FileKind::Manifest));
                return rebuild::rebuild(storage, names, (error, damaged), Some(&older.state));
            }
            Ok(older) => return repair_by_older(storage, names, (older, damaged, error), progress),
            Err(error @ Error { cause: Cause::Version { .. }, .. }) => return Err(error),
            Err(error) if finding_of(&error).is_some() => damaged.push(file_name(number, FileKind::Manifest)),
            Err(error) => return Err(error),
        }
        match recover_with_true_version(&**storage, number) {
            Ok(Some(read)) => return repair_by_older(storage, names, (read, damaged, error), progress),
            Err(error) if finding_of(&error).is_none() => return Err(error),
            _ => {}
        }
    }
    if damaged.is_empty() {
        damaged.push(NO_MANIFEST.to_owned());
    }
    rebuild::rebuild(storage, names, (error, damaged), None)
}

/// Repairs a store by a manifest that can be read, although there are `damaged` ones: of greater numbers, or itself. If
/// the store went on with one of these, it has files that this one does not name, and only the names and types of its
/// keyspaces are used. Otherwise it is the newest: if it and all other files are intact, the damaged ones are set
/// aside, and nothing else is done.
fn repair_by_older(
    storage: &Arc<dyn Storage>,
    names: &[String],
    (older, damaged, error): (RecoveredManifest, Vec<String>, Error),
    progress: VerifyProgress<'_>,
) -> Result<RepairReport> {
    let unnamed = UnreferencedFiles::find(storage, &older.state)?;
    if !unnamed.strays.is_empty() || went_on(storage, names, &older)? {
        return rebuild::rebuild(storage, names, (error, damaged), Some(&older.state));
    }
    let is_intact = !damaged.contains(&file_name(older.number, FileKind::Manifest));
    let again = RecoveredManifest { state: older.state.clone(), number: older.number, closed: older.closed.clone() };
    let mut report = verify_files(storage, older, names, progress)?;
    if report.is_sound() && is_intact {
        foreign::set_aside(&**storage, &damaged, FOREIGN_SUFFIX)?;
        return Ok(RepairReport { foreign_files: damaged, ..unchanged() });
    }
    damaged.iter().for_each(|name| report.add(name, 0, "it is no intact manifest"));
    repair_in_place::repair_in_place(storage, again, &report)
}

/// What cannot be read of a manifest.
fn unreadable_part(storage: &dyn Storage, number: u64) -> Option<UnreadablePart> {
    let path = storage.path(&file_name(number, FileKind::Manifest));
    storage.unreadable().into_iter().find(|part| part.path == path)
}

/// Whether the store made tables or logs after a manifest that this one does not name.
fn went_on(storage: &Arc<dyn Storage>, names: &[String], manifest: &RecoveredManifest) -> Result<bool> {
    let state = &manifest.state;
    let tables: BTreeSet<u64> = state.tables().map(|(_, _, table)| table.number).collect();
    for (number, kind) in names.iter().filter_map(|name| parse_file_name(name)) {
        let is_named = if kind == FileKind::Log { &state.logs } else { &tables }.contains(&number);
        if number > manifest.number && !is_named && is_of_store(storage, state, (number, kind))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Repairs a store with unreferenced files that no crash leaves: either they come from a copy, or the manifest is
/// outdated. If they do not continue its history, and all files it names are intact, they are only set aside: if they
/// were accepted, they would displace files that the manifest names.
fn repair_among(
    storage: &Arc<dyn Storage>,
    names: &[String],
    (recovered, strays, error): (RecoveredManifest, Vec<String>, Error),
    progress: VerifyProgress<'_>,
) -> Result<RepairReport> {
    let state = recovered.state.clone();
    if !continues_history(storage, &state, &strays)? {
        let report = verify_files(storage, recovered, names, progress)?;
        let is_stray = |file: &String| strays.contains(file);
        if report.further_findings == 0 && report.findings.iter().all(|finding| is_stray(&finding.file)) {
            foreign::set_aside(&**storage, &strays, FOREIGN_SUFFIX)?;
            return Ok(RepairReport { foreign_files: strays, ..unchanged() });
        }
    }
    // Of the outdated manifest only the names of keyspaces are used.
    rebuild::rebuild(storage, names, (error, strays), Some(&state))
}

/// Whether some of these files continue the history of a state: written by an opening that it knows, or by one that
/// began its log after the last log it names. A log that names no predecessor was begun after an empty one.
fn continues_history(storage: &Arc<dyn Storage>, state: &ManifestState, strays: &[String]) -> Result<bool> {
    let last = state.logs.iter().max().copied();
    let last_binding = last.map_or(Ok(None), |number| wal::header(&**storage, number))?.map(|header| header.binding);
    let is_empty = match last.zip(last_binding) {
        Some((number, binding)) => !wal::has_groups(&**storage, binding, number)?,
        None => true,
    };
    for name in strays {
        let goes_on = match parse_file_name(name) {
            Some((number, FileKind::Log)) => wal::header(&**storage, number)?.is_some_and(|header| {
                let before = wal::previous(&header).map(|previous| previous.number);
                state.knows(header.binding) || before.map_or(is_empty, |before| Some(before) == last)
            }),
            Some((number, FileKind::Values)) => {
                ValueFile::binding_of(&**storage, number)?.is_some_and(|binding| state.knows(binding))
            }
            Some((_, FileKind::Table)) => {
                let table = Table::open((Arc::clone(storage), name), &TableOptions::default())?;
                let openings = table.property(OPENINGS_PROPERTY).and_then(Openings::decode);
                openings.is_some_and(|found| state.knows(StoreBinding { store: state.owner, nonce: found.nonce }))
            }
            _ => false,
        };
        if goes_on {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unchanged() -> RepairReport {
    RepairReport { is_loss_known: true, ..RepairReport::default() }
}

/// A missing file that the manifest names, if there are newer unreferenced files: then the manifest is probably
/// outdated, and these files are valid.
fn missing_named_file(storage: &Arc<dyn Storage>, state: &ManifestState) -> Result<Option<String>> {
    let tables = state.tables().map(|(_, _, table)| (table.number, FileKind::Table));
    let values = state.value_files.keys().map(|&number| (number, FileKind::Values));
    let logs = state.logs.iter().map(|&number| (number, FileKind::Log));
    let named: BTreeSet<(u64, FileKind)> = tables.chain(values).chain(logs).collect();
    let there: BTreeSet<(u64, FileKind)> = storage.list()?.iter().filter_map(|name| parse_file_name(name)).collect();
    let Some(&(missing, kind)) = named.difference(&there).next() else { return Ok(None) };
    for &newer in there.difference(&named).filter(|&&(number, _)| number > missing) {
        if is_of_store(storage, state, newer)? {
            return Ok(Some(file_name(missing, kind)));
        }
    }
    Ok(None)
}

/// Whether a file is a table of the store, or a log that is not older than those needed.
fn is_of_store(storage: &Arc<dyn Storage>, state: &ManifestState, (number, kind): (u64, FileKind)) -> Result<bool> {
    match kind {
        FileKind::Table => is_table_of(storage, &file_name(number, kind), state.owner),
        FileKind::Log if number >= state.oldest_log => {
            let header = wal::header(&**storage, number)?;
            Ok(header.is_some_and(|header| header.binding.store == state.owner && header.number == number))
        }
        _ => Ok(false),
    }
}

/// The context of a repair.
#[derive(Debug)]
pub(super) struct RepairContext {
    pub(super) storage: Arc<dyn Storage>,
    /// The identity to which new files are bound.
    pub(super) binding: StoreBinding,
    pub(super) options: DbOptions,
    pub(super) next_file: AtomicU64,
    stop: AtomicBool,
    pub(super) evidence: Arc<ValueEvidence>,
    pub(super) recovered_count: Arc<RecoveredCount>,
    /// The statements of keyspaces for their tables.
    pub(super) keyspaces: BTreeMap<KeyspaceId, KeyspaceStatement>,
    /// Value files whose values are copied to new ones.
    pub(super) collected: CollectedFiles,
}

impl RepairContext {
    pub(super) fn new(
        storage: &Arc<dyn Storage>,
        binding: StoreBinding,
        next_file: u64,
        evidence: ValueEvidence,
    ) -> Self {
        let suspect = evidence.suspect.iter();
        let collected =
            suspect.filter_map(|number| Some((*number, Arc::clone(evidence.values.get(number)?)))).collect();
        Self {
            storage: Arc::clone(storage),
            binding,
            options: DbOptions::for_verification(),
            next_file: AtomicU64::new(next_file),
            stop: AtomicBool::new(false),
            evidence: Arc::new(evidence),
            recovered_count: Arc::default(),
            keyspaces: BTreeMap::new(),
            collected,
        }
    }

    pub(super) fn next_file(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }

    /// A cursor over the readable entries of a table.
    pub(super) fn recovering_cursor(&self, file: &Arc<TableFile>) -> Box<dyn EntryCursor> {
        Box::new(RecoveringCursor::new(file, &self.evidence, &self.recovered_count))
    }

    /// Writes entries to new tables of a level.
    pub(super) fn write(
        &self,
        cursor: Box<dyn EntryCursor>,
        tombstones: Vec<Arc<RangeTombstones>>,
        (origin, level): (TableOrigin, usize),
        below: LevelsBelow,
    ) -> Result<JobOutput> {
        let statement = self.keyspaces.get(&origin.keyspace).cloned().unwrap_or_default();
        let options = self.options.of_keyspace(&statement.options);
        let context = JobContext {
            storage: &self.storage,
            binding: self.binding,
            options: &options,
            form: TableForm::usual(&options),
            learner: None,
            numbers: self,
            memory_bytes: self.options.job_bytes(),
            origin,
            statement: &statement,
            stop: &self.stop,
        };
        let job = MergeJob {
            cursor,
            tombstones,
            level,
            cuts: None,
            snapshots: &[],
            expired_by_ms: 0,
            below,
            collected: &self.collected,
            separated_from_bytes: u64::MAX,
            part: JobRange::default(),
        };
        let mut outcome = run_job(&context, job)?;
        for meta in &mut outcome.tables {
            let name = Self::table_name(meta.number);
            meta.file_id = Some(Table::open((Arc::clone(&self.storage), &name), &TableOptions::default())?.file_id());
        }
        Ok(outcome)
    }

    /// Replays the readable operations of a log into memtables, by keyspace, except those whose values are lost and
    /// those at or below the `known` sequence numbers, which are in tables.
    pub(super) fn read_log(
        &self,
        (binding, number): (StoreBinding, u64),
        known: &BTreeMap<KeyspaceId, Sequence>,
        memtables: &mut RecoveredMemtables,
    ) -> Result<()> {
        wal::recover_groups(&*self.storage, binding, number, &mut |group, _| {
            let Some(operations) = decode_group(group) else { return Ok(false) };
            let bytes = Arc::new(group.to_vec());
            for operation in operations {
                if known.get(&operation.keyspace).is_some_and(|&newest| operation.sequence <= newest) {
                    continue;
                }
                if let Some((_, pointer)) = operation.pointer(group)
                    && !self.is_intact(binding, pointer)?
                {
                    self.evidence.lost.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                memtables.last_sequence = memtables.last_sequence.max(operation.sequence);
                memtables.entries += 1;
                let memtable = memtables.by_keyspace.entry(operation.keyspace).or_default();
                if !memtable.last().is_some_and(|memtable| memtable.add(&bytes, std::slice::from_ref(&operation))) {
                    let fresh = Memtable::new();
                    // An empty memtable has room.
                    let _ = fresh.add(&bytes, std::slice::from_ref(&operation));
                    memtable.push(Arc::new(fresh));
                }
            }
            Ok(true)
        })
    }

    /// Whether the value of a log's entry is intact, in a file of the same opening.
    fn is_intact(&self, binding: StoreBinding, pointer: &[u8]) -> Result<bool> {
        let Some(pointer) = ValueFilePointer::decode(pointer) else { return Ok(false) };
        let file = self.evidence.values.get(&pointer.file).filter(|file| file.binding() == binding);
        file.map_or(Ok(false), |file| file.is_intact(&pointer))
    }

    /// The name of a table.
    pub(super) fn table_name(number: u64) -> String {
        file_name(number, FileKind::Table)
    }
}

impl FileNumberSource for RepairContext {
    fn take_number(&self) -> Result<u64> {
        Ok(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    fn nonce_of_values(&self, number: u64) -> Option<u64> {
        self.evidence.values.get(&number).map(|file| file.binding().nonce)
    }
}

/// The entries recovered from logs.
#[derive(Debug, Default)]
pub(super) struct RecoveredMemtables {
    /// By keyspace, oldest first; usually one each.
    pub(super) by_keyspace: BTreeMap<KeyspaceId, Vec<Arc<Memtable>>>,
    pub(super) last_sequence: Sequence,
    pub(super) entries: u64,
}

/// Opens all readable value files, by number.
pub(super) fn open_values(
    names: &[String],
    open: impl Fn(u64) -> Result<ValueFile>,
) -> Result<BTreeMap<u64, Arc<ValueFile>>> {
    let mut values = BTreeMap::new();
    for name in names {
        if let Some((number, FileKind::Values)) = parse_file_name(name) {
            match open(number) {
                Ok(file) => _ = values.insert(number, Arc::new(file)),
                Err(error) if finding_of(&error).is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(values)
}
