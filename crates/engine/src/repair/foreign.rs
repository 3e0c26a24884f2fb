//! Detection of foreign files: files of a copy of the store among its own, when no manifest distinguishes them.
//!
//! A store and its copy have the same identity and number their files alike; only the openings (sessions) that wrote
//! the files differ. The openings of one store follow each other, and so do the numbers of their files:
//!
//! ```text
//! number          3  4  5 | 6  7  8  9 | 10
//! opening         a  a  a | b  b  x  b | c      x wrote a file among those of b, so it belongs to a copy
//! ```
//!
//! Of two openings whose number ranges overlap, the one with fewer files is taken to be the copy's. In addition, each
//! table states the opening that wrote each value file it points into; a value file of another opening, and one whose
//! opening no table or log knows, is foreign. Not detected are tables and logs of a copy that are newer than all
//! others, and ingested tables that the newest manifest names.

use super::recovering_cursor::ValueEvidence;
use crate::block::header::StoreBinding;
use crate::error::Result;
use crate::io::Storage;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::version::{FileKind, file_name};
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The suffixes added to the names of files that are set aside, so that no store uses them.
pub(super) const FOREIGN_SUFFIX: &str = ".foreign";
pub(super) const INGESTED_SUFFIX: &str = ".ingested";

/// The files from which a store without a manifest is rebuilt.
#[derive(Debug, Default)]
pub(super) struct StoreFiles {
    /// Newest first.
    pub(super) tables: Vec<Arc<TableFile>>,
    pub(super) logs: BTreeMap<u64, StoreBinding>,
    pub(super) values: BTreeMap<u64, Arc<ValueFile>>,
}

impl StoreFiles {
    /// Keeps the files that a single history of openings can have written; returns the names of the others.
    pub(super) fn remove_foreign(&mut self) -> Vec<String> {
        let mut foreign = Vec::new();
        let copies = self.openings_of_copies();
        let is_copys =
            |file: &Arc<TableFile>| file.openings.as_ref().is_some_and(|found| copies.contains(&found.nonce));
        for file in self.tables.extract_if(.., |file| is_copys(file)) {
            foreign.push(file_name(file.meta.number, FileKind::Table));
        }
        let logs: Vec<u64> = of_openings(self.logs.iter().map(|(&number, binding)| (number, binding.nonce)), &copies);
        for number in logs {
            self.logs.remove(&number);
            foreign.push(file_name(number, FileKind::Log));
        }
        let known = self.known_openings();
        let others = self.values.iter().filter(|&(&number, file)| {
            let nonce = file.binding().nonce;
            copies.contains(&nonce)
                || known.as_ref().is_some_and(|known| !known.contains(&nonce))
                || self.is_contradicted(number, nonce)
        });
        for number in others.map(|(&number, _)| number).collect::<Vec<_>>() {
            self.values.remove(&number);
            foreign.push(file_name(number, FileKind::Values));
        }
        foreign.sort();
        foreign
    }

    /// The openings whose number ranges overlap that of an opening with more files.
    fn openings_of_copies(&self) -> BTreeSet<u64> {
        let tables = self.tables.iter().filter_map(|file| Some((file.meta.number, file.openings.as_ref()?.nonce)));
        let logs = self.logs.iter().map(|(&number, binding)| (number, binding.nonce));
        let values = self.values.iter().map(|(&number, file)| (number, file.binding().nonce));
        overlapping_openings(tables.chain(logs).chain(values))
    }

    /// All openings that tables and logs name; `None` if a table names none, as those of earlier versions.
    fn known_openings(&self) -> Option<BTreeSet<u64>> {
        let mut known: BTreeSet<u64> = self.logs.values().map(|binding| binding.nonce).collect();
        for file in self.tables.iter().filter(|file| file.table.is_versioned()) {
            let openings = file.openings.as_ref()?;
            known.insert(openings.nonce);
            known.extend(openings.values.values());
        }
        Some(known)
    }

    /// Whether tables point into a value file, and all of them name another opening than the file does.
    fn is_contradicted(&self, number: u64, nonce: u64) -> bool {
        let said = self.tables.iter().filter_map(|file| file.openings.as_ref()?.values.get(&number));
        let mut said = said.peekable();
        said.peek().is_some() && said.all(|&said| said != nonce)
    }
}

/// Renames files, so that the store does not use them.
///
/// # Errors
/// Errors of the storage.
pub(super) fn set_aside(storage: &dyn Storage, names: &[String], suffix: &str) -> Result<()> {
    names.iter().try_for_each(|name| storage.rename(name, &format!("{name}{suffix}")))?;
    if names.is_empty() { Ok(()) } else { storage.sync_directory() }
}

impl ValueEvidence {
    /// Whether a table may point into a value file: it names the same opening, or none.
    pub(super) fn may_point_into(&self, table: &TableFile, values: &ValueFile) -> bool {
        let said = table.openings.as_ref().and_then(|openings| openings.values.get(&values.number()));
        said.is_none_or(|&nonce| nonce == values.binding().nonce)
    }
}

fn of_openings(files: impl Iterator<Item = (u64, u64)>, openings: &BTreeSet<u64>) -> Vec<u64> {
    files.filter(|(_, nonce)| openings.contains(nonce)).map(|(number, _)| number).collect()
}

/// The openings, by nonce, whose number ranges overlap that of an opening with more files; `files` are pairs of file
/// number and opening.
fn overlapping_openings(files: impl Iterator<Item = (u64, u64)>) -> BTreeSet<u64> {
    let mut numbers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (number, nonce) in files {
        numbers.entry(nonce).or_default().insert(number);
    }
    // The openings with most files come first; those that overlap them are copies.
    let mut openings: Vec<(u64, BTreeSet<u64>)> = numbers.into_iter().collect();
    openings.sort_by_key(|(_, numbers)| std::cmp::Reverse(numbers.len()));
    let mut own: Vec<(u64, u64)> = Vec::new();
    let mut copies = BTreeSet::new();
    for (nonce, numbers) in openings {
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { continue };
        if own.iter().any(|&(start, end)| first <= end && start <= last) {
            copies.insert(nonce);
        } else {
            own.push((first, last));
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_that_follow_each_other_are_one_stores_and_what_lies_among_them_is_a_copys() {
        let copies = |files: &[(u64, u64)]| overlapping_openings(files.iter().copied()).into_iter().collect::<Vec<_>>();
        assert!(copies(&[]).is_empty());
        assert!(copies(&[(3, 1), (4, 1), (5, 2), (9, 2), (10, 3)]).is_empty());
        assert_eq!(copies(&[(3, 1), (4, 1), (5, 2), (7, 9), (8, 2), (9, 2)]), [9]);
        // The same number twice, as a log and a value file.
        assert_eq!(copies(&[(3, 1), (4, 1), (4, 9)]), [9]);
        // What contradicts a copy alone is not a copy's.
        assert_eq!(copies(&[(3, 1), (4, 1), (5, 1), (4, 9), (8, 9), (7, 2), (8, 2)]), [9]);
    }
}
