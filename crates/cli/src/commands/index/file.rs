//! Options shared by the commands on indexes: file, memory, durability, payloads.

use super::any::OpenIndex;
use super::text::Form;
use crate::failure::Result;
use crate::urls::refuse_updated;
use crate::values::size::ByteSize;
use ogive::Durability;
use ogive::index::{AnyIndex, IndexOptions};
use ogive::io::{LenientStorage, LocalStorage, Storage};
use ogive::page::{LostLog, PageOptions};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The index, and how to open it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct IndexFile {
    /// File of the index
    #[arg(value_name = "INDEX")]
    file: PathBuf,

    #[command(flatten)]
    paging: Paging,
}

/// Memory of an open index, and how to read its file.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Paging {
    /// Upper limit of memory, caches included
    ///
    /// With any limit, the pages of an operation are held, and 1 MiB each of the log and of changed pages.
    #[arg(long, value_name = "N", default_value = "64MiB", help_heading = "Index")]
    memory: ByteSize,

    /// Part of --memory reserved for inner pages, filled from the root down
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Index")]
    resident: ByteSize,

    /// Bypass the page cache if the file system supports it
    #[arg(long, help_heading = "Index")]
    direct: bool,
}

/// The index, and how to write to it. Shared by all commands that write.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct WritableIndexFile {
    #[command(flatten)]
    pub(super) file: IndexFile,

    /// When a commit becomes durable; in any case, all are when the command returns
    #[arg(long, value_enum, value_name = "DURABILITY", default_value = "synced", help_heading = "Index")]
    durability: CommitDurability,
}

/// The index to modify, and the key of an entry.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct IndexEntry {
    #[command(flatten)]
    pub(super) index: WritableIndexFile,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    pub(super) key: OsString,
}

/// When a commit becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CommitDurability {
    /// Immediately
    #[value(alias = "commit")]
    Synced,
    /// In groups of up to 64 commits or 4 MiB
    Grouped,
    /// At the next checkpoint
    #[value(alias = "checkpoint")]
    Buffered,
}

impl WritableIndexFile {
    /// Opens the index for writing, with payloads in this form.
    pub(super) fn write(&self, form: Option<Form>) -> Result<OpenIndex> {
        let (storage, name) = self.file.place()?;
        let mut pages = self.file.paging.options();
        pages.durability = self.durability();
        Ok(OpenIndex::new(AnyIndex::open((&storage, &name), &IndexOptions::default().pages(pages.clone()))?, form))
    }

    /// Whether a commit is durable when it returns.
    pub(super) fn is_at_once(&self) -> bool {
        self.durability == CommitDurability::Synced
    }

    fn durability(&self) -> Durability {
        match self.durability {
            CommitDurability::Synced => Durability::Synced,
            CommitDurability::Grouped => Durability::Grouped,
            CommitDurability::Buffered => Durability::Buffered,
        }
    }
}

/// Text form of payloads. Shared by all commands that read or write them.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PayloadOptions {
    /// For an index: how payloads are written and printed [default: by their type, as text if they have none]
    #[arg(long, value_enum, value_name = "FORM", hide_short_help = true)]
    pub(crate) values: Option<Form>,
}

impl Paging {
    pub(super) fn options(&self) -> PageOptions {
        let mut pages = PageOptions::default();
        pages.memory_bytes = self.memory.0;
        pages.resident_bytes = self.resident.0.min(self.memory.0);
        pages
    }

    pub(super) fn storage(&self, folder: PathBuf) -> Arc<dyn Storage> {
        Arc::new(if self.direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) })
    }
}

impl fmt::Display for IndexFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.display().fmt(formatter)
    }
}

impl IndexFile {
    /// The index at a path.
    pub(crate) fn at(file: PathBuf, memory: ByteSize, resident: ByteSize, direct: bool) -> Self {
        Self { file, paging: Paging { memory, resident, direct } }
    }

    /// Refuses the file of the index as an input.
    pub(super) fn refuse_input(&self, input: &Path) -> Result<()> {
        crate::replace::refuse_same(&self.file, input)
    }

    /// Opens the index read-only, with payloads in this form.
    pub(crate) fn read(&self, form: Option<Form>) -> Result<OpenIndex> {
        let (storage, name) = self.place()?;
        Ok(OpenIndex::new(
            AnyIndex::open_read_only((&storage, &name), &IndexOptions::default().pages(self.paging.options()))?,
            form,
        ))
    }

    /// Opens the index to verify it: also returns the storage, which lists what the device cannot read.
    pub(super) fn read_leniently(&self) -> Result<(Arc<dyn Storage>, Result<OpenIndex>)> {
        let (storage, name) = self.place()?;
        // What is no file is told as such.
        storage.open(&name)?;
        let storage = LenientStorage::around(&storage);
        let opened = AnyIndex::open_read_only((&storage, &name), &IndexOptions::default().pages(self.paging.options()));
        Ok((storage, opened.map(|any| OpenIndex::new(any, None)).map_err(Into::into)))
    }

    /// The index as of its last checkpoint, if its log is lost.
    pub(super) fn without_log(&self) -> Result<Option<(AnyIndex, LostLog)>> {
        let (storage, name) = self.place()?;
        Ok(AnyIndex::without_log((&storage, &name), &IndexOptions::default().pages(self.paging.options()))?)
    }

    fn place(&self) -> Result<(Arc<dyn Storage>, String)> {
        refuse_updated(&self.file)?;
        let (folder, name) = LocalStorage::split_path(&self.file)?;
        Ok((self.paging.storage(folder), name))
    }
}
