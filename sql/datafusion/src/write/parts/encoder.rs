//! Records and keys of rows.

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use ogive_arrow::RecordEncoder;

/// Makes keys of the columns of rows.
#[derive(Clone, Debug)]
pub(super) struct KeyEncoder {
    positions: Vec<usize>,
    encoder: RecordEncoder,
}

impl KeyEncoder {
    pub(super) fn new(schema: &SchemaRef, key: &[String]) -> Result<Self> {
        // The encoder of whole rows refuses what the one of a part would not see, such as a name that is there twice.
        encoder_of(schema, key)?;
        let positions = key.iter().map(|name| schema.index_of(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { encoder: encoder_of(&schema.project(&positions)?, key)?, positions })
    }

    /// Passes the key of each row to `visit`.
    pub(super) fn visit(&self, batch: &RecordBatch, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let columns = batch.project(&self.positions)?;
        let visited = self.encoder.visit(&columns, |key, _| {
            visit(key);
            Ok(())
        });
        visited.map_err(|error| DataFusionError::External(Box::new(error)))
    }
}

/// The encoder of rows whose keys are these columns.
pub(super) fn encoder_of(schema: &Schema, key: &[String]) -> Result<RecordEncoder> {
    RecordEncoder::new(schema, key, None).map_err(|error| DataFusionError::External(Box::new(error)))
}
