//! The experiments of AULID (WWW 2024, Section 5), one file for each or for a few that differ in what they compare.
//!
//! Counts are those of one operation with nothing cached but what is stated as resident. Modelled times price every read and
//! every synced write by a storage profile, and contain no work of the processor; measured ones read past the system's cache.

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
pub(super) use throughput::{LIPP_BTREE, REQUESTS, THROUGHPUT};
pub(super) use variants::{ABLATION, READ_OPTIMISATIONS, SLOTS};
