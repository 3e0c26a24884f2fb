//! Columns that both the files and their paths have, as `month=1/x.parquet` with a column `month`: the file's values
//! count, and must be those of its path.

use crate::catalog::{Catalog, DataFile};
use crate::error::{ParquetIndexError, Result};
use crate::file::int96::Reading;
use crate::folder::{Folder, join, shown};
use crate::rows::{ParquetRows, RowsOptions};
use crate::source::{NULL_FOLDER, stated};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use ogive::KeyType;
use ogive::types::Value;
use ogive_arrow::{key_type_of_field, unpacked, value_of};
use std::sync::Arc;

/// Checks that files have the values that their paths state, where they have columns of these names.
///
/// # Errors
/// [`ParquetIndexError::NotIndexable`] for another value, and for a file that lacks such a column of other files; those
/// of reading.
pub(crate) fn check<'a>(
    folder: &Arc<dyn Folder>,
    catalog: &Catalog,
    files: impl Iterator<Item = &'a DataFile>,
) -> Result<()> {
    for file in files {
        for (name, value) in stated(&file.path) {
            if catalog.schemas.iter().any(|schema| schema.column(&name).is_some()) {
                check_column(folder, catalog, file, &name, value.as_deref())?;
            }
        }
    }
    Ok(())
}

fn check_column(
    folder: &Arc<dyn Folder>,
    catalog: &Catalog,
    file: &DataFile,
    name: &str,
    value: Option<&str>,
) -> Result<()> {
    let states = format!("its folder states {name}={}", value.unwrap_or(NULL_FOLDER));
    let refused = |detail: String| {
        Err(ParquetIndexError::NotIndexable { path: shown(&**folder, &catalog.root, &file.path), detail })
    };
    let schema = catalog.schemas.get(file.schema);
    let Some(field) = schema.and_then(|schema| Some(schema.arrow.field(schema.column(name)?))) else {
        return refused(format!(
            "{states}, and other files have a column '{name}', which this file does not have; write the files anew \
             with or without it"
        ));
    };
    // What has no order, such as lists, has no text in a path either.
    // A column of nulls alone has no value that is one of the path, whatever its type would be.
    let known = if *field.data_type() == DataType::Null { Some(KeyType::Text) } else { key_type_of_field(field) };
    let Some(key_type) = known else { return Ok(()) };
    let expected = value.map(|text| key_type.parse(text).ok());
    let nanoseconds = catalog.reading.nanoseconds.iter().filter(|of| *of == name).cloned().collect();
    let reading = Reading { nanoseconds, ..catalog.reading.clone() };
    let options = RowsOptions::reading(reading).columns(vec![name.to_owned()]);
    let mut first_row = 1;
    for batch in ParquetRows::in_folder_with(folder.clone(), &join(&catalog.root, &file.path), &options)? {
        let batch = batch?;
        let Some(array) = batch.columns().first().cloned().and_then(|array| unpacked(array).ok()) else { continue };
        for row in 0..array.len() {
            let found = bytes_of(&array, key_type, row);
            let is_same = match (&found, &expected) {
                (None, None) => true,
                (Some(found), Some(Some(expected))) => found == expected,
                _ => false,
            };
            if !is_same {
                let number = first_row + row;
                let shown = found.map_or_else(|| "no value".to_owned(), |found| key_type.display(&found));
                return refused(format!(
                    "row {number} has {shown} in column '{name}', but {states}; correct the file, or move it to \
                     another folder"
                ));
            }
        }
        first_row += batch.num_rows();
    }
    Ok(())
}

/// The key of a value; `None` for a null.
fn bytes_of(array: &ArrayRef, key_type: KeyType, row: usize) -> Option<Vec<u8>> {
    match value_of(array, key_type, row) {
        Value::Null => None,
        value => key_type.encode(&value).ok(),
    }
}
