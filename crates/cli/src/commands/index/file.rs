//! What the commands on an index share: which file, and how it is opened.

use super::any::AnyIndex;
use super::text::Form;
use crate::failure::Result;
use crate::size::ByteSize;
use ogive::index::OpenOptions;
use ogive::io::{LocalStorage, Storage};
use ogive::page::PageOptions;
use std::path::PathBuf;
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

    /// Read and write past the page cache, where the file system allows it
    #[arg(long, help_heading = "Index")]
    direct: bool,
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
        PageOptions::default()
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

    /// Opens the index for reading alone.
    pub(super) fn read(&self) -> Result<AnyIndex> {
        self.open(true)
    }

    /// Opens the index for changes.
    pub(super) fn write(&self) -> Result<AnyIndex> {
        self.open(false)
    }

    fn open(&self, read_only: bool) -> Result<AnyIndex> {
        let (folder, name) = LocalStorage::split_path(&self.file)?;
        let storage = self.paging.storage(folder);
        let options = OpenOptions { pages: self.paging.options() };
        Ok(AnyIndex::open(&storage, &name, &options, read_only)?)
    }
}
