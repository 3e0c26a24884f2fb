//! The experiments of "Updatable Learned Indexes Meet Disk-Resident DBMS" (its slides, Q1 to Q5), one file for each.

mod profiling;

pub(super) use profiling::PROFILING;
