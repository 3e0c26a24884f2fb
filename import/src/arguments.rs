//! The command line.

use crate::kind::Kind;
use clap::Parser;
use ogive_terminal::{ByteSize, duration};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ogive-import app.db store                            all tables of a SQLite database
  ogive-import app.db store --only users --only orders --rename users=accounts
  ogive-import app.db store --replace                  again, in place of what is there
  ogive-import cache/ store                            the databases of an LMDB environment
  ogive-import --from rocksdb data/ store --json       the column families of a RocksDB folder";

/// What the long help says besides.
const DETAILS: &str = "\
Each table, database or column family becomes a keyspace of its name. The unnamed database of LMDB is called 'default'.
Before it says that it is done, the program flushes the store, reads every record back, and compares their number and
their checksum with those at the source. What was killed on the way is told by the next run.

SQLite: columns have the types of their values, not those that are declared: i64, f64, text, bytes. Primary keys are the
keys; without one the key is the rowid. Indexes are created where indexes of Ogive can express them. What is left out is
named: views, triggers, virtual tables, generated columns, other indexes, foreign keys.
The source is opened read-only and never changed. A database of SQLite or LMDB may be in use: it is read in one read
transaction (in SQLite without a write-ahead log, writers wait for it). A store of RocksDB may not.

Exit codes: 0 done, 1 an error, 2 wrong usage, 130 interrupted.";

/// Import a SQLite database, an LMDB environment or a RocksDB folder into a store
#[derive(Debug, Parser)]
#[command(name = "ogive-import", version, after_help = EXAMPLES, after_long_help = long_help())]
pub(crate) struct Arguments {
    /// Kind of the source [default: by its first bytes]
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) from: Option<Kind>,

    /// The source: a file of SQLite, a file or folder of LMDB, a folder of RocksDB
    #[arg(value_name = "PATH")]
    pub(crate) source: PathBuf,

    /// Folder of the store; created if necessary
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,

    /// Import this table, database or column family alone (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,

    /// Leave this one out (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "only")]
    pub(crate) skip: Vec<String>,

    /// Call the keyspace of OLD NEW (repeatable)
    #[arg(long, value_name = "OLD=NEW", value_parser = renaming)]
    pub(crate) rename: Vec<(String, String)>,

    /// Drop the records and indexes of these keyspaces first
    #[arg(long, conflicts_with = "add")]
    pub(crate) replace: bool,

    /// Keep the records of these keyspaces; those with the same keys are replaced
    #[arg(long)]
    pub(crate) add: bool,

    /// Store columns with values of several classes as text; without it, they are an error (SQLite)
    #[arg(long)]
    pub(crate) as_text: bool,

    /// Read a database in a read-only folder; only if no program writes to it (SQLite)
    #[arg(long)]
    pub(crate) immutable: bool,

    /// Upper limit of the memory of the store
    #[arg(long, value_name = "N", default_value = "256MiB")]
    pub(crate) memory: ByteSize,

    /// How long to wait for another process that has the store, or the source, open for writing, as in 10s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) wait: Duration,

    /// Print the summary as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{DETAILS}")
}

fn renaming(text: &str) -> Result<(String, String), &'static str> {
    let parts = text.split_once('=').filter(|(old, new)| !old.is_empty() && !new.is_empty());
    parts.map(|(old, new)| (old.to_owned(), new.to_owned())).ok_or("give it as OLD=NEW")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
        assert_eq!(renaming("a=b"), Ok(("a".into(), "b".into())));
        assert!(renaming("a").is_err() && renaming("=b").is_err() && renaming("a=").is_err());
    }
}
