//! Errors of storage and of the engine as errors of DataFusion, with the file that they concern.

use datafusion::error::DataFusionError;
use std::path::Path;

/// The error of the engine, which names its file.
pub(crate) fn engine(error: ogive::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The error of an operation on a file.
pub(crate) fn file<'a>(action: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> DataFusionError + 'a {
    move |error| failed(format!("cannot {action} {}: {error}", path.display()))
}

/// An error with this message.
pub(crate) fn failed(message: impl Into<String>) -> DataFusionError {
    DataFusionError::Execution(message.into())
}
