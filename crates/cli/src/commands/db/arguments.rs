//! Arguments of `ogive db`: its sub-commands.

use super::store::StoreFolder;
use super::{bench, checkpoint, compact, delete, export, get, import, ingest, put, repair, scan, stats, verify};
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  ogive db put fruit apple red                   write an entry; creates the store if necessary
  ogive db get fruit apple                       look up a key
  ogive db import ids rows.csv --key id --value name
                                                 import a file
  ogive db scan fruit --from a --to c            print entries in order
  ogive db checkpoint fruit fruit-of-today       make a consistent copy with hard links

A store is a folder that holds keys and values of any length. It survives crashes: what a command reports is durable.";

/// Work with stores: crash-safe, log-structured, for keys and values of any length
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = false)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The sub-commands, in the order in which a new user needs them.
#[derive(Debug, Subcommand)]
enum Command {
    Put(put::Arguments),
    Get(get::Arguments),
    Delete(delete::Arguments),
    Scan(scan::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Ingest(ingest::Arguments),
    /// Show statistics of a store: keyspaces, levels, sizes
    #[command(after_help = stats::EXAMPLES)]
    Stats(StoreFolder),
    /// Compact a store completely
    #[command(after_help = compact::EXAMPLES)]
    Compact(StoreFolder),
    Checkpoint(checkpoint::Arguments),
    /// Check all files of a store, and every value pointer
    #[command(after_help = verify::EXAMPLES)]
    Verify(StoreFolder),
    /// Repair a damaged store, keeping everything that passes its checksums
    #[command(after_help = repair::EXAMPLES)]
    Repair(StoreFolder),
    Bench(bench::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    match &arguments.command {
        Command::Put(arguments) => put::run(arguments, output),
        Command::Get(arguments) => get::run(arguments, output),
        Command::Delete(arguments) => delete::run(arguments, output),
        Command::Scan(arguments) => scan::run(arguments, output),
        Command::Import(arguments) => import::run(arguments, output),
        Command::Export(arguments) => export::run(arguments, output),
        Command::Ingest(arguments) => ingest::run(arguments, output),
        Command::Stats(arguments) => stats::run(arguments, output),
        Command::Compact(arguments) => compact::run(arguments, output),
        Command::Checkpoint(arguments) => checkpoint::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Repair(arguments) => repair::run(arguments, output),
        Command::Bench(arguments) => bench::run(arguments, output),
    }
}
