//! Test relations: rows in any order, in files and from callers, and the plain reference for their joins.

use super::input::records::{FileRelation, JoinRecords, RecordShape, mix};
use super::input::source::JoinSource;
use super::rows::options::{JoinKind, JoinOptions, JoinWatcher};
use super::rows::relation::{KeyRange, Relation};
use super::rows::sink::RowSink;
use super::rows::spill::Spill;
use super::rows::stream::{RowStream, RowsView};
use super::rows::task::Task;
use crate::error::{Cause, Error, Result};
use crate::io::{MemoryStorage, Storage, StorageWrapper, WritableFile, WriterWrapper};
use crate::table::external::RecordFile;
use crate::types::KeyType;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Key and value.
pub(crate) type InputRow = (Vec<u8>, Vec<u8>);

/// An inner join within a limit of memory, whose spill files go to `storage`.
pub(crate) fn spill(storage: &MemoryStorage, memory_bytes: u64) -> Arc<Spill> {
    spill_of(JoinKind::Inner, storage, memory_bytes)
}

/// A join within a limit of memory, whose spill files go to `storage`.
pub(crate) fn spill_of(kind: JoinKind, storage: &MemoryStorage, memory_bytes: u64) -> Arc<Spill> {
    let task = Task::new(&JoinOptions { kind, memory_bytes, ..JoinOptions::default() }).unwrap();
    Spill::open(&task, Arc::new(storage.clone()), "join").unwrap()
}

/// Rows with 8-byte keys, and values of `value_bytes` that tell rows apart.
pub(crate) fn rows(count: u64, value_bytes: usize, key: impl Fn(u64) -> u64) -> Vec<InputRow> {
    let value = |i: u64| {
        let mut value = mix(i).to_le_bytes().repeat(value_bytes.div_ceil(8));
        value.truncate(value_bytes);
        value
    };
    (0..count).map(|i| (key(i).to_be_bytes().to_vec(), value(i))).collect()
}

/// Rows with keys and values of many lengths.
pub(crate) fn texts(count: u64, distinct: u64) -> Vec<InputRow> {
    let row = |i: u64| {
        let number = mix(i) % distinct;
        let key = format!("user{}{}", number, "x".repeat((mix(number) % 30) as usize));
        (key.into_bytes(), vec![i as u8; (mix(i ^ 9) % 50) as usize])
    };
    (0..count).map(row).collect()
}

/// The key of a row, by its number.
pub(crate) type KeyOf = fn(u64) -> u64;

/// Keys that have broken such code before, by name.
pub(crate) fn key_sets() -> [(&'static str, KeyOf); 9] {
    [
        ("uniform", mix),
        ("sorted", |i| i * 1000),
        ("reversed", |i| u64::MAX - i * 7),
        ("all equal", |_| 42),
        ("one heavy", |i| if i % 2 == 0 { 1 << 50 } else { mix(i) }),
        ("few", |i| mix(i) % 5),
        ("log-uniform", |i| mix(i) >> (mix(i ^ 1) % 64)),
        ("ends", |i| if i % 2 == 0 { i % 3 } else { u64::MAX - i % 3 }),
        // All but the first key of each block of 4 KiB: what a sample of block heads would miss.
        ("crowded", |i| if i % 256 == 0 { mix(i) } else { (1 << 33) + mix(i) % 100_000 }),
    ]
}

/// Rows of one width as a file.
pub(crate) fn file(rows: &[InputRow]) -> Arc<dyn Relation> {
    let storage = MemoryStorage::new();
    let content = rows.iter().flat_map(|(key, value)| [key.clone(), value.clone()].concat()).collect();
    storage.put("rows", content).unwrap();
    let value_bytes = rows.first().map_or(8, |(_, value)| value.len()) as u32;
    let records = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes, little_endian: false };
    Arc::new(FileRelation::open(&storage, "rows", records, false).unwrap())
}

/// Rows as a caller gives them; their number is not told truly.
pub(crate) fn caller(rows: &[InputRow]) -> Arc<dyn Relation> {
    let shape = RecordShape {
        name: "rows of a test".into(),
        key_type: KeyType::Bytes,
        value_bytes: None,
        rows: rows.len() as u64 / 2,
        bytes: 10 * rows.len() as u64,
    };
    let rows = Arc::new(rows.to_vec());
    let records = move || -> JoinRecords {
        let rows = Arc::clone(&rows);
        Box::new((0..rows.len()).map(move |i| Ok(rows[i].clone())))
    };
    JoinSource::unsorted(shape, records).relation
}

/// All rows of a stream.
pub(crate) fn collect(stream: &mut dyn RowStream) -> Result<Vec<InputRow>> {
    let mut found = Vec::new();
    while stream.advance(None)? {
        let rows = stream.rows();
        assert!(!rows.is_empty(), "an empty chunk");
        found.extend((0..rows.len()).map(|row| (rows.key(row).to_vec(), rows.value(row).to_vec())));
    }
    assert_eq!(stream.rows().len(), 0, "rows behind the end");
    Ok(found)
}

/// Whether a sorted copy gives these rows, in key order, within ranges too, and leaves no file behind.
pub(crate) fn assert_sorted_copy(copy: &dyn Relation, rows: &[InputRow], scan_bytes: u64, spill: &Spill, what: &str) {
    let task = spill.task();
    let mut expected = rows.to_vec();
    expected.sort();
    let keys = [0, 1, 2].map(|part| expected.get(part * expected.len() / 3).map(|(key, _)| key.clone()));
    let ranges = [
        KeyRange::all(),
        KeyRange { from: keys[1].clone(), to: keys[2].clone() },
        KeyRange { from: keys[2].clone(), to: None },
        KeyRange { from: None, to: keys[1].clone() },
    ];
    for range in ranges {
        let memory = task.budget.take(scan_bytes, "a scan").unwrap();
        let mut found = collect(&mut *copy.scan(&range, task, memory).unwrap()).unwrap();
        assert!(found.is_sorted_by(|a, b| a.0 <= b.0), "{what}: out of order");
        found.sort();
        let wanted: Vec<InputRow> = expected.iter().filter(|(key, _)| range.holds(key)).cloned().collect();
        assert_eq!(found.len(), wanted.len(), "{what}: {range:?}");
        assert!(found == wanted, "{what}: other rows in {range:?}");
    }
    // Whatever is skipped, nothing from there on is missing.
    if let Some(key) = &keys[1] {
        let memory = task.budget.take(scan_bytes, "a scan").unwrap();
        let mut stream = copy.scan(&KeyRange::all(), task, memory).unwrap();
        let mut found = Vec::new();
        while stream.advance(Some(key)).unwrap() {
            let rows = stream.rows();
            let wanted = (0..rows.len()).filter(|&row| rows.key(row) >= &key[..]);
            found.extend(wanted.map(|row| (rows.key(row).to_vec(), rows.value(row).to_vec())));
        }
        found.sort();
        let wanted: Vec<InputRow> = expected.iter().filter(|(found, _)| found >= key).cloned().collect();
        assert!(found == wanted, "{what}: rows are missing behind those that were skipped");
    }
}

/// Files of a storage that are no locks.
pub(crate) fn spilled(storage: &MemoryStorage) -> usize {
    storage.list().unwrap().iter().filter(|name| !name.ends_with("lock")).count()
}

/// Key, left and right value.
pub(crate) type Joined = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>);

/// A sink that keeps all rows.
#[derive(Debug, Default)]
pub(crate) struct Kept(pub(crate) Vec<Joined>);

impl RowSink for Kept {
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        assert!(!pairs.is_empty(), "no pairs are given");
        for &(i, j) in pairs {
            let (i, j) = (i as usize, j as usize);
            assert_eq!(left.key(i), right.key(j));
            self.row(left.key(i), Some(left.value(i)), Some(right.value(j)))?;
        }
        Ok(())
    }

    fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        assert!(!rows.is_empty(), "no rows are given");
        rows.into_iter().try_for_each(|i| self.row(left.key(i), Some(left.value(i)), None))
    }

    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.0.push((key.to_vec(), left.map(<[u8]>::to_vec), right.map(<[u8]>::to_vec)));
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.0.len() as u64
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The rows of a join, found in the plainest way, in which pairs must pass a condition on their values: left rows in
/// their order, right rows without partner last.
pub(crate) fn reference_where(
    kind: JoinKind,
    left: &[InputRow],
    right: &[InputRow],
    passes: impl Fn(&[u8], &[u8]) -> bool,
) -> Vec<Joined> {
    let mut partners: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    right.iter().enumerate().for_each(|(at, (key, _))| partners.entry(key).or_default().push(at));
    let mut is_matched = vec![false; right.len()];
    let mut rows = Vec::new();
    for (key, value) in left {
        let found = partners.get(&key[..]).into_iter().flatten().filter(|&&at| passes(value, &right[at].1));
        let found: Vec<usize> = found.copied().collect();
        let is_alone =
            if kind == JoinKind::Semi { !found.is_empty() } else { kind.keeps_unmatched() && found.is_empty() };
        rows.extend(is_alone.then(|| (key.clone(), Some(value.clone()), None)));
        for at in found.into_iter().filter(|_| kind.pairs()) {
            is_matched[at] = true;
            rows.push((key.clone(), Some(value.clone()), Some(right[at].1.clone())));
        }
    }
    if kind == JoinKind::Full {
        let alone = right.iter().zip(is_matched).filter(|(_, is_matched)| !is_matched);
        rows.extend(alone.map(|((key, value), _)| (key.clone(), None, Some(value.clone()))));
    }
    rows
}

/// A storage that is full after a number of writes; removals succeed.
#[derive(Debug)]
struct Filling {
    inner: MemoryStorage,
    writes_left: Arc<AtomicI64>,
}

#[derive(Debug)]
struct FillingWriter(Box<dyn WritableFile>, Arc<AtomicI64>);

fn count_down(writes_left: &AtomicI64, path: &Path) -> Result<()> {
    match writes_left.fetch_sub(1, Ordering::Relaxed) {
        1.. => Ok(()),
        _ => Err(Error::io("write", path, ErrorKind::StorageFull.into())),
    }
}

impl StorageWrapper for Filling {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        count_down(&self.writes_left, &self.path(name))?;
        Ok(Box::new(FillingWriter(self.inner.create(name)?, Arc::clone(&self.writes_left))))
    }
}

impl WriterWrapper for FillingWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.0
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.0
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        count_down(&self.1, self.0.path())?;
        self.0.append(bytes)
    }
}

/// Whether work that spills leaves no file behind when the storage is full, or the join stopped, at any of its writes;
/// `at_least` writes are expected.
pub(crate) fn assert_leaves_nothing(memory_bytes: u64, at_least: i64, work: impl Fn(&Arc<Spill>) -> Result<()>) {
    for stops in [false, true] {
        let mut writes = 0;
        loop {
            let inner = MemoryStorage::new();
            let writes_left = Arc::new(AtomicI64::new(if stops { i64::MAX } else { writes }));
            let stop = Arc::new(AtomicBool::new(false));
            let watched = (Arc::clone(&stop), AtomicI64::new(writes));
            let watcher: JoinWatcher = Arc::new(move |_| {
                if stops && watched.1.fetch_sub(1, Ordering::Relaxed) <= 1 {
                    watched.0.store(true, Ordering::Relaxed);
                }
            });
            let (stop, watcher) = (Some(stop), Some(watcher));
            let task = Task::new(&JoinOptions { memory_bytes, stop, watcher, ..JoinOptions::default() }).unwrap();
            let storage = Arc::new(Filling { inner: inner.clone(), writes_left });
            let spill = Spill::open(&task, storage, "join").unwrap();
            let outcome = work(&spill);
            drop(spill);
            assert_eq!(inner.list().unwrap(), Vec::<String>::new(), "files were left by failing at {writes}");
            assert_eq!(task.budget.left_bytes(), memory_bytes, "memory was not given back");
            match outcome {
                Ok(()) => break,
                Err(Error { cause: Cause::Interrupted, .. }) if stops => {}
                Err(Error { cause: Cause::Io(ErrorKind::StorageFull), .. }) if !stops => {}
                Err(error) => panic!("failing at {writes}: {error}"),
            }
            // Not every one of many alike.
            writes += 1 + writes / 8;
        }
        assert!(writes >= at_least, "only {writes} writes");
    }
}
