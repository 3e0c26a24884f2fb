//! Options and output shared by all commands that read a table.

use crate::failure::Result;
use crate::key;
use crate::output::{Output, note};
use crate::receipt;
use crate::size::ByteSize;
use ogive::KeyType;
use ogive::io::LocalStorage;
use ogive::table::{OpenOptions, ReadTrace, Table};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Display;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

/// Table property with the type of values that are not text.
pub(crate) const VALUE_TYPE: &str = "ogive.value-type";
/// Its value for little-endian 64-bit integers.
pub(crate) const U64_VALUES: &[u8] = b"u64";

/// The table to read, and how to read it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TableOptions {
    /// Table to read
    #[arg(value_name = "TABLE")]
    path: PathBuf,

    /// Memory for the index, cached blocks and values
    #[arg(long, value_name = "N", default_value = "64MiB", help_heading = "Table")]
    memory: ByteSize,

    /// Bypass the page cache if the file system supports it
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
                "warning: the file system of {} does not support direct reads; using the page cache",
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

/// A range of keys.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RangeOptions {
    /// First key of the range [default: the first of the table]
    #[arg(value_name = "FROM", allow_negative_numbers = true)]
    from: Option<OsString>,

    /// End of the range, exclusive [default: the end of the table]
    #[arg(value_name = "TO", allow_negative_numbers = true)]
    to: Option<OsString>,
}

impl RangeOptions {
    /// The bounds for a table of this type; `None` if the range is empty.
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

/// An open table with the trace of its reads so far.
#[derive(Debug)]
pub(crate) struct OpenTable {
    pub(crate) table: Table,
    pub(crate) receipt: ReadTrace,
    /// Whether reads bypass the page cache, if requested.
    cold: Option<bool>,
    /// Whether values are numbers.
    numbers: bool,
}

impl OpenTable {
    /// Prints an answer as an object or as text, and the reads if requested.
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

    /// Prints the reads after an answer of several lines.
    pub(crate) fn explain(&self, output: &mut Output) -> Result<()> {
        if output.is_json() {
            return output.json(&serde_json::json!({ "reads": receipt::to_json(&self.receipt.reads) }));
        }
        self.print_reads(output)
    }

    /// Prints a negative answer: the object, or the reads if requested. A note follows.
    pub(crate) fn absent(&self, output: &mut Output, object: Value, explain: bool) -> Result<()> {
        if output.is_json() {
            self.answer(output, object, "", explain)?;
        } else if explain {
            self.print_reads(output)?;
        }
        output.flush()
    }

    /// Prints every read so far.
    pub(crate) fn print_reads(&self, output: &mut Output) -> Result<()> {
        receipt::lines(&self.receipt.reads).into_iter().try_for_each(|line| output.line(line))
    }

    /// A value in text output.
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
