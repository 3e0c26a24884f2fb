//! Errors of the engine as those of DataFusion.

use datafusion::error::DataFusionError;

/// An error of the engine, which names its file, as one of DataFusion.
pub(crate) fn external(error: ogive::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
