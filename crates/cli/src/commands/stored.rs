//! Tables, indexes and stores as inputs of `ogive build`.

use super::db::{self, ClockAhead};
use super::index;
use super::place::PlaceKind;
use crate::failure::{Failure, Result};
use crate::input::{Input, InputOptions, open_to_see, table_input};
use crate::urls;

/// The records of an input that is a table, an index or a store, of which this or the default keyspace is read; `None`
/// for any other, and if a format is given.
///
/// # Errors
/// [`Failure::Usage`] for options that choose or type columns, which these have already, and for a keyspace of what is
/// no store; errors of opening it.
pub(crate) fn open(
    options: &InputOptions,
    keyspace: Option<&str>,
    clock: ClockAhead,
) -> Result<Option<Box<dyn Input>>> {
    let path = &options.path;
    let may_be_stored =
        options.format.is_none() && !options.is_folder() && (path.is_file() || path.is_dir() || urls::is_url(path));
    let kind = if may_be_stored { PlaceKind::of(path)? } else { None };
    let flag = if keyspace.is_some() { Some("--keyspace") } else { clock.is_given().then_some("--clock-ahead") };
    let is_other = kind != Some(PlaceKind::Store) && (may_be_stored || path.exists());
    if let Some(flag) = flag.filter(|_| is_other) {
        let message = format!("{flag} is for a store, but {} is none", path.display());
        return Err(Failure::usage(message, format!("remove {flag}")));
    }
    let found: Option<Box<dyn Input>> = match kind {
        None => None,
        Some(PlaceKind::Store) => Some(db::input(path, keyspace, clock)?),
        Some(kind) => {
            let (storage, name) = urls::place(path, false)?;
            Some(match kind {
                PlaceKind::Index => index::input(path, &storage, &name)?,
                _ => {
                    let table = open_to_see(&storage, &name).map_err(|error| Failure::of_opening(path, error))?;
                    Box::new(table_input(path, &table))
                }
            })
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
