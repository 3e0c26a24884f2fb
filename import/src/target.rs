//! The store, and the keyspaces that an import writes.

use crate::arguments::Arguments;
use crate::checksum::Checksum;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::source::{Found, LeftOut};
use crate::unfinished;
use ogive::lsm::Batch;
use ogive::types::RecordType;
use ogive::{Cause, Db, DbOptions, Durability, Error, Keyspace};
use ogive_terminal::{Progress, Unit, counted, human_bytes};

/// A batch is committed when it has as many records, or bytes.
const BATCH_RECORDS: u64 = 10_000;
const BATCH_BYTES: usize = 16 << 20;
/// Part of the memory that one record may take: it is in the batch, in the group of the log, and in the source.
const RECORD_DIVISOR: u64 = 8;

/// An open store, and how its keyspaces are written.
pub(crate) struct Target<'a> {
    pub(crate) db: Db,
    arguments: &'a Arguments,
}

impl<'a> Target<'a> {
    /// Opens the store, and creates it if necessary.
    pub(crate) fn open(arguments: &'a Arguments) -> Result<Self> {
        let folder = &arguments.store;
        if folder.is_file() {
            let message = format!("{} is a file, but a store is a folder", folder.display());
            return Err(Failure::usage(message, "the source comes first: ogive-import PATH STORE"));
        }
        let memory_bytes = arguments.memory.0;
        let memtable_bytes = (memory_bytes / 4).min(DbOptions::default().writes.memtable_bytes);
        let options = DbOptions::default()
            .memory_bytes(memory_bytes)
            .writes(|writes| writes.memtable_bytes(memtable_bytes))
            .durability(Durability::Buffered)
            .wait_for_lock(arguments.wait);
        Ok(Self { db: Db::open(folder, &options)?, arguments })
    }

    /// Refuses keyspaces with records, unless the command line says what becomes of them.
    ///
    /// # Errors
    /// [`Failure::Refused`].
    pub(crate) fn check(&self, found: &[Found], names: &[String]) -> Result<()> {
        let marks = unfinished::marks(&self.db)?;
        let mut taken = Vec::new();
        for (found, name) in found.iter().zip(names) {
            let Some(keyspace) = self.existing(name)? else { continue };
            match marks.get(name) {
                Some(source) if !self.arguments.replace => {
                    let records = counted(keyspace.iter().keys().count() as u64, "record");
                    taken.push(format!("{name:?} has {records} of an import from {source} that did not end"));
                }
                _ if self.arguments.replace || keyspace.is_empty()? => {}
                _ if self.arguments.add => check_types(&keyspace, &found.types)?,
                _ => taken.push(format!("{name:?} has records")),
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        let hint = "--replace drops them first, --add keeps those with other keys, and --rename OLD=NEW uses another \
                    keyspace";
        let hint = if self.arguments.add { "--replace imports these keyspaces from the beginning" } else { hint };
        Err(Failure::refused(format!("{}: {}", self.arguments.store.display(), taken.join("; ")), hint))
    }

    fn existing(&self, name: &str) -> Result<Option<Keyspace>> {
        let is_there = self.db.keyspaces().iter().any(|known| known == name);
        Ok(if is_there { Some(self.db.keyspace(name)?) } else { None })
    }

    /// A keyspace that is ready for records of these types.
    pub(crate) fn prepare(&self, name: &str, types: &RecordType) -> Result<Keyspace> {
        if !self.arguments.add {
            self.clear(name)?;
        }
        let keyspace = self.db.keyspace(name)?;
        if keyspace.is_empty()? {
            keyspace.declare(types)?;
        }
        Ok(keyspace)
    }

    /// Removes the records and indexes of a keyspace.
    pub(crate) fn clear(&self, name: &str) -> Result<()> {
        let Some(keyspace) = self.existing(name)? else { return Ok(()) };
        for index in self.db.indexes().iter().filter(|index| index.keyspace().name() == name) {
            self.db.drop_index(index.name())?;
        }
        match self.db.drop_keyspace(name) {
            // The default keyspace stays.
            Err(Error { cause: Cause::Input, .. }) => Ok(keyspace.remove_range::<&[u8]>(..)?),
            dropped => Ok(dropped.map(drop)?),
        }
    }

    /// A writer of records to a keyspace.
    pub(crate) fn writer<'k>(&'k self, keyspace: &'k Keyspace) -> Writer<'k> {
        let record_bytes_max = self.arguments.memory.0 / RECORD_DIVISOR;
        Writer { db: &self.db, keyspace, batch: self.db.batch(), checksum: Checksum::default(), record_bytes_max }
    }

    /// Creates the indexes of a keyspace; those that the store cannot have are added to what is left out.
    pub(crate) fn create_indexes(
        &self,
        keyspace: &Keyspace,
        found: &Found,
        left_out: &mut Vec<LeftOut>,
        interrupt: &Interrupt,
    ) -> Result<Vec<String>> {
        let mut created = Vec::new();
        for index in &found.indexes {
            let mut progress =
                Progress::start(format!("creating the index {}", index.name), found.records, Unit::Items);
            let mut show = |records| {
                progress.reach(records);
                if interrupt.is_asked() { Err(Error::interrupted()) } else { Ok(()) }
            };
            match self.db.create_index_showing(&index.name, keyspace, &index.definition, &mut show) {
                Ok(_) => created.push(format!("{} by {}", index.name, index.definition)),
                Err(error) if matches!(error.cause, Cause::Input | Cause::NotUnique) => {
                    left_out.push(LeftOut {
                        what: "index",
                        name: index.name.clone(),
                        reason: Some(Failure::from(error).to_string()),
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(created)
    }

    /// Takes back what an import wrote, after a failure. Records that were added to others stay. Gives what is there,
    /// for the message.
    pub(crate) fn take_back(&self, names: &[String]) -> Result<String> {
        let rest = match self.arguments.add {
            true => format!("some records of {} may be there; --replace imports them anew", listed(names)),
            false => {
                names.iter().try_for_each(|name| self.clear(name))?;
                unfinished::unmark(&self.db, names)?;
                let before = if self.arguments.replace { ", nor of what was there before" } else { "" };
                format!("nothing is left of {}{before}", listed(names))
            }
        };
        self.db.close()?;
        Ok(rest)
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// Refuses to add records to those of other types.
fn check_types(keyspace: &Keyspace, types: &RecordType) -> Result<()> {
    let known = keyspace.record_type();
    if *known == *types {
        return Ok(());
    }
    Err(Failure::refused(
        format!("the records of the keyspace {:?} are {known}, and those of the source {types}", keyspace.name()),
        "import them into another keyspace with --rename OLD=NEW, or in its place with --replace",
    ))
}

/// Writes records in batches, and sums them up.
pub(crate) struct Writer<'a> {
    db: &'a Db,
    keyspace: &'a Keyspace,
    batch: Batch,
    checksum: Checksum,
    record_bytes_max: u64,
}

impl Writer<'_> {
    /// Adds a record.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let record_bytes = (key.len() + value.len()) as u64;
        if record_bytes > self.record_bytes_max {
            return Err(Failure::refused(
                format!(
                    "a record for the keyspace {:?} has {}; with this memory at most {} are imported",
                    self.keyspace.name(),
                    human_bytes(record_bytes),
                    human_bytes(self.record_bytes_max)
                ),
                format!("use --memory {} or more", human_bytes(record_bytes * RECORD_DIVISOR).replace(' ', "")),
            ));
        }
        self.checksum.add(key, value);
        self.batch.insert(self.keyspace, key, value);
        if self.batch.len() >= BATCH_RECORDS || self.batch.byte_len() >= BATCH_BYTES { self.commit() } else { Ok(()) }
    }

    /// The number of records so far.
    pub(crate) fn records(&self) -> u64 {
        self.checksum.records
    }

    fn commit(&mut self) -> Result<()> {
        let batch = std::mem::replace(&mut self.batch, self.db.batch());
        match batch.commit() {
            Err(error) if matches!(error.cause, Cause::KeyLength { .. }) => Err(Failure::refused(
                format!("the keyspace {:?}: {}", self.keyspace.name(), Failure::from(error)),
                "leave out what it comes from, with --skip NAME",
            )),
            committed => Ok(committed?),
        }
    }

    /// Commits the last batch, and gives the checksum of all records.
    pub(crate) fn finish(mut self) -> Result<Checksum> {
        self.commit()?;
        Ok(self.checksum)
    }
}
