//! Errors of the engine as those of DataFusion.

use datafusion::error::DataFusionError;
use ogive_arrow::RecordError;
use std::fmt;

/// An error of the engine, which names its file and says what to do, for developers, too: a cluster passes on how an
/// executor would print its errors for them.
pub(crate) struct EngineError(pub(crate) ogive::Error);

impl fmt::Display for EngineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl fmt::Debug for EngineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
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
        let error = ogive::Error::NotATable { path: "t.ogive".into(), detail: "it is empty".to_owned() };
        let message = error.to_string();
        assert_eq!(format!("{:?}", external(error)), format!("External({message})"));
    }
}
