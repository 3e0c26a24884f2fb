//! Arguments of `ogive index`: its sub-commands.

use super::any::OpenIndex;
use super::file::{IndexFile, IndexLookup};
use super::{count, create, delete, explain, get, load, put, repair, scan, stats, verify};
use crate::commands::{subcommands, verbs};

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

subcommands! {
    /// The sub-commands, in the order in which a new user needs them.
    IndexCommand {
        Create(create::IndexCreate) => create::run,
        Load(load::IndexLoad) => load::run,
        Get(get::IndexGet) => get::run,
        Put(put::IndexPut) => put::run,
        Delete(delete::IndexDelete) => delete::run,
        Scan(scan::IndexScan) => scan::run,
        Count(count::IndexCount) => count::run,
        /// Show statistics of an index: entries, height, nodes, pages
        #[command(after_help = stats::EXAMPLES)]
        Stats(IndexFile) => verbs::stats::<OpenIndex>,
        /// Check every page of an index, the order of its keys, and its nodes
        #[command(after_help = verify::EXAMPLES)]
        Verify(IndexFile) => verbs::verify::<OpenIndex>,
        Repair(repair::IndexRepair) => repair::run,
        /// Show the path of a lookup, node by node
        #[command(after_help = explain::EXAMPLES)]
        Explain(IndexLookup) => explain::run,
    }
}
