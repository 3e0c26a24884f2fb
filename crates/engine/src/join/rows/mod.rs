//! Rows, options and tasks of joins, as inputs, methods and outputs share them.

pub(super) mod condition;
pub(super) mod method;
pub(super) mod no_spill;
pub(super) mod options;
pub(super) mod packed_rows;
pub(super) mod report;
pub(super) mod spill;
pub(super) mod stoppable;
pub(super) mod stream;
pub(super) mod task;
