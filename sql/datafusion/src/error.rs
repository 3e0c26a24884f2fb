//! Errors of the engine as those of DataFusion.

use crate::voice::Statement;
use datafusion::error::DataFusionError;
use ogive_arrow::RecordError;
use ogive_parquet::ParquetIndexError;
use std::fmt;

/// An error of the engine, which names its file and says in the words of SQL what to do, for developers, too: a cluster
/// passes on how an executor would print its errors for them.
pub(crate) struct EngineError(pub(crate) ogive::Error);

/// An error of an index beside Parquet files, in the same way.
struct BesideError(ParquetIndexError);

impl fmt::Display for BesideError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.told_in(&Statement))
    }
}

impl fmt::Debug for BesideError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for BesideError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.told_in(&Statement))
    }
}

impl fmt::Debug for EngineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// An error of the engine as one of DataFusion.
pub(crate) fn external(error: ogive::Error) -> DataFusionError {
    DataFusionError::External(Box::new(EngineError(error)))
}

/// An error of an index beside Parquet files as one of DataFusion.
pub(crate) fn of_parquet(error: ParquetIndexError) -> DataFusionError {
    DataFusionError::External(Box::new(BesideError(error)))
}

/// The error of rows that are no records as one of DataFusion.
pub(crate) fn external_record(error: RecordError) -> DataFusionError {
    match error {
        RecordError::Engine(error) => external(error),
        error => DataFusionError::Plan(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn developers_are_told_what_people_are_told() {
        let error = ogive::Error::not_a_table("t.ogive", "it is empty");
        let message = error.told_in(&Statement);
        assert_eq!(format!("{:?}", external(error)), format!("External({message})"));
    }
}
