//! Two writers of one index at a time: the goal is that the second leaves what the first wrote. Method: one begins and
//! ends while the other is at work, on files and on objects, sorted and not.

use crate::support::{parquet_bytes, u64s};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use ogive::io::{ReadRequest, ReadableFile, StorageWrapper};
use ogive::table::{TableOptions, TableWriteOptions};
use ogive::{MemoryStorage, Storage};
use ogive_parquet::{BuildOptions, BuildReport, FolderMap, ParquetIndex, ParquetIndexError};
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files that all were modified at one time, which can be set.
#[derive(Debug)]
struct Timed {
    inner: Arc<MemoryStorage>,
    time: AtomicU64,
}

impl StorageWrapper for Timed {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> ogive::Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(TimedFile(self.inner.open(name)?, self.time.load(Ordering::Relaxed))))
    }
}

#[derive(Debug)]
struct TimedFile(Arc<dyn ReadableFile>, u64);

impl ReadableFile for TimedFile {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read(&self, request: ReadRequest<'_>) -> ogive::Result<()> {
        self.0.read(request)
    }

    fn modified_ns(&self) -> Option<u64> {
        Some(self.1)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

fn rows(ids: &[u64]) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(UInt64Array::from(ids.to_vec()));
    parquet_bytes(&RecordBatch::try_from_iter([("id", ids)]).unwrap(), WriterProperties::default())
}

#[test]
fn a_writer_leaves_an_index_that_another_has_replaced_meanwhile() {
    for (is_object, ids, more) in
        [(false, [1, 2, 3], [4, 5]), (false, [3, 1, 2], [5, 4]), (true, [1, 2, 3], [4, 5]), (true, [3, 1, 2], [5, 4])]
    {
        let memory = Arc::new(if is_object { MemoryStorage::objects() } else { MemoryStorage::new() });
        let storage = Arc::new(Timed { inner: memory.clone(), time: AtomicU64::new(1) });
        let place: Arc<dyn Storage> = storage.clone();
        let folder = Arc::new(FolderMap::flat(place.clone()));
        let options = || {
            let scratch = Arc::new(MemoryStorage::new());
            BuildOptions::new("", &["id"]).table(TableWriteOptions::default().replace(true)).scratch(scratch)
        };
        let update = || -> Result<BuildReport, ParquetIndexError> {
            let scratch = Arc::new(MemoryStorage::new());
            ParquetIndex::update(place.clone(), "i", folder.clone(), BuildOptions::new("", &[]).scratch(scratch))
        };
        memory.put("a.parquet", rows(&ids)).unwrap();
        ParquetIndex::build(place.clone(), "i", folder.clone(), options()).unwrap();
        storage.time.store(2, Ordering::Relaxed);
        memory.put("b.parquet", rows(&more)).unwrap();
        let mut between = None;
        let mut progress = |_, _| _ = between.get_or_insert_with(update);
        let accepted = ParquetIndex::accept(place.clone(), "i", folder.clone(), options(), &mut progress);
        if is_object {
            // Objects have no locks, so the first to end wins.
            assert_eq!(between.unwrap().unwrap().rows, 5);
            let refused = accepted.unwrap_err().to_string();
            assert!(refused.contains("was replaced while"), "{refused}");
        } else {
            let refused = between.unwrap().unwrap_err().to_string();
            assert!(refused.contains("is locked"), "{refused}");
            assert_eq!(accepted.unwrap().1, 1);
            assert_eq!(update().unwrap().rows, 5);
        }
        let index = ParquetIndex::open(place.clone(), "i", folder, &TableOptions::default()).unwrap();
        assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
        for id in 1..=5_u64 {
            assert_eq!(u64s(&index.get(&id.to_be_bytes(), None).unwrap(), "id"), [id]);
        }
    }
}
