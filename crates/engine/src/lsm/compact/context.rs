//! What a job of the store needs around it.

use super::super::numbers::NumberSource;
use super::super::options::DbOptions;
use super::super::table_file::{Openings, Origin};
use crate::block::header::StoreBinding;
use crate::error::{Error, Result};
use crate::io::Storage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An input reads at least so much at a time, in bytes: less, and it would be the number of reads that costs.
const AHEAD_BYTES_MIN: u64 = 32 << 10;
/// And at most so much: more would save nothing.
const AHEAD_BYTES_MAX: u64 = 512 << 10;

/// What a job of the store needs around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobContext<'a> {
    pub(crate) storage: &'a Arc<dyn Storage>,
    /// What new files are bound to.
    pub(crate) bond: StoreBinding,
    pub(crate) options: &'a DbOptions,
    /// Where the numbers of new files come from.
    pub(crate) numbers: &'a dyn NumberSource,
    /// About how much memory the job may take, in bytes.
    pub(crate) memory_bytes: u64,
    /// What the inputs are made of.
    pub(crate) origin: Origin,
    /// When it is set, the job ends.
    pub(crate) stop: &'a AtomicBool,
}

impl JobContext<'_> {
    /// How much each of `sources` inputs is to read at a time, within half of the memory.
    pub(crate) fn ahead_bytes(&self, sources: usize) -> u64 {
        // What is read is there twice for a moment, as it came and as blocks.
        (self.memory_bytes / 2 / (sources as u64 + 1)).clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX)
    }

    /// A number that no file has had.
    pub(crate) fn next_number(&self) -> Result<u64> {
        self.numbers.take_number()
    }

    /// What a table of the job that points into these value files says of openings.
    pub(crate) fn openings(&self, values: impl Iterator<Item = u64>) -> Openings {
        let nonce = self.bond.nonce;
        let of_file = |number| (number, self.numbers.nonce_of_values(number).unwrap_or(nonce));
        Openings { nonce, values: values.map(of_file).collect() }
    }

    /// # Errors
    /// [`Error::Interrupted`] when the job is to end.
    pub(crate) fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Removes files of a job that came to nothing. What cannot be removed is removed when the store is opened next.
    pub(crate) fn discard(&self, names: impl IntoIterator<Item = String>) {
        for name in names {
            _ = self.storage.remove(&name);
        }
    }
}
