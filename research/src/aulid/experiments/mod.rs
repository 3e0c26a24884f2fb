//! The experiments of AULID (WWW 2024, Section 5), one file each or one for several similar ones.
//!
//! Counts are per operation, with nothing cached except what is stated as resident. Modelled times price every read and
//! synced write by a storage profile, without processor time; measured ones bypass the page cache.

mod adjust;
mod blocks;
mod bulk_load;
mod endurance;
mod insert;
mod scaling;
mod tail;
mod throughput;
mod variants;

pub(crate) use adjust::ADJUST;
pub(crate) use blocks::BLOCKS;
pub(crate) use bulk_load::BULK_LOAD;
pub(crate) use endurance::ENDURANCE;
pub(crate) use insert::INSERT;
pub(crate) use scaling::SCALING;
pub(crate) use tail::TAIL;
pub(crate) use throughput::{LIPP_BTREE, REQUESTS, THROUGHPUT, UNCACHED};
pub(crate) use variants::{ABLATION, READ_OPTIMISATIONS, SLOTS};
