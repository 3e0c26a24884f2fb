//! Opening: recovery, replay of logs, store folders, and operations on a store as a whole.

pub(super) mod closing;
pub(super) mod folder;
pub(super) mod log_replay;
pub(super) mod maintain;
pub(crate) mod newest_state;
pub(super) mod recover;
pub(crate) mod unreferenced;
