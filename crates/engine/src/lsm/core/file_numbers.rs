//! The numbers of the new files of an open store.

use super::shared::{SharedState, StateChange};
use super::store::Core;
use crate::error::Result;
use crate::io::local::sync::MutexGuard;
use crate::lsm::state::file_numbers::FileNumberSource;

impl Core {
    /// As [`FileNumberSource::take_number`], for a caller that holds the lock of the shared state.
    pub(in crate::lsm) fn number_within(&self, shared: &mut MutexGuard<'_, SharedState>) -> Result<u64> {
        let number = self.files.numbers.take();
        if !self.files.numbers.is_reserved(number) {
            // Any edit makes the reservation that is due.
            self.apply(shared, StateChange::default())?;
        }
        Ok(number)
    }
}

impl FileNumberSource for Core {
    fn take_number(&self) -> Result<u64> {
        let number = self.files.numbers.take();
        if !self.files.numbers.is_reserved(number) {
            let mut shared = self.contents.lock();
            // Another thread may have made the reservation in the meantime.
            if !self.files.numbers.is_reserved(number) {
                self.apply(&mut shared, StateChange::default())?;
            }
        }
        Ok(number)
    }

    fn nonce_of_values(&self, number: u64) -> Option<u64> {
        self.contents.lock().values.0.get(&number).map(|handle| handle.file.binding().nonce)
    }
}
