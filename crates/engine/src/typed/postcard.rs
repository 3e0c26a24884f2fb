//! Values that serde serialises, in the format of postcard.

use super::data::{TypedData, TypedValue};
use crate::error::{Error, Result};
use crate::types::ValueType;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// Values of a type `T` that `serde` serialises, in the [format of postcard](https://postcard.jamesmunns.com). They are
/// written from `&T` and read as `T`. Keyspaces and tables state them as `bytes`, so that a change of `T` is not
/// noticed; rows ([`row!`](crate::row!)) can gain fields.
///
/// ```
/// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
/// # let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
/// use ogive::typed::Postcard;
///
/// let tags = db.keyspace("tags")?.typed::<str, Postcard<Vec<String>>>()?;
/// tags.insert("fig", vec!["fruit".to_owned(), "sweet".to_owned()])?;
/// assert_eq!(tags.load("fig")?.map(|tags| tags.len()), Some(2));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct Postcard<T>(PhantomData<fn() -> T>);

impl<T: Serialize + DeserializeOwned + 'static> TypedData for Postcard<T> {
    type Arg<'a> = T;
    type Read<'a> = T;
    type Bytes<'a> = Vec<u8>;

    fn encode(value: &T) -> Result<Vec<u8>> {
        let failed = |error| Error::input(format!("a value cannot be serialised: {error}"));
        ::postcard::to_allocvec(value).map_err(failed)
    }

    fn decode(bytes: &[u8]) -> Option<T> {
        ::postcard::take_from_bytes(bytes).ok().filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value)
    }
}

impl<T: Serialize + DeserializeOwned + 'static> TypedValue for Postcard<T> {
    fn value_type() -> Result<ValueType> {
        Ok(ValueType::default())
    }
}
