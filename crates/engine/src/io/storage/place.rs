//! Places: where a file or a folder is, as callers give it.

use super::schemes::{LocatedFile, locate, locate_folder};
use super::traits::Storage;
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a table, an index, a store or a backup is.
///
/// | given as | of a table or an index | of a store or of backups |
/// |---|---|---|
/// | a path | `"fruit.table"`, `path.join("fruit.table")` | `"/var/lib/fruit"` |
/// | a URL of a registered scheme | `"s3://bucket/prefix/fruit.table"` | `"s3://bucket/prefix"` |
/// | a storage | `(storage, "fruit.table")` | `storage` |
///
/// ```
/// use ogive::io::Place;
/// use ogive::{LocalStorage, MemoryStorage};
/// use std::sync::Arc;
///
/// let storage = Arc::new(MemoryStorage::new());
/// let file = Place::from((&storage, "fruit.table"));
/// assert_eq!(file.file()?.name, "fruit.table");
/// assert_eq!(Place::from("data/fruit.table").file()?.name, "fruit.table");
/// Place::from(storage).folder()?;
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Place(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Path(PathBuf),
    File(LocatedFile),
    Folder(Arc<dyn Storage>),
}

impl Place {
    /// The storage and the name of a file.
    ///
    /// # Errors
    /// As [`locate`] for a path or URL; [`Cause::Input`](crate::Cause::Input) for a storage without a name.
    #[doc(hidden)]
    pub fn file(self) -> Result<LocatedFile> {
        match self.0 {
            Kind::Path(path) => locate(path),
            Kind::File(file) => Ok(file),
            Kind::Folder(storage) => Err(Error::input(format!(
                "{} is a storage, and has many files; give the name of one beside it",
                shown(&storage)
            ))),
        }
    }

    /// The storage of the files of a folder.
    ///
    /// # Errors
    /// As [`locate_folder`] for a path or URL; [`Cause::Input`](crate::Cause::Input) for a file of a storage.
    pub fn folder(self) -> Result<Arc<dyn Storage>> {
        match self.0 {
            Kind::Path(path) => locate_folder(path),
            Kind::Folder(storage) => Ok(storage),
            Kind::File(file) => Err(Error::input(format!(
                "{} is one file; give the storage without a name",
                file.storage.path(&file.name).display()
            ))),
        }
    }

    /// The path or URL, if it was given as one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Path(path) => Some(path),
            _ => None,
        }
    }
}

/// The folder of a storage, for messages.
fn shown(storage: &Arc<dyn Storage>) -> String {
    storage.path("x").parent().map(|path| path.display().to_string()).unwrap_or_default()
}

macro_rules! from_paths {
    ($($path:ty),+) => {
        $(
            impl From<$path> for Place {
                fn from(path: $path) -> Self {
                    Self(Kind::Path(path.into()))
                }
            }
        )+
    };
}

from_paths!(&str, String, &String, &OsStr, OsString, &OsString, &Path, PathBuf, &PathBuf);

impl From<LocatedFile> for Place {
    fn from(file: LocatedFile) -> Self {
        Self(Kind::File(file))
    }
}

impl From<&LocatedFile> for Place {
    fn from(file: &LocatedFile) -> Self {
        file.clone().into()
    }
}

impl<N: Into<String>> From<(Arc<dyn Storage>, N)> for Place {
    fn from((storage, name): (Arc<dyn Storage>, N)) -> Self {
        Self(Kind::File(LocatedFile { storage, name: name.into() }))
    }
}

impl<N: Into<String>> From<(&Arc<dyn Storage>, N)> for Place {
    fn from((storage, name): (&Arc<dyn Storage>, N)) -> Self {
        (Arc::clone(storage), name).into()
    }
}

impl<S: Storage + 'static, N: Into<String>> From<(Arc<S>, N)> for Place {
    fn from((storage, name): (Arc<S>, N)) -> Self {
        (storage as Arc<dyn Storage>, name).into()
    }
}

impl<S: Storage + 'static, N: Into<String>> From<(&Arc<S>, N)> for Place {
    fn from((storage, name): (&Arc<S>, N)) -> Self {
        (Arc::clone(storage), name).into()
    }
}

impl From<Arc<dyn Storage>> for Place {
    fn from(storage: Arc<dyn Storage>) -> Self {
        Self(Kind::Folder(storage))
    }
}

impl From<&Arc<dyn Storage>> for Place {
    fn from(storage: &Arc<dyn Storage>) -> Self {
        Arc::clone(storage).into()
    }
}

impl<S: Storage + 'static> From<Arc<S>> for Place {
    fn from(storage: Arc<S>) -> Self {
        Self(Kind::Folder(storage))
    }
}

impl<S: Storage + 'static> From<&Arc<S>> for Place {
    fn from(storage: &Arc<S>) -> Self {
        Arc::clone(storage).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::io::MemoryStorage;

    #[test]
    fn a_storage_is_no_file_and_a_file_no_folder() {
        let storage = Arc::new(MemoryStorage::new());
        let object: Arc<dyn Storage> = storage.clone();
        for place in [Place::from(&storage), Place::from(object.clone())] {
            assert!(place.path().is_none() && Arc::ptr_eq(&place.clone().folder().unwrap(), &object));
            let error = place.file().unwrap_err();
            assert!(error.cause == Cause::Input && error.detail().contains("name of one"), "{error}");
        }
        for place in [Place::from((&storage, "a")), Place::from((object.clone(), "a".to_owned()))] {
            assert_eq!(place.clone().file().unwrap().name, "a");
            let error = place.folder().unwrap_err();
            assert!(error.cause == Cause::Input && error.detail().contains("without a name"), "{error}");
        }
    }

    #[test]
    fn a_path_is_either() {
        let place = Place::from("data/fruit");
        assert_eq!(place.path(), Some(Path::new("data/fruit")));
        assert_eq!(place.clone().file().unwrap().name, "fruit");
        assert_eq!(place.folder().unwrap().folder(), Some(Path::new("data/fruit")));
    }
}
