//! Arguments of `ogive index`: its sub-commands.

use super::file::IndexFile;
use super::open::OpenIndex;
use super::{create, delete, explain, get, load, put, repair, scan, stats, verify};
use crate::args::Outcome;
use crate::commands::verbs;
use crate::failure::Result;
use crate::output::Output;
use clap::Subcommand;

/// Help after the sub-commands.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive index create ids.ogx --value-bytes 8     create an empty index of u64 keys
  ogive index load ids.ogx keys.u64 --payload 8  load a file
  ogive index get ids.ogx 1234                   look up a key
  ogive index put ids.ogx 1234 hello             insert or overwrite an entry
  ogive index explain ids.ogx 1234               show the nodes that a lookup visits

An index is a file that is updated in place and survives crashes. All keys have one size, and so have all payloads. For
keys of variable length use a store (`ogive db`), for data that never change a table (`ogive build`).";

/// The sub-commands, in the order in which a new user needs them.
#[derive(Debug, Subcommand)]
pub(crate) enum IndexCommand {
    Create(create::IndexCreate),
    Load(load::IndexLoad),
    Get(get::IndexGet),
    Put(put::IndexPut),
    Delete(delete::IndexDelete),
    Scan(scan::IndexScan),
    /// Show statistics of an index: entries, height, nodes, pages
    #[command(after_help = stats::EXAMPLES)]
    Stats(IndexFile),
    /// Check every page of an index, the order of its keys, and its nodes
    #[command(after_help = verify::EXAMPLES)]
    Verify(IndexFile),
    Repair(repair::IndexRepair),
    Explain(explain::IndexExplain),
}

/// Runs the command.
pub(crate) fn run(command: &IndexCommand, output: &mut Output) -> Result<Outcome> {
    match command {
        IndexCommand::Create(arguments) => create::run(arguments, output),
        IndexCommand::Load(arguments) => load::run(arguments, output),
        IndexCommand::Get(arguments) => get::run(arguments, output),
        IndexCommand::Put(arguments) => put::run(arguments, output),
        IndexCommand::Delete(arguments) => delete::run(arguments, output),
        IndexCommand::Scan(arguments) => scan::run(arguments, output),
        IndexCommand::Stats(file) => verbs::stats::<OpenIndex>(file, output),
        IndexCommand::Verify(file) => verbs::verify::<OpenIndex>(file, output),
        IndexCommand::Repair(arguments) => repair::run(arguments, output),
        IndexCommand::Explain(arguments) => explain::run(arguments, output),
    }
}
