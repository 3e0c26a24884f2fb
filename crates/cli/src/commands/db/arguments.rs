//! Arguments of `ogive db`: its sub-commands.

use super::store::{OpenKeyspace, StoreFolder};
use super::{
    backup, backups, bench, checkpoint, compact, count, delete, drop_keyspace, export, get, import, ingest, keyspaces,
    put, repair, restore, scan, stats, upgrade, verify,
};
use crate::commands::{subcommands, verbs};

/// Help after the sub-commands.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive db put fruit apple red                   write an entry; creates the store if necessary
  ogive db get fruit apple                       look up a key
  ogive db import ids rows.csv --key id --value name
                                                 import a file
  ogive db scan fruit --from a --to c            print entries in order
  ogive db backup fruit backups --keep 7         back up what is new, while the store is in use
  ogive db checkpoint fruit fruit-of-today       make a consistent copy with hard links

A store is a folder that holds keys and values of any length. It survives crashes: what a command reports is durable.";

subcommands! {
    /// The sub-commands, in the order in which a new user needs them.
    DbCommand {
        Put(put::DbPut) => put::run,
        Get(get::DbGet) => get::run,
        Delete(delete::DbDelete) => delete::run,
        Scan(scan::DbScan) => scan::run,
        Count(count::DbCount) => count::run,
        Import(import::DbImport) => import::run,
        Export(export::DbExport) => export::run,
        Ingest(ingest::DbIngest) => ingest::run,
        /// List the keyspaces of a store: rows, bytes, types of keys
        #[command(after_help = keyspaces::EXAMPLES)]
        Keyspaces(StoreFolder) => keyspaces::run,
        DropKeyspace(drop_keyspace::DbDropKeyspace) => drop_keyspace::run,
        /// Show statistics of a store: keyspaces, levels, sizes
        #[command(after_help = stats::EXAMPLES)]
        Stats(StoreFolder) => verbs::stats::<OpenKeyspace>,
        /// Compact a store completely
        #[command(after_help = compact::EXAMPLES)]
        Compact(StoreFolder) => compact::run,
        /// Raise the format of a store to the newest
        #[command(after_help = upgrade::EXAMPLES)]
        Upgrade(StoreFolder) => upgrade::run,
        Checkpoint(checkpoint::DbCheckpoint) => checkpoint::run,
        Backup(backup::DbBackup) => backup::run,
        Backups(backups::DbBackups) => backups::run,
        Restore(restore::DbRestore) => restore::run,
        /// Check all files of a store, and every value pointer
        #[command(after_help = verify::EXAMPLES)]
        Verify(StoreFolder) => verbs::verify::<OpenKeyspace>,
        /// Repair a damaged store, keeping everything that passes its checksums
        #[command(after_help = repair::EXAMPLES)]
        Repair(StoreFolder) => repair::run,
        Bench(bench::DbBench) => bench::run,
    }
}
