//! Random write and open options, drawn anew for each table.

use ogive::block::compress::Compression;
use ogive::io::{LocalStorage, MemoryStorage, Profile, Storage};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error};
use ogive_testkit::{Random, Record, fast_paths};
use std::sync::Arc;
use tempfile::{TempDir, tempdir};

/// The storage of a table.
#[derive(Clone, Copy, Debug)]
enum Access {
    Memory,
    /// A folder, read through the page cache.
    Cached,
    /// A folder, read by direct I/O.
    Direct,
}

fn any<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// The random options of a table.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub written: TableWriteOptions,
    opened: TableOptions,
    access: Access,
    open_files: Option<usize>,
}

/// A table, and the folder that contains it.
pub struct Built {
    pub table: Table,
    _folder: Option<TempDir>,
}

impl Drawn {
    /// Keeps the given options of keys, values and the index.
    pub fn new(random: &mut Random, like: TableWriteOptions) -> Self {
        let profile = Profile::named(any(random, &["nvme", "hdd", "s3"])).unwrap();
        let written = like
            .block_bytes(any(random, &[None, Some(512), Some(1024), Some(4096), Some(1 << 16)]))
            .compression(any(random, &[Compression::None, Compression::None, Compression::Lz4]))
            .filter_bits_per_key(any(random, &[None, None, Some(1), Some(10), Some(20)]))
            .tuning(|tuning| {
                tuning
                    .resident_bytes(any(random, &[None, None, Some(0), Some(1 << 16)]))
                    .expected_records(any(random, &[None, Some(1), Some(1 << 20)]))
            })
            .profile(profile.clone());
        // Strings may be long, and a budget that is too small is an error.
        let has_short_keys = written.key_type.width().is_some();
        let budgets =
            if has_short_keys { [0, 1 << 14, 1 << 18, 64 << 20] } else { [1 << 20, 2 << 20, 8 << 20, 64 << 20] };
        let opened = TableOptions::default()
            .memory_bytes(any(random, &budgets))
            .profile(profile)
            .fast_paths(fast_paths::drawn(random));
        let access = any(random, &[Access::Memory, Access::Memory, Access::Cached, Access::Direct]);
        Self { written, opened, access, open_files: any(random, &[None, Some(8)]) }
    }

    /// The options without key lists, for messages.
    pub fn describe(&self) -> String {
        let TableWriteOptions { key_type, value_width, block_bytes, compression, filter_bits_per_key, .. } =
            &self.written;
        let (resident, expected) = (self.written.tuning.resident_bytes, self.written.tuning.expected_records);
        format!(
            "{key_type:?}, values {value_width:?}, blocks {block_bytes:?}, {compression:?}, filter \
            {filter_bits_per_key:?}, root {resident:?}, \
             expected {expected:?}, {:?}, {:?}, {:?} files",
            self.opened, self.access, self.open_files
        )
    }

    fn storage(&self) -> (Arc<dyn Storage>, Option<TempDir>) {
        let direct = match self.access {
            Access::Memory => return (Arc::new(MemoryStorage::new()), None),
            Access::Cached => false,
            Access::Direct => true,
        };
        let folder = tempdir().unwrap();
        let storage = if direct { LocalStorage::direct(folder.path()) } else { LocalStorage::new(folder.path()) };
        let storage = self.open_files.map_or(storage.clone(), |limit| storage.with_open_files(limit));
        (Arc::new(storage), Some(folder))
    }

    /// Writes the records, and opens the table with the random budget, or with the budget that it needs.
    pub fn build(self, records: &[Record]) -> Built {
        let (storage, folder) = self.storage();
        let mut writer = TableWriter::create((Arc::clone(&storage), "t"), self.written).unwrap();
        records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
        let report = writer.finish().unwrap();
        let mut options = self.opened;
        let table = loop {
            match Table::open((Arc::clone(&storage), "t"), &options) {
                Err(Error { cause: Cause::Memory { needed_bytes, given_bytes }, .. }) => {
                    assert!(needed_bytes > given_bytes, "{needed_bytes} are no more than {given_bytes}");
                    options.memory_bytes = needed_bytes;
                }
                opened => break opened.unwrap(),
            }
        };
        assert_eq!(table.explain(), report);
        Built { table, _folder: folder }
    }
}

/// A fixed value width for numeric keys, or `None` even if all values have one.
pub fn value_width(random: &mut Random, bytes: u32) -> Option<u32> {
    any(random, &[Some(bytes), None])
}

/// The length of fixed-width values in bytes.
pub fn value_bytes(random: &mut Random) -> u32 {
    any(random, &[0, 5, 8, 40])
}
