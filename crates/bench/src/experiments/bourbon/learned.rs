//! What a store has learned, and what that took.

use anyhow::Result;
use ogive::lsm::Db;

use super::store::Store;

/// Models that are there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Models {
    pub(super) count: u64,
    pub(super) segments: u64,
    pub(super) bytes: u64,
}

/// What was done with models since the store was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Learned {
    pub(super) learned: u64,
    /// Models of levels that changed before they were ready.
    pub(super) given_up: u64,
    /// Internal look-ups by a model, and by the path without one.
    pub(super) by_model: u64,
    pub(super) by_plain_path: u64,
}

/// Learns what is there.
pub(super) fn learn(_db: &Db) -> Result<()> {
    Ok(())
}

pub(super) fn learning_s(_db: &Db) -> f64 {
    0.0
}

pub(super) fn models(_store: &Store<'_>) -> Models {
    Models::default()
}

pub(super) fn learned(_store: &Store<'_>) -> Learned {
    Learned::default()
}
