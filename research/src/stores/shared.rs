//! Sessions of stores that need none: handles that refer to the store.

use super::batch::StoreBatch;
use super::store::{KeyValueStore, StoreReader, StoreResult, StoreSessions, StoreWriter};

impl<S: KeyValueStore> StoreSessions for S {
    fn writer(&self) -> StoreResult<Box<dyn StoreWriter + '_>> {
        Ok(Box::new(SharedStore(self)))
    }

    fn reader(&self, _fresh: bool) -> StoreResult<Box<dyn StoreReader + '_>> {
        Ok(Box::new(SharedStore(self)))
    }

    fn compact(&mut self) -> StoreResult<()> {
        KeyValueStore::compact(self)
    }

    fn wait_idle(&mut self) -> StoreResult<()> {
        KeyValueStore::wait_idle(self)
    }
}

/// Generic, so that operations of the store are called as directly as if the store implemented the handles.
struct SharedStore<'s, S>(&'s S);

impl<S: KeyValueStore> StoreWriter for SharedStore<'_, S> {
    fn write(&mut self, batch: &StoreBatch) -> StoreResult<()> {
        self.0.write(batch)
    }
}

impl<S: KeyValueStore> StoreReader for SharedStore<'_, S> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> StoreResult<bool> {
        self.0.get(key, out)
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> StoreResult<usize> {
        self.0.scan(from, entries, out)
    }
}
