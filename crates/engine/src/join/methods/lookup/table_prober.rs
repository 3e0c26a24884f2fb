//! Point lookups in a table, key by key: the join without batches, for tests and measurements.

use crate::error::Result;
use crate::join::rows::relation::Prober;
use crate::table::Table;

/// Looks each key up in the table by itself.
pub(super) struct TableProber<'a> {
    pub(super) table: &'a Table,
}

impl Prober for TableProber<'_> {
    fn probe(&mut self, key: &[u8], visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        // Keys of another width have no partner.
        if self.table.key_type().width().is_some_and(|width| width != key.len()) {
            return Ok(());
        }
        for record in self.table.range(key..=key) {
            if !visit(&record?.1)? {
                break;
            }
        }
        Ok(())
    }
}
