//! The memory of an open table: its own budget, or its part of the budget of a store.

use crate::block::cache::{BlockCache, BlockKey, NO_OWNER};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The memory of an open table.
#[derive(Debug)]
pub(in crate::table) struct TableMemory {
    cache: Arc<BlockCache>,
    /// The owner of its blocks and pages in the cache, and the end of their numbers.
    owner: u32,
    numbers: u32,
    limit_bytes: u64,
    working_bytes: u64,
    store: Option<StorePart>,
}

/// The part of a store's budget that a table takes. It is returned when the table is closed.
#[derive(Debug)]
struct StorePart {
    needed_bytes: u64,
    flat_bytes: u64,
    reserved_bytes: AtomicU64,
}

impl TableMemory {
    /// The memory of a table by itself: `limit_bytes`, of which operations may use `working_bytes`. The cache keeps the
    /// blocks of the file for when it is opened again, under numbers less than `numbers`.
    pub(super) fn own(
        cache: Arc<BlockCache>,
        file_id: u64,
        numbers: u64,
        limit_bytes: u64,
        working_bytes: u64,
    ) -> Self {
        let (owner, numbers) = numbered(cache.owner_of_file(file_id), numbers);
        Self { cache, owner, numbers, limit_bytes, working_bytes, store: None }
    }

    /// The memory of a table of a store, whose blocks leave the cache with it. `flat_bytes` are reserved already.
    pub(super) fn of_store(
        cache: Arc<BlockCache>,
        flat_bytes: u64,
        numbers: u64,
        limit_bytes: u64,
        working_bytes: u64,
    ) -> Self {
        let (owner, numbers) = numbered(cache.owner(), numbers);
        let store = Some(StorePart { needed_bytes: 0, flat_bytes, reserved_bytes: AtomicU64::new(0) });
        Self { cache, owner, numbers, limit_bytes, working_bytes, store }
    }

    pub(in crate::table) fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// The key in the cache of a block or page of this number.
    #[inline]
    pub(super) fn key(&self, number: u64) -> BlockKey {
        // Numbers that do not fit have no owner.
        BlockKey { owner: self.owner, number: number as u32 }
    }

    /// The budget in bytes; in a store, that for reads other than blocks.
    pub(in crate::table) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// The part of the budget for blocks and pages that operations hold while they work.
    pub(in crate::table) fn working_bytes(&self) -> u64 {
        self.working_bytes
    }

    /// Whether the table is one of a store, whose memory is reserved in the budget of the cache.
    pub(in crate::table) fn is_of_store(&self) -> bool {
        self.store.is_some()
    }

    /// Bytes of the store's budget that the table cannot do without.
    pub(in crate::table) fn needed_bytes(&self) -> u64 {
        self.store.as_ref().map_or(0, |store| store.needed_bytes)
    }

    /// Reserves what a table of a store cannot do without.
    pub(super) fn need(&mut self, bytes: u64) {
        if let Some(store) = &mut self.store {
            store.needed_bytes = bytes;
            *store.reserved_bytes.get_mut() += bytes;
            self.cache.reserve(bytes);
        }
    }

    /// Reserves memory for data that a table keeps while it is open, if there is enough. A table by itself has set it
    /// aside.
    pub(super) fn try_reserve(&self, bytes: u64) -> bool {
        let Some(store) = &self.store else { return true };
        let has_room = self.cache.try_reserve(bytes);
        if has_room {
            store.reserved_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        has_room
    }

    /// Releases what [`Self::try_reserve`] reserved.
    pub(super) fn release(&self, bytes: u64) {
        if let Some(store) = &self.store {
            store.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.cache.release(bytes);
        }
    }
}

/// The owner, and the end of the numbers of its blocks; without an owner if a number does not fit.
fn numbered(owner: u32, numbers: u64) -> (u32, u32) {
    u32::try_from(numbers).map_or((NO_OWNER, 0), |numbers| (owner, numbers))
}

impl Drop for TableMemory {
    fn drop(&mut self) {
        if let Some(store) = &mut self.store {
            self.cache.forget(self.owner, self.numbers);
            self.cache.release(*store.reserved_bytes.get_mut());
            self.cache.release_flat(store.flat_bytes);
        }
    }
}
