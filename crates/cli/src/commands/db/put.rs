//! `ogive db put`: puts one entry in.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::key;
use crate::output::Output;
use ogive::lsm::Durability;
use ogive::table::KeyType;
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive db put fruit apple red                  an entry; the store is made if it is not there
  ogive db put films night --file night.mkv     a value of up to 1 GiB, read piece by piece
  ogive db put ids 1234 hello --keys u64        a key that is a number

An entry that has the key is overwritten. When the command is done, the entry is durable. For many entries, `ogive db import`
is faster.";

/// Put an entry in, or overwrite it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Its value
    #[arg(value_name = "VALUE", allow_negative_numbers = true, required_unless_present = "file")]
    value: Option<OsString>,

    /// Take the value from a file; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    file: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    // Before the store is made: a file that is not there leaves no store behind.
    let file = arguments.file.as_deref().map(open).transpose()?;
    // And neither does a key that is none of its type.
    if !arguments.keyspace.store.folder.exists() {
        key::from_argument(arguments.keyspace.asked_keys().unwrap_or(KeyType::Bytes), &arguments.key)?;
    }
    let open = arguments.keyspace.create(Durability::Synced, arguments.keyspace.asked_keys())?;
    let key = open.keys.parse(&arguments.key)?;
    match (file, &arguments.value) {
        (Some(mut file), _) => open.keyspace.insert_stream(&key, &mut file)?,
        (None, value) => {
            open.keyspace.insert(&key, value.as_ref().map_or(&[][..], |value| value.as_bytes()))?;
        }
    }
    let keys = open.keys;
    open.close("the entry is durable")?;
    if output.is_json() {
        output.json(&json!({ "key": keys.to_json(&key), "durable": true }))?;
    } else {
        output.line(format_args!("{}: put in", keys.shown(&key)))?;
    }
    Ok(Outcome::Done)
}

fn open(path: &Path) -> Result<File> {
    let path = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
    File::open(path).map_err(|source| Failure::File { action: "open", path: path.display().to_string(), source })
}
