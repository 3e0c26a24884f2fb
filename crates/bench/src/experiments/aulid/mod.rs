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

pub(super) use adjust::ADJUST;
pub(super) use blocks::BLOCKS;
pub(super) use bulk_load::BULK_LOAD;
pub(super) use endurance::ENDURANCE;
pub(super) use insert::INSERT;
pub(super) use scaling::SCALING;
pub(super) use tail::TAIL;
pub(super) use throughput::{LIPP_BTREE, REQUESTS, THROUGHPUT, UNCACHED};
pub(super) use variants::{ABLATION, READ_OPTIMISATIONS, SLOTS};
