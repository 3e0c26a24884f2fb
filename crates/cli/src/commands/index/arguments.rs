//! Arguments of `ogive index`: its sub-commands.

use super::file::IndexFile;
use super::{create, delete, explain, get, load, put, repair, scan, stats, verify};
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  ogive index create ids.ogx --value-bytes 8     create an empty index of u64 keys
  ogive index load ids.ogx keys.u64 --payload 8  load a file
  ogive index get ids.ogx 1234                   look up a key
  ogive index put ids.ogx 1234 hello             insert or overwrite an entry
  ogive index explain ids.ogx 1234               show the nodes that a lookup visits

An index is a file that is updated in place and survives crashes. All keys have one size, and so have all payloads. For
keys of variable length use a store (`ogive db`), for data that never change a table (`ogive build`).";

/// Work with indexes: ordered maps in a file, updated in place
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
    Create(create::Arguments),
    Load(load::Arguments),
    Get(get::Arguments),
    Put(put::Arguments),
    Delete(delete::Arguments),
    Scan(scan::Arguments),
    /// Show statistics of an index: entries, height, nodes, pages
    #[command(after_help = stats::EXAMPLES)]
    Stats(IndexFile),
    /// Check every page of an index, the order of its keys, and its nodes
    #[command(after_help = verify::EXAMPLES)]
    Verify(IndexFile),
    Repair(repair::Arguments),
    Explain(explain::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    match &arguments.command {
        Command::Create(arguments) => create::run(arguments, output),
        Command::Load(arguments) => load::run(arguments, output),
        Command::Get(arguments) => get::run(arguments, output),
        Command::Put(arguments) => put::run(arguments, output),
        Command::Delete(arguments) => delete::run(arguments, output),
        Command::Scan(arguments) => scan::run(arguments, output),
        Command::Stats(arguments) => stats::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
        Command::Repair(arguments) => repair::run(arguments, output),
        Command::Explain(arguments) => explain::run(arguments, output),
    }
}
