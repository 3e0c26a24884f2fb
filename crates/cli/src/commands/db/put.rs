//! `ogive db put`: writes an entry.

use super::store::{KeyspaceOptions, OpenKeyspace};
use crate::commands::ordered_map::OrderedMap;
use crate::commands::verbs;
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::reading::pipe::InputFile;
use crate::reading::standard_input::{input_named, shown};
use crate::values::dates::utc_time;
use crate::values::size::positive_duration;
use crate::values::value;
use ogive::types::ValueType;
use ogive::{Durability, KeyType};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Longer than any entry is needed.
const FOREVER: Duration = Duration::from_secs(1 << 40);

const EXAMPLES: &str = "\
Examples:
  ogive db put fruit apple red                  write an entry
  ogive db put films night --file night.mkv     write a file of up to 1 GiB as a value
  ogive db put ids 1234 hello --key-type u64    write an entry with an integer key
  ogive db put people 7 'Ann,1990-05-01'        write a row, as a record of CSV
  ogive db put fruit pear 'a\\x00b' --escaped     write bytes as `ogive scan` prints them
  ogive db put sessions 7 ada --ttl 30m         write an entry that is gone after half an hour

Keys take the escapes that `ogive scan` prints. Values of bytes are written as they are; with --escaped, they take the
same escapes: \\n, \\r, \\t, \\xNN and \\\\. Single values of other types are read as they are printed;
rows are records of CSV, as `ogive export` writes them, while `get` and `scan` print their fields with tabs between.

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

    /// Read escapes in a value of bytes, as `ogive scan` prints them: \n, \r, \t, \xNN and \\
    #[arg(long, conflicts_with = "file")]
    escaped: bool,

    /// Read the value from a file; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    file: Option<PathBuf>,

    /// Let the entry expire so long from now on, as in 30m or 90d
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    #[arg(conflicts_with = "file")]
    ttl: Option<Duration>,

    /// Let the entry expire at a time in UTC, as in 2030-01-31T12:00:00
    #[arg(long, value_name = "TIME", value_parser = utc_time, conflicts_with_all = ["file", "ttl"])]
    expires_at: Option<SystemTime>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbPut, output: &mut Output) -> Result<Outcome> {
    // Opened before the store is created, so that a missing file leaves no store behind.
    let file = arguments.file.as_deref().map(open_file).transpose()?;
    let open = arguments.keyspace.create(Durability::Synced, None)?;
    let value = arguments.value(&open.types.values);
    let value = match value.and_then(|value| open.parse_key(&arguments.key).map(|_| value)) {
        Ok(value) => value,
        Err(failure) => {
            // It says more than a failure to take back.
            _ = open.take_back();
            return Err(failure);
        }
    };
    if let Some(expires) = arguments.expires() {
        let put = |open: OpenKeyspace, key: &Vec<u8>| open.put_until(key, &value, expires);
        return verbs::change(open, &arguments.key, put, output);
    }
    match file {
        Some(mut file) => verbs::change(open, &arguments.key, |open, key| open.put_stream(key, &mut file), output),
        None => verbs::put(open, &arguments.key, &value, output),
    }
}

impl DbPut {
    /// The time at which the entry expires, if it does.
    fn expires(&self) -> Option<SystemTime> {
        let ttl = self.ttl.map(|ttl| SystemTime::now().checked_add(ttl).unwrap_or(SystemTime::UNIX_EPOCH + FOREVER));
        ttl.or(self.expires_at)
    }

    /// The bytes of the value that is an argument; none of one in a file.
    fn value(&self, values: &ValueType) -> Result<Vec<u8>> {
        if self.file.is_some() {
            return match values {
                ValueType::Scalar(KeyType::Bytes | KeyType::Text) => Ok(Vec::new()),
                _ => Err(Failure::usage(
                    format!("the values of the keyspace are of type {values}, not a file"),
                    "give the value as an argument, or use another keyspace for files, with --keyspace",
                )),
            };
        }
        let argument = self.value.as_deref().unwrap_or_default().as_encoded_bytes();
        match self.escaped && values.is_bytes() {
            true => value::from_escaped(argument),
            false => value::from_argument(values, argument),
        }
    }
}

fn open_file(path: &Path) -> Result<InputFile> {
    let path = input_named(path.as_os_str());
    InputFile::open(path).map_err(|source| Failure::File { action: "open", path: shown(path).to_string(), source })
}
