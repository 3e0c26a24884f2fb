//! Tables, indexes and stores as inputs of `ogive build`.

use super::{db, index};
use crate::failure::{Failure, Result};
use crate::input::{Input, InputOptions, open_to_see, table_input};
use crate::urls;
use ogive::FileFormat;

/// The records of an input that is a table, an index or a store; `None` for any other, and if a format is given.
///
/// # Errors
/// [`Failure::Usage`] for options that choose or type columns, which these have already; errors of opening it.
pub(crate) fn open(options: &InputOptions, keyspace: &str) -> Result<Option<Box<dyn Input>>> {
    let path = &options.path;
    if options.format.is_some() || (!path.is_file() && !path.is_dir() && !urls::is_url(path)) {
        return Ok(None);
    }
    let found: Option<Box<dyn Input>> = if urls::is_folder(path)? {
        Some(db::input(path, keyspace)?)
    } else {
        let (storage, name) = urls::place(path, false)?;
        match FileFormat::at(path)? {
            Some(FileFormat::Table) => Some(Box::new(table_input(path, &open_to_see(&storage, &name)?))),
            Some(FileFormat::PageFile) => Some(index::input(path, &storage, &name)?),
            _ => None,
        }
    };
    let has_columns = !options.key.is_empty() || !options.value.is_empty() || !options.column_types.is_empty();
    if found.is_some() && (has_columns || options.keys_only || options.payload.is_some() || options.key_type.is_some())
    {
        return Err(Failure::usage(
            format!("{} has its keys, values and types already", path.display()),
            "remove the options that choose and type columns, or `ogive export` it to CSV first",
        ));
    }
    Ok(found)
}
