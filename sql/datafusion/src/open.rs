//! Opening of what lies at a path or URL: a table, an index, an index beside Parquet files, a store, or a folder of
//! tables.

use crate::error::{EngineError, external, of_parquet};
use crate::relation::{IndexRelation, KeyspaceRelation, ParquetRelation, Relation, RelationIdentity, TableRelation};
use crate::side_by_side::side_by_side;
use crate::table::OgiveTable;
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use ogive::index::AnyIndex;
use ogive::io::{LocatedFile, local_path, locate, locate_folder, remote_url};
use ogive::lsm::has_store;
use ogive::types::RecordType;
use ogive::{
    Cause, Db, DbOptions, Error, FileFormat, IndexOptions, PageOptions, Profile, Storage, Table, TableOptions,
};
use ogive_parquet::{ParquetIndex, PathFolder};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// The suffix of table files in a folder that is read as one table.
const TABLE_SUFFIX: &str = ".ogive";
/// The keyspace of a store that is read if none is named.
const DEFAULT_KEYSPACE: &str = "default";

/// How relations are opened.
#[derive(Clone, Debug, Default)]
pub struct OgiveOptions {
    /// Options of tables, and of indexes beside Parquet files.
    pub table: TableOptions,
    /// Options of stores.
    pub store: DbOptions,
    /// Options of updatable indexes.
    pub index: PageOptions,
}

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
            let table = match identity.keyspace.is_empty() {
                true => self.open_file(location)?.map(|relation| OgiveTable::of(vec![relation])).transpose()?,
                false => Some(self.open_again(identity)?),
            };
            match table {
                Some(table) => table.into_relation(),
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
        self.open_in_store(location, keyspace, None)
    }

    /// Opens the keyspace of an identity as it is now, with the columns of then.
    ///
    /// # Errors
    /// As [`Self::open_keyspace`]; [`ogive::Cause::WrongType`] if its rows have no such columns any more.
    pub(crate) fn open_again(&self, identity: &RelationIdentity) -> Result<OgiveTable> {
        self.open_in_store(&identity.location, &identity.keyspace, identity.types.as_ref())
    }

    fn open_in_store(&self, location: &str, keyspace: &str, types: Option<&RecordType>) -> Result<OgiveTable> {
        let Some(store) = self.open_store(location)? else {
            return plan_err!("{location} is no store, and so has no keyspace '{keyspace}'; check the path");
        };
        let relation = keyspace_of(&store, location, keyspace, types)?;
        Ok(OgiveTable::of(vec![relation])?.reopened_by(self))
    }

    /// Opens the store at a path or URL, as it is now; `None` if there is none.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_store(&self, location: &str) -> Result<Option<Db>> {
        let Some(storage) = folder(location).map_err(external)? else { return Ok(None) };
        if !has_store(&*storage).map_err(external)? {
            return Ok(None);
        }
        Db::open_read_only(storage, &self.store).map(Some).map_err(external)
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

    /// The relation in a file; `None` if the file is none of Ogive's.
    fn open_file(&self, location: &str) -> Result<Option<Arc<dyn Relation>>> {
        let LocatedFile { storage, name } = locate(location).map_err(external)?;
        let options = with_profile(&self.table, &*storage);
        let path = absolute(location);
        match Table::open((storage.clone(), &name), &options) {
            Ok(table) if ParquetIndex::is_one(&table) => {
                let folder = Arc::new(PathFolder::of_index(Path::new(location)).map_err(of_parquet)?);
                let index = ParquetIndex::of_table(table, folder, &options).map_err(of_parquet)?;
                Ok(Some(Arc::new(ParquetRelation::new(index, path)?)))
            }
            Ok(table) => Ok(Some(Arc::new(TableRelation::new(table, path).map_err(external)?))),
            Err(error @ Error { cause: Cause::NotATable, .. }) => {
                let file = storage.open(&name).map_err(external)?;
                match FileFormat::of_file(&*file).map_err(external)? {
                    Some(FileFormat::PageFile) => {}
                    // A damaged table, or one that lost its end.
                    _ if name.ends_with(TABLE_SUFFIX) => return Err(external(error)),
                    _ => return Ok(None),
                }
                let index =
                    AnyIndex::open_read_only((&storage, &name), &IndexOptions::default().pages(self.index.clone()))
                        .map_err(external)?;
                Ok(Some(Arc::new(IndexRelation::new(index, path, options.profile.clone()).map_err(external)?)))
            }
            Err(error) => Err(external(error)),
        }
    }
}

/// What `STORE#KEYSPACE` may mean, since either name may have a `#`: stores and keyspaces, the shortest keyspace first.
pub fn stores_and_keyspaces(location: &str) -> impl Iterator<Item = (&str, &str)> {
    location.rmatch_indices('#').map(|(at, mark)| (&location[..at], &location[at + mark.len()..]))
}

/// A keyspace of an open store, whose rows are read by its own types or by these.
///
/// # Errors
/// If there is none of this name, or no types are given and it has none, nor rows; [`ogive::Cause::WrongType`].
pub(crate) fn keyspace_of(
    store: &Db,
    location: &str,
    name: &str,
    types: Option<&RecordType>,
) -> Result<Arc<dyn Relation>> {
    let known = store.keyspaces();
    if !known.iter().any(|it| it == name) {
        let known = known.join("', '");
        return plan_err!("{location} has no keyspace '{name}'; it has '{known}'");
    }
    let keyspace = store.keyspace(name).map_err(external)?;
    if types.is_none() && keyspace.is_undecided().map_err(external)? {
        return plan_err!("{}", undecided(location, name, &decided(store).map_err(external)?));
    }
    let relation = KeyspaceRelation::new(store, keyspace, types, absolute(location), profile_of(location));
    Ok(Arc::new(relation.map_err(external)?))
}

/// The keyspaces of a store whose columns are known.
///
/// # Errors
/// Errors of the storage.
pub(crate) fn decided(store: &Db) -> ogive::Result<Vec<String>> {
    let mut names = Vec::new();
    for name in store.keyspaces() {
        if !store.keyspace(&name)?.is_undecided()? {
            names.push(name);
        }
    }
    Ok(names)
}

/// What a keyspace is that has neither rows nor types, and what to do.
fn undecided(location: &str, name: &str, others: &[String]) -> String {
    let copy = format!("COPY (...) TO '{location}' STORED AS OGIVE OPTIONS (keyspace '{name}', key '...') makes both");
    let remedy = match others {
        [] => copy,
        [first, ..] => {
            format!("{copy}; the store has rows in '{}', named as '{location}#{first}'", others.join("', '"))
        }
    };
    format!("the keyspace '{name}' of {location} has no rows, and no columns yet; {remedy}")
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

/// The costs that the storage of a folder states of itself, or those of a local disk.
fn profile_of(location: &str) -> Profile {
    locate_folder(location).ok().and_then(|storage| storage.profile().cloned()).unwrap_or_default()
}

/// Options with the costs that the storage states of itself.
fn with_profile(options: &TableOptions, storage: &dyn Storage) -> TableOptions {
    match storage.profile() {
        Some(profile) => options.clone().profile(profile.clone()),
        None => options.clone(),
    }
}

/// The storage of a folder; `None` if there is no such folder on this machine.
fn folder(location: &str) -> ogive::Result<Option<Arc<dyn Storage>>> {
    let path = Path::new(location);
    if remote_url(path).is_none() && !path.is_dir() {
        return Ok(None);
    }
    locate_folder(path).map(Some)
}

/// A path that means the same in every working directory.
fn absolute(location: &str) -> String {
    match remote_url(Path::new(location)) {
        Some(url) => url.to_owned(),
        None => std::path::absolute(location).map_or_else(|_| location.to_owned(), |path| path.display().to_string()),
    }
}

fn is_missing(error: &DataFusionError) -> bool {
    let DataFusionError::External(error) = error else { return false };
    let error = error.downcast_ref::<EngineError>().map(|error| &error.0);
    matches!(error, Some(Error { cause: Cause::Io(ErrorKind::NotFound), .. }))
}
