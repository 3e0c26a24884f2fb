//! Arguments of `ogive db`: its sub-commands.

use super::changes::{apply, show};
use super::store::StoreFolder;
use super::{
    alter, backup, backups, bench, checkpoint, compact, delete, drop_keyspace, import, indexes, ingest, keyspaces, put,
    restore, upgrade,
};
use crate::commands::subcommands;

/// Help after the sub-commands.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive db put fruit apple red                   write an entry; creates the store if necessary
  ogive db import ids rows.csv --key id --value name
                                                 import a file
  ogive db apply bank transfer.jsonl             apply changes as one transaction, if keys have expected values
  ogive db backup fruit backups --keep 7         back up what is new, while the store is in use
  ogive db checkpoint fruit fruit-of-today       make a consistent copy with hard links
  ogive db changes fruit                         print the last changes; with a subscriber, all from then on

  ogive get fruit apple                          look up a key, as in tables and indexes
  ogive scan fruit --from a --to c               print entries in order

A store is a folder that contains keys and values of any length. It survives crashes: what a command reports is durable.
The commands that read a store read tables and indexes, too: `ogive get`, scan, count, rank, nth, export, info, stats,
verify, repair and report.";

subcommands! {
    /// The sub-commands, in the order in which a new user needs them.
    DbCommand {
        Put(put::DbPut) => put::run,
        Delete(delete::DbDelete) => delete::run,
        Apply(apply::DbApply) => apply::run,
        Import(import::DbImport) => import::run,
        Ingest(ingest::DbIngest) => ingest::run,
        /// List the keyspaces of a store: rows, bytes, types of keys
        #[command(after_help = keyspaces::EXAMPLES)]
        Keyspaces(StoreFolder) => keyspaces::run,
        Alter(alter::DbAlter) => alter::run,
        /// Create, list and drop indexes of keyspaces, and look records up by them
        #[command(subcommand, after_help = indexes::EXAMPLES)]
        Index(indexes::IndexesCommand) => indexes::IndexesCommand::run,
        DropKeyspace(drop_keyspace::DbDropKeyspace) => drop_keyspace::run,
        Compact(compact::DbCompact) => compact::run,
        /// Raise the format of a store to the newest
        #[command(after_help = upgrade::EXAMPLES)]
        Upgrade(StoreFolder) => upgrade::run,
        Changes(show::DbChangesArguments) => show::run,
        Checkpoint(checkpoint::DbCheckpoint) => checkpoint::run,
        Backup(backup::DbBackup) => backup::run,
        Archive(backup::DbArchive) => backup::archive,
        Backups(backups::DbBackups) => backups::run,
        Restore(restore::DbRestore) => restore::run,
        Bench(bench::DbBench) => bench::run,
    }
}
