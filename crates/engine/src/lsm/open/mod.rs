//! Opening: recovery, replay of logs, store folders, keyspaces and their types.

pub(super) mod folder;
pub(super) mod log_replay;
pub(super) mod maintain;
pub(super) mod recover;
pub(crate) mod unreferenced;
