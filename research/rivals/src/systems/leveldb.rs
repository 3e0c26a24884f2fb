//! LevelDB, through the C interface of the library of the system: no crate that is maintained offers its filters.

#![expect(unsafe_code, reason = "calls of a C library; every pointer comes from it and is given back once")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use anyhow::{Result, bail};
use ogive_research::stores::{StoreBatch, StoreReader, StoreSessions, StoreSettings, StoreSystem, StoreWriter};

pub(crate) const LEVELDB: StoreSystem = StoreSystem { name: "leveldb", settings, reads_directly: false, open };

const BLOCK_BYTES: usize = 4 << 10;
const FILTER_BITS_PER_KEY: c_int = 10;
/// Tables of LevelDB's default size, 2 MiB, would be thousands.
const TABLE_BYTES: usize = 64 << 20;
const MOST_OPEN_FILES: c_int = 10_000;
/// The memtable that is filled and the one that is written out; they count against the memory.
const MEMTABLES: u64 = 2;

/// What the library hides behind its pointers.
#[repr(C)]
struct Opaque([u8; 0]);

#[link(name = "leveldb")]
unsafe extern "C" {
    fn leveldb_open(options: *const Opaque, name: *const c_char, error: *mut *mut c_char) -> *mut Opaque;
    fn leveldb_close(db: *mut Opaque);
    fn leveldb_write(db: *mut Opaque, options: *const Opaque, batch: *mut Opaque, error: *mut *mut c_char);
    fn leveldb_get(
        db: *mut Opaque,
        options: *const Opaque,
        key: *const u8,
        key_len: usize,
        value_len: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut u8;
    fn leveldb_compact_range(db: *mut Opaque, start: *const u8, start_len: usize, limit: *const u8, limit_len: usize);
    fn leveldb_create_iterator(db: *mut Opaque, options: *const Opaque) -> *mut Opaque;
    fn leveldb_iter_destroy(iterator: *mut Opaque);
    fn leveldb_iter_valid(iterator: *const Opaque) -> u8;
    fn leveldb_iter_seek(iterator: *mut Opaque, key: *const u8, key_len: usize);
    fn leveldb_iter_next(iterator: *mut Opaque);
    fn leveldb_iter_key(iterator: *const Opaque, len: *mut usize) -> *const u8;
    fn leveldb_iter_value(iterator: *const Opaque, len: *mut usize) -> *const u8;
    fn leveldb_iter_get_error(iterator: *const Opaque, error: *mut *mut c_char);
    fn leveldb_writebatch_create() -> *mut Opaque;
    fn leveldb_writebatch_destroy(batch: *mut Opaque);
    fn leveldb_writebatch_clear(batch: *mut Opaque);
    fn leveldb_writebatch_put(batch: *mut Opaque, key: *const u8, key_len: usize, value: *const u8, value_len: usize);
    fn leveldb_options_create() -> *mut Opaque;
    fn leveldb_options_destroy(options: *mut Opaque);
    fn leveldb_options_set_create_if_missing(options: *mut Opaque, yes: u8);
    fn leveldb_options_set_compression(options: *mut Opaque, kind: c_int);
    fn leveldb_options_set_write_buffer_size(options: *mut Opaque, bytes: usize);
    fn leveldb_options_set_block_size(options: *mut Opaque, bytes: usize);
    fn leveldb_options_set_max_file_size(options: *mut Opaque, bytes: usize);
    fn leveldb_options_set_max_open_files(options: *mut Opaque, files: c_int);
    fn leveldb_options_set_cache(options: *mut Opaque, cache: *mut Opaque);
    fn leveldb_options_set_filter_policy(options: *mut Opaque, policy: *mut Opaque);
    fn leveldb_filterpolicy_create_bloom(bits_per_key: c_int) -> *mut Opaque;
    fn leveldb_filterpolicy_destroy(policy: *mut Opaque);
    fn leveldb_cache_create_lru(bytes: usize) -> *mut Opaque;
    fn leveldb_cache_destroy(cache: *mut Opaque);
    fn leveldb_readoptions_create() -> *mut Opaque;
    fn leveldb_readoptions_destroy(options: *mut Opaque);
    fn leveldb_writeoptions_create() -> *mut Opaque;
    fn leveldb_writeoptions_destroy(options: *mut Opaque);
    fn leveldb_writeoptions_set_sync(options: *mut Opaque, yes: u8);
    fn leveldb_free(pointer: *mut u8);
}

struct LevelDb {
    db: *mut Opaque,
    cache: *mut Opaque,
    filter: *mut Opaque,
    read: *mut Opaque,
    write: *mut Opaque,
}

// SAFETY: LevelDB's handles may be used from several threads at once (doc/index.md, Concurrency).
unsafe impl Sync for LevelDb {}

fn cache_bytes(settings: &StoreSettings) -> u64 {
    settings.memory_bytes.saturating_sub(MEMTABLES * settings.memtable_bytes).max(8 << 20)
}

fn settings(settings: &StoreSettings) -> String {
    format!(
        "LevelDB 1.23, blocks {BLOCK_BYTES} B, Bloom filter {FILTER_BITS_PER_KEY} bits, cache {} MiB, memtable {} \
        MiB, tables {} MiB, no \
         compression",
        cache_bytes(settings) >> 20,
        settings.memtable_bytes >> 20,
        TABLE_BYTES >> 20
    )
}

fn open(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn StoreSessions>> {
    let name = CString::new(folder.as_os_str().as_bytes())?;
    let mut error = ptr::null_mut();
    // SAFETY: the options are ours, `name` ends with a zero, and what the store refers to lives as long as it.
    let store = unsafe {
        let options = leveldb_options_create();
        let (cache, filter) = (
            leveldb_cache_create_lru(cache_bytes(settings) as usize),
            leveldb_filterpolicy_create_bloom(FILTER_BITS_PER_KEY),
        );
        leveldb_options_set_create_if_missing(options, 1);
        leveldb_options_set_compression(options, 0);
        leveldb_options_set_write_buffer_size(options, settings.memtable_bytes as usize);
        leveldb_options_set_block_size(options, BLOCK_BYTES);
        leveldb_options_set_max_file_size(options, TABLE_BYTES);
        leveldb_options_set_max_open_files(options, MOST_OPEN_FILES);
        leveldb_options_set_cache(options, cache);
        leveldb_options_set_filter_policy(options, filter);
        let db = leveldb_open(options, name.as_ptr(), &mut error);
        leveldb_options_destroy(options);
        let (read, write) = (leveldb_readoptions_create(), leveldb_writeoptions_create());
        leveldb_writeoptions_set_sync(write, settings.synced.into());
        LevelDb { db, cache, filter, read, write }
    };
    check(error)?;
    Ok(Box::new(store))
}

/// The error that a call left behind, if there is one.
fn check(error: *mut c_char) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the library leaves a string that ends with a zero, to be freed by its own function.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        leveldb_free(error.cast());
        text
    };
    bail!("LevelDB: {text}")
}

impl Drop for LevelDb {
    fn drop(&mut self) {
        // SAFETY: all of them were made by `open`, and readers and writers borrow the store.
        unsafe {
            if !self.db.is_null() {
                leveldb_close(self.db);
            }
            leveldb_cache_destroy(self.cache);
            leveldb_filterpolicy_destroy(self.filter);
            leveldb_readoptions_destroy(self.read);
            leveldb_writeoptions_destroy(self.write);
        }
    }
}

impl StoreSessions for LevelDb {
    fn writer(&self) -> Result<Box<dyn StoreWriter + '_>> {
        // SAFETY: freed when the writer is dropped.
        let batch = unsafe { leveldb_writebatch_create() };
        Ok(Box::new(LevelDbWriter { store: self, batch }))
    }

    fn reader(&self, fresh: bool) -> Result<Box<dyn StoreReader + '_>> {
        let iterator = if fresh { None } else { Some(Cursor::new(self)) };
        Ok(Box::new(LevelDbReader { store: self, iterator }))
    }

    fn compact(&mut self) -> Result<()> {
        // SAFETY: null stands for both ends of the keys.
        unsafe { leveldb_compact_range(self.db, ptr::null(), 0, ptr::null(), 0) };
        Ok(())
    }

    fn wait_idle(&mut self) -> Result<()> {
        // The interface does not tell what goes on in the background.
        self.compact()
    }
}

struct LevelDbWriter<'s> {
    store: &'s LevelDb,
    batch: *mut Opaque,
}

impl StoreWriter for LevelDbWriter<'_> {
    fn write(&mut self, batch: &StoreBatch) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: keys and values are copied into the batch.
        unsafe {
            leveldb_writebatch_clear(self.batch);
            for (key, value) in batch.iter() {
                leveldb_writebatch_put(self.batch, key.as_ptr(), key.len(), value.as_ptr(), value.len());
            }
            leveldb_write(self.store.db, self.store.write, self.batch, &mut error);
        }
        check(error)
    }
}

impl Drop for LevelDbWriter<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `writer`.
        unsafe { leveldb_writebatch_destroy(self.batch) };
    }
}

struct LevelDbReader<'s> {
    store: &'s LevelDb,
    iterator: Option<Cursor>,
}

impl StoreReader for LevelDbReader<'_> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let (mut len, mut error) = (0, ptr::null_mut());
        // SAFETY: the value found has `len` bytes and is freed once.
        let found = unsafe {
            let value = leveldb_get(self.store.db, self.store.read, key.as_ptr(), key.len(), &mut len, &mut error);
            if !value.is_null() {
                out.extend_from_slice(std::slice::from_raw_parts(value, len));
                leveldb_free(value);
            }
            !value.is_null()
        };
        check(error)?;
        Ok(found)
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        match &self.iterator {
            Some(iterator) => iterator.walk(from, entries, out),
            None => Cursor::new(self.store).walk(from, entries, out),
        }
    }
}

struct Cursor(*mut Opaque);

impl Cursor {
    fn new(store: &LevelDb) -> Self {
        // SAFETY: destroyed when dropped, before the store: readers borrow it.
        Self(unsafe { leveldb_create_iterator(store.db, store.read) })
    }

    fn walk(&self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        let (mut count, mut len, mut error) = (0, 0, ptr::null_mut());
        // SAFETY: key and value are valid until the next move, and copied before it.
        unsafe {
            leveldb_iter_seek(self.0, from.as_ptr(), from.len());
            while count < entries && leveldb_iter_valid(self.0) != 0 {
                let key = leveldb_iter_key(self.0, &mut len);
                out.extend_from_slice(std::slice::from_raw_parts(key, len));
                let value = leveldb_iter_value(self.0, &mut len);
                out.extend_from_slice(std::slice::from_raw_parts(value, len));
                count += 1;
                leveldb_iter_next(self.0);
            }
            leveldb_iter_get_error(self.0, &mut error);
        }
        check(error)?;
        Ok(count)
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: made by `new`.
        unsafe { leveldb_iter_destroy(self.0) };
    }
}
