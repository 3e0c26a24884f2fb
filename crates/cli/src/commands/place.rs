//! The place that a command works on: a table, an index of Parquet files, an index, or a store.
//!
//! This is the one place where a command that takes any of them finds out which it has.

#[cfg(feature = "parquet")]
use crate::beside::BesideIndex;
use crate::commands::db::{ClockAhead, KeyspaceOptions, OpenKeyspace, StoreFolder, StorePart};
use crate::commands::index::{Form, IndexFile, OpenIndex};
use crate::commands::place_flags::{self, PlaceUse, given};
use crate::commands::query::{OpenTable, TableFile};
use crate::failure::{Failure, Result};
use crate::urls::{is_folder, is_http, is_url, path_argument};
use crate::values::size::{ByteSize, whole_number};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::{Cause, Error, FileFormat, KeyType};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// Memory for a table or an index, unless it is given.
const FILE_MEMORY: ByteSize = ByteSize(64 << 20);
/// Memory for a store, unless it is given: a part of it is for what is written.
const STORE_MEMORY: ByteSize = ByteSize(256 << 20);

/// The extension of folders of stores, in the examples of this command.
const STORE_EXTENSION: &str = "db";

/// The place, and how to open it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlaceArguments {
    /// Table, index, store, or index of Parquet files, by its path or URL
    #[arg(value_name = "PLACE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    path: PathBuf,

    /// For a store: keyspace, a named map within it [default: default]
    #[arg(long, value_name = "NAME", help_heading = "Place")]
    keyspace: Option<String>,

    /// For a store: type of the keys, such as u64, text, date or '(text, date desc)' [default: as imported, else bytes]
    #[arg(long, alias = "keys", value_name = "TYPE", help_heading = "Place")]
    key_type: Option<KeyType>,

    /// Upper limit of memory, caches included [default: 64MiB, of a store 256MiB]
    ///
    /// A store that takes more is refused with the memory that suffices, and so is a table whose opening read is larger
    /// than the limit and than 1 MiB. Below that, the limit binds what is kept: the blocks of a table and the pages of
    /// an index that a lookup is designed to read are read with any memory.
    #[arg(long, value_name = "N", help_heading = "Place", hide_short_help = true)]
    memory: Option<ByteSize>,

    /// For a table or an index: bypass the page cache if the file system supports it
    #[arg(long, help_heading = "Place", hide_short_help = true)]
    direct: bool,

    /// For an index: part of --memory reserved for inner pages, filled from the root down [default: 0]
    #[arg(long, value_name = "N", help_heading = "Place", hide_short_help = true)]
    resident: Option<ByteSize>,

    /// For a store: maximum number of open files [default: half of the limit of the process]
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>, help_heading = "Place", hide_short_help = true)]
    open_files: Option<usize>,

    #[command(flatten)]
    clock: ClockAhead,
}

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A table; before it is open, perhaps one that holds an index of Parquet files.
    Table,
    /// A table that holds an index of Parquet files.
    Beside,
    Index,
    Store,
}

/// What is asked of an open place, besides its records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Whether every read is shown.
    pub(crate) explain: bool,
    /// The form of the payloads of an index.
    pub(crate) form: Option<Form>,
}

/// An open place.
#[derive(Debug)]
pub(crate) enum OpenPlace {
    Table(Box<OpenTable>),
    #[cfg(feature = "parquet")]
    Beside(Box<BesideIndex>),
    Index(Box<OpenIndex>),
    Store(Box<OpenKeyspace>),
}

/// Does one thing with an ordered map of any kind, and another with an index of Parquet files.
macro_rules! with_map {
    ($place:expr, $map:ident => $do:expr, $beside:ident => $other:expr $(,)?) => {
        match $place {
            $crate::commands::place::OpenPlace::Table($map) => $do,
            $crate::commands::place::OpenPlace::Index($map) => $do,
            $crate::commands::place::OpenPlace::Store($map) => $do,
            #[cfg(feature = "parquet")]
            $crate::commands::place::OpenPlace::Beside($beside) => $other,
        }
    };
}
pub(crate) use with_map;

impl PlaceKind {
    /// What a path or URL leads to, before it is opened; `None` for a file that is none of these, or is no part of a
    /// place of its own.
    ///
    /// # Errors
    /// Those of reading it.
    pub(crate) fn of(path: &Path) -> ogive::Result<Option<Self>> {
        if is_folder(path)? {
            return Ok(Some(Self::Store));
        }
        Ok(match FileFormat::at(path)? {
            Some(FileFormat::Table) => Some(Self::Table),
            Some(FileFormat::PageFile) => Some(Self::Index),
            _ => None,
        })
    }

    /// What an open table is.
    pub(crate) fn of_open(table: &OpenTable) -> Self {
        if table.is_beside() { Self::Beside } else { Self::Table }
    }

    /// What it is, with an article.
    pub(crate) fn named(self) -> &'static str {
        match self {
            Self::Table => "a table",
            Self::Beside => "an index of Parquet files",
            Self::Index => "an index",
            Self::Store => "a store",
        }
    }
}

/// Whether a URL is named as stores are: without an extension, or with that of one.
fn seems_a_store(path: &Path) -> bool {
    is_url(path) && !is_http(path) && path.extension().is_none_or(|extension| extension == STORE_EXTENSION)
}

impl OpenPlace {
    /// What it is.
    pub(crate) fn kind(&self) -> PlaceKind {
        match self {
            Self::Table(_) => PlaceKind::Table,
            #[cfg(feature = "parquet")]
            Self::Beside(_) => PlaceKind::Beside,
            Self::Index(_) => PlaceKind::Index,
            Self::Store(_) => PlaceKind::Store,
        }
    }
}

impl fmt::Display for PlaceArguments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(formatter)
    }
}

impl PlaceArguments {
    /// The path or URL.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the place is, after a check of the options, and of these flags of the command, if it is an index or a
    /// store. Those of a table are checked when it is open ([`Self::check`]). What is none of the kinds, or cannot be
    /// told, is left to the opening of a table, which says more of it.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an option of another kind.
    pub(crate) fn kind(&self, asked: PlaceUse, flags: &[&'static str]) -> Result<PlaceKind> {
        let kind = PlaceKind::of(&self.path).ok().flatten().unwrap_or(PlaceKind::Table);
        if kind != PlaceKind::Table {
            self.check(kind, asked, flags)?;
        }
        Ok(kind)
    }

    /// Opens the place for reading. A table, which is the most frequent, is opened without a look at its kind before:
    /// behind a URL each look is a request.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an option of another kind; errors of the engine.
    pub(crate) fn open(&self, reading: Reading) -> Result<OpenPlace> {
        self.open_for(reading, None)
    }

    /// As [`Self::open`], for lookups of these keys alone, if they are given. A URL that seems to be one of a store is
    /// tried as such first.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_for(&self, reading: Reading, keys: Option<&[OsString]>) -> Result<OpenPlace> {
        if !is_url(&self.path) && self.path.is_dir() {
            return self.open_as(PlaceKind::Store, reading, keys);
        }
        if seems_a_store(&self.path) {
            match self.open_as(PlaceKind::Store, reading, keys) {
                // It may be a table, after all.
                Err(Failure::Usage { .. } | Failure::Engine(Error { cause: Cause::NotAStore, .. })) => {}
                opened => return opened,
            }
        }
        match self.open_table(reading) {
            Err(failure @ (Failure::Engine(_) | Failure::File { .. })) => {
                match PlaceKind::of(&self.path).ok().flatten().filter(|kind| *kind != PlaceKind::Table) {
                    None => Err(failure),
                    Some(kind) => self.open_as(kind, reading, keys),
                }
            }
            opened => opened,
        }
    }

    fn open_as(&self, kind: PlaceKind, reading: Reading, keys: Option<&[OsString]>) -> Result<OpenPlace> {
        self.check(kind, PlaceUse::Records, &reading.flags())?;
        if kind == PlaceKind::Index {
            return Ok(OpenPlace::Index(Box::new(self.index().read(reading.form)?)));
        }
        Ok(OpenPlace::Store(Box::new(self.keyspace().read_for(keys)?)))
    }

    fn open_table(&self, reading: Reading) -> Result<OpenPlace> {
        let file = self.table();
        let open = file.open_any(reading.explain)?;
        self.check(PlaceKind::of_open(&open), PlaceUse::Records, &reading.flags())?;
        #[cfg(feature = "parquet")]
        if open.is_beside() {
            return Ok(OpenPlace::Beside(Box::new(BesideIndex::new(&file, open, reading.explain)?)));
        }
        Ok(OpenPlace::Table(Box::new(file.plain(open)?)))
    }

    /// Refuses options of other kinds, and flags of the command that are.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(crate) fn check(&self, kind: PlaceKind, asked: PlaceUse, flags: &[&'static str]) -> Result<()> {
        let own = given(&[
            ("--keyspace", self.keyspace.is_some()),
            ("--key-type", self.key_type.is_some()),
            ("--open-files", self.open_files.is_some()),
            ("--clock-ahead", self.clock.is_given()),
            ("--resident", self.resident.is_some()),
            ("--direct", self.direct),
        ]);
        place_flags::check(&[&own[..], flags].concat(), &self.path, kind, asked)
    }

    /// The upper limit of memory for a place of a kind.
    pub(crate) fn memory_bytes(&self, kind: PlaceKind) -> u64 {
        self.memory_for(kind).0
    }

    fn memory_for(&self, kind: PlaceKind) -> ByteSize {
        self.memory.unwrap_or(if kind == PlaceKind::Store { STORE_MEMORY } else { FILE_MEMORY })
    }

    /// The place as a table.
    pub(crate) fn table(&self) -> TableFile {
        TableFile::at(self.path.clone(), self.memory_for(PlaceKind::Table), self.direct)
    }

    /// The place as an index.
    pub(crate) fn index(&self) -> IndexFile {
        let resident = self.resident.unwrap_or(ByteSize(0));
        IndexFile::at(self.path.clone(), self.memory_for(PlaceKind::Index), resident, self.direct)
    }

    /// The place as a store, or as one keyspace of it if that is given.
    pub(crate) fn store(&self) -> StorePart {
        StorePart { store: self.folder(), keyspace: self.keyspace.clone() }
    }

    /// The place as a keyspace of a store.
    pub(crate) fn keyspace(&self) -> KeyspaceOptions {
        KeyspaceOptions::at(self.folder(), self.keyspace.clone(), self.key_type)
    }

    fn folder(&self) -> StoreFolder {
        StoreFolder::at(self.path.clone(), self.memory_for(PlaceKind::Store), self.open_files).clock(self.clock)
    }
}

impl Reading {
    /// The flags that ask for it.
    fn flags(self) -> Vec<&'static str> {
        given(&[("--explain", self.explain), ("--values", self.form.is_some())])
    }
}
