//! Archiving: the changes of a store since the last run become segments beside its backups, which they lead on from.
//!
//! The store keeps its changes for a subscriber until they are archived. A run goes on behind the newest segment; where
//! it cannot, since there is none, or the store has forgotten changes meanwhile, a *chain* of segments begins with a
//! new backup. A restored store has no subscriber, so it never goes on with the chain of the store that it copies.

use super::catalog::{self, Catalog, folder};
use super::moments::{ArchiveSummary, ArchivedMoment};
use super::segment::{
    ArchiveWriter, SegmentHead, SegmentInfo, SegmentReader, is_unfinished, segment_name, segment_number,
};
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::{Storage, remove_if_present, unix_time_ms};
use crate::lsm::changes::schema::schema;
use crate::lsm::{Change, ChangePosition, Db, DbChanges, DbOptions};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A run ends a segment once it has this many bytes.
const SEGMENT_BYTES: u64 = 64 << 20;

/// The memory of a reader of the store, in bytes: that of its longest value.
const MEMORY_BYTES: u64 = 1 << 30;

/// Attempts to read changes while the types of keyspaces stay as they are.
const TRIES_MAX: u32 = 16;

/// The options of a reader of stores and backups.
pub(super) fn reader_options() -> DbOptions {
    DbOptions::default().memory_bytes(MEMORY_BYTES).threads(0)
}

/// The segments of an archive by number, with the errors of those that cannot be read.
pub(super) type Segments = BTreeMap<u64, Result<SegmentInfo>>;

/// Reads the heads and the ends of all segments.
///
/// # Errors
/// Errors of the storage, but no damage.
pub(super) fn segments(storage: &dyn Storage) -> Result<Segments> {
    let mut found = Segments::new();
    for number in storage.list()?.iter().filter_map(|name| segment_number(name)) {
        match SegmentReader::info(storage, number) {
            Err(error) if !matches!(error.cause, Cause::Damaged | Cause::Version { .. }) => return Err(error),
            info => _ = found.insert(number, info),
        }
    }
    Ok(found)
}

/// A run of an archive, from its place in the changes of the store.
pub(super) struct ArchiveRun<'a> {
    storage: &'a Arc<dyn Storage>,
    source: &'a Arc<dyn Storage>,
    db: Db,
    subscriber: &'a str,
    /// The newest segment when the run began; 0 if there was none.
    newest: u64,
    since: u64,
    /// The chain that goes on; `None` for a new one.
    chain: Option<u64>,
    after_backup: u64,
}

impl<'a> ArchiveRun<'a> {
    /// Finds where the archive goes on. With `begins_chains`, a chain begins here if it cannot; otherwise that is an
    /// error.
    ///
    /// # Errors
    /// [`Cause::Input`] if a chain would begin; [`Cause::ChangesGone`]; errors of the storages.
    pub(super) fn begin(
        storage: &'a Arc<dyn Storage>,
        source: &'a Arc<dyn Storage>,
        subscriber: &'a str,
        begins_chains: bool,
    ) -> Result<Self> {
        let db = Db::open_read_only(Arc::clone(source), &reader_options())?;
        let catalog = Catalog::read(&**storage)?;
        catalog.check_purpose(&**storage)?;
        catalog.check_store(&**storage, db.identity())?;
        let after_backup = catalog.records.keys().next_back().copied().unwrap_or(0);
        let segments = segments(&**storage)?;
        let newest = segments.keys().next_back().copied().unwrap_or(0);
        let mut run = Self { storage, source, db, subscriber, newest, since: 0, chain: None, after_backup };
        let known = run.db.subscribers()?.contains_key(subscriber);
        let last = segments.into_values().next_back();
        match last {
            Some(Ok(last)) if known && last.head.store == run.db.identity() => {
                (run.since, run.chain, run.after_backup) =
                    (last.end.end, Some(last.head.chain), last.head.after_backup);
                match run.changes()?.next().transpose() {
                    Err(Error { cause: Cause::ChangesGone { .. } | Cause::Input, .. }) if begins_chains => {}
                    Err(error) => return Err(error),
                    Ok(_) => return Ok(run),
                }
            }
            _ if begins_chains => {}
            Some(Err(damaged)) => return Err(damaged),
            _ => return Err(run.no_chain()),
        }
        // What was kept for a chain that ended is not needed any more.
        run.db.unsubscribe(subscriber)?;
        (run.since, run.chain, run.after_backup) = (run.db.subscribe(subscriber)?.number(), None, after_backup);
        Ok(run)
    }

    fn no_chain(&self) -> Error {
        let folder = folder(&**self.storage);
        let error = Error::input(format!(
            "{} has no archive that goes on with the changes of {} for the subscriber {:?}; make a backup that \
             archives them, which begins one",
            folder.display(),
            self.source.path("").display(),
            self.subscriber
        ));
        error.advise(Advice::Use(Call::ArchiveLogs))
    }

    fn changes(&self) -> Result<DbChanges> {
        self.db.changes_since(ChangePosition::of(self.db.identity(), self.since))
    }

    /// Writes all changes that there are now to segments, and lets the store forget them.
    ///
    /// # Errors
    /// [`Cause::Locked`]; [`Cause::ChangesGone`]; errors of the storages. The segments that are complete stay.
    pub(super) fn run(mut self, wait: Duration) -> Result<ArchiveSummary> {
        let _lock = catalog::lock(&**self.storage, wait)?;
        self.remove_unfinished()?;
        let found = segments(&**self.storage)?;
        // Another run has ended meanwhile.
        if let Some(Ok(last)) = found
            .into_values()
            .next_back()
            .filter(|last| last.as_ref().is_ok_and(|last| last.head.number > self.newest))
        {
            (self.newest, self.since) = (last.head.number, last.end.end);
            (self.chain, self.after_backup) = (Some(last.head.chain), last.head.after_backup);
        }
        let began = self.chain.is_none();
        let (mut segments, mut bytes, mut batches) = (0, 0, 0);
        loop {
            let (info, is_last) = self.write_segment()?;
            (self.newest, self.since, self.chain) = (info.head.number, info.end.end, Some(info.head.chain));
            (segments, bytes, batches) = (segments + 1, bytes + info.bytes, batches + info.end.batches);
            if is_last {
                let moment = moment(&info);
                self.db.acknowledge(self.subscriber, &moment.position)?;
                return Ok(ArchiveSummary { moment, segments, bytes, batches, began });
            }
        }
    }

    /// Removes what killed runs have left.
    fn remove_unfinished(&self) -> Result<()> {
        let names = self.storage.list()?;
        names.iter().filter(|name| is_unfinished(name)).try_for_each(|name| remove_if_present(&**self.storage, name))
    }

    /// Writes the next segment; returns whether it has all changes that there are.
    fn write_segment(&self) -> Result<(SegmentInfo, bool)> {
        for _ in 0..TRIES_MAX {
            let keyspaces = schema(self.source, self.since)?;
            let number = self.newest + 1;
            let chain = self.chain.unwrap_or(number);
            let head = SegmentHead {
                store: self.db.identity(),
                number,
                chain,
                after_backup: self.after_backup,
                start: self.since,
            };
            let mut writer = ArchiveWriter::create(self.storage, head, &keyspaces)?;
            let (mut changes, mut end, mut is_last) = (self.changes()?, self.since, true);
            for batch in &mut changes {
                let batch = batch?;
                let is_divisible = batch.changes.iter().any(|change| matches!(change, Change::Ingest { .. }));
                writer.batch(batch.position.number(), is_divisible)?;
                batch.changes.iter().try_for_each(|change| writer.change(change))?;
                end = batch.position.number();
                if writer.len_bytes() >= SEGMENT_BYTES {
                    is_last = false;
                    break;
                }
            }
            if is_last {
                end = changes.position().map_or(end, |position| position.number());
            }
            // Values are of the types that their keyspace had when they were read.
            if schema(self.source, self.since)? == keyspaces {
                return Ok((writer.finish(end, unix_time_ms())?, is_last));
            }
        }
        Err(Error::input("the types of keyspaces change faster than their records can be archived; try again"))
    }
}

/// The moment to which a segment leads.
pub(super) fn moment(info: &SegmentInfo) -> ArchivedMoment {
    ArchivedMoment {
        position: ChangePosition::of(info.head.store, info.end.end),
        made_ms: info.end.made_ms,
        segment: info.head.number,
    }
}

/// The position of a backup in the changes of its store.
///
/// # Errors
/// Damage of the backup; errors of the storage.
pub(super) fn position_of(storage: &Arc<dyn Storage>, catalog: &Catalog, number: u64) -> Result<u64> {
    let Some(record) = catalog.records.get(&number) else {
        return Err(Error::input(format!("{} contains no backup {number}", folder(&**storage).display())));
    };
    Ok(Db::open_read_only(record.image(storage)?.files, &reader_options())?.newest_position().number())
}

/// Removes the segments that no backup leads to any more, but for the newest one, behind which the archive goes on;
/// returns their number. While something is damaged, nothing is removed.
///
/// # Errors
/// Errors of the storage.
pub(super) fn expire(storage: &Arc<dyn Storage>) -> Result<u64> {
    let segments = segments(&**storage)?;
    let catalog = Catalog::read(&**storage)?;
    let Some(&oldest) = catalog.records.keys().next() else { return Ok(0) };
    if segments.len() < 2 || !catalog.damaged.is_empty() || segments.values().any(Result::is_err) {
        return Ok(0);
    }
    let position = position_of(storage, &catalog, oldest)?;
    let infos: Vec<SegmentInfo> = segments.into_values().flatten().collect();
    let mut removed = 0;
    for (at, info) in infos.iter().enumerate().take(infos.len() - 1) {
        // The backups of a chain are older than the next chain.
        let next_chain = infos[at..].iter().find(|later| later.head.chain != info.head.chain);
        let is_of_oldest = next_chain.is_none_or(|next| next.head.after_backup >= oldest);
        let is_needed = is_of_oldest && (info.end.end > position || info.head.after_backup >= oldest);
        if is_needed {
            continue;
        }
        remove_if_present(&**storage, &segment_name(info.head.number))?;
        removed += 1;
    }
    if removed > 0 {
        storage.sync_directory()?;
    }
    Ok(removed)
}

/// The finding of a segment: its name, and what is wrong.
pub(super) fn finding(number: u64, error: &Error) -> (String, String) {
    (segment_name(number), error.message())
}

/// Reads all segments; returns those that are damaged, and those that are missing between others.
///
/// # Errors
/// Errors of the storage.
pub(super) fn verify(storage: &Arc<dyn Storage>) -> Result<Vec<(String, String)>> {
    let (mut findings, mut before): (Vec<_>, Option<SegmentInfo>) = (Vec::new(), None);
    for (number, info) in segments(&**storage)? {
        let read = match &info {
            Ok(info) => check(storage, info).err(),
            Err(_) => None,
        };
        let missing = before
            .zip(info.as_ref().ok())
            .is_some_and(|(before, info)| before.head.chain == info.head.chain && before.head.number + 1 < number);
        if missing {
            findings.push((segment_name(number - 1), "it is missing".to_owned()));
        }
        findings.extend(read.iter().chain(info.as_ref().err()).map(|error| finding(number, error)));
        before = info.ok();
    }
    Ok(findings)
}

/// Reads a whole segment.
///
/// # Errors
/// Its damage; errors of the storage.
pub(super) fn check(storage: &Arc<dyn Storage>, info: &SegmentInfo) -> Result<()> {
    let mut reader = SegmentReader::open(&**storage, info.head.number)?;
    while reader.next()?.is_some() {}
    Ok(())
}
