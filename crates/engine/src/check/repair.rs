//! Making a damaged store sound: what both ways of it share.
//!
//! Where the manifest is sound, only what is damaged is written anew (`mend`). Where it is lost, everything is (`rebuild`).

use super::report::folder;
use super::salvage::{Evidence, Salvage, Shown};
use super::verify::{Progress, survey};
use super::{foreign, mend, rebuild};
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::lsm::compact::{Below, Collected, CompactJob, JobContext, Outcome, Part, run_job};
use crate::lsm::cursor::Cursor;
use crate::lsm::entry::{Action, KeyspaceId, Kind, Sequence, decode_group};
use crate::lsm::memtable::Memtable;
use crate::lsm::numbers::NumberSource;
use crate::lsm::removals::Removals;
use crate::lsm::table_file::{OPENINGS_PROPERTY, Openings, Origin, TableFile};
use crate::lsm::unnamed::{Unnamed, is_table_of};
use crate::lsm::version::{FileKind, Recovered, State, file_name, parse_file_name, recover, remove_leftovers};
use crate::lsm::{DbOptions, LOCK_NAME, wal};
use crate::table::{OpenOptions, Table};
use crate::vlog::{ValueFile, ValuePlace};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What was done to a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The files that were damaged or missing; none where nothing had to be done. A lost manifest, whose number nobody knows, is
    /// `*.manifest`.
    pub damaged_files: Vec<String>,
    /// Files of another store, or of a copy of this one that went on by itself. What they hold was not taken; they are still there,
    /// with `.foreign` behind their names.
    pub foreign_files: Vec<String>,
    /// Entries that were saved out of them, and out of what had to be written anew with them.
    pub saved_entries: u64,
    /// Entries that are known to be lost: those of tables alone can be counted, and entries whose values are lost.
    pub lost_entries: u64,
    /// Whether nothing else can be lost. It is not known what a damaged log held behind its last sound group, nor, without a manifest, which
    /// files there were.
    pub is_loss_known: bool,
    /// Whether the manifest was lost, or older than other files. If it was lost, keyspaces but the default one have numbers for names; in
    /// either case removed entries may be there again, and where a file that a compaction had replaced was still in the folder, an
    /// older value may stand for the newest.
    pub manifest_rebuilt: bool,
}

/// Stands for a manifest that is missing: nobody knows its number.
const NO_MANIFEST: &str = "*.manifest";

/// Makes a damaged store that nobody has open sound: it keeps all that checksums prove, and loses the rest. Damaged files are
/// removed, so keep a copy of the folder. Where the newest entry of a key is lost, an older one may show.
///
/// `progress` is told how many bytes are done, and of how many.
///
/// # Errors
/// [`Error::NotAStore`]; [`Error::Locked`] while another process has it open; [`Error::UnknownVersion`]; whatever the storage
/// reports. The store is as it was then, but for further files that the next repair removes.
pub fn repair_store(storage: &Arc<dyn Storage>, progress: &mut dyn FnMut(u64, u64)) -> Result<Repaired> {
    let names = storage.list()?;
    if !names.iter().any(|name| parse_file_name(name).is_some()) {
        let detail = "no file in it is part of one; check the path".to_owned();
        return Err(Error::NotAStore { path: folder(&**storage), detail });
    }
    let lock = storage.lock(LOCK_NAME)?;
    remove_leftovers(&**storage)?;
    let repaired = repair(storage, &names, progress);
    drop(lock);
    repaired
}

fn repair(storage: &Arc<dyn Storage>, names: &[String], progress: Progress<'_>) -> Result<Repaired> {
    match recover(&**storage) {
        Ok(Some(recovered)) => {
            let unnamed = Unnamed::find(storage, &recovered.state)?;
            if let Err(error) = unnamed.check(&**storage) {
                let strays: Vec<String> = unnamed.strays.into_iter().map(|stray| stray.name).collect();
                return repair_among(storage, names, (recovered, strays, error), progress);
            }
            let again = recover(&**storage)?;
            let report = survey(storage, recovered, names, progress)?;
            let Some(again) = again.filter(|_| !report.is_sound()) else { return Ok(nothing_done()) };
            match superseded(storage, &again.state)? {
                Some(missing) => {
                    let error = Error::damaged(storage.path(&missing), 0, "a file that the manifest names is missing");
                    rebuild::rebuild(storage, names, (error, vec![missing]), Some(&again.state))
                }
                None => mend::mend(storage, again, &report),
            }
        }
        Ok(None) => Ok(nothing_done()),
        Err(error @ Error::Damaged { .. }) => {
            let has_manifest = names.iter().any(|name| matches!(parse_file_name(name), Some((_, FileKind::Manifest))));
            let file = if has_manifest { rebuild::file_of(&error) } else { NO_MANIFEST.to_owned() };
            rebuild::rebuild(storage, names, (error, vec![file]), None)
        }
        Err(error) => Err(error),
    }
}

/// Repairs a store with files that its manifest does not name, and that no crash has left. Either they come from a copy, or the manifest is
/// not the newest. Where they do not go on from what it names, and all that is whole, they are set aside, and nothing else is done: taken
/// for the store's own, they would displace what the manifest leads to.
fn repair_among(
    storage: &Arc<dyn Storage>,
    names: &[String],
    (recovered, strays, error): (Recovered, Vec<String>, Error),
    progress: Progress<'_>,
) -> Result<Repaired> {
    let state = recovered.state.clone();
    if !go_on(storage, &state, &strays)? {
        let report = survey(storage, recovered, names, progress)?;
        let is_stray = |file: &String| strays.contains(file);
        if report.further_findings == 0 && report.findings.iter().all(|finding| is_stray(&finding.file)) {
            foreign::set_aside(&**storage, &strays)?;
            return Ok(Repaired { foreign_files: strays, ..nothing_done() });
        }
    }
    // What the manifest says of files counts no more, but for the names of keyspaces.
    rebuild::rebuild(storage, names, (error, strays), Some(&state))
}

/// Whether some of these files were written behind all that a state names, in the same history of openings: by an opening that it knows,
/// or by one that began its log behind the last one that it names. A log that names none before it was begun behind an empty one.
fn go_on(storage: &Arc<dyn Storage>, state: &State, strays: &[String]) -> Result<bool> {
    let last = state.logs.iter().max().copied();
    let last_bond = last.map_or(Ok(None), |number| wal::header(&**storage, number))?.map(|header| header.bond);
    let is_empty = match last.zip(last_bond) {
        Some((number, bond)) => !wal::has_groups(&**storage, bond, number)?,
        None => true,
    };
    for name in strays {
        let goes_on = match parse_file_name(name) {
            Some((number, FileKind::Log)) => wal::header(&**storage, number)?.is_some_and(|header| {
                let before = wal::previous(&header).map(|previous| previous.number);
                state.knows(header.bond) || before.map_or(is_empty, |before| Some(before) == last)
            }),
            Some((number, FileKind::Values)) => {
                ValueFile::bond_of(&**storage, number)?.is_some_and(|bond| state.knows(bond))
            }
            Some((_, FileKind::Table)) => {
                let table = Table::open(Arc::clone(storage), name, &OpenOptions::default())?;
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

fn nothing_done() -> Repaired {
    Repaired { is_loss_known: true, ..Repaired::default() }
}

/// A file that the manifest names and that is missing, where younger ones are there that it does not name: then it is out of date, as
/// far as can be told, and they count.
fn superseded(storage: &Arc<dyn Storage>, state: &State) -> Result<Option<String>> {
    let tables = state.tables().map(|(_, _, table)| (table.number, FileKind::Table));
    let values = state.value_files.keys().map(|&number| (number, FileKind::Values));
    let logs = state.logs.iter().map(|&number| (number, FileKind::Log));
    let named: BTreeSet<(u64, FileKind)> = tables.chain(values).chain(logs).collect();
    let there: BTreeSet<(u64, FileKind)> = storage.list()?.iter().filter_map(|name| parse_file_name(name)).collect();
    let Some(&(missing, kind)) = named.difference(&there).next() else { return Ok(None) };
    for &(number, found) in there.difference(&named).filter(|&&(number, _)| number > missing) {
        let counts = match found {
            FileKind::Table => is_table_of(storage, &file_name(number, found), state.owner)?,
            FileKind::Log if number >= state.oldest_log => {
                let header = wal::header(&**storage, number)?;
                header.is_some_and(|header| header.bond.store == state.owner && header.number == number)
            }
            _ => false,
        };
        if counts {
            return Ok(Some(file_name(missing, kind)));
        }
    }
    Ok(None)
}

/// What a repair works with.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) storage: Arc<dyn Storage>,
    /// What new files are bound to.
    pub(super) bond: StoreBinding,
    pub(super) options: DbOptions,
    pub(super) next_file: AtomicU64,
    stop: AtomicBool,
    pub(super) evidence: Arc<Evidence>,
    pub(super) shown: Arc<Shown>,
    /// Value files whose values are copied to new ones.
    pub(super) collected: Collected,
}

impl Bench {
    pub(super) fn new(storage: &Arc<dyn Storage>, bond: StoreBinding, next_file: u64, evidence: Evidence) -> Self {
        let suspect = evidence.suspect.iter();
        let collected =
            suspect.filter_map(|number| Some((*number, Arc::clone(evidence.values.get(number)?)))).collect();
        Self {
            storage: Arc::clone(storage),
            bond,
            options: DbOptions::for_walks(),
            next_file: AtomicU64::new(next_file),
            stop: AtomicBool::new(false),
            evidence: Arc::new(evidence),
            shown: Arc::default(),
            collected,
        }
    }

    pub(super) fn next_file(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }

    /// What can be read of a table.
    pub(super) fn salvage(&self, file: &Arc<TableFile>) -> Box<dyn Cursor> {
        Box::new(Salvage::new(file, &self.evidence, &self.shown))
    }

    /// Writes entries to new tables for a level.
    pub(super) fn write(
        &self,
        cursor: Box<dyn Cursor>,
        removals: Vec<Arc<Removals>>,
        (origin, level): (Origin, usize),
        below: Below,
    ) -> Result<Outcome> {
        let context = JobContext {
            storage: &self.storage,
            bond: self.bond,
            options: &self.options,
            numbers: self,
            memory_bytes: self.options.job_bytes(),
            origin,
            stop: &self.stop,
        };
        let job = CompactJob {
            cursor,
            removals,
            level,
            cuts: None,
            snapshots: &[],
            below,
            collected: &self.collected,
            part: Part::default(),
        };
        let mut outcome = run_job(&context, job)?;
        for meta in &mut outcome.tables {
            let name = Self::table_name(meta.number);
            meta.file_id = Some(Table::open(Arc::clone(&self.storage), &name, &OpenOptions::default())?.file_id());
        }
        Ok(outcome)
    }

    /// Puts the operations of a log that can be read into memtables, by keyspace, without those whose values are lost, and those that
    /// are `known` to be in tables.
    pub(super) fn read_log(
        &self,
        (bond, number): (StoreBinding, u64),
        known: &BTreeMap<KeyspaceId, Sequence>,
        memtables: &mut Memtables,
    ) -> Result<()> {
        wal::salvage(&*self.storage, bond, number, &mut |group, _| {
            let Some(operations) = decode_group(group) else { return Ok(false) };
            let bytes = Arc::new(group.to_vec());
            for operation in operations {
                if known.get(&operation.keyspace).is_some_and(|&newest| operation.sequence <= newest) {
                    continue;
                }
                if operation.action == Action::Put(Kind::Pointer) && !self.is_whole(bond, operation.parts(group).1)? {
                    self.evidence.lost.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                memtables.last_sequence = memtables.last_sequence.max(operation.sequence);
                memtables.entries += 1;
                let memtable = memtables.by_keyspace.entry(operation.keyspace).or_default();
                if !memtable.last().is_some_and(|memtable| memtable.add(&bytes, std::slice::from_ref(&operation))) {
                    let fresh = Memtable::new();
                    // An empty one has room.
                    let _ = fresh.add(&bytes, std::slice::from_ref(&operation));
                    memtable.push(Arc::new(fresh));
                }
            }
            Ok(true)
        })
    }

    /// Whether the value that an entry of a log points to is whole: it lies in a file of the same opening.
    fn is_whole(&self, bond: StoreBinding, pointer: &[u8]) -> Result<bool> {
        let Some(place) = ValuePlace::decode(pointer) else { return Ok(false) };
        let file = self.evidence.values.get(&place.file).filter(|file| file.bond() == bond);
        file.map_or(Ok(false), |file| file.is_whole(&place))
    }

    /// The name of a table.
    pub(super) fn table_name(number: u64) -> String {
        file_name(number, FileKind::Table)
    }
}

impl NumberSource for Bench {
    fn take_number(&self) -> Result<u64> {
        Ok(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    fn nonce_of_values(&self, number: u64) -> Option<u64> {
        self.evidence.values.get(&number).map(|file| file.bond().nonce)
    }
}

/// What was read of logs.
#[derive(Debug, Default)]
pub(super) struct Memtables {
    /// By keyspace, oldest first: one, unless it was full.
    pub(super) by_keyspace: BTreeMap<KeyspaceId, Vec<Arc<Memtable>>>,
    pub(super) last_sequence: Sequence,
    pub(super) entries: u64,
}

/// Opens all value files that can be opened, by number.
pub(super) fn open_values(
    names: &[String],
    open: impl Fn(u64) -> Result<ValueFile>,
) -> Result<BTreeMap<u64, Arc<ValueFile>>> {
    let mut values = BTreeMap::new();
    for name in names {
        if let Some((number, FileKind::Values)) = parse_file_name(name) {
            match open(number) {
                Ok(file) => _ = values.insert(number, Arc::new(file)),
                Err(error) if super::report::complaint(&error).is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(values)
}
