//! The opening and creation of indexes.

use crate::errors::{self, OrRaise};
use crate::index_view::either;
use crate::object::Object;
use crate::types;
use ogive::index::{AnyIndex, IndexKind, IndexOptions};
use ogive::io::{LocalStorage, Storage, remote_url};
use ogive::page::PageOptions;
use ogive::types::{KeyType, RecordType, ValueType};
use ogive::{Durability, Error};
use pyo3::prelude::*;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// How an index is opened, and created if it is absent.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct IndexOpening {
    kind: Option<String>,
    value_size: Option<u64>,
    duplicates: bool,
    create: bool,
    pub(crate) read_only: bool,
    memory: Option<u64>,
    durability: String,
    page_size: Option<u64>,
}

/// The types that an opening states: of keys, of values, both, or none.
#[derive(Clone, Debug)]
pub(crate) struct Stated {
    keys: Option<KeyType>,
    values: Option<ValueType>,
}

impl Stated {
    pub(crate) fn new(key: Option<&Object<'_>>, value: Option<&Object<'_>>) -> PyResult<Self> {
        Ok(Self { keys: key.map(types::key_type).transpose()?, values: value.map(types::value_type).transpose()? })
    }

    /// The types of a new index.
    fn of_new(&self) -> RecordType {
        let values = self.values.clone().unwrap_or(ValueType::Scalar(KeyType::U64));
        RecordType::new(self.keys.unwrap_or(KeyType::U64), values)
    }
}

/// The storage and the name of an index, which cannot be an object.
pub(crate) fn place(path: &Path) -> ogive::Result<(Arc<dyn Storage>, String)> {
    if remote_url(path).is_some() {
        return Err(Error::input(format!(
            "{} is in an object store, where an index cannot be: it is updated in place; keep it on a file system, or \
             use a table",
            path.display()
        )));
    }
    let (folder, name) = LocalStorage::split_path(path)?;
    Ok((Arc::new(LocalStorage::new(folder)), name))
}

impl IndexOpening {
    pub(crate) fn open(&self, path: &Path, stated: &Stated) -> PyResult<AnyIndex> {
        let (storage, name) = place(path).or_raise()?;
        let pages = self.pages()?;
        let is_there = storage.exists(&name).or_raise()?;
        if !is_there && !self.read_only && self.create {
            return AnyIndex::create((&storage, &name), &self.options(&stated.of_new(), pages)?).or_raise();
        }
        let found = match self.read_only {
            true => AnyIndex::open_read_only((&storage, &name), &IndexOptions::default().pages(pages.clone())),
            false => AnyIndex::open((&storage, &name), &IndexOptions::default().pages(pages.clone())),
        };
        let found = found.or_raise()?;
        self.check(path, stated, &found)?;
        Ok(found)
    }

    /// Refuses what is stated for a new index, if one that is there has something else: it keeps that.
    pub(crate) fn check(&self, path: &Path, stated: &Stated, found: &AnyIndex) -> PyResult<()> {
        let (path, types, layout) = (path.display(), found.record_type(), found.layout());
        let has_others = stated.keys.is_some_and(|keys| keys != types.keys)
            || stated.values.as_ref().is_some_and(|values| *values != types.values);
        if has_others {
            let (keys, values) = (types.keys, &types.values);
            let message = format!("{path} has keys of type {keys} and values of type {values}; open it with these");
            return Err(errors::new("WrongType", &message));
        }
        if self.duplicates && !layout.duplicates {
            let message = format!("{path} holds one value a key; create another index for duplicates=True");
            return Err(errors::new("InvalidArgument", &message));
        }
        let kind = self.kind()?;
        let value_size = match types.values.width().is_some() || types.values.is_bytes() {
            true => layout.payload_bytes,
            false => layout.payload_bytes.saturating_sub(IndexOptions::LENGTH_BYTES),
        };
        let page_size = either!(found, index => index.page_statistics()).page_bytes;
        let different = [
            different("kind", kind.map(IndexKind::name), found.kind().name()),
            different("value_size", self.value_size, value_size as u64),
            different("page_size", self.page_size, page_size),
        ];
        let different = different.into_iter().flatten().collect::<Vec<_>>();
        if different.is_empty() {
            return Ok(());
        }
        let message =
            format!("{path} was created with {}; leave that out, or create another index", different.join(", "));
        Err(errors::new("InvalidArgument", &message))
    }

    fn kind(&self) -> PyResult<Option<IndexKind>> {
        let kind = self.kind.as_deref().map(str::parse::<IndexKind>).transpose();
        kind.map_err(|message| errors::new("InvalidArgument", &message))
    }

    fn pages(&self) -> PyResult<PageOptions> {
        let mut pages = PageOptions::default();
        if let Some(memory) = self.memory {
            pages.memory_bytes = memory;
        }
        if let Some(size) = self.page_size {
            pages.page_bytes = usize::try_from(size).unwrap_or(usize::MAX);
        }
        pages.durability = match &*self.durability {
            "synced" => Durability::Synced,
            "grouped" => Durability::Grouped,
            "buffered" => Durability::Buffered,
            other => {
                let message = format!("{other:?} is not a durability; give \"synced\", \"grouped\" or \"buffered\"");
                return Err(errors::new("InvalidArgument", &message));
            }
        };
        Ok(pages)
    }

    /// Options of a new index.
    fn options(&self, types: &RecordType, pages: PageOptions) -> PyResult<IndexOptions> {
        let size = self.value_size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        let payload_bytes = match (types.values.width(), size) {
            (Some(width), size) => size.unwrap_or(width),
            (None, size) if types.values.is_bytes() => size.unwrap_or(0),
            (None, Some(longest)) => longest.saturating_add(IndexOptions::LENGTH_BYTES),
            (None, None) => {
                let message =
                    format!("values of type {} vary in length; give that of the longest: value_size=", types.values);
                return Err(errors::new("InvalidArgument", &message));
            }
        };
        Ok(IndexOptions::default()
            .kind(self.kind()?.unwrap_or_default())
            .record_type(types.clone())
            .payload_bytes(payload_bytes)
            .duplicates(self.duplicates)
            .pages(pages))
    }
}

/// What an index has, if something else is stated.
fn different<T: PartialEq + Display>(option: &str, stated: Option<T>, found: T) -> Option<String> {
    stated.filter(|stated| *stated != found).map(|stated| format!("{option}={found}, not {stated}"))
}
