//! Reads in flight: read-ahead, the pool of readers, hand-over between threads; threads for the calls of
//! futures.

pub(super) mod call_pool;
pub(crate) mod fair;
pub(super) mod handoff;
pub(super) mod long_reads;
pub(super) mod read_ahead;
pub(super) mod read_pool;
#[cfg(test)]
pub(crate) mod test_schedule;
pub(super) mod worker;
pub(super) mod write_behind;
