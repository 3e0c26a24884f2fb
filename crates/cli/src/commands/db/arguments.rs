//! Arguments of `ogive db`: its sub-commands.

use super::open::OpenKeyspace;
use super::store::StoreFolder;
use super::{bench, checkpoint, compact, delete, export, get, import, ingest, put, repair, scan, stats, verify};
use crate::args::Outcome;
use crate::commands::verbs;
use crate::failure::Result;
use crate::output::Output;
use clap::Subcommand;

/// Help after the sub-commands.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive db put fruit apple red                   write an entry; creates the store if necessary
  ogive db get fruit apple                       look up a key
  ogive db import ids rows.csv --key id --value name
                                                 import a file
  ogive db scan fruit --from a --to c            print entries in order
  ogive db checkpoint fruit fruit-of-today       make a consistent copy with hard links

A store is a folder that holds keys and values of any length. It survives crashes: what a command reports is durable.";

/// The sub-commands, in the order in which a new user needs them.
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    Put(put::DbPut),
    Get(get::DbGet),
    Delete(delete::DbDelete),
    Scan(scan::DbScan),
    Import(import::DbImport),
    Export(export::DbExport),
    Ingest(ingest::DbIngest),
    /// Show statistics of a store: keyspaces, levels, sizes
    #[command(after_help = stats::EXAMPLES)]
    Stats(StoreFolder),
    /// Compact a store completely
    #[command(after_help = compact::EXAMPLES)]
    Compact(StoreFolder),
    Checkpoint(checkpoint::DbCheckpoint),
    /// Check all files of a store, and every value pointer
    #[command(after_help = verify::EXAMPLES)]
    Verify(StoreFolder),
    /// Repair a damaged store, keeping everything that passes its checksums
    #[command(after_help = repair::EXAMPLES)]
    Repair(StoreFolder),
    Bench(bench::DbBench),
}

/// Runs the command.
pub(crate) fn run(command: &DbCommand, output: &mut Output) -> Result<Outcome> {
    match command {
        DbCommand::Put(arguments) => put::run(arguments, output),
        DbCommand::Get(arguments) => get::run(arguments, output),
        DbCommand::Delete(arguments) => delete::run(arguments, output),
        DbCommand::Scan(arguments) => scan::run(arguments, output),
        DbCommand::Import(arguments) => import::run(arguments, output),
        DbCommand::Export(arguments) => export::run(arguments, output),
        DbCommand::Ingest(arguments) => ingest::run(arguments, output),
        DbCommand::Stats(store) => verbs::stats::<OpenKeyspace>(store, output),
        DbCommand::Compact(arguments) => compact::run(arguments, output),
        DbCommand::Checkpoint(arguments) => checkpoint::run(arguments, output),
        DbCommand::Verify(store) => verbs::verify::<OpenKeyspace>(store, output),
        DbCommand::Repair(arguments) => repair::run(arguments, output),
        DbCommand::Bench(arguments) => bench::run(arguments, output),
    }
}
