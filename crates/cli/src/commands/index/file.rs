//! What the commands on an index share: which file, and how it is opened.

use super::any::AnyIndex;
use super::text::Form;
use crate::failure::Result;
use crate::size::ByteSize;
use ogive::index::OpenOptions;
use ogive::io::{LocalStorage, Storage};
use ogive::page::{Durability, LostLog, PageOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The index, and how it is opened.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct IndexFile {
    /// Index
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    paging: Paging,
}

/// The memory of an open index, and how its file is read.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Paging {
    /// Memory for pages
    #[arg(long, value_name = "N", default_value = "64MiB", help_heading = "Index")]
    memory: ByteSize,

    /// The part of that memory that is for inner pages alone, those nearest to the root first
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Index")]
    resident: ByteSize,

    /// Read and write past the page cache, where the file system allows it
    #[arg(long, help_heading = "Index")]
    direct: bool,
}

/// When changes are durable. Shared by all commands that make some.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct DurabilityOptions {
    /// When a commit is durable; when the command is done, all are
    #[arg(long, value_enum, value_name = "WHEN", default_value = "commit", help_heading = "Index")]
    durability: When,
}

/// When a commit is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum When {
    /// At once
    Commit,
    /// In groups of up to 64 commits or 4 MiB
    Grouped,
    /// At the next checkpoint
    Checkpoint,
}

/// Commits and bytes of log in a group.
const GROUP: Durability = Durability::Grouped { commits: 64, bytes: 4 << 20 };

impl DurabilityOptions {
    /// Whether a commit is durable when it is done.
    pub(super) fn is_at_once(&self) -> bool {
        self.durability == When::Commit
    }

    fn durability(&self) -> Durability {
        match self.durability {
            When::Commit => Durability::EachCommit,
            When::Grouped => GROUP,
            When::Checkpoint => Durability::AtCheckpoint,
        }
    }
}

/// How payloads are written and shown. Shared by all commands that have to do with them.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct PayloadOptions {
    /// What payloads are taken for
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    pub(super) values: Form,
}

impl Paging {
    pub(super) fn options(&self) -> PageOptions {
        let mut pages = PageOptions::default();
        pages.budget_bytes = self.memory.0;
        pages.resident_bytes = self.resident.0.min(self.memory.0);
        pages
    }

    pub(super) fn storage(&self, folder: PathBuf) -> Arc<dyn Storage> {
        Arc::new(if self.direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) })
    }
}

impl IndexFile {
    /// The index's path, for messages.
    pub(super) fn shown(&self) -> String {
        self.file.display().to_string()
    }

    /// Refuses to read the index's own file as an input.
    pub(super) fn refuse_input(&self, input: &Path) -> Result<()> {
        crate::replace::refuse_same(&self.file, input)
    }

    /// Opens the index for reading alone.
    pub(super) fn read(&self) -> Result<AnyIndex> {
        let (storage, name) = self.place()?;
        Ok(AnyIndex::open(&storage, &name, &OpenOptions { pages: self.paging.options() }, true)?)
    }

    /// Opens the index for changes.
    pub(super) fn write(&self, durability: &DurabilityOptions) -> Result<AnyIndex> {
        let (storage, name) = self.place()?;
        let mut pages = self.paging.options();
        pages.durability = durability.durability();
        Ok(AnyIndex::open(&storage, &name, &OpenOptions { pages }, false)?)
    }

    /// The index as its last checkpoint left it, where its log is lost.
    pub(super) fn without_log(&self) -> Result<Option<(AnyIndex, LostLog)>> {
        let (storage, name) = self.place()?;
        Ok(AnyIndex::without_log(&storage, &name, &OpenOptions { pages: self.paging.options() })?)
    }

    fn place(&self) -> Result<(Arc<dyn Storage>, String)> {
        let (folder, name) = LocalStorage::split_path(&self.file)?;
        Ok((self.paging.storage(folder), name))
    }
}
