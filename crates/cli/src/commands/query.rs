//! What all commands that read a table share: which table, how it is opened, and the receipt of what was read.

use crate::args::Outcome;
use crate::failure::Result;
use crate::key;
use crate::output::{Output, note};
use crate::receipt;
use crate::size::ByteSize;
use ogive::io::LocalStorage;
use ogive::{KeyType, OpenOptions, Receipt, Table};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Display;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

/// The table to read, and how.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TableOptions {
    /// Table to read
    #[arg(value_name = "TABLE")]
    path: PathBuf,

    /// Memory for the index, cached blocks and values
    #[arg(long, value_name = "N", default_value = "64MiB", help_heading = "Table")]
    memory: ByteSize,

    /// Read past the page cache, where the file system allows it
    #[arg(long, help_heading = "Table")]
    direct: bool,
}

impl TableOptions {
    /// Opens the table.
    pub(crate) fn open(&self) -> Result<OpenTable> {
        let (folder, name) = LocalStorage::split_path(&self.path)?;
        let storage = if self.direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) };
        let options = OpenOptions { budget_bytes: self.memory.0, ..OpenOptions::default() };
        let mut receipt = Receipt::default();
        let table = Table::open_traced(Arc::new(storage.clone()), &name, &options, &mut receipt)?;
        let cold = self.direct && !storage.refused_direct();
        if self.direct && !cold {
            note(format_args!("warning: the file system of {} refuses direct reads; these are cached ones", self.path.display()));
        }
        Ok(OpenTable { table, cold, direct: self.direct, receipt })
    }
}

/// The records to look at.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RangeOptions {
    /// First key [default: the first of the table]
    #[arg(value_name = "FROM", allow_negative_numbers = true)]
    from: Option<OsString>,

    /// Key to end before [default: behind the last of the table]
    #[arg(value_name = "TO", allow_negative_numbers = true)]
    to: Option<OsString>,
}

impl RangeOptions {
    /// The bounds for a table of this type; none where nothing can lie between them.
    pub(crate) fn bounds(&self, key_type: KeyType) -> Result<Option<(Bound<Vec<u8>>, Bound<Vec<u8>>)>> {
        let parsed = |argument: &Option<OsString>| {
            argument.as_ref().map(|argument| key::from_argument(key_type, argument)).transpose()
        };
        let (from, to) = (parsed(&self.from)?, parsed(&self.to)?);
        if let (Some(from), Some(to)) = (&from, &to)
            && from >= to
        {
            return Ok(None);
        }
        Ok(Some((from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded))))
    }
}

/// A table, open, and what was read from it so far.
#[derive(Debug)]
pub(crate) struct OpenTable {
    pub(crate) table: Table,
    pub(crate) receipt: Receipt,
    direct: bool,
    cold: bool,
}

impl OpenTable {
    /// Answers with a number.
    pub(crate) fn answer(
        &self,
        output: &mut Output,
        mut json: Value,
        text: impl Display,
        explain: bool,
    ) -> Result<Outcome> {
        if output.is_json() {
            if explain {
                json["reads"] = self.reads_to_json();
            }
            output.json(&json)?;
            return Ok(Outcome::Done);
        }
        output.line(text)?;
        if explain {
            self.print_reads(output)?;
        }
        Ok(Outcome::Done)
    }

    /// Shows every read so far.
    pub(crate) fn print_reads(&self, output: &mut Output) -> Result<()> {
        receipt::lines(&self.receipt.reads).into_iter().try_for_each(|line| output.line(line))
    }

    /// Every read so far.
    pub(crate) fn reads_to_json(&self) -> Value {
        receipt::to_json(&self.receipt.reads)
    }

    /// A value as a line shows it.
    pub(crate) fn shown_value<'a>(&self, value: &'a [u8]) -> Cow<'a, str> {
        key::escaped(value)
    }

    /// A value in JSON.
    pub(crate) fn value_to_json(&self, value: &[u8]) -> Value {
        key::bytes_to_json(value)
    }
}
