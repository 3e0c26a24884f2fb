//! An index and a key set that are not part of Ogive, for its bench.

pub mod index;
pub mod keys;
