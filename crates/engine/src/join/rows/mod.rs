//! The vocabulary of joins: relations, streams and sinks of rows, options, the context of a running join, costs and
//! reports, and the traits of registered methods. All other rooms import it; it imports none of them.

pub(super) mod condition;
pub(super) mod copy_method;
pub(super) mod form;
pub(super) mod joined_records;
pub(super) mod method;
pub(super) mod no_spill;
pub(super) mod options;
pub(super) mod packed_rows;
pub(super) mod plan;
pub(super) mod probe_method;
pub(super) mod read_lanes;
pub(super) mod relation;
pub(super) mod report;
pub(super) mod sink;
pub(super) mod sort_progress;
pub(super) mod spill;
pub(super) mod stoppable;
pub(super) mod stream;
pub(super) mod task;
pub(super) mod text_hints;
