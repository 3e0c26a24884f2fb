//! Records and keys of rows.

use crate::error::external_record;
use crate::relation::key_names;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::error::Result;
use ogive::types::RecordType;
use ogive_arrow::RecordEncoder;

/// Makes keys of the columns of rows.
#[derive(Clone, Debug)]
pub(super) struct KeyEncoder {
    positions: Vec<usize>,
    encoder: RecordEncoder,
}

impl KeyEncoder {
    /// The keys of rows of a schema that become records of these types.
    pub(super) fn new(schema: &SchemaRef, types: &RecordType) -> Result<Self> {
        let positions = key_names(types).iter().map(|name| schema.index_of(name)).collect::<Result<Vec<_>, _>>()?;
        let keys = schema.project(&positions)?;
        let encoder = RecordEncoder::of_types(&keys, &types.clone().keys_only()).map_err(external_record)?;
        Ok(Self { encoder, positions })
    }

    /// Passes the key of each row to `visit`.
    pub(super) fn visit(&self, batch: &RecordBatch, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let columns = batch.project(&self.positions)?;
        let visited = self.encoder.visit(&columns, |key, _| {
            visit(key);
            Ok(())
        });
        visited.map_err(external_record)
    }
}
