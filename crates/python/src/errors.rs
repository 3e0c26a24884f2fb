//! Exceptions. Their classes are in Python (`ogive._errors`), since they have two bases: `OgiveError`, and what people
//! catch.

use crate::voice::Package;
use ogive::{Cause, Error};
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

fn raise(class: &str, message: &str, file: Option<&Path>, offset: Option<u64>) -> PyErr {
    Python::attach(|py| {
        let made = || -> PyResult<PyErr> {
            let class = py.import("ogive._errors")?.getattr(class)?;
            let file = file.map(|file| file.display().to_string());
            Ok(PyErr::from_value(class.call1((message, file, offset))?))
        };
        made().unwrap_or_else(|_| PyRuntimeError::new_err(message.to_owned()))
    })
}

/// Whether an exception is one of this package.
pub(crate) fn is_own(py: Python<'_>, error: &PyErr) -> bool {
    let class = || py.import("ogive._errors")?.getattr("OgiveError");
    class().is_ok_and(|class| error.matches(py, class).unwrap_or(false))
}

/// The class of an error: that of its kind, or one below it where Python expects another, or programs act on it.
fn class_of(error: &Error) -> &'static str {
    match error.cause {
        Cause::Io(ErrorKind::PermissionDenied) => "PermissionDenied",
        Cause::Io(ErrorKind::AlreadyExists) => "AlreadyExists",
        Cause::Io(ErrorKind::TimedOut) => "TimedOut",
        Cause::ReadOnly | Cause::Poisoned => "ReadOnly",
        Cause::Gone => "Gone",
        Cause::KeyspaceDropped => "NoKeyspace",
        Cause::NotATable | Cause::NotAnIndex | Cause::NotAStore => "WrongFile",
        Cause::Closed => "Closed",
        Cause::Conflict => "Conflict",
        Cause::NotUnique => "NotUnique",
        _ => class_of_kind(error.kind()),
    }
}

fn class_of_kind(kind: ogive::ErrorKind) -> &'static str {
    use ogive::ErrorKind as Kind;
    match kind {
        Kind::Io => "StorageError",
        Kind::NotFound => "NotFound",
        Kind::Damaged => "Damaged",
        Kind::Version => "WrongVersion",
        Kind::Locked => "Locked",
        Kind::Busy => "Busy",
        Kind::Memory => "MemoryShort",
        Kind::Type => "WrongType",
        Kind::Input => "InvalidArgument",
        Kind::Unsupported => "Unsupported",
        Kind::Bug => "Bug",
        _ => "OgiveError",
    }
}

/// The exception of an error of the engine.
pub(crate) fn of(error: Error) -> PyErr {
    if error.cause == Cause::Interrupted {
        return PyKeyboardInterrupt::new_err(());
    }
    let source = error.io_error().and_then(io::Error::get_ref);
    if let Some(raised) = source.and_then(|source| source.downcast_ref::<PyErr>()) {
        return Python::attach(|py| raised.clone_ref(py));
    }
    raise(class_of(&error), &error.told_in(&Package), error.path(), error.offset())
}

/// An exception as an error of the engine while it reads `name`; [`of`] gives it back.
pub(crate) fn carried(name: &str, error: PyErr) -> Error {
    Error::io("read", name, io::Error::other(error))
}

/// The exception of an error of an index beside Parquet files.
pub(crate) fn of_parquet(error: ParquetIndexError) -> PyErr {
    let class = match error {
        ParquetIndexError::Engine(error) => return of(error),
        ParquetIndexError::Changed { .. } | ParquetIndexError::NewerVersion { .. } => "WrongVersion",
        ParquetIndexError::Gone { .. } => "NotFound",
        ParquetIndexError::NotAnIndex { .. } | ParquetIndexError::Malformed { .. } => "WrongFile",
        ParquetIndexError::NotIndexable { .. }
        | ParquetIndexError::Unstated { .. }
        | ParquetIndexError::NoColumn { .. }
        | ParquetIndexError::NoTimestamp { .. }
        | ParquetIndexError::TableFormat { .. }
        | ParquetIndexError::TableLog { .. } => "InvalidArgument",
        ParquetIndexError::Replaced { .. } => "Busy",
        _ => "OgiveError",
    };
    raise(class, &error.told_in(&Package), error.path(), None)
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
