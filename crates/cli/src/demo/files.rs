//! The found files in two orders: by path and by modification time.

use super::walk::FoundFile;
use crate::input::{Input, InputError, InputFacts, Record};
use crate::values::dates::date;
use crate::values::size::grouped;
use ogive::KeyType;
use ogive::types::RecordType;
use std::path::PathBuf;

/// The files that a walk found.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    /// Sorted by path.
    found: Vec<FoundFile>,
    /// Positions in `found`, sorted by time.
    by_time: Vec<u32>,
}

/// An order of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Path to size and date.
    Path,
    /// Modification time in nanoseconds to size.
    Time,
}

impl Files {
    /// Takes the files found under `root`.
    pub(crate) fn new(root: PathBuf, mut found: Vec<FoundFile>) -> Self {
        found.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        let mut by_time: Vec<u32> = (0..).take(found.len()).collect();
        by_time.sort_by_key(|&position| found[position as usize].modified_ns);
        Self { root, found, by_time }
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// The file at a position in one of the orders.
    pub(crate) fn at(&self, order: Order, position: usize) -> Option<&FoundFile> {
        match order {
            Order::Path => self.found.get(position),
            Order::Time => self.found.get(*self.by_time.get(position)? as usize),
        }
    }

    /// The key of a file.
    pub(crate) fn key(order: Order, file: &FoundFile) -> Vec<u8> {
        match order {
            Order::Path => file.path.to_vec(),
            Order::Time => file.modified_ns.to_be_bytes().to_vec(),
        }
    }

    /// An absent key just after that of this file; `None` if a file has it.
    pub(crate) fn absent_key(&self, order: Order, file: &FoundFile) -> Option<Vec<u8>> {
        match order {
            Order::Path => {
                let key = [&file.path, &b"?"[..]].concat();
                self.found.binary_search_by(|other| (*other.path).cmp(&key)).is_err().then_some(key)
            }
            Order::Time => {
                let key = file.modified_ns.checked_add(1)?;
                let taken = |&position: &u32| self.found[position as usize].modified_ns;
                self.by_time.binary_search_by_key(&key, taken).is_err().then(|| key.to_be_bytes().to_vec())
            }
        }
    }

    /// At most about `count` evenly spaced keys: present or absent ones.
    pub(crate) fn some_keys(&self, order: Order, present: bool, count: usize) -> impl Iterator<Item = Vec<u8>> {
        let stride = (self.len() / count.max(1)).max(1);
        let files = (stride / 2..self.len()).step_by(stride).filter_map(move |position| self.at(order, position));
        files.filter_map(move |file| if present { Some(Self::key(order, file)) } else { self.absent_key(order, file) })
    }

    /// The records in one of the orders.
    pub(crate) fn input(&self, order: Order) -> FilesInput<'_> {
        let text = self.found.iter().all(|file| std::str::from_utf8(&file.path).is_ok());
        let facts = InputFacts {
            path: self.root.clone(),
            record_type: match order {
                Order::Path if text => RecordType::new(KeyType::Text, KeyType::Text),
                Order::Path => RecordType::new(KeyType::Bytes, KeyType::Text),
                Order::Time => RecordType::new(KeyType::U64, KeyType::U64),
            },
            value_width: (order == Order::Time).then_some(8),
            records: Some(self.found.len() as u64),
            length_bytes: Some(self.found.len() as u64),
            may_be_empty: false,
        };
        FilesInput { files: self, order, facts, key: Vec::new(), value: Vec::new(), done: 0 }
    }
}

/// The files as an input.
#[derive(Debug)]
pub(crate) struct FilesInput<'a> {
    files: &'a Files,
    order: Order,
    facts: InputFacts,
    key: Vec<u8>,
    value: Vec<u8>,
    done: usize,
}

impl Input for FilesInput<'_> {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        let Some(file) = self.files.at(self.order, self.done) else { return Ok(None) };
        self.done += 1;
        self.key = Files::key(self.order, file);
        self.value = match self.order {
            Order::Path => format!("{} B, {}", grouped(file.size_bytes), date(file.modified_ns)).into_bytes(),
            Order::Time => file.size_bytes.to_be_bytes().to_vec(),
        };
        Ok(Some(Record { key: &self.key, value: &self.value }))
    }

    fn position_bytes(&self) -> u64 {
        self.done as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let file = |path: &str, modified_ns| FoundFile { path: path.as_bytes().into(), size_bytes: 7, modified_ns };
        Files::new("/".into(), vec![file("/b", 5), file("/a", 9), file("/c", 5), file("/a?", 6)])
    }

    #[test]
    fn both_orders_hold_every_file() {
        let files = files();
        for (order, keys) in [
            (Order::Path, ["/a", "/a?", "/b", "/c"].map(|path| path.as_bytes().to_vec())),
            (Order::Time, [5_u64, 5, 6, 9].map(|time| time.to_be_bytes().to_vec())),
        ] {
            let mut input = files.input(order);
            for key in keys {
                assert_eq!(input.next().unwrap().unwrap().key, key);
            }
            assert_eq!(input.next().unwrap(), None);
        }
    }

    #[test]
    fn an_absent_key_is_absent() {
        let files = files();
        let absent = |order, position| files.absent_key(order, files.at(order, position).unwrap());
        assert_eq!(absent(Order::Path, 0), None);
        assert_eq!(absent(Order::Path, 2), Some(b"/b?".to_vec()));
        assert_eq!(absent(Order::Time, 0), None);
        assert_eq!(absent(Order::Time, 3), Some(10_u64.to_be_bytes().to_vec()));
    }
}
