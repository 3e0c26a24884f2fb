//! Tables and value files of a store: open files, levels, and the policies that learn where the keys of tables are.

pub(in crate::lsm) mod learner;
pub(in crate::lsm) mod learning;
pub(in crate::lsm) mod level;
#[cfg(test)]
mod level_tests;
pub(in crate::lsm) mod lookup_times;
pub(crate) mod table_file;
pub(in crate::lsm) mod value_files;
