//! `ogive db put`: writes an entry.

use super::store::{KeyspaceOptions, is_there};
use crate::args::Outcome;
use crate::commands::verbs;
use crate::failure::{Failure, Result};
use crate::key;
use crate::output::Output;
use crate::pipe::{InputFile, input_named, shown};
use crate::value;
use ogive::types::ValueType;
use ogive::{Durability, KeyType};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive db put fruit apple red                  write an entry
  ogive db put films night --file night.mkv     write a file of up to 1 GiB as a value
  ogive db put ids 1234 hello --key-type u64    write an entry with an integer key
  ogive db put people 7 'Ann,1990-05-01'        write a row, as a record of CSV
  ogive db put fruit pear 'a\\x00b' --escaped     write bytes as `ogive db scan` prints them

Keys have the escapes that `ogive db scan` prints. Values of bytes are written as they are, unless --escaped says that
they have the same escapes: \\n, \\r, \\t, \\xNN and \\\\. Single values of other types are read as they are printed;
rows are records of CSV, as `ogive db export` writes them, while `get` and `scan` print their fields with tabs between.

Creates the store if necessary, and overwrites an existing entry. The entry is durable when the command returns. For
many entries, `ogive db import` is faster.";

/// Insert or overwrite an entry
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbPut {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Value of the entry
    #[arg(value_name = "VALUE", allow_negative_numbers = true, required_unless_present = "file")]
    value: Option<OsString>,

    /// Read escapes in a value of bytes, as `ogive db scan` prints them: \n, \r, \t, \xNN and \\
    #[arg(long, conflicts_with = "file")]
    escaped: bool,

    /// Read the value from a file; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    file: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbPut, output: &mut Output) -> Result<Outcome> {
    // Opened before the store is created, so that a missing file leaves no store behind.
    let file = arguments.file.as_deref().map(open_file).transpose()?;
    // The same for an invalid key.
    if !is_there(&arguments.keyspace.name.store.folder) {
        key::from_argument(arguments.keyspace.asked_keys().unwrap_or(KeyType::Bytes), &arguments.key)?;
    }
    let open = arguments.keyspace.create(Durability::Synced, None)?;
    match file {
        Some(_) if !matches!(open.types.values, ValueType::Scalar(KeyType::Bytes | KeyType::Text)) => {
            Err(Failure::usage(
                format!("the values of the keyspace are of type {}, not a file", open.types.values),
                "give the value as an argument, or use another keyspace for files, with --keyspace",
            ))
        }
        Some(mut file) => verbs::change(open, &arguments.key, |open, key| open.put_stream(key, &mut file), output),
        None => {
            let argument = arguments.value.as_deref().unwrap_or_default().as_encoded_bytes();
            let value = match arguments.escaped && open.types.values.is_bytes() {
                true => value::from_escaped(argument)?,
                false => value::from_argument(&open.types.values, argument)?,
            };
            verbs::put(open, &arguments.key, &value, output)
        }
    }
}

fn open_file(path: &Path) -> Result<InputFile> {
    let path = input_named(path.as_os_str());
    InputFile::open(path).map_err(|source| Failure::File { action: "open", path: shown(path).to_string(), source })
}
