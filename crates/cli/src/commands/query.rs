//! What all commands that read a table share: which table, how it is opened, and the receipt of what was read.

use crate::failure::Result;
use crate::key;
use crate::output::{Output, note};
use crate::receipt;
use crate::size::ByteSize;
use ogive::io::LocalStorage;
use ogive::table::{KeyType, OpenOptions, ReadTrace, Table};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Display;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

/// Property of a table whose values are no text: what they are.
pub(crate) const VALUE_TYPE: &str = "ogive.value-type";
/// Its value where values are little-endian 64-bit integers.
pub(crate) const U64_VALUES: &[u8] = b"u64";

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
    /// The table's path, for messages.
    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Opens the table.
    pub(crate) fn open(&self) -> Result<OpenTable> {
        let (folder, name) = LocalStorage::split_path(&self.path)?;
        let storage = if self.direct { LocalStorage::direct(folder) } else { LocalStorage::new(folder) };
        let options = OpenOptions { budget_bytes: self.memory.0, ..OpenOptions::default() };
        let table = Table::open(Arc::new(storage), &name, &options)?;
        let cold = self.direct.then(|| table.is_direct());
        if cold == Some(false) {
            note(format_args!(
                "warning: the file system of {} refuses direct reads; these are cached ones",
                self.path.display()
            ));
        }
        let receipt = ReadTrace { reads: vec![table.opening()] };
        let numbers = table.property(VALUE_TYPE) == Some(U64_VALUES);
        Ok(OpenTable { table, receipt, cold, numbers })
    }
}

/// Two ends of a range of keys.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

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
    pub(crate) fn bounds(&self, key_type: KeyType) -> Result<Option<Bounds>> {
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
    pub(crate) receipt: ReadTrace,
    /// Whether reads go past the page cache, where that was asked for.
    cold: Option<bool>,
    /// Whether values are numbers.
    numbers: bool,
}

impl OpenTable {
    /// Prints an answer: the object, or the text, and what was read where that was asked for.
    pub(crate) fn answer(
        &self,
        output: &mut Output,
        mut object: Value,
        text: impl Display,
        explain: bool,
    ) -> Result<()> {
        if output.is_json() {
            if explain {
                object["reads"] = receipt::to_json(&self.receipt.reads);
            }
            if let Some(cold) = self.cold {
                object["cold"] = cold.into();
            }
            return output.json(&object);
        }
        output.line(text)?;
        if explain {
            self.print_reads(output)?;
        }
        Ok(())
    }

    /// Tells behind an answer of several lines what was read.
    pub(crate) fn explain(&self, output: &mut Output) -> Result<()> {
        if output.is_json() {
            return output.json(&serde_json::json!({ "reads": receipt::to_json(&self.receipt.reads) }));
        }
        self.print_reads(output)
    }

    /// Tells that something is not there, before a note says what: the object, or what was read where that was asked for.
    pub(crate) fn absent(&self, output: &mut Output, object: Value, explain: bool) -> Result<()> {
        if output.is_json() {
            self.answer(output, object, "", explain)?;
        } else if explain {
            self.print_reads(output)?;
        }
        output.flush()
    }

    /// Shows every read so far.
    pub(crate) fn print_reads(&self, output: &mut Output) -> Result<()> {
        receipt::lines(&self.receipt.reads).into_iter().try_for_each(|line| output.line(line))
    }

    /// A value as a line shows it.
    pub(crate) fn shown_value<'a>(&self, value: &'a [u8]) -> Cow<'a, str> {
        self.number(value).map_or_else(|| key::escaped(value), |number| Cow::Owned(number.to_string()))
    }

    /// A value in JSON.
    pub(crate) fn value_to_json(&self, value: &[u8]) -> Value {
        self.number(value).map_or_else(|| key::bytes_to_json(value), Value::from)
    }

    fn number(&self, value: &[u8]) -> Option<u64> {
        value.try_into().ok().map(u64::from_le_bytes).filter(|_| self.numbers)
    }
}
