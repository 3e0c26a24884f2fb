//! Exceptions of errors of Arrow.

use crate::errors;
use arrow_schema::ArrowError;
use pyo3::PyErr;

/// An exception of an error of Arrow, which may be one of the engine.
pub(crate) fn arrow_error(error: ArrowError) -> PyErr {
    match error {
        ArrowError::ExternalError(error) => match error.downcast::<ogive::Error>() {
            Ok(error) => errors::of(*error),
            Err(error) => match error.downcast::<ogive_parquet::ParquetIndexError>() {
                Ok(error) => errors::of_parquet(*error),
                Err(error) => match error.downcast::<PyErr>() {
                    Ok(error) => *error,
                    Err(error) => errors::new("OgiveError", &error.to_string()),
                },
            },
        },
        error => errors::new("InvalidArgument", &error.to_string()),
    }
}
