//! Statistics of each table of a store.

use super::db::Db;
use crate::table::format::filter::expected_false_positives;
use serde::Serialize;

/// Statistics of a table of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableStats {
    /// File number, unique within the store.
    pub number: u64,
    /// Level; 0 is the newest.
    pub level: usize,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of entries.
    pub records: u64,
    /// Approximate number of lookups that found an entry since the table was opened; one in 32 is sampled.
    pub positive_lookups: u64,
    /// Approximate number of lookups that found no entry.
    pub negative_lookups: u64,
    /// Approximate number of all these lookups that used a model.
    pub model_lookups: u64,
    /// Number of segments of the table's own model; 0 if there is none.
    pub model_segments: u64,
    /// Size of its filter for absent keys in bytes, in whole pages; 0 if there is none.
    pub filter_bytes: u64,
}

impl TableStats {
    /// The share of absent keys that the filter is expected to let through, by its size: each costs a read of data. 1
    /// without a filter. What filters answered is not counted.
    #[must_use]
    pub fn expected_false_positives(&self) -> f64 {
        expected_false_positives(self.filter_bytes, self.records)
    }
}

/// The keys that a table of a store may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableKeyRange {
    /// Name of the keyspace.
    pub keyspace: String,
    /// File number, as in [`TableStats`].
    pub number: u64,
    /// Lower bound of the keys, and of the starts of range tombstones.
    pub first_key: Vec<u8>,
    /// Upper bound; empty for none.
    pub last_key: Vec<u8>,
}

impl Db {
    /// Returns the key ranges of all tables, in the order of [`Self::tables`], without reading any file.
    #[must_use]
    #[doc(hidden)]
    pub fn table_key_ranges(&self) -> Vec<TableKeyRange> {
        let shared = self.core().contents.lock();
        let mut all = Vec::with_capacity(shared.tables.len());
        for keyspace in shared.state.keyspaces.values() {
            all.extend(keyspace.levels.iter().map(|(_, meta)| TableKeyRange {
                keyspace: keyspace.name.clone(),
                number: meta.number,
                first_key: meta.smallest.clone(),
                last_key: meta.largest.clone(),
            }));
        }
        all
    }

    /// Returns statistics of all tables, upper levels first within each keyspace, without reading any file.
    #[must_use]
    #[doc(hidden)]
    pub fn tables(&self) -> Vec<TableStats> {
        let shared = self.core().contents.lock();
        let mut all = Vec::with_capacity(shared.tables.len());
        for keyspace in shared.state.keyspaces.values() {
            for (level, meta) in keyspace.levels.iter() {
                let file = shared.tables.get(&meta.number);
                let lookups = file.map(|file| file.lookups()).unwrap_or_default();
                all.push(TableStats {
                    number: meta.number,
                    level,
                    bytes: meta.bytes,
                    records: meta.records,
                    positive_lookups: lookups.count(true),
                    negative_lookups: lookups.count(false),
                    model_lookups: lookups.paths()[1].count,
                    model_segments: file.and_then(|file| file.model()).map_or(0, |model| model.segments),
                    filter_bytes: file.map_or(0, |file| file.table.filter_bytes()),
                });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::io::MemoryStorage;
    use crate::lsm::DbOptions;
    use std::sync::Arc;

    #[test]
    fn every_table_is_listed_once_and_counts_what_it_is_asked() -> Result<()> {
        let options = DbOptions { threads: 0, ..DbOptions::default() };
        let db = Db::open(Arc::new(MemoryStorage::new()), &options)?;
        for round in 0..3_u32 {
            for key in 0..1_000_u32 {
                db.insert(key.to_be_bytes(), round.to_be_bytes())?;
            }
            db.flush()?;
        }
        let tables = db.tables();
        assert_eq!(tables.iter().map(|table| table.records).sum::<u64>(), 3_000);
        assert!(tables.iter().all(|table| table.level == 0 && table.bytes > 0 && table.positive_lookups == 0));
        let ranges = db.table_key_ranges();
        assert!(ranges.iter().map(|range| range.number).eq(tables.iter().map(|table| table.number)));
        assert!(ranges.iter().all(|range| range.first_key == [0; 4] && range.last_key == 999_u32.to_be_bytes()));
        assert!(ranges.iter().all(|range| range.keyspace == "default"));
        for _ in 0..10 {
            for key in 0..1_000_u32 {
                db.get(key.to_be_bytes())?;
            }
        }
        let positive: u64 = db.tables().iter().map(|table| table.positive_lookups).sum();
        assert!((8_000..12_000).contains(&positive), "{positive} of 10,000");
        Ok(())
    }
}
