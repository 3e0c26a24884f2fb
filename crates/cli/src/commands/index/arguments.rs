//! Arguments of `ogive index`: its sub-commands.

use super::{create, delete, load, put};
use crate::commands::subcommands;

/// Help after the sub-commands.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive index create ids.ogx --value-bytes 8     create an empty index of u64 keys
  ogive index load ids.ogx keys.u64 --payload 8  load a file
  ogive index put ids.ogx 1234 hello             insert or overwrite an entry
  ogive index delete ids.ogx 1234                remove an entry
  ogive get ids.ogx 1234                         look up a key, as in tables and stores
  ogive explain ids.ogx 1234                     show the nodes that a lookup visits

An index is a file that is updated in place and survives crashes. All keys have one size, and so have all payloads. For
keys of variable length use a store (`ogive db`), for data that never change a table (`ogive build`). The commands that
read an index read tables and stores, too: `ogive get`, scan, count, rank, nth, export, info, stats, explain, verify,
repair and report.";

subcommands! {
    /// The sub-commands, in the order in which a new user needs them.
    IndexCommand {
        Create(create::IndexCreate) => create::run,
        Load(load::IndexLoad) => load::run,
        Put(put::IndexPut) => put::run,
        Delete(delete::IndexDelete) => delete::run,
    }
}
