//! Tables of a store: open files, levels, and the policies that learn where their keys are.

pub(in crate::lsm) mod learner;
pub(in crate::lsm) mod learning;
pub(in crate::lsm) mod level;
#[cfg(test)]
mod level_tests;
pub(in crate::lsm) mod lookup_times;
pub(crate) mod table_file;
