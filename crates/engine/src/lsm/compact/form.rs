//! The form of new tables: what decides how much of them stays in memory while they are open.

use crate::lsm::state::options::DbOptions;
use crate::lsm::state::tables::table_file::TableFile;
use crate::table::BLOCK_BYTES;
use std::sync::Arc;

/// Blocks, tables and roots of the next coarser form are larger or smaller by this factor.
const COARSER_FACTOR: u32 = 8;

/// A block of a coarse form takes at most 1/64 of the memory; decoded it may take sixteen times as much.
const BLOCK_MEMORY_DIVISOR: u64 = 64;

/// The root of a table of the coarsest form, in bytes, if its separators allow that.
const ROOT_BYTES_MIN: u64 = 256;

/// The form of new tables.
///
/// An open table takes some bytes of memory for each block, its root, and its handle. A job whose output does not fit
/// the memory of open tables is run again in a coarser form: with larger blocks, more separators in layers that are
/// read on demand, and fewer tables. In the coarsest form all of its output is one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableForm {
    /// Size of data blocks, in bytes.
    pub(crate) block_bytes: u32,
    /// Tables below level 0 end at this size, in bytes.
    pub(crate) table_bytes: u64,
    /// Maximum size of the root of the index, in bytes.
    pub(crate) root_bytes: u64,
    /// Bits per key of the filters.
    pub(crate) filter_bits_per_key: Option<u32>,
    /// Whether blocks may be coded.
    pub(crate) coding: bool,
    /// Whether there is no coarser form.
    pub(crate) is_coarsest: bool,
}

impl TableForm {
    /// The form that the options state.
    pub(crate) fn usual(options: &DbOptions) -> Self {
        Self {
            block_bytes: options.levels.block_bytes,
            table_bytes: options.levels.table_bytes,
            root_bytes: options.root_limit_bytes(),
            filter_bits_per_key: options.levels.filter_bits_per_key,
            coding: options.levels.coding,
            is_coarsest: false,
        }
    }

    /// This form, of a store, for a keyspace with options of its own: what they state instead of the usual one, and at
    /// least as coarse as any other.
    pub(crate) fn of_keyspace(self, store: &DbOptions, own: &DbOptions) -> Self {
        if self == Self::usual(store) {
            return Self::usual(own);
        }
        let filter_bits_per_key = own.levels.filter_bits_per_key.filter(|_| !self.is_coarsest);
        Self { block_bytes: self.block_bytes.max(own.levels.block_bytes), filter_bits_per_key, ..self }
    }

    /// The next coarser form for a job over `inputs`; `None` if there is none. The coarsest has blocks as large as
    /// those of any input, and coded ones if an input may have them: so it has hardly more blocks than the inputs.
    pub(crate) fn coarser<'a>(
        self,
        options: &DbOptions,
        inputs: impl Iterator<Item = &'a Arc<TableFile>>,
    ) -> Option<Self> {
        if self.is_coarsest {
            return None;
        }
        let affordable = (options.memory_bytes / BLOCK_MEMORY_DIVISOR).clamp(1, u64::from(*BLOCK_BYTES.end()));
        let (mut largest, mut coding) = ((1_u32 << affordable.ilog2()).max(options.levels.block_bytes), self.coding);
        for table in inputs {
            largest = largest.max(table.table.block_bytes().try_into().unwrap_or(largest));
            coding |= table.table.is_coded();
        }
        let largest = largest.min(*BLOCK_BYTES.end());
        let block_bytes = self.block_bytes.saturating_mul(COARSER_FACTOR).min(largest);
        let form = Self {
            block_bytes,
            table_bytes: self.table_bytes.saturating_mul(u64::from(COARSER_FACTOR)),
            root_bytes: (self.root_bytes / u64::from(COARSER_FACTOR)).max(ROOT_BYTES_MIN),
            coding,
            ..self
        };
        Some(match block_bytes < largest {
            true => form,
            false => Self {
                table_bytes: u64::MAX,
                root_bytes: ROOT_BYTES_MIN,
                filter_bits_per_key: None,
                is_coarsest: true,
                ..form
            },
        })
    }
}
