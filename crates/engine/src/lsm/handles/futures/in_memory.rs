//! Lookups that memory answers.

use crate::block::Slice;
use crate::error::Result;
use crate::lsm::handles::keyspace::Keyspace;
use crate::lsm::read::batch_get;
use crate::lsm::state::entry::ValueKind;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::table::read::deferred::Deferrable;

impl Keyspace {
    /// As [`Self::get`], if nothing must be read for it.
    pub(super) fn get_in_memory(&self, key: &[u8]) -> Result<Option<Option<Slice>>> {
        self.check_alive()?;
        let (view, point) = self.core().view_at(self.tree(), ReadPoint::NEWEST);
        let found = match batch_get::find_in_memory(&view, point, key)? {
            Deferrable::Deferred | Deferrable::Done(Some((ValueKind::Pointer, _))) => return Ok(None),
            Deferrable::Done(found) => found,
        };
        if found.is_none() {
            self.check_alive()?;
        }
        self.core().telemetry.gets.add(1);
        self.note_lookup(key);
        let value = found.map(|found| self.value(found, &view.values)).transpose()?;
        self.written().check_types()?;
        Ok(Some(value))
    }
}
