//! Frames: rows whose columns have the names that a scan gives the key and the fields of the value.

use super::columns::Columns;
use super::errors::arrow_error;
use super::input as arrow_in;
use super::keys::Keys;
use crate::errors;
use crate::object::Object;
use ogive::types::{KeyType, RecordColumn, RecordType, ValueType};
use ogive_arrow::{RecordEncoder, RecordError};
use pyo3::prelude::*;

/// The keys and the values of the rows of a frame.
pub(crate) fn records(frame: &Object<'_>, types: &RecordType) -> PyResult<(Keys, Keys)> {
    encoded(frame, &types.columns(), |schema| RecordEncoder::of_types(schema, types))
}

/// The values of the rows of a frame, which has the fields alone.
pub(crate) fn values(frame: &Object<'_>, types: &ValueType) -> PyResult<Keys> {
    let columns = RecordType::new(KeyType::Bytes, types.clone()).columns();
    encoded(frame, &columns, |schema| RecordEncoder::of_values(schema, types)).map(|(_, values)| values)
}

fn encoded(
    frame: &Object<'_>,
    columns: &[RecordColumn],
    encoder: impl FnOnce(&arrow_schema::Schema) -> Result<RecordEncoder, RecordError>,
) -> PyResult<(Keys, Keys)> {
    let reader = match frame.cast::<Columns>() {
        Ok(of_frame) => of_frame.get().rows_of(frame.py(), columns)?,
        Err(_) => arrow_in::rows(frame)?,
    };
    let encoder = encoder(&reader.schema()).map_err(errors::of_record)?;
    frame.py().detach(|| {
        let (mut keys, mut values) = (Keys::default(), Keys::default());
        for batch in reader {
            let before = keys.len();
            let visited = encoder.visit(&batch.map_err(arrow_error)?, |key, value| {
                keys.push(key);
                values.push(value);
                Ok(())
            });
            visited.map_err(|error| errors::of_record(error.after(before)))?;
        }
        Ok((keys, values))
    })
}
