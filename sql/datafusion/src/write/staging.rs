//! Staged tables: complete, but not yet part of their target.

use super::target::WriteTarget;
use crate::error::external;
use datafusion::error::Result;
use ogive::Storage;
use ogive::io::{LocatedFile, locate, locate_folder};
use ogive::lsm::has_store;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

/// The suffix of staged tables: another one than that of the tables of a folder, which may be read as one.
const SUFFIX: &str = ".staged";

/// The place of staged tables: the folder of the target, under names that only one statement has.
#[derive(Clone, Debug)]
pub struct Staging {
    folder: String,
    storage: Arc<dyn Storage>,
    names: StagedNames,
}

/// The names of staged tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StagedNames {
    /// Names that begin so, of which no two attempts to write a table have the same.
    Prefix(String),
    /// The name of the target itself: an object appears as a whole, and takes the place of the one before.
    Final(String),
}

impl StagedNames {
    /// The name of a table that is to be written now.
    pub(super) fn take(&self) -> String {
        match self {
            Self::Prefix(prefix) => format!("{prefix}{}{SUFFIX}", unique()),
            Self::Final(name) => name.clone(),
        }
    }
}

impl Staging {
    pub(super) fn for_target(target: &WriteTarget) -> Result<Self> {
        if let WriteTarget::Table { path, .. } = target
            && let LocatedFile { storage, .. } = locate(path).map_err(external)?
            && let Some(folder) = storage.folder()
        {
            // Behind a link, it is that of the file.
            let folder = std::path::absolute(folder)?.display().to_string();
            return Ok(Self { folder, storage, names: StagedNames::Prefix(format!("rows-{}-", unique())) });
        }
        let location = target.location().trim_end_matches('/');
        let storage = locate_folder(location).map_err(external)?;
        // A store takes tables of its own folder by reference, and a new one must have an empty folder, if it is local.
        let is_within = match target {
            WriteTarget::Table { .. } => false,
            WriteTarget::Keyspace { .. } => storage.is_object_store() || has_store(&*storage).unwrap_or(false),
        };
        let folder = match location.rsplit_once('/') {
            Some(("", _)) if !is_within => "/",
            Some((parent, _)) if !is_within => parent,
            _ => location,
        };
        let storage = locate_folder(folder).map_err(external)?;
        let names = match target {
            WriteTarget::Table { path, replace: true } if storage.is_object_store() => {
                StagedNames::Final(locate(path).map_err(external)?.name)
            }
            _ => StagedNames::Prefix(format!("rows-{}-", unique())),
        };
        Ok(Self { folder: folder.to_owned(), storage, names })
    }

    /// The folder, by its path or URL.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The names of the tables.
    #[must_use]
    pub fn names(&self) -> &StagedNames {
        &self.names
    }

    pub(super) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Removes the tables, except for those of these names: they are of the target now.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn clear(&self, kept: &[String]) -> Result<()> {
        let StagedNames::Prefix(prefix) = &self.names else { return Ok(()) };
        let names = self.storage.list().map_err(external)?;
        let is_left = |name: &&String| name.starts_with(prefix) && !kept.contains(name);
        names.iter().filter(is_left).try_for_each(|name| self.storage.remove(name)).map_err(external)
    }

    /// Gives a table its name.
    pub(super) fn publish(&self, name: &str, path: &str, replace: bool) -> Result<()> {
        if matches!(self.names, StagedNames::Final(_)) {
            return Ok(());
        }
        let LocatedFile { storage, name: new_name } = locate(path).map_err(external)?;
        let published = match (storage.is_object_store(), replace) {
            (true, _) => self.storage.export(name, &*storage, &new_name),
            (false, false) => self.storage.rename_new(name, &new_name),
            (false, true) => self.storage.rename(name, &new_name),
        };
        published.and_then(|()| storage.sync_directory()).map_err(external)
    }
}

/// Sixteen digits that are not the same twice, in any process.
fn unique() -> String {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}
