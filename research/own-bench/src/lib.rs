//! An index, a key set and a store that are not part of Ogive, for its bench.

pub mod index;
pub mod keys;
pub mod store;
