//! A follower: its place in the history of a store, and the changes behind it.

use super::followed_objects::FollowedObjects;
use super::history::{HistoryEvent, HistoryLog, StoreHistory, UnreadChanges};
use crate::error::{Cause, Error, Result};
use crate::io::ReadableFile;
use crate::lsm::core::store::Core;
use crate::lsm::core::wal;
use crate::lsm::state::changes::position::ChangePosition;
use crate::lsm::state::entry::{Action, Entry, KeyspaceId, Operation, Sequence, ValueKind, decode_group};
use crate::lsm::state::expiry::store_time::system_time_of;
use crate::lsm::state::keyspace_tree::{KeyspaceTree, is_of_store};
use crate::lsm::state::tables::table_file::SCAN_READ_AHEAD_BYTES;
use crate::lsm::state::version::FileKind;
use crate::table::{Table, TableCursor};
use crate::types::RecordType;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::SystemTime;

/// A follower reads on once it has handed out what it has, in steps of about this many bytes.
const READ_BYTES: usize = 1 << 20;

/// Changes, and the types of their keyspaces by name.
type TypedChanges = (Vec<Change>, BTreeMap<Arc<str>, Arc<RecordType>>);

/// A key and its value.
type KeyAndValue = (Vec<u8>, Vec<u8>);

/// The changes of one batch, ingestion or drop of a keyspace: all of them took place at once.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangeBatch {
    /// The position behind it.
    pub position: ChangePosition,
    /// The changes, in their order. Several of a batch may concern one key.
    pub changes: Vec<Change>,
    types: BTreeMap<Arc<str>, Arc<RecordType>>,
}

impl ChangeBatch {
    /// The types of the keys and values of a keyspace that it changes: those that the keyspace has now, or had when it
    /// was dropped. Another one of its name may have others. `None` for a keyspace that it does not change.
    #[must_use]
    pub fn types(&self, keyspace: &str) -> Option<&Arc<RecordType>> {
        self.types.get(keyspace)
    }
}

/// A change of a keyspace, which is given by its name, and of its [types](ChangeBatch::types).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A key was set to a value.
    Insert {
        /// The name of the keyspace.
        keyspace: Arc<str>,
        /// The key.
        key: Vec<u8>,
        /// The value.
        value: Vec<u8>,
        /// The time at which the record expires, if it does: expiry itself is no change.
        expires: Option<SystemTime>,
    },
    /// A key was removed, whether it was there or not.
    Remove {
        /// The name of the keyspace.
        keyspace: Arc<str>,
        /// The key.
        key: Vec<u8>,
    },
    /// All keys of a range were removed.
    RemoveRange {
        /// The name of the keyspace.
        keyspace: Arc<str>,
        /// The first key of the range.
        start: Vec<u8>,
        /// The first key behind the range; `None` if it has no end.
        end: Option<Vec<u8>>,
    },
    /// Tables were ingested.
    Ingest {
        /// The name of the keyspace.
        keyspace: Arc<str>,
        /// The tables, whose records are read on demand.
        tables: IngestedTables,
    },
    /// The keyspace was dropped, with all its records.
    DropKeyspace {
        /// The name of the keyspace.
        keyspace: Arc<str>,
    },
}

impl Change {
    /// The name of the keyspace that it concerns.
    #[must_use]
    pub fn keyspace(&self) -> &str {
        match self {
            Self::Insert { keyspace, .. }
            | Self::Remove { keyspace, .. }
            | Self::RemoveRange { keyspace, .. }
            | Self::Ingest { keyspace, .. }
            | Self::DropKeyspace { keyspace } => keyspace,
        }
    }
}

/// The tables of an ingestion.
#[derive(Clone)]
pub struct IngestedTables {
    tables: Vec<Arc<Table>>,
    tree: Arc<KeyspaceTree>,
}

impl IngestedTables {
    /// Their records, table by table: keys and values. If two tables have a key, the later record counts. Items are
    /// errors of the storage, and damage.
    pub fn records(&self) -> Box<dyn Iterator<Item = Result<KeyAndValue>> + Send> {
        let tree = Arc::clone(&self.tree);
        let of_table = move |table: Arc<Table>| {
            let cursor = table.compaction_cursor(SCAN_READ_AHEAD_BYTES);
            TableRecords { cursor, is_begun: false, tree: Arc::clone(&tree) }
        };
        Box::new(self.tables.clone().into_iter().flat_map(of_table))
    }
}

impl Debug for IngestedTables {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("IngestedTables").field("tables", &self.tables.len()).finish_non_exhaustive()
    }
}

/// The records of one of them.
struct TableRecords {
    cursor: TableCursor,
    is_begun: bool,
    tree: Arc<KeyspaceTree>,
}

impl Iterator for TableRecords {
    type Item = Result<KeyAndValue>;

    fn next(&mut self) -> Option<Self::Item> {
        let moved = if self.is_begun { self.cursor.next() } else { self.cursor.first() };
        self.is_begun = true;
        if let Err(error) = moved {
            return Some(Err(error));
        }
        let entry = self.cursor.entry()?;
        let value = self.tree.delivered(None, entry.value);
        Some(value.map(|value| (entry.key.to_vec(), value.into_owned())))
    }
}

/// The place of a follower, and the batches that it has read ahead.
#[derive(Debug)]
pub(in crate::lsm) struct Follower {
    /// The newest change that it has; `None` before the first, if it begins with the oldest one that is left.
    at: Option<Sequence>,
    /// The log that it reads, and its place there.
    log: u64,
    offset: u64,
    ready: VecDeque<ChangeBatch>,
    /// The newest change that it has handed out.
    handed_out: Option<Sequence>,
    /// Whether it has handed out nothing, and may begin behind a gap.
    may_skip: bool,
    /// What it knows of an object store.
    objects: FollowedObjects,
}

impl Follower {
    /// A follower that begins behind a change, or with the oldest one that is left.
    pub(in crate::lsm) fn new(after: Option<Sequence>) -> Self {
        let (may_skip, objects) = (after.is_none(), FollowedObjects::default());
        Self { at: after, log: 0, offset: 0, ready: VecDeque::new(), handed_out: after, may_skip, objects }
    }

    /// A follower that begins behind what is in tables, on an object store.
    pub(in crate::lsm) fn of_unflushed() -> Self {
        let objects = FollowedObjects { begins_at_base: true, ..FollowedObjects::default() };
        Self { objects, ..Self::new(None) }
    }

    /// The newest change that it has handed out, or passed since there was nothing to hand out.
    pub(in crate::lsm) fn at(&self) -> Option<Sequence> {
        if self.ready.is_empty() { self.at } else { self.handed_out }
    }
}

impl Core {
    /// The next batch for a follower; `None` if it has all that there is now. Later calls go on from there.
    ///
    /// # Errors
    /// [`Cause::ChangesGone`]; [`Cause::Input`] for a place that is newer than the store; errors of the storage. The
    /// place stays as it is.
    pub(in crate::lsm) fn next_batch(&self, follower: &mut Follower) -> Result<Option<ChangeBatch>> {
        if follower.ready.is_empty() {
            self.check_followable()?;
            self.read_on(follower)?;
        }
        let next = follower.ready.pop_front();
        if let Some(batch) = &next {
            (follower.handed_out, follower.may_skip) = (Some(batch.position.sequence), false);
        }
        Ok(next)
    }

    fn read_on(&self, follower: &mut Follower) -> Result<()> {
        if !self.access.is_read_only() && follower.at == Some(self.visible()) {
            return Ok(());
        }
        let unread = UnreadChanges { after: follower.at.unwrap_or(0), log: follower.log };
        let history = match &self.files.objects {
            None => self.history(unread)?,
            Some(objects) => {
                let rest = follower.objects.rest.take();
                match rest.map_or_else(
                    || self.history_of_objects(objects, unread, &mut follower.objects),
                    |rest| Ok(Some(rest)),
                )? {
                    Some(history) => history,
                    None => return Ok(()),
                }
            }
        };
        if std::mem::take(&mut follower.objects.begins_at_base) {
            follower.at = Some(history.base);
        }
        if let (Some(at), Some(last)) = (follower.at, history.last)
            && at > last
        {
            let position = self.position(at);
            let detail = format!("the position {position} is ahead of {}, which ends at {last}", self.path().display());
            return Err(Error::input(detail));
        }
        let outcome = Reading { core: self, history, follower }.read();
        // What was read before a failure is handed out before it.
        if follower.ready.is_empty() { outcome } else { Ok(()) }
    }
}

/// A step of a follower through the history.
struct Reading<'a> {
    core: &'a Core,
    history: StoreHistory,
    follower: &'a mut Follower,
}

impl Reading<'_> {
    fn read(mut self) -> Result<()> {
        let mut bytes = 0;
        while let Some(log) = self.history.logs.pop_front() {
            let from = if log.number == self.follower.log { self.follower.offset } else { 0 };
            let Some(file) = self.open(&log)? else { continue };
            let end = self.read_log((&log, &*file), from, &mut bytes)?;
            (self.follower.log, self.follower.offset) = (log.number, end);
            if bytes >= READ_BYTES {
                if self.history.objects.is_some() {
                    // What was read of its objects is not read again.
                    self.history.logs.push_front(HistoryLog { file: Some(file), ..log });
                    self.follower.objects.rest = Some(self.history);
                }
                return Ok(());
            }
            if let Some(objects) = &self.history.objects {
                let known = objects.folder.end_chain(FileKind::Log, log.number, end)?;
                self.follower.objects.log = known.map(|known| (log.number, known));
            }
        }
        let least = self.history.newest();
        self.follower.at.get_or_insert(least);
        self.pass_events(Sequence::MAX)?;
        // What is not newer than a table, and in no log, was not kept.
        if self.follower.at < Some(least) {
            self.gone(least)?;
        }
        self.follower.objects.seen = self.history.objects.map(|objects| objects.version);
        Ok(())
    }

    /// The file of a log; `None` if it was forgotten.
    fn open(&mut self, log: &HistoryLog) -> Result<Option<Arc<dyn ReadableFile>>> {
        let opened = match (&log.file, &self.history.objects) {
            (Some(file), _) => Some(Arc::clone(file)),
            (None, Some(objects)) => objects.folder.open_followed(log.number, log.end)?,
            (None, None) => None,
        };
        if opened.is_none() {
            self.gone(log.last.min(self.history.newest()))?;
        }
        Ok(opened)
    }

    /// Reads the groups of a log behind a place; returns the place behind those that were taken.
    fn read_log(&mut self, (log, file): (&HistoryLog, &dyn ReadableFile), from: u64, bytes: &mut usize) -> Result<u64> {
        let read = wal::groups_behind(file, (log.binding, log.number), from, log.end, &mut |group| {
            let is_taken = *bytes < READ_BYTES && self.take_group(group, log.last)?;
            // Before the first one that it hands out, it goes on: to the follower, nothing would look like the end.
            *bytes += if is_taken && !self.follower.ready.is_empty() { group.len() } else { 0 };
            Ok(is_taken)
        });
        match read {
            Ok(Some(end)) => Ok(end),
            // Its file was taken for another log meanwhile.
            Ok(None) => self.gone_or_newer(),
            Err(Error { cause: Cause::Damaged, .. }) if !file.is_in_place() => self.gone_or_newer(),
            Err(error) => Err(error),
        }
    }

    fn gone_or_newer(&mut self) -> Result<u64> {
        self.gone(self.history.newest()).map(|()| 0)
    }

    /// The changes behind the place of the follower are not there; it may go on behind the change `oldest`.
    fn gone(&mut self, oldest: Sequence) -> Result<()> {
        if let Some(objects) = &self.history.objects {
            objects.folder.check_whole(self.follower.log)?;
        }
        if !self.follower.may_skip {
            return Err(Error::changes_gone(self.core.path(), oldest));
        }
        self.follower.ready.clear();
        self.follower.at = Some(oldest);
        Ok(())
    }

    /// Takes a group, unless it did not take place.
    fn take_group(&mut self, group: &[u8], last_of_log: Sequence) -> Result<bool> {
        let malformed = || Error::damaged(self.core.path(), 0, "a group of operations of a log is malformed");
        let operations = decode_group(group).ok_or_else(malformed)?;
        let (Some(first), Some(last)) = (operations.first(), operations.last()) else { return Ok(true) };
        let (first, last) = (first.sequence, last.sequence);
        if last > last_of_log {
            return Ok(false);
        }
        let at = *self.follower.at.get_or_insert(first - 1);
        if last <= at {
            return Ok(true);
        }
        self.pass_events(first)?;
        if self.follower.at.is_some_and(|at| at + 1 < first) {
            self.gone(first - 1)?;
        }
        for batch in operations.chunk_by(|_, next| !next.begins_batch) {
            let last = batch.last().map_or(0, |operation| operation.sequence);
            if self.follower.at.is_some_and(|at| last <= at) {
                continue;
            }
            match self.changes_of(batch, group)? {
                Some((changes, types)) => self.hand_out(last, changes, types),
                // A keyspace of which only its number is left.
                None => self.gone(last)?,
            }
        }
        Ok(true)
    }

    fn hand_out(&mut self, last: Sequence, changes: Vec<Change>, types: BTreeMap<Arc<str>, Arc<RecordType>>) {
        self.follower.at = Some(last);
        if !changes.is_empty() {
            self.follower.ready.push_back(ChangeBatch { position: self.core.position(last), changes, types });
        }
    }

    /// The changes of a batch, with the types of their keyspaces; `None` if a keyspace is not known.
    fn changes_of(&mut self, batch: &[Operation], group: &[u8]) -> Result<Option<TypedChanges>> {
        let (mut changes, mut types) = (Vec::with_capacity(batch.len()), BTreeMap::new());
        for operation in batch {
            let Some(tree) = self.history.keyspaces.get(&operation.keyspace).cloned() else { return Ok(None) };
            if is_of_store(&tree.name) {
                continue;
            }
            let (key, value) = operation.parts(group);
            let (keyspace, key): (Arc<str>, _) = (tree.name.as_str().into(), key.to_vec());
            types.entry(Arc::clone(&keyspace)).or_insert_with(|| Arc::clone(&tree.types.get().types));
            changes.push(match operation.action {
                Action::RemoveRange => {
                    Change::RemoveRange { keyspace, start: key, end: (!value.is_empty()).then(|| value.to_vec()) }
                }
                Action::Put(ValueKind::Remove) => Change::Remove { keyspace, key },
                Action::Put(kind) => {
                    let entry = Entry { key: &[], sequence: operation.sequence, kind, value };
                    let expires = entry.expires_ms().map(system_time_of);
                    let value = match entry.pointer() {
                        None => tree.delivered(None, entry.stored())?.into_owned(),
                        Some(pointer) => {
                            let limit_bytes = self.core.options.memory_bytes;
                            let stored = self.history.values.get(pointer, limit_bytes, &self.core.path())?;
                            tree.delivered(None, &stored)?.into_owned()
                        }
                    };
                    Change::Insert { keyspace, key, value, expires }
                }
            });
        }
        Ok(Some((changes, types)))
    }

    /// Takes what is in no log, as far as it follows the place of the follower and is before a change.
    fn pass_events(&mut self, before: Sequence) -> Result<()> {
        while let Some(next) = self.follower.at.map(|at| at + 1).filter(|&next| next < before) {
            match self.history.events.remove(&next) {
                Some(HistoryEvent::Gap(last)) => self.follower.at = Some(last),
                Some(HistoryEvent::Dropped(id)) => {
                    let dropped = self.history.keyspaces.get(&id).map(|tree| named_types(tree));
                    let change =
                        |(keyspace, _): &(Arc<str>, _)| Change::DropKeyspace { keyspace: Arc::clone(keyspace) };
                    let changes = dropped.iter().map(change).collect();
                    self.hand_out(next, changes, dropped.into_iter().collect());
                }
                Some(HistoryEvent::Ingested(id, table)) => self.take_ingestion(id, table, next)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes an ingestion: its tables have numbers in a row, and it has the one behind them.
    fn take_ingestion(&mut self, id: KeyspaceId, first: Arc<Table>, number: Sequence) -> Result<()> {
        let (mut tables, mut last) = (vec![first], number + 1);
        while let Some(HistoryEvent::Ingested(_, table)) = self.history.events.remove(&last) {
            tables.push(table);
            last += 1;
        }
        let Some(tree) = self.history.keyspaces.get(&id).cloned() else { return self.gone(last) };
        let (keyspace, types) = named_types(&tree);
        let ingested = Change::Ingest { keyspace: Arc::clone(&keyspace), tables: IngestedTables { tables, tree } };
        self.hand_out(last, vec![ingested], [(keyspace, types)].into());
        Ok(())
    }
}

/// The name and the types of a keyspace.
fn named_types(tree: &KeyspaceTree) -> (Arc<str>, Arc<RecordType>) {
    (tree.name.as_str().into(), Arc::clone(&tree.types.get().types))
}
