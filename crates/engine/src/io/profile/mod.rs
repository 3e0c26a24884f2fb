//! Profiles of storages: measured, stated, and the clock they are measured by.

pub(super) mod boot;
pub(super) mod clock;
pub(super) mod curve;
pub(super) mod measure;
pub(super) mod modelled_clock;
pub(super) mod moved_clock;
pub(super) mod spread;
