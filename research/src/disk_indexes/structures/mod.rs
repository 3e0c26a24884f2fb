//! The structures that the paper compares, each alone and, as a [`hybrid`], over B+-tree leaves.

pub mod alex;
pub mod fiting;
#[cfg(test)]
mod hard_inserts;
pub mod hybrid;
pub mod lipp;
pub mod pgm;

pub use alex::AlexOptions;
pub use fiting::FitingOptions;
pub use lipp::LippOptions;
pub use pgm::PgmOptions;
