//! TidesDB, through its C interface, with a library that was built elsewhere.

#![expect(unsafe_code, reason = "calls of a C library; every pointer comes from it and is given back once")]

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use anyhow::{Result, bail, ensure};
use ogive_research::stores::{StoreBatch, StoreReader, StoreSessions, StoreSettings, StoreSystem, StoreWriter};

pub(crate) const TIDESDB: StoreSystem = StoreSystem { name: "tidesdb", settings, reads_directly: false, open };

const FAMILY: &std::ffi::CStr = c"records";
/// Codes of the interface.
const SUCCESS: c_int = 0;
const NOT_FOUND: c_int = -3;
const EXISTS: c_int = -6;
const COMPRESS_NONE: c_int = 0;
const SYNC_NONE: c_int = 0;
const SYNC_FULL: c_int = 1;
const LOG_NONE: c_int = 99;
/// Each read sees all commits before it.
const READ_COMMITTED: c_int = 1;
/// Most memtables that exist at a time; they count against the memory.
const MEMTABLES: u64 = 3;

/// What the library hides behind its pointers.
#[repr(C)]
struct Opaque([u8; 0]);

/// `tidesdb_column_family_config_t` of version 9.3.
#[repr(C)]
struct FamilyConfig {
    name: [c_char; 128],
    write_buffer_size: usize,
    level_size_ratio: usize,
    min_levels: c_int,
    dividing_level_offset: c_int,
    klog_value_threshold: usize,
    compression_algorithm: c_int,
    enable_bloom_filter: c_int,
    bloom_fpr: f64,
    enable_block_indexes: c_int,
    index_sample_ratio: c_int,
    block_index_prefix_len: c_int,
    sync_mode: c_int,
    sync_interval_us: u64,
    comparator_name: [c_char; 64],
    comparator_context: [c_char; 256],
    comparator: *mut Opaque,
    comparator_cached: *mut Opaque,
    skip_list_max_level: c_int,
    skip_list_probability: f32,
    default_isolation_level: c_int,
    min_disk_space: u64,
    l1_file_count_trigger: c_int,
    l0_queue_stall_threshold: c_int,
    tombstone_density_trigger: f64,
    tombstone_density_min_entries: u64,
    use_btree: c_int,
    commit_hook: *mut Opaque,
    commit_hook_context: *mut Opaque,
    object_target_file_size: usize,
    object_lazy_compaction: c_int,
    object_prefetch_compaction: c_int,
}

/// `tidesdb_config_t` of version 9.3.
#[repr(C)]
struct StoreConfig {
    path: *mut c_char,
    num_flush_threads: c_int,
    num_compaction_threads: c_int,
    log_level: c_int,
    block_cache_size: usize,
    max_open_sstables: usize,
    log_to_file: c_int,
    log_truncation_at: usize,
    max_memory_usage: usize,
    unified_memtable: c_int,
    unified_memtable_write_buffer_size: usize,
    unified_memtable_skip_list_max_level: c_int,
    unified_memtable_skip_list_probability: f32,
    unified_memtable_sync_mode: c_int,
    unified_memtable_sync_interval_us: u64,
    object_store: *mut Opaque,
    object_store_config: *mut Opaque,
    max_concurrent_flushes: c_int,
    finish_compactions_on_close: c_int,
}

#[link(name = "tidesdb")]
unsafe extern "C" {
    fn tidesdb_default_config() -> StoreConfig;
    fn tidesdb_default_column_family_config() -> FamilyConfig;
    fn tidesdb_open(config: *const StoreConfig, db: *mut *mut Opaque) -> c_int;
    fn tidesdb_close(db: *mut Opaque) -> c_int;
    fn tidesdb_create_column_family(db: *mut Opaque, name: *const c_char, config: *const FamilyConfig) -> c_int;
    fn tidesdb_get_column_family(db: *mut Opaque, name: *const c_char) -> *mut Opaque;
    fn tidesdb_txn_begin_with_isolation(db: *mut Opaque, isolation: c_int, transaction: *mut *mut Opaque) -> c_int;
    fn tidesdb_txn_put(
        transaction: *mut Opaque,
        family: *mut Opaque,
        key: *const u8,
        key_len: usize,
        value: *const u8,
        value_len: usize,
        expires: i64,
    ) -> c_int;
    fn tidesdb_txn_get(
        transaction: *mut Opaque,
        family: *mut Opaque,
        key: *const u8,
        key_len: usize,
        value: *mut *mut u8,
        value_len: *mut usize,
    ) -> c_int;
    fn tidesdb_txn_commit(transaction: *mut Opaque) -> c_int;
    fn tidesdb_txn_reset(transaction: *mut Opaque, isolation: c_int) -> c_int;
    fn tidesdb_txn_free(transaction: *mut Opaque);
    fn tidesdb_iter_new(transaction: *mut Opaque, family: *mut Opaque, iterator: *mut *mut Opaque) -> c_int;
    fn tidesdb_iter_seek(iterator: *mut Opaque, key: *const u8, key_len: usize) -> c_int;
    fn tidesdb_iter_next(iterator: *mut Opaque) -> c_int;
    fn tidesdb_iter_valid(iterator: *mut Opaque) -> c_int;
    fn tidesdb_iter_key_value(
        iterator: *mut Opaque,
        key: *mut *mut u8,
        key_len: *mut usize,
        value: *mut *mut u8,
        value_len: *mut usize,
    ) -> c_int;
    fn tidesdb_iter_free(iterator: *mut Opaque);
    fn tidesdb_compact(family: *mut Opaque) -> c_int;
    fn tidesdb_flush_memtable(family: *mut Opaque) -> c_int;
    fn tidesdb_is_flushing(family: *mut Opaque) -> c_int;
    fn tidesdb_is_compacting(family: *mut Opaque) -> c_int;
    fn tidesdb_free(pointer: *mut u8);
}

struct TidesDb {
    db: *mut Opaque,
    family: *mut Opaque,
}

// SAFETY: handles of the store and of its column families may be used from several threads; transactions may not.
unsafe impl Sync for TidesDb {}

fn cache_bytes(settings: &StoreSettings) -> usize {
    settings.memory_bytes.saturating_sub(MEMTABLES * settings.memtable_bytes).max(8 << 20) as usize
}

fn settings(settings: &StoreSettings) -> String {
    format!(
        "TidesDB 9.3, cache {} MiB, memtable {} MiB, commits handed to the operating system, filters and block indexes \
         as they come, no compression",
        cache_bytes(settings) >> 20,
        settings.memtable_bytes >> 20
    )
}

/// An error by what was done.
fn check(code: c_int, what: &str) -> Result<()> {
    ensure!(code == SUCCESS, "TidesDB: {what}: error {code}");
    Ok(())
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn StoreSessions>> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    let mut store = TidesDb { db: ptr::null_mut(), family: ptr::null_mut() };
    // SAFETY: the configurations are ours, and the library copies what they refer to.
    unsafe {
        let mut config = tidesdb_default_config();
        config.path = path.as_ptr().cast_mut();
        config.log_level = LOG_NONE;
        config.block_cache_size = cache_bytes(settings);
        check(tidesdb_open(&config, &mut store.db), "open")?;
        let mut family = tidesdb_default_column_family_config();
        family.write_buffer_size = settings.memtable_bytes as usize;
        family.compression_algorithm = COMPRESS_NONE;
        family.sync_mode = if settings.synced { SYNC_FULL } else { SYNC_NONE };
        let created = tidesdb_create_column_family(store.db, FAMILY.as_ptr(), &family);
        ensure!(created == SUCCESS || created == EXISTS, "TidesDB: create: error {created}");
        store.family = tidesdb_get_column_family(store.db, FAMILY.as_ptr());
    }
    ensure!(!store.family.is_null(), "TidesDB: the column family is missing");
    Ok(Box::new(store))
}

impl Drop for TidesDb {
    fn drop(&mut self) {
        if !self.db.is_null() {
            // SAFETY: opened by `open`; readers and writers borrow the store.
            unsafe { tidesdb_close(self.db) };
        }
    }
}

impl TidesDb {
    fn begin(&self) -> Result<Transaction> {
        let mut transaction = ptr::null_mut();
        // SAFETY: freed when it is dropped, before the store.
        check(unsafe { tidesdb_txn_begin_with_isolation(self.db, READ_COMMITTED, &mut transaction) }, "begin")?;
        Ok(Transaction(transaction))
    }

    fn wait(&self) {
        // SAFETY: the family belongs to the open store.
        while unsafe { tidesdb_is_flushing(self.family) != 0 || tidesdb_is_compacting(self.family) != 0 } {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

struct Transaction(*mut Opaque);

impl Drop for Transaction {
    fn drop(&mut self) {
        // SAFETY: begun by `begin`.
        unsafe { tidesdb_txn_free(self.0) };
    }
}

impl StoreSessions for TidesDb {
    fn writer(&self) -> Result<Box<dyn StoreWriter + '_>> {
        Ok(Box::new(TidesWriter { store: self, transaction: self.begin()? }))
    }

    fn reader(&self, _fresh: bool) -> Result<Box<dyn StoreReader + '_>> {
        Ok(Box::new(TidesReader { store: self, transaction: self.begin()? }))
    }

    fn compact(&mut self) -> Result<()> {
        self.wait_idle()?;
        // SAFETY: the family belongs to the open store.
        check(unsafe { tidesdb_compact(self.family) }, "compact")?;
        self.wait();
        Ok(())
    }

    fn wait_idle(&mut self) -> Result<()> {
        // SAFETY: the family belongs to the open store.
        check(unsafe { tidesdb_flush_memtable(self.family) }, "flush")?;
        self.wait();
        Ok(())
    }
}

struct TidesWriter<'s> {
    store: &'s TidesDb,
    transaction: Transaction,
}

impl StoreWriter for TidesWriter<'_> {
    fn write(&mut self, batch: &StoreBatch) -> Result<()> {
        let (transaction, family) = (self.transaction.0, self.store.family);
        // SAFETY: keys and values are copied by the call; -1 is no expiry.
        unsafe {
            for (key, value) in batch.iter() {
                let put =
                    tidesdb_txn_put(transaction, family, key.as_ptr(), key.len(), value.as_ptr(), value.len(), -1);
                check(put, "put")?;
            }
            check(tidesdb_txn_commit(transaction), "commit")?;
            check(tidesdb_txn_reset(transaction, READ_COMMITTED), "reset")
        }
    }
}

struct TidesReader<'s> {
    store: &'s TidesDb,
    transaction: Transaction,
}

impl StoreReader for TidesReader<'_> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let (mut value, mut len) = (ptr::null_mut(), 0);
        // SAFETY: the value found has `len` bytes and is freed once.
        unsafe {
            let (transaction, family) = (self.transaction.0, self.store.family);
            match tidesdb_txn_get(transaction, family, key.as_ptr(), key.len(), &mut value, &mut len) {
                SUCCESS => {
                    out.extend_from_slice(std::slice::from_raw_parts(value, len));
                    tidesdb_free(value);
                    Ok(true)
                }
                NOT_FOUND => Ok(false),
                code => bail!("TidesDB: get: error {code}"),
            }
        }
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        let mut iterator = ptr::null_mut();
        // SAFETY: key and value are valid until the next move, and copied before it; the iterator is freed below.
        unsafe {
            check(tidesdb_iter_new(self.transaction.0, self.store.family, &mut iterator), "iterator")?;
            let copied = copy_entries(iterator, from, entries, out);
            tidesdb_iter_free(iterator);
            copied
        }
    }
}

/// Copies entries from a key on.
///
/// # Safety
/// The iterator is one of the library.
unsafe fn copy_entries(iterator: *mut Opaque, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
    let (mut count, mut key, mut value) = (0, (ptr::null_mut(), 0), (ptr::null_mut(), 0));
    // SAFETY: as the caller says.
    unsafe {
        let found = tidesdb_iter_seek(iterator, from.as_ptr(), from.len());
        ensure!(found == SUCCESS || found == NOT_FOUND, "TidesDB: seek: error {found}");
        while count < entries && tidesdb_iter_valid(iterator) != 0 {
            let read = tidesdb_iter_key_value(iterator, &mut key.0, &mut key.1, &mut value.0, &mut value.1);
            check(read, "entry")?;
            out.extend_from_slice(std::slice::from_raw_parts(key.0, key.1));
            out.extend_from_slice(std::slice::from_raw_parts(value.0, value.1));
            count += 1;
            if count < entries && tidesdb_iter_next(iterator) != SUCCESS {
                break;
            }
        }
    }
    Ok(count)
}
