//! RocksDB, through the crate `rocksdb` and the library of the system.
//!
//! Set for lookups in memory: whole-key Bloom filters, a hash index in each data block, index and filters outside of
//! the cache, so that they are never looked for. Compression is off unless LZ4 is asked for.

use std::path::Path;

use anyhow::Result;
use ogive_research::stores::{StoreBatch, StoreReader, StoreSessions, StoreSettings, StoreSystem, StoreWriter};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, DBRawIterator, DataBlockIndexType, Options, ReadOptions,
    WriteBatch, WriteOptions,
};

pub(crate) const ROCKSDB: StoreSystem =
    StoreSystem { name: "rocksdb", settings: cached_settings, reads_directly: true, open: cached };
pub(crate) const ROCKSDB_MMAP: StoreSystem =
    StoreSystem { name: "rocksdb-mmap", settings: mapped_settings, reads_directly: false, open: mapped };

const BLOCK_BYTES: usize = 4 << 10;
const FILTER_BITS_PER_KEY: f64 = 10.0;
/// Entries for each slot of the hash index of a block.
const HASH_LOAD: f64 = 0.75;
/// Memtables that may exist at a time; they count against the memory.
const MEMTABLES: u64 = 3;
const BACKGROUND_JOBS: i32 = 2;
const FORMAT_VERSION: i32 = 5;
/// Log and tables are handed to the device in pieces of this size, so that no sync at the end of a table stalls all
/// writes.
const BYTES_PER_SYNC: u64 = 1 << 20;

struct RocksDb {
    db: DB,
    synced: bool,
}

fn cache_bytes(settings: &StoreSettings) -> u64 {
    settings.memory_bytes.saturating_sub(MEMTABLES * settings.memtable_bytes).max(8 << 20)
}

fn cached_settings(settings: &StoreSettings) -> String {
    format!("RocksDB 7.8, {}, LRU block cache {} MiB", common_settings(settings), cache_bytes(settings) >> 20)
}

fn mapped_settings(settings: &StoreSettings) -> String {
    format!("RocksDB 7.8, {}, tables mapped into memory instead of a block cache", common_settings(settings))
}

fn common_settings(settings: &StoreSettings) -> String {
    format!(
        "blocks {BLOCK_BYTES} B with hash index, Bloom filter {FILTER_BITS_PER_KEY} bits, {}, dynamic \
        levels, memtables {} of \
         {} MiB, {BACKGROUND_JOBS} background jobs",
        settings.compression_name(),
        MEMTABLES,
        settings.memtable_bytes >> 20
    )
}

fn cached(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn StoreSessions>> {
    open(folder, settings, &cached_options(settings)?)
}

/// Options with a block cache.
pub(crate) fn cached_options(settings: &StoreSettings) -> Result<Options> {
    let mut table = table_options();
    table.set_block_cache(&Cache::new_lru_cache(cache_bytes(settings) as usize)?);
    let mut options = options(settings);
    options.set_use_direct_reads(settings.direct);
    options.set_block_based_table_factory(&table);
    Ok(options)
}

fn mapped(folder: &Path, settings: &StoreSettings) -> Result<Box<dyn StoreSessions>> {
    let mut table = table_options();
    table.disable_cache();
    let mut options = options(settings);
    options.set_allow_mmap_reads(true);
    options.set_block_based_table_factory(&table);
    open(folder, settings, &options)
}

fn open(folder: &Path, settings: &StoreSettings, options: &Options) -> Result<Box<dyn StoreSessions>> {
    Ok(Box::new(RocksDb { db: DB::open(options, folder)?, synced: settings.synced }))
}

fn table_options() -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_block_size(BLOCK_BYTES);
    table.set_bloom_filter(FILTER_BITS_PER_KEY, false);
    table.set_format_version(FORMAT_VERSION);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(HASH_LOAD);
    table
}

fn options(settings: &StoreSettings) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(if settings.lz4 { DBCompressionType::Lz4 } else { DBCompressionType::None });
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_write_buffer_size(settings.memtable_bytes as usize);
    options.set_max_write_buffer_number(MEMTABLES as i32);
    options.set_max_background_jobs(BACKGROUND_JOBS);
    options.increase_parallelism(BACKGROUND_JOBS);
    options.set_bytes_per_sync(BYTES_PER_SYNC);
    options.set_wal_bytes_per_sync(BYTES_PER_SYNC);
    options.set_max_open_files(-1);
    options
}

impl StoreSessions for RocksDb {
    fn writer(&self) -> Result<Box<dyn StoreWriter + '_>> {
        let mut options = WriteOptions::default();
        options.set_sync(self.synced);
        Ok(Box::new(RocksDbWriter { db: &self.db, options, batch: WriteBatch::default() }))
    }

    fn reader(&self, fresh: bool) -> Result<Box<dyn StoreReader + '_>> {
        let iterator = (!fresh).then(|| self.db.raw_iterator());
        Ok(Box::new(RocksDbReader { db: &self.db, options: ReadOptions::default(), iterator }))
    }

    fn compact(&mut self) -> Result<()> {
        self.db.flush()?;
        self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
        self.wait_idle()
    }

    fn wait_idle(&mut self) -> Result<()> {
        self.db.flush()?;
        for property in ["rocksdb.num-running-compactions", "rocksdb.num-running-flushes", "rocksdb.compaction-pending"]
        {
            while self.db.property_int_value(property)?.unwrap_or(0) > 0 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

struct RocksDbWriter<'s> {
    db: &'s DB,
    options: WriteOptions,
    batch: WriteBatch,
}

impl StoreWriter for RocksDbWriter<'_> {
    fn write(&mut self, batch: &StoreBatch) -> Result<()> {
        let mut records = batch.iter();
        if let (1, Some((key, value))) = (batch.len(), records.next()) {
            return Ok(self.db.put_opt(key, value, &self.options)?);
        }
        self.batch.clear();
        for (key, value) in batch.iter() {
            self.batch.put(key, value);
        }
        Ok(self.db.write_opt(std::mem::take(&mut self.batch), &self.options)?)
    }
}

struct RocksDbReader<'s> {
    db: &'s DB,
    options: ReadOptions,
    iterator: Option<DBRawIterator<'s>>,
}

impl StoreReader for RocksDbReader<'_> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let found = self.db.get_pinned_opt(key, &self.options)?;
        found.iter().for_each(|value| out.extend_from_slice(value));
        Ok(found.is_some())
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        match &mut self.iterator {
            Some(iterator) => walk(iterator, from, entries, out),
            None => walk(&mut self.db.raw_iterator(), from, entries, out),
        }
    }
}

fn walk(iterator: &mut DBRawIterator<'_>, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
    out.clear();
    iterator.seek(from);
    let mut count = 0;
    while count < entries {
        let Some((key, value)) = iterator.item() else { break };
        out.extend_from_slice(key);
        out.extend_from_slice(value);
        count += 1;
        if count < entries {
            iterator.next();
        }
    }
    iterator.status()?;
    Ok(count)
}
