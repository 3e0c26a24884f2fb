//! Recovery of page files after crashes and damage: replay, verification, rescue of intact pages.

pub(super) mod abandon;
pub(super) mod recover;
pub(super) mod rescue;
pub(super) mod verify;
