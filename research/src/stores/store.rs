//! The traits of a store under test.

use super::batch::StoreBatch;

/// Result of an operation of a store. Errors of any kind are told with the name of the system.
pub type StoreResult<T> = anyhow::Result<T>;

/// An open store whose operations need no handle: the one trait that most stores implement.
///
/// What is found is copied out, because callers of stores need values that stay valid. Dropping the store closes it.
pub trait KeyValueStore: Sync {
    /// Puts in all records of a batch, or overwrites them, in one commit. Several threads may call it at once.
    ///
    /// The commit has reached the operating system when this returns, and the device if
    /// [`StoreSettings::synced`](super::StoreSettings::synced) was set.
    ///
    /// # Errors
    /// Those of the store, which end its measurement. Here and below.
    fn write(&self, batch: &StoreBatch) -> StoreResult<()>;

    /// Replaces `out` by the value of a key; false if there is none. Sees all writes before it.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> StoreResult<bool>;

    /// Replaces `out` by the first `entries` keys and values from a key on, key, value, key, value; returns how many
    /// records there were. Sees all writes before it.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn scan(&self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> StoreResult<usize>;

    /// Brings the store into the form that is best for reading; returns when that is done.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn compact(&mut self) -> StoreResult<()> {
        Ok(())
    }

    /// Writes out whatever is only in memory, and returns when nothing goes on in the background.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn wait_idle(&mut self) -> StoreResult<()> {
        Ok(())
    }
}

/// An open store whose readers and writers have state of their own, such as a transaction or a cursor.
///
/// Every [`KeyValueStore`] is one, with handles that only refer to it.
pub trait StoreSessions: Sync {
    /// A handle to write with, for one thread.
    ///
    /// # Errors
    /// Those of the store, which end its measurement. Here and below.
    fn writer(&self) -> StoreResult<Box<dyn StoreWriter + '_>>;

    /// A handle to read with, for one thread. One that is not fresh may read from a snapshot that it took when it was
    /// made; a fresh one sees whatever was written before each call.
    ///
    /// # Errors
    /// As for [`Self::writer`].
    fn reader(&self, fresh: bool) -> StoreResult<Box<dyn StoreReader + '_>>;

    /// As [`KeyValueStore::compact`].
    ///
    /// # Errors
    /// As for [`Self::writer`].
    fn compact(&mut self) -> StoreResult<()>;

    /// As [`KeyValueStore::wait_idle`].
    ///
    /// # Errors
    /// As for [`Self::writer`].
    fn wait_idle(&mut self) -> StoreResult<()>;
}

/// A handle to write with.
pub trait StoreWriter {
    /// As [`KeyValueStore::write`].
    ///
    /// # Errors
    /// Those of the store.
    fn write(&mut self, batch: &StoreBatch) -> StoreResult<()>;
}

/// A handle to read with.
pub trait StoreReader {
    /// As [`KeyValueStore::get`].
    ///
    /// # Errors
    /// Those of the store.
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> StoreResult<bool>;

    /// As [`KeyValueStore::scan`].
    ///
    /// # Errors
    /// Those of the store.
    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> StoreResult<usize>;
}
