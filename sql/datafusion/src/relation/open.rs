//! Relations at paths and URLs: opening of table files, indexes, and keyspaces of stores.

use super::{IndexRelation, KeyspaceRelation, ParquetRelation, Relation, RelationIdentity, TableRelation};
use crate::error::{external, of_parquet};
use datafusion::common::plan_err;
use datafusion::error::Result;
use ogive::index::AnyIndex;
use ogive::io::{LocatedFile, locate, locate_folder, remote_url};
use ogive::lsm::has_store;
use ogive::types::RecordType;
use ogive::{
    Cause, Db, DbOptions, Error, FileFormat, IndexOptions, PageOptions, Profile, Storage, Table, TableOptions,
};
use ogive_parquet::{ParquetIndex, PathFolder};
use std::path::Path;
use std::sync::Arc;

/// The suffix of table files in a folder that is read as one table.
pub(crate) const TABLE_SUFFIX: &str = ".ogive";

/// Options for opening relations.
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
    /// Opens the keyspace of an identity as it is now, with the columns of then.
    ///
    /// # Errors
    /// As [`Self::open_keyspace`]; [`ogive::Cause::WrongType`] if its rows have no such columns any more.
    pub(crate) fn open_again(&self, identity: &RelationIdentity) -> Result<Arc<dyn Relation>> {
        self.open_in_store(&identity.location, &identity.keyspace, identity.types.as_ref())
    }

    /// Opens a keyspace of the store at a path or URL, whose rows are read by its own types or by these.
    ///
    /// # Errors
    /// As [`Self::open_keyspace`] and [`keyspace_of`].
    pub(crate) fn open_in_store(
        &self,
        location: &str,
        keyspace: &str,
        types: Option<&RecordType>,
    ) -> Result<Arc<dyn Relation>> {
        let Some(store) = self.open_store(location)? else {
            return plan_err!("{location} is no store, and so has no keyspace '{keyspace}'; check the path");
        };
        keyspace_of(&store, location, keyspace, types)
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

    /// The relation in a file; `None` if the file is none of Ogive's.
    ///
    /// # Errors
    /// Errors of the storage, and of files that are damaged or of a newer version.
    pub(crate) fn open_file(&self, location: &str) -> Result<Option<Arc<dyn Relation>>> {
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

/// The costs that the storage of a folder states of itself, or those of a local disk.
pub(crate) fn profile_of(location: &str) -> Profile {
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
///
/// # Errors
/// Those of [`locate_folder`].
pub(crate) fn folder(location: &str) -> ogive::Result<Option<Arc<dyn Storage>>> {
    let path = Path::new(location);
    if remote_url(path).is_none() && !path.is_dir() {
        return Ok(None);
    }
    locate_folder(path).map(Some)
}

/// A path that means the same in every working directory.
pub(crate) fn absolute(location: &str) -> String {
    match remote_url(Path::new(location)) {
        Some(url) => url.to_owned(),
        None => std::path::absolute(location).map_or_else(|_| location.to_owned(), |path| path.display().to_string()),
    }
}
