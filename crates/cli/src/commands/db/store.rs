//! Options shared by the commands on stores: folder, keyspace, memory.

use super::keys::{self, Keys};
use super::stoppable::Stoppable;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::size::ByteSize;
use ogive::io::Storage;
use ogive::lsm::{Db, DbOptions, Keyspace};
use ogive::{Durability, Error, KeyType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The store, and how to open it.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StoreFolder {
    /// Folder of the store
    #[arg(value_name = "DB")]
    pub(super) folder: PathBuf,

    /// Memory of the store
    #[arg(long, value_name = "N", default_value = "256MiB", help_heading = "Store")]
    memory: ByteSize,

    /// Maximum number of open files [default: half of the limit of the process]
    #[arg(long, value_name = "N", help_heading = "Store")]
    open_files: Option<usize>,
}

/// A keyspace of a store and its key type.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct KeyspaceOptions {
    #[command(flatten)]
    pub(super) store: StoreFolder,

    /// Keyspace: a named map within the store
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = "Store")]
    pub(super) keyspace: String,

    /// Type of the keys: u32, u64, u128, i64, i128, f64, text, bytes, or bytes1 to bytes16 [default: as imported, else
    /// bytes]
    #[arg(long, value_name = "TYPE", help_heading = "Store")]
    keys: Option<KeyType>,
}

/// An open keyspace.
#[derive(Debug)]
pub(super) struct OpenKeyspace {
    pub(super) db: Db,
    pub(super) keyspace: Keyspace,
    pub(super) keys: Keys,
}

impl StoreFolder {
    /// The store's path, for messages.
    pub(super) fn shown(&self) -> String {
        self.folder.display().to_string()
    }

    pub(super) fn options(&self) -> DbOptions {
        let memory_bytes = self.memory.0;
        let memtable_bytes = (memory_bytes / 4).min(DbOptions::default().memtable_bytes);
        DbOptions { memory_bytes, memtable_bytes, open_files: self.open_files, create: false, ..DbOptions::default() }
    }

    /// Opens the store read-only.
    pub(super) fn read(&self) -> Result<Db> {
        self.check_there()?;
        Ok(Db::open_read_only(&self.folder, &self.options())?)
    }

    /// Opens the store for writing.
    pub(super) fn write(&self) -> Result<Db> {
        self.check_there()?;
        Ok(Db::open(&self.folder, &self.options())?)
    }

    /// The folder, with long work ended by interrupts.
    pub(super) fn stoppable(&self, interrupt: &Interrupt) -> Arc<dyn Storage> {
        Stoppable::around(self.options().storage(&self.folder), interrupt)
    }

    /// Opens the store for writing that may be interrupted.
    pub(super) fn write_stoppable(&self, interrupt: &Interrupt) -> Result<Db> {
        self.check_there()?;
        Db::open_in(self.stoppable(interrupt), &self.options()).map_err(|error| match error {
            Error::Interrupted => Failure::from(error).but("the store is unchanged"),
            error => error.into(),
        })
    }

    /// Opens the store for writing, and creates it if necessary.
    pub(super) fn create(&self, durability: Durability) -> Result<Db> {
        Ok(Db::open(&self.folder, &DbOptions { create: true, durability, ..self.options() })?)
    }

    /// Refuses a missing folder.
    pub(super) fn check_there(&self) -> Result<()> {
        check_there(&self.folder)
    }
}

/// Refuses a missing folder.
pub(super) fn check_there(folder: &Path) -> Result<()> {
    if folder.exists() {
        return Ok(());
    }
    let hint = "check the path; `ogive db put` and `ogive db import` create a store";
    Err(Failure::refused(format!("{}: not found", folder.display()), hint))
}

impl KeyspaceOptions {
    /// Opens the keyspace read-only.
    ///
    /// # Errors
    /// [`Failure::Refused`] when there is none of that name.
    pub(super) fn read(&self) -> Result<OpenKeyspace> {
        self.existing(self.store.read()?)
    }

    /// Opens an existing keyspace for writing.
    pub(super) fn write(&self) -> Result<OpenKeyspace> {
        self.existing(self.store.write()?)
    }

    /// Opens the keyspace for writing; creates it and the store if necessary. `imported` is the key type of an input.
    pub(super) fn create(&self, durability: Durability, imported: Option<KeyType>) -> Result<OpenKeyspace> {
        keys::check_name(&self.keyspace)?;
        let db = self.store.create(durability)?;
        let keyspace = db.keyspace(&self.keyspace)?;
        let keys = keys::settle(&db, &keyspace, self.keys.or(imported))?;
        Ok(OpenKeyspace { db, keyspace, keys })
    }

    /// The requested key type.
    pub(super) fn asked_keys(&self) -> Option<KeyType> {
        self.keys
    }

    fn existing(&self, db: Db) -> Result<OpenKeyspace> {
        keys::check_name(&self.keyspace)?;
        let names = keys::named(&db);
        if !names.contains(&self.keyspace) {
            let message = format!("{}: the keyspace {:?} was not found", self.store.shown(), self.keyspace);
            return Err(Failure::refused(message, format!("existing keyspaces: {}", names.join(", "))));
        }
        let keyspace = db.keyspace(&self.keyspace)?;
        let keys = keys::of(&db, &keyspace, self.keys)?;
        Ok(OpenKeyspace { db, keyspace, keys })
    }
}

impl OpenKeyspace {
    /// Closes the store, which makes all writes durable and the next opening fast. `done` names what is durable even if
    /// closing fails.
    pub(super) fn close(self, done: &str) -> Result<()> {
        drop(self.keyspace);
        self.db.close().map_err(|error| Failure::from(error).but(done))
    }
}
