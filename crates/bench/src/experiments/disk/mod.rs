//! The experiments of "Updatable Learned Indexes Meet Disk-Resident DBMS" (its slides, Q1 to Q5), one file each.

mod buffer;
mod lookups;
mod profiling;
mod storage;

pub(super) use buffer::BUFFER;
pub(super) use lookups::{BLOCK_SIZE, HYBRIDS, LOOKUPS};
pub(super) use profiling::PROFILING;
pub(super) use storage::STORAGE;
