//! Storages: their traits, URL schemes, storages in memory, and wrappers.

pub(super) mod discard;
pub(super) mod file_names;
pub(super) mod frozen;
pub(super) mod lenient;
pub(super) mod memory;
pub(super) mod observer;
pub(super) mod place;
pub(super) mod request;
pub(super) mod schemes;
pub(super) mod stoppable;
pub(super) mod traits;
pub(super) mod wrapper;
