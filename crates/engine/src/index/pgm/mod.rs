//! The PGM index with the logarithmic method.

pub(in crate::index) mod line;
pub(in crate::index) mod packed;
