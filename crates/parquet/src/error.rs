//! The error type of this crate. Every message names the file and says what to do.

use std::path::PathBuf;

/// Result of an operation on an index beside Parquet files.
pub type Result<T, E = ParquetIndexError> = std::result::Result<T, E>;

/// An error of an index beside Parquet files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetIndexError {
    /// An error of the engine: of the index file, or of reading a storage.
    #[error(transparent)]
    Engine(#[from] ogive::Error),
    /// A data file is not the one that was indexed.
    #[error(
        "{} has changed since it was indexed: {detail}; update the index (`ogive build --external --update`), or \
         restore the file",
        path.display()
    )]
    Changed {
        /// The data file.
        path: PathBuf,
        /// What differs.
        detail: String,
    },
    /// A data file that was indexed is gone.
    #[error(
        "{} is indexed, but is gone; update the index (`ogive build --external --update`), or restore the file",
        path.display()
    )]
    Gone {
        /// The data file.
        path: PathBuf,
    },
    /// Another writer replaced the index while a new one was made of it.
    #[error("{} was replaced while it was updated, and is left as it is now; run the same again", path.display())]
    Replaced {
        /// The index file.
        path: PathBuf,
    },
    /// A file is no Parquet file, is damaged, or uses a part of Parquet that is not supported.
    #[error("{} is not a readable Parquet file: {detail}", path.display())]
    Malformed {
        /// The data file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A timestamp of the type INT96 that the type of its column here cannot hold.
    #[error("{}: row {row} of column '{column}' is {value}, {detail}", path.display())]
    NoTimestamp {
        /// The data file.
        path: PathBuf,
        /// The number of the row in the file, counted from 1.
        row: u64,
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// Why it is none, and what to do.
        detail: String,
    },
    /// The files cannot be indexed together, or not by this key.
    #[error("{} cannot be indexed: {detail}", path.display())]
    NotIndexable {
        /// The data file or folder.
        path: PathBuf,
        /// The reason, and what to do.
        detail: String,
    },
    /// There is no such column.
    #[error("{} has no column '{column}'; its columns are {known}", path.display())]
    NoColumn {
        /// The data file, or the index.
        path: PathBuf,
        /// The name that was asked for.
        column: String,
        /// The names that there are.
        known: String,
    },
    /// The folder belongs to a table format.
    #[error(
        "{} belongs to a table of {format}, whose folder may hold files that are no longer part of the table; list the \
         files of one version, and give them (`--files LIST`)",
        path.display()
    )]
    TableFormat {
        /// The folder.
        path: PathBuf,
        /// The table format.
        format: &'static str,
    },
    /// The log of a lake table says that data files do not show its rows.
    #[error(
        "{} is a table of {format}, whose log {detail}, so its files may not show its rows; export the table to plain \
         Parquet files with an engine that reads it, or take the files as they are (`--ignore-table-log`)",
        path.display()
    )]
    TableLog {
        /// The folder of the table.
        path: PathBuf,
        /// The table format.
        format: &'static str,
        /// What its log says, or why it cannot be read.
        detail: String,
    },
    /// The file is an Ogive table, but no index beside Parquet files, or its content contradicts itself.
    #[error("{} is no index of Parquet files: {detail}; build it again", path.display())]
    NotAnIndex {
        /// The index file.
        path: PathBuf,
        /// What is missing or wrong.
        detail: String,
    },
    /// The index was written by a newer version of this crate.
    #[error(
        "{} is an index of Parquet files of version {version}, only those up to {known} are known; use a newer ogive",
        path.display()
    )]
    NewerVersion {
        /// The index file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The newest version known.
        known: u64,
    },
}
