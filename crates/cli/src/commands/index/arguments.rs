//! Which of the sub-commands of `ogive index`.

use super::{create, delete, explain, get, load, put, repair, scan, stats, verify};
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  ogive index create ids.ogx --value-bytes 8     make an empty index of u64 keys
  ogive index load ids.ogx keys.u64 --payload 8  fill it
  ogive index get ids.ogx 1234                   look a key up
  ogive index put ids.ogx 1234 hello             put an entry in, or overwrite it
  ogive index explain ids.ogx 1234               show the nodes that a look-up visits

An index is updated in place, entry by entry, and survives crashes. Its keys and its payloads have one size each; for
byte strings of any length, and for data that never change, build a table with `ogive build`.";

/// Make, change and ask indexes that are updated in place
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = false)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The sub-commands, in the order in which somebody new meets them.
#[derive(Debug, Subcommand)]
enum Command {
    Create(create::Arguments),
    Load(load::Arguments),
    Get(get::Arguments),
    Put(put::Arguments),
    Delete(delete::Arguments),
    Scan(scan::Arguments),
    Stats(stats::Arguments),
    Verify(verify::Arguments),
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
