//! Whole runs of the program. Goal: a store has the records of its source, or the run says why not. Method: sources are
//! made by their own libraries, imported by the program, and what the store has is compared, typed, with what was put
//! into the source.

#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "sqlite")]
mod runs;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod sqlite_random;
#[cfg(feature = "sqlite")]
mod sqlite_refused;
mod support;
