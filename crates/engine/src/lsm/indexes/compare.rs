//! The comparison of indexes with the rows that they are of, in both directions.

use crate::error::Result;
use crate::lsm::core::store::Core;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::indexes::kept::KeptIndex;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::types::ResolvedIndex;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Entries, or rows, that are compared in one wave, and their bytes.
const WAVE_RECORDS_MAX: usize = 1024;
const WAVE_BYTES_MAX: usize = 4 << 20;

/// Takes the name of an index and what is wrong with it.
pub(crate) type NoteFault<'a> = &'a mut dyn FnMut(&str, String);

/// A record of either keyspace: a key with its value, and the time at which it expires, if it does.
type RowOrEntry = (Vec<u8>, Vec<u8>, Option<u64>);

impl Core {
    /// Compares all complete indexes with their rows.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    pub(crate) fn compare_indexes(&self, note: NoteFault<'_>) -> Result<()> {
        let pinned = self.pin_newest();
        for (tree, index) in self.all_indexes().iter().filter(|(_, index)| index.record.is_complete) {
            let resolved = index.resolved(tree)?;
            self.compare_entries(tree, (index, &resolved), pinned.point(), note)?;
            self.compare_rows(tree, (index, &resolved), pinned.point(), note)?;
        }
        Ok(())
    }

    /// Notes the entries that lead to no row, or to one of other values.
    fn compare_entries(
        &self,
        tree: &Arc<KeyspaceTree>,
        (index, resolved): (&KeptIndex, &ResolvedIndex),
        point: ReadPoint,
        note: NoteFault<'_>,
    ) -> Result<()> {
        self.visit_waves(&index.entries, point, &mut |entries| {
            let key_of = |entry: &RowOrEntry| resolved.key_of(&entry.0).unwrap_or_default().to_vec();
            let keys: Vec<Vec<u8>> = entries.iter().map(key_of).collect();
            let rows = self.rows_with_expired(tree, &keys, point)?;
            for (((entry, _, expires_ms), key), row) in entries.iter().zip(&keys).zip(rows) {
                let shown = || tree.types.get().types.keys.display(key);
                let Some((row, row_expires_ms)) = row else {
                    note(index.name(), format!("an entry leads to the key {:?}, which has no row", shown()));
                    continue;
                };
                if entry_of(resolved, key, &row).as_ref() != Some(entry) {
                    note(index.name(), format!("an entry leads to the key {:?}, whose row has other values", shown()));
                } else if row_expires_ms != *expires_ms {
                    let detail = format!("an entry expires at another time than the row of its key {:?}", shown());
                    note(index.name(), detail);
                }
            }
            Ok(())
        })
    }

    /// Notes the rows that have no entry.
    fn compare_rows(
        &self,
        tree: &Arc<KeyspaceTree>,
        (index, resolved): (&KeptIndex, &ResolvedIndex),
        point: ReadPoint,
        note: NoteFault<'_>,
    ) -> Result<()> {
        self.visit_waves(tree, point, &mut |rows| {
            let due = |(key, row, _): &RowOrEntry| Some((key.clone(), entry_of(resolved, key, row)?));
            let (keys, entries): (Vec<Vec<u8>>, Vec<Vec<u8>>) = rows.iter().filter_map(due).unzip();
            let found = self.rows_at(&index.entries, &entries, point)?;
            for (key, _) in keys.iter().zip(found).filter(|(_, found)| found.is_none()) {
                let key = tree.types.get().types.keys.display(key);
                note(index.name(), format!("the row of the key {key:?} has no entry"));
            }
            Ok(())
        })
    }

    /// Passes all records of a keyspace on, many at a time.
    fn visit_waves(
        &self,
        tree: &Arc<KeyspaceTree>,
        point: ReadPoint,
        visit: &mut dyn FnMut(&[RowOrEntry]) -> Result<()>,
    ) -> Result<()> {
        let (mut wave, mut bytes) = (Vec::new(), 0);
        self.visit_rows(tree, (&[], None), point, &mut |key, (value, expires_ms)| {
            bytes += key.len() + value.len();
            wave.push((key.to_vec(), value.to_vec(), expires_ms));
            if wave.len() >= WAVE_RECORDS_MAX || bytes >= WAVE_BYTES_MAX {
                visit(&wave)?;
                wave.clear();
                bytes = 0;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        visit(&wave)
    }
}

/// The entry of a row; `None` if the index leaves it out, or it is none.
fn entry_of(resolved: &ResolvedIndex, key: &[u8], row: &[u8]) -> Option<Vec<u8>> {
    let values = resolved.values_of(key, row).ok()??;
    Some([&values.bytes[..], key].concat())
}
