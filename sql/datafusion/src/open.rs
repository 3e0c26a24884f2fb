//! Tables at paths and URLs: a table, an index, an index beside Parquet files, a keyspace of a store, or a folder of
//! tables.

use crate::error::{EngineError, external};
use crate::relation::{
    OgiveOptions, RelationIdentity, TABLE_SUFFIX, folder, keyspace_of, profile_of, stores_and_keyspaces,
};
use crate::side_by_side::side_by_side;
use crate::table::OgiveTable;
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use ogive::io::{local_path, remote_url};
use ogive::{Cause, Error, Profile};
use std::io::ErrorKind;
use std::path::Path;

/// The keyspace of a store that is read if none is named.
const DEFAULT_KEYSPACE: &str = "default";

impl OgiveOptions {
    /// Opens what lies at a path or URL; `None` if nothing of Ogive is there. Behind a `#`, a keyspace of a store can
    /// be named: `data/shop#orders`.
    ///
    /// # Errors
    /// Errors of the storage, and of files that are damaged or of a newer version.
    pub fn open(&self, location: &str) -> Result<Option<OgiveTable>> {
        let local = local_path_of_url(location)?;
        let location = local.as_deref().unwrap_or(location);
        let is_remote = remote_url(Path::new(location)).is_some();
        let is_there = match std::fs::metadata(location) {
            Err(error) if !is_remote && error.kind() != ErrorKind::NotFound => {
                let message = format!("{location} cannot be opened: {error}");
                return Err(DataFusionError::IoError(std::io::Error::new(error.kind(), message)));
            }
            found => is_remote || found.is_ok(),
        };
        if is_there && let Some(table) = self.open_place(location, None)? {
            return Ok(Some(table));
        }
        for (store, keyspace) in stores_and_keyspaces(location) {
            if (is_remote || Path::new(store).is_dir())
                && let Some(table) = self.open_place(store, Some(keyspace))?
            {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// Opens the relations at the places of these identities, as they are now: their versions may be others.
    ///
    /// # Errors
    /// As [`Self::open`]; if nothing of Ogive is at a place, or several relations are, such as the tables of a folder.
    pub fn open_places(&self, identities: &[RelationIdentity]) -> Result<OgiveTable> {
        let wait_us = match identities {
            [first, _, ..] => wait_us(&profile_of(&first.location)),
            _ => 0.0,
        };
        let opened = side_by_side(identities, wait_us, |identity| {
            let location = &identity.location;
            let relation = match identity.keyspace.is_empty() {
                true => self.open_file(location)?,
                false => Some(self.open_again(identity)?),
            };
            match relation {
                Some(relation) => Ok(relation),
                None => plan_err!("{location} is nothing of Ogive; check the path"),
            }
        });
        OgiveTable::of(opened?)
    }

    /// Opens a keyspace of the store at a path or URL.
    ///
    /// # Errors
    /// As [`Self::open`]; if there is no store, or no such keyspace.
    pub fn open_keyspace(&self, location: &str, keyspace: &str) -> Result<OgiveTable> {
        let local = local_path_of_url(location)?;
        let location = local.as_deref().unwrap_or(location);
        let relation = self.open_in_store(location, keyspace, None)?;
        Ok(OgiveTable::of(vec![relation])?.reopened_by(self))
    }

    fn open_place(&self, location: &str, keyspace: Option<&str>) -> Result<Option<OgiveTable>> {
        let is_folder = location.ends_with('/') || Path::new(location).is_dir();
        if !is_folder && keyspace.is_none() {
            match self.open_file(location) {
                Ok(Some(relation)) => return OgiveTable::of(vec![relation]).map(Some),
                Ok(None) => return Ok(None),
                // An object store has no folders: a prefix is none of its objects.
                Err(error) if is_missing(&error) && remote_url(Path::new(location)).is_some() => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(store) = self.open_store(location)? {
            let relation = keyspace_of(&store, location, keyspace.unwrap_or(DEFAULT_KEYSPACE), None)?;
            return Ok(Some(OgiveTable::of(vec![relation])?.reopened_by(self)));
        }
        if keyspace.is_some() { Ok(None) } else { self.open_tables(location) }
    }

    /// The table files of a folder as one table.
    fn open_tables(&self, location: &str) -> Result<Option<OgiveTable>> {
        let Some(storage) = folder(location).map_err(external)? else { return Ok(None) };
        let mut names = storage.list().map_err(external)?;
        names.retain(|name| name.ends_with(TABLE_SUFFIX));
        names.sort();
        let relations = side_by_side(&names, wait_us(&profile_of(location)), |name| {
            let path = format!("{}/{name}", location.trim_end_matches('/'));
            match self.open_file(&path)? {
                Some(relation) => Ok(relation),
                None => plan_err!("{path} is not an Ogive table; move it, or name the tables one by one"),
            }
        })?;
        if relations.is_empty() { Ok(None) } else { OgiveTable::of(relations).map(Some) }
    }
}

/// The path that a `file://` URL leads to; `None` for paths and other URLs.
fn local_path_of_url(location: &str) -> Result<Option<String>> {
    if !location.starts_with("file://") {
        return Ok(None);
    }
    let path = local_path(Path::new(location)).map_err(external)?;
    Ok(Some(path.display().to_string()))
}

/// The time of a short read, in microseconds.
fn wait_us(profile: &Profile) -> f64 {
    profile.time_us(0)
}

fn is_missing(error: &DataFusionError) -> bool {
    let DataFusionError::External(error) = error else { return false };
    let error = error.downcast_ref::<EngineError>().map(|error| &error.0);
    matches!(error, Some(Error { cause: Cause::Io(ErrorKind::NotFound), .. }))
}
