//! The kind of a source: as given, or by its first bytes and its files.

use crate::failure::{Failure, Result};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// First bytes of a database of SQLite.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// The number behind the header of the first page of LMDB, in the order of bytes of the machine.
const LMDB: u32 = 0xBEEF_C0DE;
const LMDB_OFFSET: usize = 16;
/// Bytes that tell the kind.
const HEAD_BYTES: u64 = 32;
/// The data of LMDB within a folder.
pub(crate) const LMDB_DATA: &str = "data.mdb";

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A database of SQLite
    Sqlite,
    /// An environment of LMDB
    Lmdb,
    /// A folder of RocksDB
    Rocksdb,
}

impl Kind {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Lmdb => "lmdb",
            Self::Rocksdb => "rocksdb",
        }
    }

    /// What it is, in a sentence.
    fn shown(self) -> &'static str {
        match self {
            Self::Sqlite => "a database of SQLite",
            Self::Lmdb => "an environment of LMDB",
            Self::Rocksdb => "a folder of RocksDB",
        }
    }

    /// The kind of the source at a path.
    ///
    /// # Errors
    /// [`Failure::Refused`] for a path that is of no kind, or of another one than is given.
    pub(crate) fn of(path: &Path, given: Option<Self>) -> Result<Self> {
        let unread =
            |error: std::io::Error| Failure::Source { path: path.display().to_string(), detail: error.to_string() };
        let metadata = path.metadata().map_err(unread)?;
        let found = if metadata.is_dir() { Self::of_folder(path) } else { Self::of_file(path).map_err(unread)? };
        match (given, found) {
            (Some(given), Some(found)) if given != found => Err(Failure::refused(
                format!("{} is {}, not {}", path.display(), found.shown(), given.shown()),
                format!("leave out --from, or write --from {}", found.name()),
            )),
            (_, Some(found)) => Ok(found),
            // A database without a table may be an empty file.
            (Some(Self::Sqlite), None) if metadata.is_file() && metadata.len() == 0 => Ok(Self::Sqlite),
            // LevelDB's folders have the same files, but for the options.
            (Some(Self::Rocksdb), None) if path.join("CURRENT").is_file() => Ok(Self::Rocksdb),
            (given, None) => {
                let expected = given.map_or("of SQLite, LMDB or RocksDB", Self::shown);
                Err(Failure::refused(
                    format!("{} is not {expected}, or cut off", path.display()),
                    "`ogive db import` reads CSV, TSV, JSON lines and Parquet",
                ))
            }
        }
    }

    fn of_file(path: &Path) -> std::io::Result<Option<Self>> {
        let mut head = Vec::new();
        File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
        let is_lmdb = head.get(LMDB_OFFSET..LMDB_OFFSET + 4) == Some(&LMDB.to_ne_bytes()[..]);
        Ok(match () {
            () if head.starts_with(SQLITE) => Some(Self::Sqlite),
            () if is_lmdb => Some(Self::Lmdb),
            () => None,
        })
    }

    fn of_folder(path: &Path) -> Option<Self> {
        let data: PathBuf = path.join(LMDB_DATA);
        if data.is_file() {
            return Self::of_file(&data).ok().flatten().filter(|found| *found == Self::Lmdb);
        }
        let current = std::fs::read_to_string(path.join("CURRENT")).unwrap_or_default();
        let has_options = || {
            let names = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.into_iter().any(|name| name.to_string_lossy().starts_with("OPTIONS-"))
        };
        (current.starts_with("MANIFEST-") && has_options()).then_some(Self::Rocksdb)
    }
}
