//! Observed inserts: pages touched and changed, and bytes logged.

use anyhow::{Result, ensure};
use ogive::page::PageWriteStatistics;

use super::super::Resident;
use super::store::{IndexStore, payload};
use super::touches::{Role, Touches};
use crate::workload::COMMIT_OPERATIONS;

/// Figures of inserts.
#[derive(Debug, Clone, Default)]
pub(crate) struct InsertWatch {
    /// The pages read by the inserts of each observed transaction, within which nodes rarely move.
    read: Vec<Touches>,
    /// Distinct pages changed by the observed inserts, summed over the inserts.
    changed: u64,
    /// All inserts, and the bytes they wrote to the log.
    inserts: u64,
    log_bytes: u64,
}

impl IndexStore {
    /// Inserts new keys, with a commit after each [`COMMIT_OPERATIONS`]; 1/`one_in` of the transactions are observed.
    pub(crate) fn watch_inserts(&self, keys: &[u64], one_in: usize) -> Result<InsertWatch> {
        let mut watch = InsertWatch::default();
        let log_bytes = self.storage.written().1.bytes;
        for (number, batch) in keys.chunks(COMMIT_OPERATIONS).enumerate() {
            let watched = number.is_multiple_of(one_in);
            let mut transaction = self.index.write()?;
            transaction.watch(watched);
            let mut read = Touches::default();
            for &key in batch {
                ensure!(transaction.insert(key, payload(key))?, "the new key {key} did not add an entry");
                if watched {
                    let touched = transaction.take_touched();
                    watch.changed += touched.iter().filter(|touched| touched.changed).count() as u64;
                    let reads = touched.iter().filter(|touched| touched.read);
                    read.push(reads.map(|touched| (u64::from(touched.page), Role::of(touched.purpose))));
                }
            }
            transaction.commit()?;
            if watched {
                watch.read.push(read);
            }
        }
        watch.inserts = keys.len() as u64;
        watch.log_bytes = self.storage.written().1.bytes - log_bytes;
        Ok(watch)
    }

    /// Inserts new keys in timed transactions, and yields the statistics of each.
    pub(crate) fn insert_timed(&self, keys: &[u64], mut done: impl FnMut(&PageWriteStatistics)) -> Result<()> {
        for batch in keys.chunks(COMMIT_OPERATIONS) {
            let mut transaction = self.index.write()?;
            transaction.set_timed(true);
            for &key in batch {
                ensure!(transaction.insert(key, payload(key))?, "the new key {key} did not add an entry");
            }
            done(&transaction.write_statistics());
            transaction.commit()?;
        }
        Ok(())
    }
}

impl InsertWatch {
    /// Pages per insert that are read and not resident, including those that it then changes.
    pub(crate) fn blocks_read(&self, limit: Resident, page_bytes: u64) -> f64 {
        let total: f64 = self
            .read
            .iter()
            .map(|touches| {
                touches.per_operation(limit, &touches.resident(limit, page_bytes)) * touches.operations() as f64
            })
            .sum();
        total / self.watched().max(1) as f64
    }

    /// Pages changed per insert.
    pub(crate) fn blocks_written(&self) -> f64 {
        self.changed as f64 / self.watched().max(1) as f64
    }

    /// Log bytes per insert.
    pub(crate) fn log_bytes(&self) -> f64 {
        self.log_bytes as f64 / self.inserts.max(1) as f64
    }

    fn watched(&self) -> usize {
        self.read.iter().map(Touches::operations).sum()
    }
}
