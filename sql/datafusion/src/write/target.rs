//! Targets of statements that write rows: a table file, or a keyspace of a store.

use super::options::CopyOptions;
use crate::relation::stores_and_keyspaces;
use datafusion::common::plan_err;
use datafusion::error::Result;
use ogive::io::remote_url;
use std::path::Path;

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteTarget {
    /// A new table file at this path or URL.
    Table {
        /// Path or URL.
        path: String,
        /// Whether it takes the place of a table of that name.
        replace: bool,
    },
    /// A keyspace of the store at this path or URL.
    Keyspace {
        /// Path or URL.
        location: String,
        /// The name of the keyspace.
        keyspace: String,
        /// Whether store and keyspace are made if they are not there.
        create: bool,
    },
}

impl WriteTarget {
    /// The path or URL.
    #[must_use]
    pub fn location(&self) -> &str {
        match self {
            Self::Table { path, .. } => path,
            Self::Keyspace { location, .. } => location,
        }
    }

    /// The target of a `COPY` to a path or URL.
    ///
    /// # Errors
    /// A place that does not go with the options, and a folder that is not there.
    pub(super) fn of_copy(place: &str, options: &CopyOptions) -> Result<Self> {
        let target = match &options.keyspace {
            Some(_) if options.replace => {
                return plan_err!(
                    "'replace' is of tables; a keyspace keeps its rows, and takes new ones in their place"
                );
            }
            Some(keyspace) => {
                let location = place.trim_end_matches('/').to_owned();
                Self::Keyspace { location, keyspace: keyspace.clone(), create: true }
            }
            None if is_keyspace(place) => {
                return plan_err!("{place} is a keyspace; name the store, and the keyspace by the option 'keyspace'");
            }
            None if place.ends_with('/') => {
                return plan_err!(
                    "{place} is a folder; give the name of a table, such as {place}part.ogive, or the option \
                     'keyspace', which makes it a store"
                );
            }
            None if Path::new(place).is_dir() => {
                return plan_err!(
                    "{place} is a folder; give the name of a table in it, such as {place}/part.ogive, or the option \
                     'keyspace', which makes it a store"
                );
            }
            None => Self::Table { path: place.to_owned(), replace: options.replace },
        };
        if let Some(folder) = missing_folder(target.location()) {
            return plan_err!("there is no folder {folder} for {place}; create it, or check the path");
        }
        Ok(target)
    }

    /// The same target by a path from the root, or by a URL as it is.
    ///
    /// # Errors
    /// If the current folder is not known.
    pub(super) fn absolute(mut self) -> Result<Self> {
        let (Self::Table { path: place, .. } | Self::Keyspace { location: place, .. }) = &mut self;
        if remote_url(Path::new(place)).is_none() && !place.starts_with("file://") {
            *place = std::path::absolute(place.as_str())?.display().to_string();
        }
        Ok(self)
    }
}

/// Whether a place is a keyspace of a store, as queries name it.
fn is_keyspace(place: &str) -> bool {
    stores_and_keyspaces(place).any(|(store, _)| remote_url(Path::new(store)).is_some() || Path::new(store).is_dir())
}

/// The folder of a path of this machine, if it is not there.
fn missing_folder(path: &str) -> Option<String> {
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let is_missing = remote_url(Path::new(path)).is_none() && !path.contains("://") && !folder.exists();
    is_missing.then(|| folder.display().to_string())
}
