//! Opening: recovery, replay of logs, store folders, and operations on a store as a whole.

pub(super) mod closing;
pub(in crate::lsm) mod few_keys;
pub(super) mod folder;
pub(crate) mod lock;
pub(super) mod log_replay;
pub(super) mod maintain;
pub(crate) mod newest_state;
pub(super) mod recover;
mod tables;
#[cfg(test)]
mod thread_tests;
pub(crate) mod unreferenced;
