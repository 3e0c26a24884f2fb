//! Archived changes that are made again to a restored copy of their store.

use super::segment::{ArchivedAction, ArchivedChange, SegmentPart, SegmentReader};
use crate::durability::Durability;
use crate::error::{Cause, Error, Result};
use crate::lsm::state::version::{INDEX_PREFIX, KeyspaceOptions, ManifestEdit, index_name};
use crate::lsm::{Batch, Db, Keyspace};
use crate::types::{Alteration, IndexDefinition, RecordType};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The changes of an ingestion are made in batches of about this many bytes.
const DIVISIBLE_BYTES: usize = 8 << 20;

/// A keyspace as a segment knows it.
#[derive(Clone, Debug, Default)]
struct KnownKeyspace {
    name: String,
    types: Option<Arc<RecordType>>,
    options: KeyspaceOptions,
    /// Whether it was dropped before the end of the segment.
    is_dropped: bool,
}

/// A restored copy of a store, to which changes are made.
pub(super) struct Replay<'a> {
    db: &'a Db,
    /// The newest change that it has, and the last one to be made.
    at: u64,
    to: u64,
    /// The keyspaces of the segment that is read, by number in the original store.
    known: BTreeMap<u32, KnownKeyspace>,
    /// The keyspaces that the copy has, by name, with their numbers in the original store.
    open: BTreeMap<String, (u32, Keyspace)>,
    /// The indexes at the end of the last segment whose changes were all made, or those of the copy. It has none until
    /// the end: history may contain what they would refuse.
    indexes: Vec<ArchivedIndex>,
}

/// An index by its name, with the keyspace that it is of.
struct ArchivedIndex {
    name: String,
    owner: String,
    definition: IndexDefinition,
}

impl<'a> Replay<'a> {
    /// A copy of a store as it was behind the change `at`.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn new(db: &'a Db, at: u64, to: u64) -> Result<Self> {
        let mut open = BTreeMap::new();
        for name in db.keyspaces() {
            let keyspace = db.keyspace(&name)?;
            open.insert(name, (keyspace.number(), keyspace));
        }
        let mut indexes = Vec::new();
        for index in db.indexes() {
            if index.is_complete() {
                let (name, owner) = (index.name().to_owned(), index.keyspace().name().to_owned());
                indexes.push(ArchivedIndex { name, owner, definition: index.definition().clone() });
            }
            db.drop_index(index.name())?;
        }
        Ok(Self { db, at, to, known: BTreeMap::new(), open, indexes })
    }

    /// Makes the changes of a segment, as far as they are wanted and not there yet.
    ///
    /// # Errors
    /// Damage of the segment; [`Cause::Input`](crate::Cause::Input) for types that cannot follow those that are there;
    /// errors of the storage.
    pub(super) fn segment(&mut self, segment: &mut SegmentReader) -> Result<()> {
        self.know(&segment.schema);
        let numbers: Vec<(u32, String)> = self.open.iter().map(|(name, (id, _))| (*id, name.clone())).collect();
        numbers.into_iter().try_for_each(|(id, name)| self.take_schema(id, &name))?;
        let (mut batch, mut is_wanted, mut is_divisible) = (self.db.batch(), false, false);
        while let Some(part) = segment.next()? {
            match part {
                SegmentPart::Batch { last, .. } if last > self.to => break,
                SegmentPart::Batch { last, is_divisible: may_divide } => {
                    self.commit(&mut batch)?;
                    (is_wanted, is_divisible) = (last > self.at, may_divide);
                    self.at = self.at.max(last);
                }
                SegmentPart::Changes(changes) if is_wanted => {
                    changes.into_iter().try_for_each(|change| self.make(change, &mut batch))?;
                    if is_divisible && batch.byte_len() >= DIVISIBLE_BYTES {
                        self.commit(&mut batch)?;
                    }
                }
                SegmentPart::Changes(changes) => self.pass(&changes),
            }
        }
        self.commit(&mut batch)?;
        if segment.info.end.end <= self.to {
            self.at = self.at.max(segment.info.end.end);
            self.create_keyspaces()?;
            self.indexes = declared(&segment.schema);
        }
        Ok(())
    }

    /// Creates the indexes of the end; returns the number of the last change that was made, and the names of unique
    /// indexes that the rows do not admit.
    ///
    /// # Errors
    /// As [`Db::create_index`].
    pub(super) fn finish(self) -> Result<(u64, Vec<String>)> {
        let mut left_out = Vec::new();
        for ArchivedIndex { name, owner, definition } in self.indexes {
            let Some((_, keyspace)) = self.open.get(&owner) else { continue };
            match self.db.create_index(&name, keyspace, &definition) {
                Err(Error { cause: Cause::NotUnique, .. }) => left_out.push(name),
                made => drop(made?),
            }
        }
        Ok((self.at, left_out))
    }

    fn know(&mut self, schema: &ManifestEdit) {
        self.known.clear();
        for (id, name) in schema.keyspaces_created.iter().filter(|(_, name)| !name.starts_with(INDEX_PREFIX)) {
            let is_dropped = schema.keyspaces_dropped.contains(id);
            self.known.insert(*id, KnownKeyspace { name: name.clone(), is_dropped, ..KnownKeyspace::default() });
        }
        for (id, stated) in &schema.types {
            if let Some(known) = self.known.get_mut(id) {
                known.types = Some(Arc::clone(&stated.types));
            }
        }
        for (id, options) in &schema.options {
            if let Some(known) = self.known.get_mut(id) {
                known.options = options.clone();
            }
        }
    }

    /// Gives a keyspace that is there the types and the options that it has in the segment.
    fn take_schema(&self, id: u32, name: &str) -> Result<()> {
        let (Some(known), Some((_, keyspace))) = (self.known.get(&id), self.open.get(name)) else { return Ok(()) };
        if let Some(types) = &known.types
            && *types != keyspace.record_type()
        {
            let alteration = Alteration::to(types.values.clone());
            let outcome = match keyspace.is_empty()? || types.extends(&keyspace.record_type()) {
                true => keyspace.declare(types).map(drop),
                false => keyspace.alter_values(&alteration).map(drop),
            };
            outcome.map_err(|error| {
                Error::input(format!(
                    "the types of the keyspace {name:?} were replaced by {types} between two runs of the archive, so \
                     that its changes there cannot be made again: {}; restore a moment before, or a later backup",
                    error.message()
                ))
            })?;
        }
        if known.options != keyspace.options() { keyspace.set_options(&known.options) } else { Ok(()) }
    }

    /// The keyspace of a name, which is created if it is not there.
    fn keyspace(&mut self, name: &str) -> Result<Keyspace> {
        if let Some((_, keyspace)) = self.open.get(name) {
            return Ok(keyspace.clone());
        }
        // Of those of one name, each was created after the one before was dropped: numbers only grow.
        let mut of_name = self.known.iter().filter(|(_, known)| known.name == name).map(|(&id, _)| id);
        let id = of_name.next().unwrap_or(u32::MAX);
        let keyspace = self.db.keyspace(name)?;
        self.open.insert(name.to_owned(), (id, keyspace.clone()));
        self.take_schema(id, name)?;
        Ok(keyspace)
    }

    /// Passes changes that are there already: of a keyspace that they drop, a later one of its name takes the place.
    fn pass(&mut self, changes: &[ArchivedChange]) {
        for change in changes.iter().filter(|change| change.action == ArchivedAction::Drop) {
            let open = self.open.get(&*change.keyspace).map(|(id, _)| *id);
            let is_it = |(id, known): &(&u32, &KnownKeyspace)| known.name == *change.keyspace && Some(**id) != open;
            if let Some(id) = self.known.iter().find(is_it).map(|(&id, _)| id) {
                self.known.remove(&id);
            }
        }
    }

    fn make(&mut self, change: ArchivedChange, batch: &mut Batch) -> Result<()> {
        let name = &*change.keyspace;
        if change.action == ArchivedAction::Drop {
            self.commit(batch)?;
            if let Some((id, _)) = self.open.remove(name) {
                self.known.remove(&id);
            }
            return self.db.drop_keyspace(name).map(drop);
        }
        let keyspace = self.keyspace(name)?;
        match change.action {
            ArchivedAction::Insert(key, value, expires_ms) => batch.insert_until(&keyspace, &key, &value, expires_ms),
            ArchivedAction::Remove(key) => _ = batch.remove(&keyspace, key),
            ArchivedAction::RemoveRange(start, end) => {
                let end = if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(end) };
                batch.remove_range(&keyspace, (Bound::Included(start), end));
            }
            ArchivedAction::Drop => {}
        }
        Ok(())
    }

    fn commit(&self, batch: &mut Batch) -> Result<()> {
        let mut full = std::mem::replace(batch, self.db.batch());
        full.durability(Durability::Buffered);
        full.commit()
    }

    /// Creates the keyspaces that no change has named.
    fn create_keyspaces(&mut self) -> Result<()> {
        let there = self.known.values().filter(|known| !known.is_dropped);
        let names: Vec<String> = there.map(|known| known.name.clone()).collect();
        names.iter().try_for_each(|name| self.keyspace(name).map(drop))
    }
}

/// The complete indexes of a schema.
fn declared(schema: &ManifestEdit) -> Vec<ArchivedIndex> {
    let name_of = |id: u32| schema.keyspaces_created.iter().find(|(other, _)| *other == id).map(|(_, name)| name);
    let complete = schema.indexes.iter().filter(|(_, record)| record.is_complete);
    let found = complete.filter_map(|(id, record)| {
        let (name, owner) = (index_name(name_of(*id)?).to_owned(), name_of(record.owner)?.clone());
        Some(ArchivedIndex { name, owner, definition: record.definition.clone() })
    });
    found.collect()
}
