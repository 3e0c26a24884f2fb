//! The experiments of "Updatable Learned Indexes Meet Disk-Resident DBMS" (its slides, Q1 to Q5), one file each.

mod buffer;
mod lookups;
mod profiling;
mod storage;

pub(crate) use buffer::BUFFER;
pub(crate) use lookups::{BLOCK_SIZE, HYBRIDS, LOOKUPS};
pub(crate) use profiling::PROFILING;
pub(crate) use storage::STORAGE;
