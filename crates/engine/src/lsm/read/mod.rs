//! The read path: from memtables and tables to visible entries and their values.

pub(super) mod batch_get;
pub(crate) mod merge;
#[cfg(test)]
mod merge_tests;
pub(super) mod scan;
pub(in crate::lsm) mod starts_ahead;
pub(super) mod value_ahead;
pub(super) mod value_wave;
pub(super) mod visible;
#[cfg(test)]
mod visible_tests;
