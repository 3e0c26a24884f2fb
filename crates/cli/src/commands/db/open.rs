//! An open keyspace as an ordered map.

use super::keys::Keys;
use super::store::StoreFolder;
use super::verify;
use crate::commands::ordered_map::{Bounds, Change, EntryPrinter, OrderedMap, Window, WritableMap};
use crate::failure::{Failure, Result};
use ogive::block::Slice;
use ogive::check::StoreReport;
use ogive::lsm::{Db, DbRange, DbStats, Keyspace};
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::Read;

/// An open keyspace, and whether scans print keys only.
#[derive(Debug)]
pub(super) struct OpenKeyspace {
    pub(super) db: Db,
    pub(super) keyspace: Keyspace,
    pub(super) keys: Keys,
    pub(super) keys_only: bool,
}

impl OpenKeyspace {
    /// Closes the store, which makes all writes durable and the next opening fast. `done` names what is durable even if
    /// closing fails.
    pub(super) fn close(self, done: &str) -> Result<()> {
        drop(self.keyspace);
        self.db.close().map_err(|error| Failure::from(error).but(done))
    }

    /// Prints entries of a range.
    pub(super) fn print(&self, range: DbRange, window: Window, print: &mut EntryPrinter<'_, Vec<u8>>) -> Result<()> {
        window.visit(range.pairs(), |pair| {
            let value = if self.keys_only { None } else { Some(pair.value()?) };
            print(&pair.key().to_vec(), value.as_deref())
        })
    }

    /// As [`WritableMap::put`], with a value of up to 1 GiB.
    pub(super) fn put_stream(self, key: &[u8], value: &mut dyn Read) -> Result<Change> {
        self.keyspace.insert_stream(key, value)?;
        self.written()
    }

    /// Closes the store after a write.
    fn written(self) -> Result<Change> {
        self.close("the entry is durable")?;
        Ok(Change { field: ("durable", true.into()), done: Some("written".into()) })
    }
}

impl OrderedMap for OpenKeyspace {
    type Place = StoreFolder;
    type Key = Vec<u8>;
    type Value = Slice;
    type Stats = DbStats;
    type Findings = StoreReport;

    fn parse_key(&self, written: &OsStr) -> Result<Vec<u8>> {
        self.keys.parse(written)
    }

    fn shown_key<'a>(&self, key: &'a Vec<u8>) -> Cow<'a, str> {
        self.keys.shown(key)
    }

    fn key_to_json(&self, key: &Vec<u8>) -> Value {
        self.keys.to_json(key)
    }

    fn get(&self, key: &Vec<u8>, _: bool) -> Result<Vec<Slice>> {
        Ok(self.keyspace.get(key)?.into_iter().collect())
    }

    fn scan(&self, range: Bounds<Vec<u8>>, window: Window, print: &mut EntryPrinter<'_, Vec<u8>>) -> Result<()> {
        self.print(self.keyspace.range(range), window, print)
    }

    /// Statistics of the whole store.
    fn stats(place: &StoreFolder) -> Result<DbStats> {
        Ok(place.read()?.stats())
    }

    /// Checks the whole store.
    fn verify(place: &StoreFolder, progress: &mut dyn FnMut(u64, u64)) -> Result<StoreReport> {
        verify::verify(place, progress)
    }
}

impl WritableMap for OpenKeyspace {
    fn put(self, key: &Vec<u8>, value: &[u8]) -> Result<Change> {
        self.keyspace.insert(key, value)?;
        self.written()
    }

    fn remove(self, key: &Vec<u8>, _: bool) -> Result<Change> {
        let is_there = self.keyspace.contains_key(key)?;
        if is_there {
            self.keyspace.remove(key)?;
        }
        self.close(if is_there { "the entry was removed" } else { "the key was absent" })?;
        Ok(Change { field: ("removed", u64::from(is_there).into()), done: is_there.then(|| "removed".into()) })
    }
}
