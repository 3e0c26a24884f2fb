//! Files of a copy of the store among its own, where no manifest says which are which.
//!
//! A store and its copy have one identity and number their files alike, so only the openings that wrote the files tell them apart. The
//! openings of one store follow each other, and so do the numbers of their files:
//!
//! ```text
//! number          3  4  5 | 6  7  8  9 | 10
//! opening         a  a  a | b  b  x  b | c      x wrote a file among those of b: it is a copy's
//! ```
//!
//! Of two openings whose files lie among each other, that of fewer files is taken for the copy's. Beside that, tables say which opening wrote
//! each value file that they point into; a value file of another one, and one that no table and no log knows an opening of, is none of the
//! store's. What this cannot tell: tables and logs of a copy that are younger than all others, and tables that the store took in.

use super::salvage::Evidence;
use crate::block::header::StoreBinding;
use crate::error::Result;
use crate::io::Storage;
use crate::lsm::table_file::TableFile;
use crate::lsm::version::{FileKind, file_name};
use crate::vlog::ValueFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is put behind the name of a file that is set aside: it is none of the store's then, whoever opens the store.
pub(super) const FOREIGN_SUFFIX: &str = ".foreign";

/// The files that a store without a manifest is rebuilt of.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The youngest first.
    pub(super) tables: Vec<Arc<TableFile>>,
    pub(super) logs: BTreeMap<u64, StoreBinding>,
    pub(super) values: BTreeMap<u64, Arc<ValueFile>>,
}

impl Found {
    /// Leaves those that one history of openings can have written, and returns the names of the others.
    pub(super) fn take_foreign(&mut self) -> Vec<String> {
        let mut foreign = Vec::new();
        let copies = self.openings_of_copies();
        let is_copys =
            |file: &Arc<TableFile>| file.openings.as_ref().is_some_and(|found| copies.contains(&found.nonce));
        for file in self.tables.extract_if(.., |file| is_copys(file)) {
            foreign.push(file_name(file.meta.number, FileKind::Table));
        }
        let logs: Vec<u64> = of_openings(self.logs.iter().map(|(&number, bond)| (number, bond.nonce)), &copies);
        for number in logs {
            self.logs.remove(&number);
            foreign.push(file_name(number, FileKind::Log));
        }
        let known = self.known_openings();
        let others = self.values.iter().filter(|&(&number, file)| {
            let nonce = file.bond().nonce;
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

    /// The openings whose files lie among those of another that wrote more.
    fn openings_of_copies(&self) -> BTreeSet<u64> {
        let tables = self.tables.iter().filter_map(|file| Some((file.meta.number, file.openings.as_ref()?.nonce)));
        let logs = self.logs.iter().map(|(&number, bond)| (number, bond.nonce));
        let values = self.values.iter().map(|(&number, file)| (number, file.bond().nonce));
        copies_among(tables.chain(logs).chain(values))
    }

    /// All openings that tables and logs know of; `None` where a table does not say, as those of earlier versions.
    fn known_openings(&self) -> Option<BTreeSet<u64>> {
        let mut known: BTreeSet<u64> = self.logs.values().map(|bond| bond.nonce).collect();
        for file in self.tables.iter().filter(|file| file.table.is_versioned()) {
            let openings = file.openings.as_ref()?;
            known.insert(openings.nonce);
            known.extend(openings.values.values());
        }
        Some(known)
    }

    /// Whether all tables that point into a value file, one at least, say that another opening wrote it.
    fn is_contradicted(&self, number: u64, nonce: u64) -> bool {
        let said = self.tables.iter().filter_map(|file| file.openings.as_ref()?.values.get(&number));
        let mut said = said.peekable();
        said.peek().is_some() && said.all(|&said| said != nonce)
    }
}

/// Sets files aside that are none of the store's.
///
/// # Errors
/// Whatever the storage reports.
pub(super) fn set_aside(storage: &dyn Storage, foreign: &[String]) -> Result<()> {
    foreign.iter().try_for_each(|name| storage.rename(name, &format!("{name}{FOREIGN_SUFFIX}")))?;
    if foreign.is_empty() { Ok(()) } else { storage.sync_directory() }
}

impl Evidence {
    /// Whether a table may point into a value file: it says that the opening wrote it which did, or says nothing of it.
    pub(super) fn may_point(&self, table: &TableFile, values: &ValueFile) -> bool {
        let said = table.openings.as_ref().and_then(|openings| openings.values.get(&values.number()));
        said.is_none_or(|&nonce| nonce == values.bond().nonce)
    }
}

fn of_openings(files: impl Iterator<Item = (u64, u64)>, openings: &BTreeSet<u64>) -> Vec<u64> {
    files.filter(|(_, nonce)| openings.contains(nonce)).map(|(number, _)| number).collect()
}

/// The openings, by nonce, whose files lie among those of another that has more; `files` are numbers of files and the openings that wrote
/// them.
fn copies_among(files: impl Iterator<Item = (u64, u64)>) -> BTreeSet<u64> {
    let mut numbers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (number, nonce) in files {
        numbers.entry(nonce).or_default().insert(number);
    }
    // Those of most files first: whom they contradict goes.
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
        let copies = |files: &[(u64, u64)]| copies_among(files.iter().copied()).into_iter().collect::<Vec<_>>();
        assert!(copies(&[]).is_empty());
        assert!(copies(&[(3, 1), (4, 1), (5, 2), (9, 2), (10, 3)]).is_empty());
        assert_eq!(copies(&[(3, 1), (4, 1), (5, 2), (7, 9), (8, 2), (9, 2)]), [9]);
        // The same number twice, as a log and a value file.
        assert_eq!(copies(&[(3, 1), (4, 1), (4, 9)]), [9]);
        // What contradicts a copy alone is not a copy's.
        assert_eq!(copies(&[(3, 1), (4, 1), (5, 1), (4, 9), (8, 9), (7, 2), (8, 2)]), [9]);
    }
}
