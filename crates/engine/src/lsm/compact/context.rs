//! The context of a job: storage, options, memory, and the stop flag.

use super::form::TableForm;
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::lsm::state::file_numbers::FileNumberSource;
use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::learner::Learner;
use crate::lsm::state::tables::table_file::{KeyspaceStatement, Openings, TableOrigin};
use crate::lsm::state::version::StatedTypes;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Minimum read size per input, in bytes; with less, the number of reads dominates the cost.
const READ_AHEAD_BYTES_MIN: u64 = 32 << 10;
/// Maximum read size per input, in bytes; more saves nothing.
const READ_AHEAD_BYTES_MAX: u64 = 512 << 10;

/// The context of a flush or compaction job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobContext<'a> {
    pub(crate) storage: &'a Arc<dyn Storage>,
    /// The identity to which new files are bound.
    pub(crate) binding: StoreBinding,
    pub(crate) options: &'a DbOptions,
    /// The form of the output tables.
    pub(crate) form: TableForm,
    /// Fits models to the output tables, if there is one that does.
    pub(crate) learner: Option<&'a dyn Learner>,
    /// The source of numbers for new files.
    pub(crate) numbers: &'a dyn FileNumberSource,
    /// Approximate memory that the job may take, in bytes.
    pub(crate) memory_bytes: u64,
    /// The origin recorded in the output tables.
    pub(crate) origin: TableOrigin,
    /// The statement of the keyspace: it is recorded in the output tables, and values are written by its types.
    pub(crate) statement: &'a KeyspaceStatement,
    /// Tells the job to stop.
    pub(crate) stop: &'a AtomicBool,
}

impl JobContext<'_> {
    /// The read size for each of `sources` inputs, within half of the memory.
    pub(crate) fn read_ahead_bytes(&self, sources: usize) -> u64 {
        // Bytes read are in memory twice for a while, raw and as blocks.
        (self.memory_bytes / 2 / (sources as u64 + 1)).clamp(READ_AHEAD_BYTES_MIN, READ_AHEAD_BYTES_MAX)
    }

    /// Returns an unused file number.
    pub(crate) fn next_number(&self) -> Result<u64> {
        self.numbers.take_number()
    }

    /// The openings to record in a table that points into these value files.
    pub(crate) fn openings(&self, values: impl Iterator<Item = u64>) -> Openings {
        let nonce = self.binding.nonce;
        let of_file = |number| (number, self.numbers.nonce_of_values(number).unwrap_or(nonce));
        Openings { nonce, values: values.map(of_file).collect() }
    }

    /// A stored value as it is written anew: in the current form of its keyspace.
    pub(super) fn rewritten<'v>(&self, value: &'v [u8]) -> Cow<'v, [u8]> {
        let StatedTypes { types, forms, .. } = &self.statement.types;
        forms.rewritten(&types.values, value)
    }

    /// # Errors
    /// [`Cause::Interrupted`](crate::Cause::Interrupted) if the job was asked to stop.
    pub(crate) fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Removes the files of a failed job. A file that cannot be removed now is removed at the next opening.
    pub(crate) fn discard(&self, names: impl IntoIterator<Item = String>) {
        for name in names {
            _ = self.storage.remove(&name);
        }
    }
}
