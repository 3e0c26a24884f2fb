//! The extension API of stores.

pub use crate::table::versions::LookupStep;
