//! Exceptions. Their classes are in Python (`ogive._errors`), since they have two bases: `OgiveError`, and what people
//! catch.

use ogive::Error;
use ogive_arrow::RecordError;
use ogive_parquet::ParquetIndexError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use std::ffi::CString;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The exception of a class of `ogive._errors` with a message.
pub(crate) fn new(class: &str, message: &str) -> PyErr {
    raise(class, message, None, None)
}

/// Warns the caller of a function of the package.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let message = CString::new(message.replace('\0', "")).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)
}

/// As [`new`], with the file that it is about.
pub(crate) fn of_file(class: &str, message: &str, file: &Path) -> PyErr {
    raise(class, message, Some(file), None)
}

/// What the library advises a program in Rust or at the command line to do, and the advice for Python.
const WORDS: [(&str, &str); 48] = [
    (
        "is read-only after a failure (it was opened read-only); fix the cause, then call `resume`, or open the store \
         again",
        "was opened read-only; open it without read_only=True to write",
    ),
    ("fix the cause, then call `resume`, or open the store again", "fix the cause, then open the store again"),
    (
        "check the path, or set `create` to create a store",
        "check the path; a store is created unless create=False or \
      read_only=True is given",
    ),
    ("open it with `Table::open`", "open it with ogive.Table, or ogive.ParquetIndex"),
    ("open it with `Index::open`", "open it with ogive.Index"),
    ("open that index with `Index::open`", "open that index with ogive.Index"),
    ("open its folder with `Db::open`", "open its folder with ogive.open"),
    ("`DbOptions::memory_bytes`", "memory="),
    ("`TableOptions::memory_bytes`", "memory="),
    ("`JoinOptions::memory_bytes`", "memory="),
    ("`ogive build --external --update`", "ogive.index_parquet(..., update=True)"),
    ("take the files as they are (`--ignore-table-log`)", "take the files as they are (ignore_table_log=True)"),
    ("read the column with --type ", "name the column in nanoseconds=: "),
    ("leave out --type ", "leave it out of nanoseconds=: "),
    ("with --partition ", "with partitions={COLUMN: TYPE}: "),
    (" or --partition ", " or "),
    ("list the files (`--files LIST`)", "list the files (files=[...])"),
    ("give them (`--files LIST`)", "give them (files=[...])"),
    ("`ogive profile PATH -o FILE` makes one", "ogive.profile(PATH).save(FILE) makes one"),
    ("(environment or --storage-option)", "(in the environment)"),
    ("in the environment or by --storage-option", "in the environment"),
    (
        "is locked by another process; wait for it to finish",
        "is locked by another process; close it there, or open it with read_only=True",
    ),
    ("read it as a stream with `value_reader`, or raise `memory_bytes`", "open it again with more memory: memory="),
    ("; restore it with `Backups::restore`", "; restore it with the command `ogive db restore`"),
    ("register the crate of its structure (`IndexKind::register`) before opening it", "open it where it was made"),
    ("call `IndexKind::register` where the program starts", "choose one that this package has"),
    ("use larger blocks or unset `value_width`", "give larger blocks: block_size="),
    ("; try `auto`", "; try method=\"auto\""),
    ("use another method, or `auto`", "use another method, or method=\"auto\""),
    (", or allow more time (`deadline`)", ""),
    ("(`account_name`)", "(in the environment: AZURE_STORAGE_ACCOUNT_NAME)"),
    ("(`access_key_id`)", "(in the environment: AWS_ACCESS_KEY_ID)"),
    ("(`secret_access_key`)", "(in the environment: AWS_SECRET_ACCESS_KEY)"),
    ("name the column or the columns of the key (`--key COLUMN`)", "name the column or the columns of the key: key="),
    (" (or write with a longer `DbOptions::object_grace_s`)", ""),
    (
        "call `ogive_object_store::register()`, or build the command `ogive` with its feature `object-store`",
        "use a package that was built with object stores",
    ),
    (
        "values of fixed width or with versions cannot be streamed; use `append`",
        "values of fixed width cannot be streamed",
    ),
    ("this table is not versioned; create it with `versioned`", "this table is not versioned"),
    (
        "use the command `ogive-research`, which has the methods of papers",
        "give method=\"auto\", or use the command `ogive-research`, which has the methods of papers",
    ),
    ("which this program has not registered; use the command", "which this package does not have; use the command"),
    (" (`ulimit -n`, `--open-files`)", " (`ulimit -n`)"),
    ("remove its records with `remove_range(..)`", "remove its records with clear()"),
    (" (`SortingWriter::create_with_scratch`)", ""),
    ("which is not what its `RecordShape` states", "which is not what its types state"),
    ("set `JoinOptions::spill`, or raise ", "raise "),
    ("writes bypassed the index: call `rebuild`", "writes bypassed the index"),
    ("this program was built without the feature", "this package was built without the feature"),
    ("open it with one (`DbOptions::learning`)", "use the command `ogive-research`"),
];

fn raise(class: &str, message: &str, file: Option<&Path>, offset: Option<u64>) -> PyErr {
    let mut message = message.to_owned();
    for (programs, python) in WORDS {
        if message.contains(programs) {
            message = message.replace(programs, python);
        }
    }
    Python::attach(|py| {
        let made = || -> PyResult<PyErr> {
            let class = py.import("ogive._errors")?.getattr(class)?;
            let file = file.map(|file| file.display().to_string());
            Ok(PyErr::from_value(class.call1((&message, file, offset))?))
        };
        made().unwrap_or_else(|_| PyRuntimeError::new_err(message.clone()))
    })
}

/// Whether an exception is one of this package.
pub(crate) fn is_own(py: Python<'_>, error: &PyErr) -> bool {
    let class = || py.import("ogive._errors")?.getattr("OgiveError");
    class().is_ok_and(|class| error.matches(py, class).unwrap_or(false))
}

/// The class, the file and the offset of an error.
fn facts(error: &Error) -> (&'static str, Option<&Path>, Option<u64>) {
    match error {
        Error::Io { path, source, .. } => match source.kind() {
            ErrorKind::NotFound => ("NotFound", Some(path), None),
            ErrorKind::PermissionDenied => ("PermissionDenied", Some(path), None),
            ErrorKind::AlreadyExists => ("AlreadyExists", Some(path), None),
            ErrorKind::TimedOut => ("TimedOut", Some(path), None),
            _ => ("StorageError", Some(path), None),
        },
        Error::WrongAnswer { path, .. } => ("StorageError", Some(path), None),
        Error::Damaged { path, offset, .. } => ("Damaged", Some(path), Some(*offset)),
        Error::UnknownVersion { path, .. } => ("UnknownVersion", Some(path), None),
        Error::NotATable { path, .. }
        | Error::NotAPageFile { path, .. }
        | Error::NotAnIndex { path, .. }
        | Error::NotAStore { path, .. } => ("WrongFile", Some(path), None),
        Error::Locked { path, .. } => ("Locked", Some(path), None),
        Error::StoreReadOnly { path, .. } | Error::Poisoned { path } => ("ReadOnly", Some(path), None),
        Error::Fenced { path, .. } => ("Fenced", Some(path), None),
        Error::VersionGone { path } => ("VersionGone", Some(path), None),
        Error::Gone { path } => ("Gone", Some(path), None),
        Error::StoreClosed { path } => ("Closed", Some(path), None),
        Error::ObjectChanged { path, .. } | Error::FileReplaced { path, .. } | Error::Changed { path, .. } => {
            ("Changed", Some(path), None)
        }
        Error::WrongRecordType { .. } | Error::WrongTableType { .. } | Error::WrongType { .. } => {
            ("WrongType", None, None)
        }
        Error::MemoryShort { path, .. } => ("MemoryShort", Some(path), None),
        Error::JoinMemoryShort { .. } => ("MemoryShort", None, None),
        Error::KeyspaceDropped { .. } => ("KeyspaceDropped", None, None),
        Error::Unsupported { path, .. } => ("Unsupported", Some(path), None),
        Error::InvalidArgument(_) | Error::KeyLength { .. } | Error::UnknownScheme { .. } => {
            ("InvalidArgument", None, None)
        }
        Error::ValueTooLarge { path, .. } | Error::Unsorted { path, .. } => ("InvalidArgument", Some(path), None),
        _ => ("OgiveError", None, None),
    }
}

/// The exception of an error of the engine.
pub(crate) fn of(error: Error) -> PyErr {
    if matches!(error, Error::Interrupted) {
        return PyKeyboardInterrupt::new_err(());
    }
    if let Error::Io { source, .. } = &error
        && let Some(raised) = source.get_ref().and_then(|source| source.downcast_ref::<PyErr>())
    {
        return Python::attach(|py| raised.clone_ref(py));
    }
    let (class, file, offset) = facts(&error);
    raise(class, &error.to_string(), file, offset)
}

/// An exception as an error of the engine while it reads `name`; [`of`] gives it back.
pub(crate) fn carried(name: &str, error: PyErr) -> Error {
    Error::Io { action: "read", path: name.into(), source: io::Error::other(error) }
}

/// The exception of an error of an index beside Parquet files.
pub(crate) fn of_parquet(error: ParquetIndexError) -> PyErr {
    let message = error.to_string();
    let (class, file) = match error {
        ParquetIndexError::Engine(error) => return of(error),
        ParquetIndexError::Changed { path, .. } => ("Changed", path),
        ParquetIndexError::Gone { path } => ("NotFound", path),
        ParquetIndexError::NotAnIndex { path, .. } => ("WrongFile", path),
        ParquetIndexError::Malformed { path, .. } => ("WrongFile", path),
        ParquetIndexError::NewerVersion { path, .. } => ("UnknownVersion", path),
        ParquetIndexError::NotIndexable { path, .. }
        | ParquetIndexError::NoColumn { path, .. }
        | ParquetIndexError::NoTimestamp { path, .. }
        | ParquetIndexError::TableFormat { path, .. }
        | ParquetIndexError::TableLog { path, .. } => ("InvalidArgument", path),
        ParquetIndexError::Replaced { path } => ("Changed", path),
        _ => return new("OgiveError", &message),
    };
    of_file(class, &message, &file)
}

/// Results of the engine as those of Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

/// The error of a value of a wrong type in a list, with its row, as of one in an array.
pub(crate) fn in_row(py: Python<'_>, error: PyErr, row: usize) -> PyErr {
    in_place(py, error, &format!("row {row}"))
}

/// The error of a value of a wrong type with its place; others stay.
pub(crate) fn in_place(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    let placed = new("WrongType", &format!("{}; in {place}", error.value(py)));
    if error.get_type(py).is(placed.get_type(py)) { placed } else { error }
}

/// The error of rows that are no records.
pub(crate) fn of_record(error: RecordError) -> PyErr {
    match error {
        RecordError::Columns(message) => new("InvalidArgument", &message),
        error @ (RecordError::Type(_) | RecordError::Value { .. }) => new("WrongType", &error.to_string()),
        RecordError::Engine(error) => of(error),
    }
}

impl<T> OrRaise<T> for ogive::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(of)
    }
}
